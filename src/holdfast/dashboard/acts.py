"""Buttons inside panels: who may press them, and what they carry to whoever acts."""

from markupsafe import Markup

from holdfast.dashboard.markup import tag
from holdfast.dashboard.viewer import MAY_ONLY_LOOK


def act_button(
    word: str, act: str, *, disabled_because: str | None = None, grave: bool = False, **carries: object
) -> Markup:
    """A button that calls `act` with what it carries. One that cannot be used carries nothing and says why."""
    data = {"act": act, **carries} if disabled_because is None else {}
    return tag(
        "button",
        word,
        type="button",
        id="-".join(("act", act, *map(str, carries.values()))),
        class_="act grave" if grave else "act",
        disabled=disabled_because is not None,
        title=disabled_because,
        **{f"data_{name}": value for name, value in data.items()},
    )


def unless(allowed: bool) -> str | None:
    """Why a viewer who may not act cannot use a button; None for those who may."""
    return None if allowed else MAY_ONLY_LOOK
