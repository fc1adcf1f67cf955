"""Asking back before something is done that cannot be undone, and telling what came of it."""

from collections.abc import Awaitable, Callable

from markupsafe import Markup
from nicegui import ui

from holdfast.engine.control import Tally
from holdfast.errors import HoldfastError


async def confirmed(question: str, explanation: Markup | str, *, verb: str) -> bool:
    """Whether the viewer says yes. Escape and a click beside it mean no."""
    with ui.dialog() as dialog, ui.card().classes("ask").props('role="alertdialog"'):
        ui.label(question).classes("question")
        ui.html(str(explanation), sanitize=not isinstance(explanation, Markup))
        with ui.row().classes("answers"):
            ui.button("Go back", on_click=lambda: dialog.submit(False)).props("flat autofocus")
            ui.button(verb, on_click=lambda: dialog.submit(True)).props("unelevated color=primary")
    answer = await dialog
    dialog.delete()
    return bool(answer)


async def told(act: Callable[[], Awaitable[str | None]]) -> None:
    """Do it, and tell the viewer what came of it or why it could not be done. None: the viewer knows already."""
    try:
        came = await act()
        if came is not None:
            ui.notify(came, type="positive", timeout=6000)
    except HoldfastError as error:
        ui.notify(str(error), type="negative", timeout=0, close_button="Close", multi_line=True)


async def shown(title: str, content: Markup) -> None:
    """What the viewer should read before going on, until it is closed."""
    with ui.dialog() as dialog, ui.card().classes("ask"):
        ui.label(title).classes("question")
        ui.html(content, sanitize=False)
        with ui.row().classes("answers"):
            ui.button("Close", on_click=dialog.close).props("unelevated color=primary autofocus")
    await dialog
    dialog.delete()


def outcome(tally: Tally) -> str:
    """What became of the jobs, in words."""
    if not tally.counts:
        return "There was nothing to do."
    return ", ".join(f"{number:,} {result.replace('_', ' ')}" for result, number in tally.counts.items())
