"""Who calls, what they may do, how often, and whose Holdfast they see."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from holdfast.access.keys import Caller, Keys, Scope
from holdfast.api.problems import Refused, too_many_calls
from holdfast.app import App

NEIGHBOUR = Caller("loopback", Scope.ADMIN, None)

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
            return named or self.app.settings.organisation
        if named not in (None, own):
            raise Refused(404, "not_found", f'there is no organisation "{named}" for this key')
        return own


@dataclass(slots=True)
class Doorkeeper:
    """Lets callers in. Without keys it takes whoever comes for the operator: only for loopback."""

    app: App
    asks_for_keys: bool
    calls_per_minute: int
    _allowed: dict[str, tuple[float, float]] = field(default_factory=dict)

    async def admit(self, credentials: HTTPAuthorizationCredentials | None) -> Call:
        """The call, or Refused."""
        caller = await self._caller(credentials)
        self.count(caller.name)
        app = self.app if caller.organisation is None else self.app.confined_to(caller.organisation)
        return Call(app, caller, lambda: self._caller(credentials))

    async def _caller(self, credentials: HTTPAuthorizationCredentials | None) -> Caller:
        if credentials is None and not self.asks_for_keys:
            return NEIGHBOUR
        caller = await Keys(self.app.database).caller(credentials.credentials) if credentials else None
        if caller is None:
            text = "this key opens nothing" if credentials else "send a key: Authorization: Bearer hf_…"
            raise Refused(401, "unauthorised", text, headers={"WWW-Authenticate": "Bearer"})
        return caller

    def count(self, name: str) -> None:
        """Count a call, or refuse it: a bucket for each name that fills by the second and holds a minute's calls."""
        now = time.monotonic()
        left, since = self._allowed.get(name, (float(self.calls_per_minute), now))
        left = min(self.calls_per_minute, left + (now - since) * self.calls_per_minute / 60)
        if left < 1:
            raise too_many_calls((1 - left) * 60 / self.calls_per_minute)
        self._allowed[name] = (left - 1, now)


def _needs(scope: Scope) -> Callable[..., Awaitable[Call]]:
    async def admitted(
        request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
    ) -> Call:
        doorkeeper: Doorkeeper = request.app.state.doorkeeper
        call = await doorkeeper.admit(credentials)
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
