"""Who calls, what they may do, how often, and whose Holdfast they see."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from holdfast.access.keys import Caller, Scope, hashed
from holdfast.api.buckets import Buckets
from holdfast.api.door import Door
from holdfast.api.problems import Refused, too_many_calls
from holdfast.app import App

NEIGHBOUR = Caller("loopback", Scope.ADMIN, None)
WRONG_KEYS_PER_MINUTE = 30

_bearer = HTTPBearer(auto_error=False, description="A key made by `holdfast keys create`.")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: Holdfast as this caller sees it, and what the audit log calls them."""

    app: App
    caller: Caller
    recheck: Callable[[], Awaitable[object]]
    """Refused as soon as the caller's key is revoked: for answers that take longer than a moment."""

    @property
    def name(self) -> str:
        return self.caller.name

    def organisation(self, named: str | None) -> str:
        """Whose documents are meant. A key of one organisation means that one; another is not there."""
        own = self.caller.organisation
        if own is None:
            return self.app.settings.organisation if named is None else named
        if named not in (None, own):
            raise Refused(404, "not_found", f'there is no organisation "{named}" for this key')
        return own


class Doorkeeper:
    """Lets callers in. While the door is open it takes whoever brings no key for the operator: only for loopback."""

    def __init__(self, app: App, door: Door) -> None:
        self._app = app
        self._door = door
        self._calls = Buckets(app.settings.api_calls_per_minute)
        self._wrong_keys = Buckets(WRONG_KEYS_PER_MINUTE)
        self._right_keys: set[bytes] = set()

    async def admit(self, secret: str | None, address: str) -> Call:
        """The call of whoever is at this address, or Refused."""
        caller = await self._caller(secret, address)
        self.count(caller.name)
        app = self._app if caller.organisation is None else self._app.confined_to(caller.organisation)
        return Call(app, caller, lambda: self._caller(secret, address))

    def count(self, name: str) -> None:
        """Count a call under this name, or refuse it."""
        if wait := self._calls.wait_seconds(name):
            raise too_many_calls(wait)
        self._calls.take(name)

    async def _caller(self, secret: str | None, address: str) -> Caller:
        if secret is not None:
            return await self._holder(secret, address)
        if await self._door.is_closed():
            raise _unauthorised("send a key: Authorization: Bearer hf_…")
        return NEIGHBOUR

    async def _holder(self, secret: str, address: str) -> Caller:
        """Whose key this is. An address that sends wrong ones is not listened to for a while, except for keys that were
        right before: what one program has wrong must not shut out another on the same machine.
        """
        digest = hashed(secret)
        wait = self._wrong_keys.wait_seconds(address)
        if wait and digest not in self._right_keys:
            raise too_many_calls(wait)
        caller = await self._app.keys.caller(secret)
        if caller is None:
            self._right_keys.discard(digest)
            self._wrong_keys.take(address)
            raise _unauthorised("this key opens nothing")
        self._right_keys.add(digest)
        return caller


def _unauthorised(detail: str) -> Refused:
    return Refused(401, "unauthorised", detail, headers={"WWW-Authenticate": "Bearer"})


def _needs(scope: Scope) -> Callable[..., Awaitable[Call]]:
    async def admitted(
        request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
    ) -> Call:
        doorkeeper: Doorkeeper = request.app.state.doorkeeper
        secret = credentials.credentials if credentials else None
        call = await doorkeeper.admit(secret, request.client.host if request.client else "unknown")
        request.state.caller = call.name
        if not call.caller.scope.includes(scope):
            raise Refused(403, "forbidden", f"this needs a key of scope {scope}, yours has {call.caller.scope}")
        return call

    return admitted


def _everywhere(call: Annotated[Call, Depends(_needs(Scope.ADMIN))]) -> Call:
    if call.caller.organisation is not None:
        raise Refused(403, "forbidden", "this concerns every organisation: it needs a key of none in particular")
    return call


Reader = Annotated[Call, Depends(_needs(Scope.READ))]
Manager = Annotated[Call, Depends(_needs(Scope.ADMIN))]
Writer = Annotated[Call, Depends(_needs(Scope.WRITE))]
Operator = Annotated[Call, Depends(_everywhere)]
