"""Stories and readings as people and programs reach them: by command line and over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import KEY, content_policy, server_error, wrong_json
from tests.api.serving import Served, serving
from tests.cli.conftest import CommandLine
from tests.conftest import Clock
from tests.stories.newsroom import ARTICLE, TOLD, Newsroom, newsroom


@pytest.fixture
def command_line(room: Newsroom, dsn: str, tmp_path: Path) -> CommandLine:
    settings = {
        "HOLDFAST_DATABASE_URL": dsn,
        "HOLDFAST_HOME": str(tmp_path),
        "HOLDFAST_PIPELINES": "",
        "HOLDFAST_LLM_BASE_URL": room.provider.base_url,
        "HOLDFAST_LLM_API_KEY": KEY,
        "HOLDFAST_LLM_MODEL": "stand-in",
    }
    return CommandLine(settings, tmp_path)


async def _answers(command_line: CommandLine, *questions: str) -> list[Any]:
    runs = (asyncio.to_thread(command_line.succeed, *question.split(), "--json") for question in questions)
    return [result.json for result in await asyncio.gather(*runs)]


async def test_article_is_ingested_and_its_story_shown(
    room: Newsroom, command_line: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "article.json").write_text(json.dumps(ARTICLE))
    (summary,) = await _answers(command_line, "ingest article.json --pipeline stories --org acme")
    assert summary["states"] == {"done": 1}
    shown = await asyncio.to_thread(command_line.succeed, "stories", "show", "1")
    assert TOLD["summary_spicy"] in shown.out
    assert "Harbour Office (2), tidal gate (1)" in shown.out
    (entities,) = await _answers(command_line, "stories entities --org acme")
    assert entities[0] == {"name": "Harbour Office", "stories": 1, "mentions": 2}


async def test_five_questions_are_answered_about_these_failures(
    room: Newsroom, command_line: CommandLine, clock: Clock
) -> None:
    room.provider.script(content_policy(), server_error(), wrong_json())
    for text in ("Refused.", "Twice torn."):
        await room.take_in({"text": text})
        await room.work()
    await clock.advance(hours=13)
    await room.work()  # the second one's answer is no JSON now
    await clock.advance(hours=13)
    await room.work()  # and then it succeeds
    await room.app.control("tester").set_budget("stories", await _spent(room))
    await room.take_in({"text": "Too expensive today."})
    await room.work()
    top, by_category, recovery, repeated, refusals = await _answers(
        command_line, "errors top", "errors", "errors recovery", "errors repeat --times 1", "errors refusals"
    )
    assert [(row["document_id"], row["errors"]) for row in top] == [(2, 2), (1, 1)]
    assert {row["key"]: (row["errors"], row["charged"]) for row in by_category} == {
        "content_policy": (1, 1),
        "network_timeout": (1, 1),
        "json_parse": (1, 1),
        "budget_exceeded": (1, 0),
    }
    assert {row["category"]: (row["retries"], row["recovered"]) for row in recovery} == {
        "network_timeout": (1, 0),
        "json_parse": (1, 1),
    }
    assert {row["document_id"] for row in repeated} == {1, 2}
    assert [(row["name"], row["refusals"]) for row in refusals] == [("stories", 1)]


async def _spent(room: Newsroom) -> Any:
    rows = await room.app.overview.budgets()
    return next(row["spent_usd"] for row in rows if row["name"] == "stories")


@pytest.fixture
async def served(dsn: str, tmp_path: Path) -> AsyncIterator[tuple[Served, Newsroom]]:
    async with newsroom(dsn, tmp_path, "stories") as room:
        model = {"llm_base_url": room.provider.base_url, "llm_api_key": KEY, "llm_model": "stand-in"}
        async with serving(dsn, tmp_path, asks_for_keys=True, **model) as api:
            yield api, room


async def test_uploaded_article_is_told_to_its_owner_and_to_nobody_else(served: tuple[Served, Newsroom]) -> None:
    api, room = served
    ours, theirs = await api.key("acme"), await api.key("other")
    sent = await api.upload(json.dumps(ARTICLE).encode(), name="a.json", pipeline="stories", headers=ours)
    assert sent.status_code == 202, sent.text
    await room.work()
    address = f"/v1/stories/{sent.json()['document_id']}"
    story = (await api.client.get(address, headers=ours)).json()
    assert story["entity_counter"] == {"Harbour Office": 2, "tidal gate": 1}
    entities = (await api.client.get("/v1/stories/entities", headers=ours)).json()
    assert entities[0] == {"name": "Harbour Office", "stories": 1, "mentions": 2}
    assert (await api.client.get(address, headers=theirs)).status_code == 404
    assert (await api.client.get("/v1/stories/entities", headers=theirs)).json() == []


async def test_upload_into_a_pipeline_that_lacks_its_model_is_told_the_settings(dsn: str, tmp_path: Path) -> None:
    async with serving(dsn, tmp_path, asks_for_keys=False) as api:
        refused = await api.upload(b"Some words.", pipeline="stories")
    assert refused.status_code == 422
    assert "HOLDFAST_LLM_MODEL" in refused.json()["detail"]
