"""HTML as values: whatever is put in is escaped, unless it is markup already."""

from collections.abc import Iterable
from typing import TypeAlias

from markupsafe import Markup, escape

Content: TypeAlias = "str | int | float | Markup | Iterable[Content] | None"

VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})


def tag(name: str, /, *content: Content, **attributes: object) -> Markup:
    """An element. `class_` is class, `data_act` is data-act; an attribute that is None or False is left out."""
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value not in (None, False))
    opening = Markup("<{}{}>").format(Markup(name), Markup(written))
    return opening if name in VOID else opening + join(content) + Markup("</{}>").format(Markup(name))


def join(content: Content) -> Markup:
    """One piece of markup from many; None is nothing."""
    if content is None:
        return Markup("")
    if isinstance(content, str | int | float):
        return escape(content)
    return Markup("").join(join(part) for part in content)


def link(href: str, *content: Content, **attributes: object) -> Markup:
    """A link to another page."""
    return tag("a", *content, href=href, **attributes)


def _attribute(key: str, value: object) -> Markup:
    name = key.rstrip("_").replace("_", "-")
    return Markup(" {}").format(name) if value is True else Markup(' {}="{}"').format(name, value)
