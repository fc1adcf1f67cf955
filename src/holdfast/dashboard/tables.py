"""Rows as tables: what each column is called, and what it says of a row."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from holdfast.dashboard.markup import Content, tag
from holdfast.engine.overview import Row


@dataclass(frozen=True, slots=True)
class Column:
    """`kind` is how its cells look: number stands to the right, name stays on one line, wide has room."""

    title: str
    cell: Callable[[Row], Content]
    kind: str | None = None


def table(columns: Sequence[Column], rows: Iterable[Row], *, empty: Markup) -> Markup:
    """The rows in a frame that scrolls by itself where it is too narrow; `empty` stands there when there are none."""
    lines = [tag("tr", [tag("td", column.cell(row), class_=column.kind) for column in columns]) for row in rows]
    if not lines:
        return empty
    titles = tag("tr", [tag("th", column.title, class_=column.kind, scope="col") for column in columns])
    whole = tag("table", tag("thead", titles), tag("tbody", lines), class_="rows")
    return tag("div", whole, class_="scroll", tabindex="0")


def section(title: str, *content: Content, note: Content = None) -> Markup:
    """A part of a page under its heading; `note` says what the figures mean."""
    return tag("section", tag("h2", title), tag("p", note, class_="note") if note else None, content)


def folded(name: str, title: str, *content: Content) -> Markup:
    """What is shown when asked for. It stays unfolded while its panel is made anew: the name tells which one it is."""
    return tag("details", tag("summary", title), content, id=name.replace(" ", "-"))
