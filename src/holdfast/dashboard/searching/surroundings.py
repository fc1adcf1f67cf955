"""What passages speak of, drawn: entities on the left, what each stands next to on the right."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from markupsafe import Markup

from holdfast.dashboard.markup import Content, link, tag
from holdfast.graph.contribution import MENTIONED_WITH
from holdfast.graph.neighbourhood import Neighbour, Spoken

MOST_DRAWN = 12
LINE_HEIGHT, WIDTH, LEFT, RIGHT = 24, 380, 150, 220
LONGEST_NAME = 22


def surroundings(spoken: Sequence[Spoken]) -> Content:
    """A picture at one look, and the same as a list that says how."""
    if not spoken:
        return None
    return tag(
        "aside",
        tag("h2", "What they speak of"),
        tag("div", picture(spoken), class_="card picture"),
        tag("ul", [_entity(one) for one in spoken], class_="entities"),
    )


def picture(spoken: Sequence[Spoken]) -> Markup:
    """Lines from what was spoken of to its strongest neighbours, thicker the more passages say so."""
    near = _strongest(spoken)
    height = LINE_HEIGHT * max(len(spoken), len(near))
    left = {one.name: _middle(place, len(spoken), height) for place, one in enumerate(spoken)}
    right = {name: _middle(place, len(near), height) for place, name in enumerate(near)}
    most = max((line.strength for one in spoken for line in one.neighbours), default=1)
    lines = [
        _line(left[one.name], right[line.name], thickness=0.75 + 3 * line.strength / most)
        for one in spoken
        for line in one.neighbours
        if line.name in right
    ]
    names = [_name(name, LEFT - 8, y, "end") for name, y in left.items()]
    names += [_name(name, RIGHT + 8, y, "start") for name, y in right.items()]
    title = tag("title", "What the passages speak of, and what that stands next to; the list says the same in words")
    return tag("svg", title, lines, names, class_="surroundings", viewBox=f"0 0 {WIDTH} {height}", role="img")


def _strongest(spoken: Sequence[Spoken]) -> list[str]:
    strength: dict[str, int] = {}
    for one in spoken:
        for near in one.neighbours:
            strength[near.name] = strength.get(near.name, 0) + near.strength
    chosen = set(sorted(strength, key=lambda name: -strength[name])[:MOST_DRAWN])
    return [name for name in strength if name in chosen]


def _middle(place: int, of: int, height: float) -> float:
    return height * (place + 0.5) / of


def _line(start: float, end: float, *, thickness: float) -> Markup:
    bend = (LEFT + RIGHT) / 2
    way = f"M{LEFT} {start:.1f} C{bend} {start:.1f} {bend} {end:.1f} {RIGHT} {end:.1f}"
    return tag("path", d=way, stroke_width=f"{thickness:.2f}")


def _name(name: str, x: float, y: float, anchor: str) -> Markup:
    short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    return tag("text", short, x=x, y=f"{y:.1f}", text_anchor=anchor, dominant_baseline="central")


def _entity(one: Spoken) -> Markup:
    passages = "1 passage" if one.passages == 1 else f"{one.passages} passages"
    near = groupby(sorted(one.neighbours, key=_how), key=_how)
    return tag(
        "li",
        tag("b", one.name),
        tag("span", f" {one.kind} · {passages}", class_="faint"),
        tag("ul", [tag("li", _said(how, neighbours)) for how, neighbours in near]),
    )


def _said(how: str, neighbours: Iterable[Neighbour]) -> Content:
    named = [[", " if place else " ", _named(near)] for place, near in enumerate(neighbours)]
    return [how, named]


def _named(near: Neighbour) -> Markup:
    said = f"{near.predicate.replace('_', ' ')}, said {near.strength} times: open a document that says so"
    return link(f"/documents/{near.document_id}", near.name, title=said)


def _how(near: Neighbour) -> str:
    if near.predicate == MENTIONED_WITH:
        return "stands with"
    how = near.predicate.replace("_", " ")
    return f"{how} →" if near.outward else f"← {how}"
