"""Who looks at a page, and what they may see and do."""

from dataclasses import dataclass

from fastapi import Request

from holdfast.access.keys import Scope
from holdfast.api.callers import NEIGHBOUR, Call
from holdfast.app import App
from holdfast.dashboard.live import Shared
from holdfast.engine.control import Control
from holdfast.errors import HoldfastError

MAY_ONLY_LOOK = "your key may only look: acting needs one of scope write"


@dataclass(frozen=True, slots=True)
class Viewer:
    """A call that lasts as long as its page is open. `shared` holds what several viewers want at the same time."""

    call: Call
    shared: Shared

    @property
    def app(self) -> App:
        """Holdfast as this viewer sees it."""
        return self.call.app

    @property
    def organisation(self) -> str | None:
        """The only organisation this viewer sees; None: all of them."""
        return self.call.caller.organisation

    @property
    def control(self) -> Control:
        """The verbs, audited under this viewer's name. Raises for one who may only look."""
        self.require_may_act()
        return self.app.control(self.call.name)

    @property
    def may_act(self) -> bool:
        """Whether the viewer may change anything."""
        return self.call.caller.scope.includes(Scope.WRITE)

    def require_may_act(self) -> None:
        """Raise for a viewer who may only look: that a button is disabled keeps nobody from sending what it sends."""
        if not self.may_act:
            raise HoldfastError(MAY_ONLY_LOOK)

    @property
    def has_key(self) -> bool:
        """Whether the viewer came in with a key, and can leave."""
        return self.call.caller is not NEIGHBOUR

    @property
    def is_operator(self) -> bool:
        """Whether the viewer answers for every organisation."""
        return self.organisation is None and self.call.caller.scope is Scope.ADMIN

    def require_operator(self) -> None:
        """Raise HoldfastError unless this viewer answers for every organisation."""
        if not self.is_operator:
            raise HoldfastError("this concerns every organisation: it needs an admin key of none in particular")


def viewer_of(request: Request) -> Viewer:
    """Whoever looks at this page."""
    viewer: Viewer = request.state.viewer
    return viewer
