"""Where providers call back: signed messages with the answer that a job waits for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holdfast.access.signatures import ID, SIGNATURE, TIMESTAMP, check_secret, is_genuine, new_secret
from holdfast.api.problems import Refused
from holdfast.api.shapes import Shape
from holdfast.engine.answer import Answer
from holdfast.errors import InvalidInput
from holdfast.settings import Settings

hooks = APIRouter(tags=["hooks"])

LONGEST_ID = 255
FULL_SECONDS = 60
# What an unknown provider's message is compared with, so that the time an answer takes names no provider.
_NOBODYS = (new_secret(),)


class Message(BaseModel):
    """What became of the work that was handed over under this reference."""

    model_config = ConfigDict(extra="ignore")

    reference: str = Field(min_length=1, max_length=255, description="As named when the work was handed over.")
    outcome: Literal["completed", "failed"]
    output: Any = Field(default=None, description="What was made of it, when completed.")
    error: Any = Field(
        default=None,
        description="What went wrong, when failed: an object with message, code, category, retry_after_seconds.",
    )

    def answer(self) -> Answer:
        """The same, as the phase that asked gets it."""
        return Answer(self.outcome, self.output if self.outcome == "completed" else self.error)


class Received(Shape):
    """What became of a message: all of these are final, none needs to be sent again."""

    result: Literal["accepted", "already", "unknown", "late"]


@dataclass(frozen=True, slots=True)
class Signers:
    """The providers that may call back, with their secrets."""

    secrets: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, settings: Settings) -> "Signers":
        """Those of the settings. Raises InvalidInput for what cannot be a secret, without showing it."""
        secrets = {
            provider: tuple(one.get_secret_value() for one in several)
            for provider, several in settings.hook_secrets.items()
        }
        for provider, several in secrets.items():
            for secret in several:
                try:
                    check_secret(secret)
                except InvalidInput as error:
                    raise InvalidInput(f'HOLDFAST_HOOK_SECRETS is invalid for "{provider}": {error}') from None
        return cls(secrets)

    def signed(self, provider: str, headers: Mapping[str, str], body: bytes) -> bool:
        """Whether this provider sent this very message just now."""
        return is_genuine(headers, body, secrets=self.secrets.get(provider, _NOBODYS))


async def _genuine(request: Request, provider: Annotated[str, Path(min_length=1, max_length=63)]) -> bytes:
    """The body of a message that its provider signed, within its share of calls."""
    body = await request.body()
    signers: Signers = request.app.state.signers
    if not signers.signed(provider, request.headers, body) or len(request.headers[ID]) > LONGEST_ID:
        raise Refused(401, "unauthorised", "no provider that is known here signed this message within five minutes")
    # After the signature: whoever forges messages must not use up what the provider may send.
    request.app.state.doorkeeper.count(f"provider {provider}")
    return body


def _header(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": True, "schema": {"type": "string"}, "description": description}


@hooks.post(
    "/hooks/{provider}",
    status_code=202,
    openapi_extra={
        "parameters": [
            _header(ID, "The same whenever the same message is sent again."),
            _header(TIMESTAMP, "Seconds since 1970, at most five minutes off."),
            _header(SIGNATURE, "As Standard Webhooks has it: v1, and the HMAC-SHA256 of id.timestamp.body in base64."),
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": Message.model_json_schema()}}},
    },
)
async def take_answer(request: Request, provider: str, body: Annotated[bytes, Depends(_genuine)]) -> Received:
    """A provider answers what it was asked. The signature is the key; the same message again changes nothing."""
    try:
        message = Message.model_validate_json(body)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_input=False)) from None
    result = await request.app.state.holdfast.take_answer(
        provider, message_id=request.headers[ID], reference=message.reference, answer=message.answer()
    )
    if result == "full":
        wait = {"Retry-After": str(FULL_SECONDS)}
        raise Refused(503, "too_many_unasked", "too many answers came that nobody asked for", headers=wait)
    return Received(result=result)
