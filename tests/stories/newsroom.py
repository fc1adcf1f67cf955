"""Holdfast with a language model that is a stand-in: articles and prompts go in, a worker runs, and one looks."""

import io
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.app import App, open_app
from holdfast.engine.pipeline import Pipeline
from holdfast.engine.queue import Submission, Submitted, submit
from holdfast.engine.worker import Worker
from holdfast.intake.found import Found
from holdfast.intake.intake import Taken
from holdfast.settings import Settings
from holdfast.testing import KEY, Call, StandIn
from tests.engine.working import QUICK

ARTICLE = {
    "title": "Gate opens",
    "text": "The Harbour Office opened the tidal gate. The Harbour Office is glad.",
    "url": "https://example.org/gate",
    "published_at": "2026-05-01T08:00:00Z",
}
TOLD = {
    "summary_neutral": "The Harbour Office opened the tidal gate.",
    "summary_spicy": "At last somebody found the key to the tidal gate.",
    "category": "society",
    "severity": 2,
    "primary_actor": "Harbour Office",
    "top_entities": ["Harbour Office", "tidal gate"],
    "entity_counter": [{"name": "Harbour Office", "count": 2}, {"name": "tidal gate", "count": 1}],
}


@dataclass(frozen=True, slots=True)
class Newsroom:
    """One pipeline of an open Holdfast, and the provider that its model is."""

    app: App
    provider: StandIn
    pipeline: Pipeline

    async def take_in(
        self, content: Mapping[str, Any] | str = ARTICLE, *, name: str | None = None, **place: Any
    ) -> Taken:
        """Take a document in as `holdfast ingest` and an upload do."""
        is_text = isinstance(content, str)
        body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        organisation = place.pop("organisation", "acme")
        found = Found(
            name=name or ("article.txt" if is_text else "article.json"),
            platform="upload",
            content=io.BytesIO(body),
            **place,
        )
        intake = self.app.intake(self.pipeline.name)
        (taken,) = [taken async for taken in intake.take_in([found], organisation=organisation)]
        return taken

    async def again(self, document_id: int) -> Submitted:
        """Another job for a document; while one is under way, that one."""
        first = await self.app.database.fetchval(
            "select input from holdfast.pipeline_phase where document_id = $1 order by id limit 1", document_id
        )
        item = Submission(organisation="acme", document_id=document_id, input=first)
        (submitted,) = await submit(self.app.database, self.pipeline.name, [item])
        return submitted

    async def work(self) -> None:
        """Run what can run now."""
        await Worker(self.app.database, [self.pipeline], pace=QUICK).run(until_idle=True)

    async def job(self, job_id: int | None) -> dict[str, Any]:
        row = await self.app.database.fetchrow("select * from holdfast.pipeline_job where id = $1", job_id)
        assert row is not None
        return dict(row)

    async def document(self, document_id: int | None) -> dict[str, Any]:
        row = await self.app.database.fetchrow("select * from holdfast.document where id = $1", document_id)
        assert row is not None
        return dict(row)

    async def entities(self, organisation: str = "acme") -> dict[str, tuple[int, int]]:
        """How many stories and mentions each entity has."""
        counts = await self.app.story_entities(organisation, limit=100)
        return {one.name: (one.stories, one.mentions) for one in counts}


@asynccontextmanager
async def newsroom(dsn: str, home: Path, pipeline: str, **settings: Any) -> AsyncIterator[Newsroom]:
    """Open it with a stand-in that tells every article's story the same way."""
    async with StandIn() as provider:
        provider.says = lambda call: json.dumps(TOLD) if "response_format" in call.json else "Once upon a time."
        model = {"llm_base_url": provider.base_url, "llm_api_key": KEY, "llm_model": "stand-in"}
        async with open_app(Settings(database_url=dsn, home=home, **{**model, **settings})) as app:
            await app.register()
            (chosen,) = [one for one in app.pipelines if one.name == pipeline]
            yield Newsroom(app, provider, chosen)


def asked(call: Call) -> str:
    """The material that a call shows the model."""
    return str(call.json["messages"][-1]["content"])
