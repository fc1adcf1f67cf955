"""Notices to webhooks: signed as Standard Webhooks has it, to public addresses only, along no redirect."""

import asyncio
from collections.abc import Mapping

import httpx2

from holdfast.access.signatures import sign
from holdfast.engine.foreign import retry_after_in
from holdfast.engine.redaction import clean_text
from holdfast.errors import PhaseError
from holdfast.network.links import parse_link
from holdfast.network.pinned import PinnedClient
from holdfast.notices.delivery import Delivered, Failed, Gone, Outcome, Taken

SECONDS = 15.0
SHOWN_CHARACTERS = 300
_READ_BYTES = 4096
_GONE = 410
_ASKING_FOR_TIME = frozenset({429, 503})


class WebhookSender:
    """Posts notices. `seconds` are for a whole try, name resolution and answer included."""

    def __init__(self, client: PinnedClient, *, seconds: float = SECONDS) -> None:
        self._client = client
        self._seconds = seconds

    async def send(self, taken: Taken) -> Outcome:
        """Delivered as soon as the receiver answers with success; what else it says then does not matter."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._post(taken)
        except TimeoutError:
            return Failed(f"it did not answer within {self._seconds:g} s")
        except PhaseError as error:  # the guard's refusals
            return Failed(str(error))
        except httpx2.HTTPError as error:
            return Failed(f"it broke off or could not be reached: {clean_text(str(error) or type(error).__name__)}")

    async def _post(self, taken: Taken) -> Outcome:
        body = taken.payload.encode()
        async with self._client.answer(
            "POST", parse_link(taken.url), headers=_headers(taken, body), content=body
        ) as answer:
            if answer.is_success:
                return Delivered(answer.status_code)
            return _refused(answer.status_code, answer.headers, await _beginning(answer))


def _headers(taken: Taken, body: bytes) -> dict[str, str]:
    signed = sign(str(taken.message_id), int(taken.sent_at.timestamp()), body, secrets=taken.secrets)
    return {"Content-Type": "application/json", "Accept-Encoding": "identity", **signed}


def _refused(status: int, headers: Mapping[str, str], beginning: str) -> Outcome:
    said = f"it answered {status}" + (f": {beginning}" if beginning else "")
    if status == _GONE:
        return Gone(said, status)
    if 300 <= status < 400:
        return Failed(f"it answered {status}: redirects are not followed, give the address it leads to", status)
    return Failed(said, status, retry_after_in(headers) if status in _ASKING_FOR_TIME else None)


async def _beginning(answer: httpx2.Response) -> str:
    """How the answer begins, as it came over the wire: what it might unfold to is not worth the risk."""
    read = bytearray()
    async for part in answer.aiter_raw():
        read += part
        if len(read) >= _READ_BYTES:
            break
    return clean_text(" ".join(read[:_READ_BYTES].decode(errors="replace").split()), limit=SHOWN_CHARACTERS)
