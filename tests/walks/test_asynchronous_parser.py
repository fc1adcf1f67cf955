"""A parser that answers later, over HTTP both ways, while workers die: each document completes, and is parsed once."""

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.access.signatures import new_secret, sign
from holdfast.engine.doctor import examine
from holdfast.engine.queue import Queue, Submission, submit
from holdfast.testing import Call, Reply, StandIn
from tests.api.serving import Served, serving
from tests.walks.conftest import Walks
from tests.walks.parsing_process import pipeline

SECRET = new_secret()
TEXT = "The ferry leaves at noon."


class Parser(StandIn):
    """Takes orders with 202, knows a repeated one by its key, and calls back when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.orders: dict[str, str] = {}

    def _reply(self, call: Call) -> Reply:
        order = self.orders.setdefault(call.headers["idempotency-key"], f"order-{len(self.orders) + 1}")
        return Reply(202, json.dumps({"id": order}).encode())

    async def call_back(self, served: Served, order: str) -> str:
        """Say that it is done, and hear what became of that."""
        body = json.dumps({"reference": order, "outcome": "completed", "output": TEXT}).encode()
        headers = sign(f"message-of-{order}", int(time.time()), body, secrets=[SECRET])
        answered = await served.client.post("/v1/hooks/parser", content=body, headers=headers)
        assert answered.status_code == 202
        result: str = answered.json()["result"]
        return result


@pytest.fixture
async def parser() -> AsyncIterator[Parser]:
    async with Parser() as parser:
        yield parser


@pytest.fixture
async def served(dsn: str, tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(dsn, tmp_path, asks_for_keys=True, hook_secrets={"parser": SECRET}) as served:
        yield served


async def _submit(walks: Walks, parser: Parser) -> int:
    await Queue(walks.database).register([pipeline(parser.base_url)])
    (submitted,) = await submit(walks.database, "parsing", [Submission(organisation="acme", source_name="ferry.pdf")])
    return submitted.job_id


async def _has_the_text(walks: Walks, job_id: int) -> bool:
    return bool(
        await walks.database.fetchval(
            "select d.metadata ->> 'text' = $2 from holdfast.document d"
            " join holdfast.pipeline_job j on j.document_id = d.id where j.id = $1",
            job_id,
            TEXT,
        )
    )


async def test_worker_killed_while_the_parser_works_is_not_missed(walks: Walks, served: Served, parser: Parser) -> None:
    job_id = await _submit(walks, parser)
    doomed = await walks.start_parsing(parser.base_url)
    await walks.until_state(job_id, "held")
    await doomed.kill()
    assert await parser.call_back(served, "order-1") == "accepted"
    assert await parser.call_back(served, "order-1") == "already"
    await walks.start_parsing(parser.base_url)
    await walks.until_state(job_id, "done")
    assert await _has_the_text(walks, job_id)
    assert len(parser.calls) == 1
    assert await walks.outcomes(job_id) == [("parse", "released"), ("parse", "completed"), ("keep", "completed")]
    assert await examine(walks.database) == []


async def test_worker_killed_between_asking_and_settling_is_answered_all_the_same(
    walks: Walks, served: Served, parser: Parser
) -> None:
    job_id = await _submit(walks, parser)
    doomed = await walks.start_parsing(parser.base_url, dies_before_settle=True)
    await doomed.says("asked")
    assert await parser.call_back(served, "order-1") == "unknown"
    await doomed.kill()
    await walks.start_parsing(parser.base_url)
    await walks.lose(doomed)
    await walks.until_state(job_id, "done")
    assert await _has_the_text(walks, job_id)
    assert list(parser.orders.values()) == ["order-1"], "it was parsed, and paid, once"
    assert (await walks.outcomes(job_id))[:3] == [("parse", "lost"), ("parse", "released"), ("parse", "completed")]
    assert await parser.call_back(served, "order-1") == "already"
    assert await examine(walks.database) == []
