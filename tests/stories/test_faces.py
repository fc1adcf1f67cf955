"""Stories and readings as people and programs reach them: by command line and over HTTP."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import KEY, content_policy, server_error, wrong_json
from tests.api.serving import Served, serving
from tests.cli.conftest import CommandLine
from tests.conftest import Clock
from tests.engine.isolated_traces import without_gaps
from tests.stories.newsroom import ARTICLE, TOLD, Newsroom, newsroom


@pytest.fixture
def command_line(room: Newsroom, dsn: str, tmp_path: Path, ready_holdfast: Path) -> CommandLine:
    settings = {
        "HOLDFAST_DATABASE_URL": dsn,
        "HOLDFAST_HOME": str(tmp_path),
        "HOLDFAST_PIPELINES": "",
        "HOLDFAST_LLM_BASE_URL": room.provider.base_url,
        "HOLDFAST_LLM_API_KEY": KEY,
        "HOLDFAST_LLM_MODEL": "stand-in",
    }
    return CommandLine(settings, tmp_path, (ready_holdfast,))


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


@pytest.mark.parametrize(("pipeline", "title"), [("stories", "Stories"), ("readings", "Readings")])
async def test_ingesting_names_what_shows_the_result(
    command_line: CommandLine, tmp_path: Path, pipeline: str, title: str
) -> None:
    (tmp_path / "article.json").write_text(json.dumps({"text": "Some.", "prompt": "Some."}))
    (tmp_path / "copy.json").write_text(json.dumps({"text": "Some.", "prompt": "Some."}))
    (tmp_path / "empty.json").write_text("{}")
    command = ("ingest", "article.json", "copy.json", "empty.json", "--pipeline", pipeline)
    summed_up = (await asyncio.to_thread(command_line.run, *command)).out
    [(document, shows)] = re.findall(rf"\n{title}\n  article.json · document (\d+)\n      holdfast (.+)\n", summed_up)
    assert shows == f"{pipeline} show {document}"
    assert len(re.findall(f"holdfast {pipeline} show", summed_up)) == 1
    await asyncio.to_thread(command_line.succeed, *shows.split())


async def test_model_without_a_price_is_named_wherever_money_is_spent(
    command_line: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "article.json").write_text(json.dumps(ARTICLE))
    for command in ("ingest article.json --pipeline stories", "doctor", "worker --drain --pipeline stories"):
        ran = await asyncio.to_thread(command_line.succeed, *command.split())
        assert 'price of "stand-in" is not known' in (ran.out + ran.err).replace('\\"', '"')
    priced = command_line.with_settings(HOLDFAST_PRICES='{"stand-in": {"input": 1, "output": 8}}')
    assert "price" not in (await asyncio.to_thread(priced.succeed, "doctor")).out
    again = json.dumps({**ARTICLE, "text": "Another text."})
    (tmp_path / "article.json").write_text(again)
    (summary,) = await _answers(priced, "ingest article.json --pipeline stories")
    assert without_gaps(summary["doubts"]) == []
    assert sum(row["cost_usd"] for row in summary["phases"]) == (100 * 1 + 10 * 8) / 1_000_000


# The same question on the command line and over HTTP.
FIVE_QUESTIONS = {
    "errors top": "top-failing",
    "errors": "errors",
    "errors recovery": "recovery",
    "errors repeat --times 1": "repeat-offenders?times=1",
    "errors refusals": "budget-refusals",
}


@pytest.mark.parametrize("face", ["command line", "HTTP"])
async def test_five_questions_are_answered_about_these_failures(
    room: Newsroom, command_line: CommandLine, clock: Clock, face: str, dsn: str, tmp_path: Path
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
    if face == "command line":
        answers = await _answers(command_line, *FIVE_QUESTIONS)
    else:
        async with serving(dsn, tmp_path, asks_for_keys=False) as api:
            asked = [await api.client.get(f"/v1/admin/{question}") for question in FIVE_QUESTIONS.values()]
        answers = [response.json() for response in asked]
    top, by_category, recovery, repeated, refusals = answers
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
    assert {(row["document_id"], row["times"]) for row in repeated} == {(1, 1), (2, 1)}
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
