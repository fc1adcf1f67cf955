"""Signed messages between machines, in and out, as Standard Webhooks has them: id, time and body under one HMAC."""

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable, Mapping

from holdfast.errors import InvalidInput

PREFIX = "whsec_"
SECRET_BYTES = 32
FEWEST_SECRET_BYTES = 24
MOST_SECRET_BYTES = 64
TOLERANCE_SECONDS = 300

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"


def new_secret() -> str:
    """A secret that both sides keep."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def check_secret(secret: str) -> None:
    """Refuse what cannot be a secret, without showing it."""
    _key(secret)


def sign(message_id: str, timestamp: int, body: bytes, *, secrets: Iterable[str]) -> dict[str, str]:
    """The headers of a signed message; with several secrets, while one replaces the other, it is signed by each."""
    signatures = (f"v1,{_signature(secret, message_id, timestamp, body)}" for secret in secrets)
    return {ID: message_id, TIMESTAMP: str(timestamp), SIGNATURE: " ".join(signatures)}


def is_genuine(headers: Mapping[str, str], body: bytes, *, secrets: Iterable[str], now: float | None = None) -> bool:
    """Whether one of the secrets signed this very message within the last five minutes. Names are in lower case.

    It may still be a repetition: whoever acts on it remembers its id.
    """
    message_id, stamp = headers.get(ID, ""), headers.get(TIMESTAMP, "")
    if not message_id or not (stamp.isascii() and stamp.isdigit()) or len(stamp) > 15:
        return False
    if abs((time.time() if now is None else now) - int(stamp)) > TOLERANCE_SECONDS:
        return False
    given = [signature.removeprefix("v1,") for signature in headers.get(SIGNATURE, "").split(" ")]
    wanted = [_signature(secret, message_id, int(stamp), body) for secret in secrets]
    return any(hmac.compare_digest(one.encode(), other.encode()) for one in wanted for other in given)


def _signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return base64.b64encode(hmac.digest(_key(secret), signed, hashlib.sha256)).decode()


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not FEWEST_SECRET_BYTES <= len(key) <= MOST_SECRET_BYTES:
        raise InvalidInput(
            f"a webhook's secret is {PREFIX} and {FEWEST_SECRET_BYTES} to {MOST_SECRET_BYTES} bytes in base64"
        )
    return key
