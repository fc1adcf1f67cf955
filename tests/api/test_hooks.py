"""Providers call back: what they signed is taken once; what is forged, stale or malformed changes nothing."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from holdfast.access.signatures import new_secret, sign
from holdfast.api.hooks import Signers
from holdfast.engine.answer import Answer
from holdfast.engine.doctor import examine
from holdfast.engine.pipeline import Awaits
from holdfast.errors import InvalidInput
from holdfast.settings import Settings
from tests.api.serving import Served, problem, serving
from tests.engine.scenario import Scenario, begin, plain

SECRET, OTHER_SECRET, NEXT_SECRET = new_secret(), new_secret(), new_secret()
SECRETS = {"parser": [SECRET, NEXT_SECRET], "scanner": OTHER_SECRET}
TEXT = {"reference": "order-1", "outcome": "completed", "output": {"text": "hello"}}


@pytest.fixture
async def served(dsn: str, tmp_path: Path) -> AsyncIterator[Served]:
    """The API as it is once there are keys."""
    async with serving(dsn, tmp_path, asks_for_keys=True, hook_secrets=SECRETS) as served:
        yield served


@pytest.fixture
async def waiting(served: Served) -> Scenario:
    """A job that waits for the parser's answer to order-1."""
    scenario = await begin(served.app.database, plain("parse", name="parsing"))
    await scenario.submit()
    await scenario.queue.await_answers([(await scenario.claim_one("parse"), Awaits("parser", "order-1", 3600))])
    return scenario


async def call(
    served: Served,
    message: object = TEXT,
    *,
    provider: str = "parser",
    message_id: str = "message-1",
    secret: str = SECRET,
    age_seconds: int = 0,
) -> httpx2.Response:
    """Send a signed message; bytes as they are."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    headers = sign(message_id, int(time.time()) - age_seconds, body, secrets=[secret])
    return await served.client.post(f"/v1/hooks/{provider}", content=body, headers=headers)


async def test_signed_answer_is_taken_without_a_key_and_moves_the_job(served: Served, waiting: Scenario) -> None:
    answered = await call(served)
    assert (answered.status_code, answered.json()) == (202, {"result": "accepted"})
    attempt = await waiting.claim_one("parse")
    assert attempt.answer == Answer("completed", {"text": "hello"})
    assert await examine(served.app.database) == []


async def test_failure_reaches_the_phase_with_what_the_provider_says(served: Served, waiting: Scenario) -> None:
    error = {"category": "encrypted", "message": "it needs a password"}
    assert (await call(served, {"reference": "order-1", "outcome": "failed", "error": error})).status_code == 202
    assert (await waiting.claim_one("parse")).answer == Answer("failed", error)


async def test_repeated_and_second_answers_are_told_that_one_came(served: Served, waiting: Scenario) -> None:
    await call(served)
    for message_id in ("message-1", "message-2"):
        again = await call(served, message_id=message_id)
        assert (again.status_code, again.json()) == (202, {"result": "already"})
    assert await served.count("awaited_answer") == 1


async def test_answer_to_nothing_that_was_asked_yet_is_kept(served: Served) -> None:
    early = await call(served)
    assert (early.status_code, early.json()) == (202, {"result": "unknown"})


async def test_either_secret_is_good_while_one_replaces_the_other(served: Served, waiting: Scenario) -> None:
    assert (await call(served, secret=NEXT_SECRET)).json() == {"result": "accepted"}


async def test_forged_stale_and_unknown_are_refused_alike(served: Served, waiting: Scenario) -> None:
    body = json.dumps(TEXT).encode()
    signed = sign("message-1", int(time.time()), body, secrets=[SECRET])

    async def post(headers: dict[str, str], content: bytes = body) -> httpx2.Response:
        return await served.client.post("/v1/hooks/parser", content=content, headers=headers)

    refused = [
        await call(served, secret=OTHER_SECRET),
        await call(served, provider="nobody"),
        await call(served, provider="scanner"),
        await call(served, age_seconds=301),
        await call(served, age_seconds=-400),  # a second too early would be in time when it arrives a second later
        await call(served, message_id="m" * 256),
        await post({}),
        await post(signed, body.replace(b"hello", b"hallo")),
        await post({**signed, "webhook-id": "message-2"}),
        await post({**signed, "webhook-timestamp": str(int(signed["webhook-timestamp"]) + 1)}),
    ]
    assert {problem(one, 401) for one in refused} == {"unauthorised"}
    assert len({one.text for one in refused}) == 1
    assert await waiting.states() == {"held": 1}
    assert await served.app.database.fetchval("select answered_at from holdfast.awaited_answer") is None


MALFORMED: dict[str, object] = {
    "empty": b"",
    "no text": b"\xff",
    "cut off": b"[1, 2",
    "no object": [],
    "no outcome": {"reference": "order-1"},
    "no reference": {**TEXT, "reference": ""},
    "long reference": {**TEXT, "reference": "r" * 256},
    "NUL in the reference": {**TEXT, "reference": "order\0"},
    "another outcome": {**TEXT, "outcome": "maybe"},
    "NUL in the output": {**TEXT, "output": "a\0b"},
    "no number": b'{"reference": "order-1", "outcome": "completed", "output": NaN}',
    "infinite": b'{"reference": "order-1", "outcome": "completed", "output": 1e999}',
    "deep": b'{"reference": "order-1", "outcome": "completed", "output": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
}


@pytest.mark.parametrize("message", MALFORMED.values(), ids=MALFORMED.keys())
async def test_malformed_message_is_refused_and_the_next_one_counts(
    served: Served, waiting: Scenario, message: Any
) -> None:
    assert problem(await call(served, message), 422) == "invalid_input"
    assert (await call(served)).json() == {"result": "accepted"}


async def test_largest_answer_is_taken_and_a_larger_one_refused(served: Served, waiting: Scenario) -> None:
    assert problem(await call(served, {**TEXT, "output": "a" * (1 << 20)}), 413) == "too_large"
    assert (await call(served, {**TEXT, "output": [1] * 300_000, "besides": "ignored"})).json() == {
        "result": "accepted"
    }


async def test_late_answer_is_told_so(served: Served, waiting: Scenario) -> None:
    await served.app.database.execute("select holdfast.cancel(array(select id from holdfast.pipeline_job))")
    late = await call(served)
    assert (late.status_code, late.json()) == (202, {"result": "late"})


async def test_provider_has_its_share_of_calls_and_forgers_do_not_use_it_up(dsn: str, tmp_path: Path) -> None:
    async with serving(dsn, tmp_path, asks_for_keys=True, hook_secrets=SECRETS, api_calls_per_minute=2) as served:
        for _ in range(3):
            assert (await call(served, secret=NEXT_SECRET[:-4] + "AAA=")).status_code == 401
        assert [(await call(served)).status_code for _ in range(3)] == [202, 202, 429]
        assert (await call(served, provider="scanner", secret=OTHER_SECRET)).status_code == 202


async def test_too_many_answers_nobody_asked_for_are_sent_again_later(served: Served) -> None:
    await served.app.database.execute(
        "select holdfast.answer('parser', 'm' || n, 'r' || n, 'completed', 'null') from generate_series(1, 1000) n"
    )
    full = await call(served)
    assert problem(full, 503) == "too_many_unasked"
    assert full.headers["retry-after"] == "60"


async def test_of_two_servers_that_get_the_same_message_one_accepts_it(
    dsn: str, tmp_path: Path, served: Served, waiting: Scenario
) -> None:
    async with serving(dsn, tmp_path, asks_for_keys=True, hook_secrets=SECRETS) as other:
        answers = await asyncio.gather(*(call(one) for one in [served, other] * 4))
    assert sorted(one.json()["result"] for one in answers) == ["accepted", *["already"] * 7]
    assert await waiting.states() == {"queued": 1}


def test_what_cannot_be_a_secret_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidInput, match='"parser"') as refused:
        Signers.of(Settings(hook_secrets={"parser": "whsec_c2hvcnQ="}))
    assert "c2hvcnQ" not in str(refused.value)
