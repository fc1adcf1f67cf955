"""The fields that narrow a list of jobs down."""

from collections.abc import Awaitable, Callable
from typing import get_args

from nicegui import ui

from holdfast.api.jobs import State
from holdfast.dashboard.jobs.narrowing import Narrowing
from holdfast.engine.overview import Row
from holdfast.errors import Category

SELDOM = ("status", "component", "organisation", "platform", "metadata", "fingerprint")

Changed = Callable[[str, str | None], Awaitable[None]]


def put_up_filters(narrowing: Narrowing, pipelines: list[Row], *, is_operator: bool, on_change: Changed) -> None:
    """Put the fields up with what the address says. `on_change` hears the name of a field and its new value."""
    given = narrowing.given()
    phases = [phase for pipeline in pipelines for phase in pipeline["phases"]]

    def choice(name: str, label: str, options: list[str]) -> None:
        # A value that no longer exists stays in its field: the list says what is wrong with it.
        known = list(dict.fromkeys([*options, *([given[name]] if name in given else [])]))
        field = ui.select(known, label=label, value=given.get(name), clearable=True).props("outlined dense")
        field.on_value_change(lambda event: on_change(name, event.value))

    def words(name: str, label: str, *, hint: str = "") -> None:
        field = ui.input(label, value=given.get(name, ""), placeholder=hint).props(
            "outlined dense clearable debounce=350"
        )
        field.on_value_change(lambda event: on_change(name, event.value))

    with ui.element("div").classes("filters"):
        words("text", "Name or number")
        choice("state", "State", list(get_args(State)))
        choice("pipeline", "Pipeline", [pipeline["name"] for pipeline in pipelines])
        choice("phase", "Phase", [phase["name"] for phase in phases])
        choice("category", "Category", [str(category) for category in Category])
    folded = ui.expansion("More filters", value=any(name in given for name in SELDOM)).classes("more").props("dense")
    with folded, ui.element("div").classes("filters"):
        choice("status", "Status", _statuses(pipelines))
        choice("component", "Component", [phase["component"] for phase in phases])
        words("platform", "Platform")
        words("metadata", "Metadata", hint="key=value")
        if is_operator:
            words("organisation", "Organisation")
        if "fingerprint" in given:
            words("fingerprint", "Fingerprint of the failure")


def _statuses(pipelines: list[Row]) -> list[str]:
    return [
        status
        for pipeline in pipelines
        for status in (
            pipeline["starts"],
            *(phase[name] for phase in pipeline["phases"] for name in ("queued", "working", "done") if phase[name]),
        )
    ]
