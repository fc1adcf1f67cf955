"""Search: a question, the passages that answer it, and what they speak of."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from holdfast.api.problems import Refused
from holdfast.dashboard.frame import framed, page
from holdfast.dashboard.markup import Content, join, tag
from holdfast.dashboard.searching.passages import passages
from holdfast.dashboard.searching.surroundings import surroundings
from holdfast.dashboard.viewer import Viewer
from holdfast.dashboard.words import nothing_yet
from holdfast.engine.metadata import metadata_of
from holdfast.errors import HoldfastError
from holdfast.graph.neighbourhood import Spoken
from holdfast.search.hit import Found

FILTERS = {
    "organisation": "Organisation",
    "platform": "Platform",
    "name": "Source name",
    "meta": "Metadata key=value",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What stands in the page's address."""

    question: str
    narrowed: dict[str, str]

    @property
    def address(self) -> str:
        """The page that answers it."""
        said = {"q": self.question.strip(), **{name: value.strip() for name, value in self.narrowed.items()}}
        return f"/search?{urlencode({name: value for name, value in said.items() if value})}"


@page("/search", title="Search · Holdfast")
async def search(
    request: Request, q: str = "", organisation: str = "", platform: str = "", name: str = "", meta: str = ""
) -> None:
    """The page."""
    with framed(request, "/search") as viewer:
        asked = Asked(q, {"organisation": organisation, "platform": platform, "name": name, "meta": meta})
        _fields(viewer, asked)
        if not asked.question.strip():
            ui.html(_invitation(), sanitize=False)
        else:
            ui.html(await _answered(viewer, asked), sanitize=False)


def _fields(viewer: Viewer, asked: Asked) -> None:
    with ui.element("form").classes("filters").props('role=search aria-label="Search"') as form:
        question = ui.input("What do you want to know?", value=asked.question).props("outlined dense clearable")
        question.classes("question")
        ui.button("Search").props("unelevated color=primary type=submit")
        filters = {
            key: ui.input(label, value=asked.narrowed[key]).props("outlined dense")
            for key, label in FILTERS.items()
            if key != "organisation" or viewer.organisation is None
        }

    def ask() -> None:
        narrowed = {key: field.value or "" for key, field in filters.items()}
        ui.navigate.to(Asked(question.value or "", narrowed).address)

    form.on("submit.prevent", ask)


def _invitation() -> Markup:
    return nothing_yet(
        "Ask in your own words.",
        "Words are alternatives and rare ones weigh more; ",
        tag("code", '"phrases in quotes"'),
        " must stand so, ",
        tag("code", "-words"),
        " must not.",
    )


async def _answered(viewer: Viewer, asked: Asked) -> Markup:
    try:
        whose = viewer.call.organisation(asked.narrowed["organisation"].strip() or None)
        found = await _found(viewer, asked, whose)
    except (HoldfastError, Refused) as error:
        return tag("p", str(error), class_="problem", role="alert")
    around = await viewer.app.neighbourhood(whose, found.hits) if found.hits else []
    return answer(found, around, whose=whose)


def answer(found: Found, around: Sequence[Spoken], *, whose: str) -> Markup:
    """What was found and what it speaks of; a note first where the way of searching was less than asked for."""
    notes = [tag("p", note, class_="problems", role="status") for note in found.notes]
    both = tag("div", _hits(found, whose), surroundings(around), class_="answer" if around else None)
    return join([notes, both])


async def _found(viewer: Viewer, asked: Asked, whose: str) -> Found:
    narrowed = {name: value.strip() or None for name, value in asked.narrowed.items()}
    pairs = (pair.strip() for pair in asked.narrowed["meta"].split(",") if pair.strip())
    return await viewer.app.search.find(
        asked.question,
        organisation=whose,
        source_platform=narrowed["platform"],
        source_name=narrowed["name"],
        metadata=metadata_of(pairs) or None,
    )


def _hits(found: Found, whose: str) -> Content:
    if found.hits:
        return passages(found.hits)
    return nothing_yet(
        f"Nothing of {whose} answers this.", "Try other words or fewer filters, or see what was ingested under Jobs."
    )
