"""Job: the whole life of one document on its way, what it became, and what can be done about it."""

from collections.abc import Awaitable
from typing import TypeVar

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from holdfast.api.jobs import Id
from holdfast.dashboard.asking import told
from holdfast.dashboard.frame import framed, page
from holdfast.dashboard.jobs.acts import act_on_many, delete_document, retry_from
from holdfast.dashboard.jobs.content import files_markup, passages_markup
from holdfast.dashboard.jobs.family import acts_markup, family, warnings_markup
from holdfast.dashboard.jobs.head import head
from holdfast.dashboard.jobs.timeline import timeline
from holdfast.dashboard.live import Panel
from holdfast.dashboard.markup import Content, join
from holdfast.dashboard.viewer import Viewer
from holdfast.engine.overview import Row
from holdfast.engine.selection import Selection
from holdfast.errors import NotFound, StorageUnavailable

ACTS_SHOWN = 50
PASSAGES_SHOWN = 10
TEXT_BYTES = 20_000
SLOW_SECONDS = 5.0

T = TypeVar("T")


@page("/jobs/{job_id}")
async def job(request: Request, job_id: Id, passage: int = 0) -> None:
    """The page."""
    ui.page_title(f"Job {job_id} · Holdfast")
    with framed(request, "/jobs", heading=f"Job {job_id}") as viewer:
        look = _Look(viewer, job_id, first_passage=max(0, passage))
        await Panel(look.life).on_act(look.pressed).show()
        await Panel(look.belongings).show(every=SLOW_SECONDS)


class _Look:
    """One job, as one viewer sees it."""

    def __init__(self, viewer: Viewer, job_id: int, *, first_passage: int) -> None:
        self._viewer = viewer
        self._job_id = job_id
        self._first_passage = first_passage

    async def life(self) -> Markup:
        """Where it stands, and how it came there."""
        found, overview = await self._job(), self._viewer.app.overview
        pipelines = await self._viewer.shared.get(("pipelines", self._viewer.organisation), overview.pipelines)
        phases: list[Row] = next((one["phases"] for one in pipelines if one["name"] == found["pipeline"]), [])
        may_act = self._viewer.may_act
        drawn = timeline(found, phases, may_act=may_act, tracebacks=self._viewer.is_operator)
        return join([head(found, may_act=may_act), drawn, acts_markup(await overview.audit(ACTS_SHOWN, self._job_id))])

    async def belongings(self) -> Markup:
        """What it belongs with and what became of its document."""
        document = (await self._job())["document"]
        warnings = await self._viewer.app.warnings([document["document_id"]])
        content = None if document["deleted_at"] else await self._content(document["document_id"])
        return join([warnings_markup(warnings), await self._family(document), content])

    async def pressed(self, button: dict[str, str]) -> None:
        """Do what a button says, once confirmed."""
        match button["act"]:
            case "retry-from":
                await told(lambda: retry_from(self._viewer, self._job_id, button["phase"]))
            case "delete":
                await told(self._delete)
            case name:
                await told(lambda: act_on_many(self._viewer, name, Selection(ids=(self._job_id,))))

    async def _job(self) -> Row:
        key = ("job", self._viewer.organisation, self._job_id)
        return await self._viewer.shared.get(key, lambda: self._viewer.app.overview.job(self._job_id))

    async def _delete(self) -> None:
        document = (await self._job())["document"]
        await delete_document(self._viewer, document["document_id"], document["source_name"])

    async def _family(self, document: Row) -> Markup:
        overview = self._viewer.app.overview
        own = (await overview.pipeline_of(document["document_id"]))["jobs"]
        parent = document["parent_id"]
        parents = (await overview.pipeline_of(parent))["jobs"] if parent else []
        own_ids = {one["job_id"] for one in own}
        key = ("family", self._viewer.organisation, self._job_id)
        related = await self._viewer.shared.get(key, lambda: overview.family([self._job_id]), seconds=SLOW_SECONDS)
        parts = [one for one in related if one["job_id"] not in own_ids]
        return family([one for one in own if one["job_id"] != self._job_id], parents, parts)

    async def _content(self, document_id: int) -> Content:
        app, first = self._viewer.app, self._first_passage
        passages = await app.passages(document_id, first=first, limit=PASSAGES_SHOWN)
        known = await app.knowledge([document_id])
        drawn = passages_markup(self._job_id, passages, first=first, limit=PASSAGES_SHOWN, chunks=known.chunks)
        return [await self._files(document_id), drawn]

    async def _files(self, document_id: int) -> Content:
        app = self._viewer.app
        original, text = await _if_there(app.original(document_id)), await _if_there(app.text(document_id))
        beginning = await _if_there(text.beginning(TEXT_BYTES)) if text else None
        return files_markup(document_id, original, text, (beginning or b"").decode("utf-8", "ignore"))


async def _if_there(asked: Awaitable[T]) -> T | None:
    """None for what is not made yet, or cannot be had now: the rest of the page can be read without it."""
    try:
        return await asked
    except (NotFound, StorageUnavailable):
        return None
