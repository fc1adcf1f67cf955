"""Buttons inside panels: who may press them, and what they carry to whoever acts."""

from markupsafe import Markup

from holdfast.dashboard.markup import tag

READ_ONLY = "Your key may look but not act: it needs the scope write"


def button(verb: str, act: str, *, allowed: bool, **carries: object) -> Markup:
    """A button that calls `act` with what it carries; disabled, and saying why, for those who may not act."""
    data = {f"data_{name}": value for name, value in carries.items()}
    if not allowed:
        return tag("button", verb, class_="act", type="button", disabled=True, title=READ_ONLY)
    return tag("button", verb, class_="act", type="button", data_act=act, **data)
