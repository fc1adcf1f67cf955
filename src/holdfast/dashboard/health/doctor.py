"""The doctor on a page: comes only when called, because it reads whole tables."""

from markupsafe import Markup
from nicegui import ui

from holdfast.dashboard.asking import confirmed, told
from holdfast.dashboard.health.upkeep import verdict
from holdfast.dashboard.live import Panel
from holdfast.dashboard.markup import tag
from holdfast.dashboard.viewer import Viewer
from holdfast.dashboard.words import count

WHAT_FOR = tag("p", "Proves that the records hold every invariant. It reads whole tables.", class_="note")


class Doctor:
    """A button that examines, the verdict, and a way to repair what needs no judgement."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        ui.html(tag("h2", "Doctor"), sanitize=False)
        self._verdict = Panel(self._examined).on_act(self._repair)
        self._verdict.element.set_content(WHAT_FOR)
        self._call = ui.button("Examine now", on_click=self._examine).props("outline color=primary")

    async def _examine(self) -> None:
        self._call.props("loading")
        try:
            await self._verdict.refresh()
        finally:
            self._call.props(remove="loading")

    async def _examined(self) -> Markup:
        return verdict(await self._viewer.app.examine(), allowed=self._viewer.may_act)

    async def _repair(self, _: dict[str, str]) -> None:
        explanation = "Only what needs no judgement is changed, row by row, under lock; every change is audited."
        if self._viewer.may_act and await confirmed("Repair what can be repaired?", explanation, verb="Repair"):
            await told(self._mended)

    async def _mended(self) -> str:
        repairs = await self._viewer.app.repair(self._viewer.call.name)
        await self._verdict.refresh()
        return f"{count(sum(len(one.ids) for one in repairs))} records were mended."
