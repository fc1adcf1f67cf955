"""A webhook on loopback that takes everything unless a reply was scripted, and remembers what it was told."""

import asyncio
from typing import Any

from holdfast.access.signatures import is_genuine
from holdfast.testing import Call, Reply, StandIn


class Hook(StandIn):
    """`silent` makes it take calls and never answer."""

    silent = False

    @property
    def url(self) -> str:
        return self.base_url

    @property
    def host(self) -> str:
        return self.base_url.split("/")[2]

    @property
    def told(self) -> list[Any]:
        """The bodies of all calls."""
        return [call.json for call in self.calls]

    @property
    def ids(self) -> list[str]:
        return [call.headers["webhook-id"] for call in self.calls]

    def _reply(self, call: Call) -> Reply:
        return Reply()

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> None:
        if self.silent:
            self.calls.append(call)
            await asyncio.Event().wait()
        await super()._answer(call, writer)


def genuine(call: Call, secret: str) -> bool:
    """Whether the call was signed with this secret at the time it names."""
    return is_genuine(call.headers, call.body, secrets=[secret], now=float(call.headers["webhook-timestamp"]))
