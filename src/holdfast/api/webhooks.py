"""Who is told of what happens, what became of it, and the alerts that are on."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from holdfast.api.callers import Manager, Reader
from holdfast.api.shapes import Shape
from holdfast.notices.receivers import Event

webhooks = APIRouter(tags=["webhooks"])

Id = Annotated[int, Path(ge=1, le=2**63 - 1)]
Limit = Annotated[int, Query(ge=1, le=500)]


class NewWebhook(BaseModel):
    """Where to post what."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(min_length=1, max_length=2000, examples=["https://example.org/hooks"])
    events: list[Event] = Field(default=list(Event), min_length=1, max_length=len(Event))
    organisation: str | None = Field(
        default=None, min_length=1, max_length=255, description="Only of this one; null: of all that the key sees."
    )


class AddedWebhook(Shape):
    """A webhook on the only day its secret is shown."""

    receiver_id: int
    secret: str = Field(description="Signs what it is told, as Standard Webhooks has it. Not shown again.")


class Webhook(Shape):
    """Who is told of what: a webhook, or an address for mail."""

    receiver_id: int
    organisation: str | None
    kind: Literal["webhook", "mail"]
    url: str
    events: list[str]
    created_at: datetime
    created_by: str
    disabled_at: datetime | None
    disabled_reason: str | None
    waiting: int = Field(description="How many notices are on their way.")


class Delivery(Shape):
    """One notice on its way to one receiver."""

    delivery_id: int
    receiver_id: int
    message_id: UUID = Field(description="The `webhook-id` it is sent under, each time.")
    event: str
    at: datetime
    state: Literal["waiting", "delivered", "given_up"]
    attempts: int
    next_at: datetime | None
    last_at: datetime | None
    last_status: int | None
    last_answer: str | None


class Alert(Shape):
    """What someone should look at; closed, what is over."""

    incident_id: int
    kind: str = Field(examples=["error_rate"])
    scope: str
    organisation: str | None
    opened_at: datetime
    closed_at: datetime | None
    message: str
    figures: dict[str, Any]


class Removed(Shape):
    """What is told nothing more."""

    removed: int


class Due(Shape):
    """What is sent again."""

    delivery_id: int


@webhooks.get("/webhooks")
async def list_webhooks(call: Manager) -> list[Webhook]:
    """Whoever is told, the newest first; of the key's organisation, if it has one."""
    return [Webhook.model_validate(receiver) for receiver in await call.app.webhooks.all()]


@webhooks.post("/webhooks", status_code=201)
async def add_webhook(call: Manager, new: NewWebhook) -> AddedWebhook:
    """Have a webhook told of what happens. The secret is in this answer and in no other."""
    organisation = new.organisation if call.caller.organisation is None else call.organisation(new.organisation)
    made = await call.app.webhooks.add(new.url, events=new.events, organisation=organisation, actor=call.name)
    return AddedWebhook.model_validate(made)


@webhooks.delete("/webhooks/{webhook_id}")
async def remove_webhook(call: Manager, webhook_id: Id) -> Removed:
    """Tell it nothing more; what waits for it is given up."""
    await call.app.webhooks.remove(webhook_id, actor=call.name)
    return Removed(removed=webhook_id)


@webhooks.get("/webhooks/{webhook_id}/deliveries")
async def list_deliveries(
    call: Manager,
    webhook_id: Id,
    state: Literal["waiting", "delivered", "given_up"] | None = None,
    limit: Limit = 50,
) -> list[Delivery]:
    """What it was told, or is still to be, the newest first."""
    found = await call.app.webhooks.deliveries(receiver_id=webhook_id, state=state, limit=limit)
    return [Delivery.model_validate(delivery) for delivery in found]


@webhooks.post("/deliveries/{delivery_id}/redeliver", status_code=202)
async def redeliver(call: Manager, delivery_id: Id) -> Due:
    """Have it told again, or at once, under the same id."""
    await call.app.webhooks.redeliver(delivery_id, actor=call.name)
    return Due(delivery_id=delivery_id)


@webhooks.get("/alerts")
async def alerts(call: Reader, limit: Limit = 50) -> list[Alert]:
    """The alerts that are on, then those that are over; of the key's organisation, if it has one."""
    return [Alert.model_validate(incident) for incident in await call.app.incidents.all(limit=limit)]
