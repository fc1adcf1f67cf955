"""Jobs: every job there is, narrowed down, a page at a time; acts on those that are ticked or on all that match."""

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from holdfast.dashboard.acts import act_button, unless
from holdfast.dashboard.asking import told
from holdfast.dashboard.frame import framed, page
from holdfast.dashboard.jobs.acts import act_on_many
from holdfast.dashboard.jobs.filters import put_up_filters
from holdfast.dashboard.jobs.narrowing import Narrowing
from holdfast.dashboard.jobs.table import job_table
from holdfast.dashboard.live import Panel
from holdfast.dashboard.markup import Content, join, link, tag
from holdfast.dashboard.viewer import Viewer
from holdfast.dashboard.words import nothing_yet
from holdfast.engine.overview import Row
from holdfast.engine.selection import Selection
from holdfast.errors import UsageError

PAGE_JOBS = 50
REFRESH_SECONDS = 3.0


@page("/jobs", title="Jobs · Holdfast")
async def jobs(request: Request) -> None:
    """The page."""
    with framed(request, "/jobs") as viewer:
        look = _Look(viewer, Narrowing.from_query(request.query_params))
        pipelines = await viewer.shared.get(("pipelines", viewer.organisation), viewer.app.overview.pipelines)
        put_up_filters(look.narrowing, pipelines, is_operator=viewer.is_operator, on_change=look.narrow)
        await look.show()


class _Look:
    """What one viewer looks at: a page of jobs, and which of them are ticked."""

    def __init__(self, viewer: Viewer, narrowing: Narrowing) -> None:
        self.narrowing = narrowing
        self._viewer = viewer
        self._ticked: set[int] = set()
        self._on_page: set[int] = set()
        self._asking = False

    async def show(self) -> None:
        """Put the list up. Its newest page stays fresh, but never under the hands of someone who was asked."""
        self._panel = Panel(self._drawn).on_act(self._pressed)
        await self._panel.show(every=None)
        ui.timer(REFRESH_SECONDS, self._keep_fresh, immediate=False)

    async def narrow(self, name: str, value: str | None) -> None:
        """Look at other jobs; the address says which."""
        self.narrowing = self.narrowing.changed(name, value)
        self._ticked.clear()
        ui.navigate.history.replace(self.narrowing.address())
        await self._panel.refresh()

    async def _keep_fresh(self) -> None:
        if self.narrowing.cursor is None and not self._asking:
            await self._panel.refresh()

    async def _drawn(self) -> Markup:
        try:
            listed = await self._viewer.app.overview.jobs(
                limit=PAGE_JOBS, cursor=self.narrowing.cursor, **self.narrowing.filter()
            )
        except UsageError as error:
            return tag("p", str(error), class_="problem", role="alert")
        self._on_page = {job["job_id"] for job in listed["jobs"]}
        self._ticked &= self._on_page
        return join([self._acts(listed["jobs"]), self._list(listed["jobs"]), _ways(self.narrowing, listed["cursor"])])

    def _list(self, found: list[Row]) -> Markup:
        if found:
            return job_table(found, ticked=self._ticked, may_act=self._viewer.may_act)
        if self.narrowing.given() or self.narrowing.cursor:
            return nothing_yet("No job is like that.", link("/jobs", "Show all jobs"))
        return nothing_yet("There is no job yet.", "Take documents in: ", tag("code", "holdfast ingest FOLDER"))

    def _acts(self, found: list[Row]) -> Content:
        if not found:
            return None
        number = len(self._ticked)
        whom = f"{number} ticked:" if number else "All that match:"
        buttons = [
            act_button(act.capitalize(), act, disabled_because=unless(self._viewer.may_act), grave=act != "retry")
            for act in ("retry", "cancel", "reset")
        ]
        return tag("div", tag("span", whom, class_="faint"), buttons, class_="many")

    async def _pressed(self, button: dict[str, str]) -> None:
        if button["act"] == "tick":
            self._tick(button["job"])
        else:
            await self._act(button["act"])
        await self._panel.refresh()

    def _tick(self, job: str) -> None:
        if job == "all":
            self._ticked = set() if self._ticked == self._on_page else set(self._on_page)
        else:
            self._ticked ^= {int(job)} & self._on_page

    async def _act(self, name: str) -> None:
        chosen = Selection(ids=tuple(sorted(self._ticked))) if self._ticked else self.narrowing.selection()
        self._asking = True
        try:
            await told(lambda: act_on_many(self._viewer, name, chosen))
            self._ticked.clear()
        finally:
            self._asking = False


def _ways(narrowing: Narrowing, cursor: str | None) -> Markup:
    newest = link(narrowing.at(None).address(), "Newest") if narrowing.cursor else None
    older = link(narrowing.at(cursor).address(), "Older", rel="next") if cursor else None
    return tag("nav", newest, older, class_="ways", aria_label="Pages of jobs")
