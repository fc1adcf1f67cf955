"""What a provider answered, later, to an attempt that handed its work over."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from holdfast.db.connection import Connection, Database
from holdfast.engine.classify import Failure, restore
from holdfast.engine.strict_json import dump
from holdfast.errors import Category, InvalidInput, PhaseError

if TYPE_CHECKING:
    from holdfast.engine.attempt import Json


@dataclass(frozen=True, slots=True)
class Answer:
    """The provider's word: `body` is what it made when `completed`, and what it says went wrong when `failed`.

    An answer that did not come in time is `overdue`; the engine ends such an attempt, no handler sees it.
    """

    outcome: Literal["completed", "failed", "overdue"]
    body: "Json"

    @property
    def is_overdue(self) -> bool:
        return self.outcome == "overdue"

    def result(self) -> "Json":
        """What the provider made, or raise what went wrong: by its category where it names one of ours."""
        match self.outcome:
            case "completed":
                return self.body
            case "failed":
                raise _failure_told(self.body)
            case "overdue":
                raise _overdue(self.body)


async def deliver(
    connection: "Connection | Database", provider: str, *, message_id: str, reference: str, answer: Answer
) -> str:
    """Hand in what a provider answered. Exactly once: accepted, already, unknown (kept for a day), late or full."""
    result: str = await connection.fetchval(
        "select holdfast.answer($1, $2, $3, $4, $5::text::jsonb)",
        provider,
        message_id,
        reference,
        answer.outcome,
        dump(answer.body).decode(),
    )
    return result


def _failure_told(body: "Json") -> PhaseError:
    told = body if isinstance(body, dict) else {"message": body}
    account = {
        "category": told.get("category"),
        "error": told.get("message") or "the provider failed and does not say why",
        "error_type": "ProviderFailed",
        "error_code": told.get("code"),
        "retry_after_seconds": told.get("retry_after_seconds"),
    }
    try:
        return restore(Failure.from_json(account))
    except InvalidInput:  # a category of its own, or none
        return restore(Failure.from_json({**account, "category": Category.UNKNOWN}))


def _overdue(body: "Json") -> PhaseError:
    asked = body if isinstance(body, dict) else {}
    text = f"{asked.get('provider')} has not answered to {asked.get('reference')} by {asked.get('deadline')}"
    return restore(Failure(Category.TIMEOUT, text, "TimedOut", error_code="TIMEOUT", details=asked))
