"""Each category of failure as a provider really answers it, through a worker: who is charged, how often, how long."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.testing import (
    HANG,
    RESET,
    TRUNCATED,
    Turn,
    budget_exceeded,
    content_policy,
    context_length,
    rate_limited,
    refusal,
    server_error,
    wrong_json,
)
from tests.conftest import Clock
from tests.stories.newsroom import TOLD, Newsroom, newsroom

JOB_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """What a provider answers, and a row of the table of categories."""

    turn: Turn
    category: str
    document_limit: int
    hours: int | None


TABLE = {
    "429": Row(rate_limited(), "rate_limit", 5, 24),
    "503": Row(server_error(503), "network_timeout", 5, 12),
    "reset": Row(RESET, "network_timeout", 5, 12),
    "other_json": Row(wrong_json(), "json_parse", 3, 12),
    "no_json": Row(wrong_json("Once upon a time"), "json_parse", 3, 12),
    "torn_json": Row(TRUNCATED, "json_parse", 3, 12),
    "policy_code": Row(content_policy(), "content_policy", 1, None),
    "length_code": Row(context_length(), "token_limit", 1, None),
    "odd_code": Row(refusal(400, "odd_code"), "unknown", 5, 12),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
async def test_document_fails_as_its_row_says_and_is_then_permanent(room: Newsroom, clock: Clock, row: Row) -> None:
    room.provider.refuses = lambda _: row.turn
    taken = await room.take_in()
    job_id = taken.job_id
    for failed in range(1, row.document_limit + 1):
        await room.work()
        job, document = await room.job(job_id), await room.document(taken.document_id)
        assert (job["last_error"]["category"], job["last_error"]["component"]) == (row.category, "enrichment")
        assert (document["failure_count"], document["failures"]) == (failed, {row.category: failed})
        last = failed == row.document_limit
        assert document["failure_state"] == ("permanent_failure" if last else "pending")
        assert _hours_until(job["ready_at"], job["last_error"]["failed_at"]) == (
            None if last or failed % JOB_ATTEMPTS == 0 else row.hours
        )
        await clock.advance(hours=row.hours or 0, minutes=1)
        if job["state"] == "deadletter" and not last:
            job_id = (await room.again(document["id"])).job_id
    assert job["state"] == ("failed" if row.hours is None else "deadletter")
    assert len(room.provider.calls) == row.document_limit


@pytest.mark.parametrize("hours", [11, 13])
async def test_document_is_not_tried_before_its_cool_down_is_over(room: Newsroom, clock: Clock, hours: int) -> None:
    room.provider.script(server_error())
    await room.take_in()
    await room.work()
    await clock.advance(hours=hours)
    await room.work()
    assert len(room.provider.calls) == (2 if hours > 12 else 1)


async def test_provider_that_does_not_answer_is_a_network_timeout(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.assembly._LLM_SECONDS", 0.3)
    async with newsroom(dsn, tmp_path, "stories") as room:
        room.provider.script(HANG)
        taken = await room.take_in()
        await room.work()
        assert (await room.job(taken.job_id))["last_error"]["category"] == "network_timeout"


async def test_429_with_retry_after_holds_the_provider_and_charges_nobody(room: Newsroom, clock: Clock) -> None:
    room.provider.script(rate_limited(retry_after=60))
    taken = await room.take_in()
    await room.work()
    job, document = await room.job(taken.job_id), await room.document(taken.document_id)
    assert (job["state"], job["retry_count"], document["failure_count"]) == ("held", 0, 0)
    await clock.advance(seconds=61)
    await room.work()
    assert (await room.job(taken.job_id))["state"] == "done"


async def test_provider_whose_budget_is_spent_is_asked_again_the_next_day_at_no_charge(
    room: Newsroom, clock: Clock
) -> None:
    room.provider.script(budget_exceeded(), budget_exceeded())
    taken = await room.take_in()
    for _ in range(2):
        await room.work()
        job, document = await room.job(taken.job_id), await room.document(taken.document_id)
        assert (job["state"], job["retry_count"], job["last_error"]["category"]) == ("held", 0, "budget_exceeded")
        assert (document["failure_state"], document["failure_count"]) == (None, 0)
        await clock.advance(days=1)
    await room.work()
    assert (await room.job(taken.job_id))["state"] == "done"


async def test_success_clears_what_was_counted(room: Newsroom, clock: Clock) -> None:
    room.provider.script(server_error(), wrong_json())
    taken = await room.take_in()
    for _ in range(3):
        await room.work()
        await clock.advance(hours=13)
    job, document = await room.job(taken.job_id), await room.document(taken.document_id)
    assert (job["state"], job["retry_count"], job["last_error"]) == ("done", 0, None)
    cleared = ("failure_state", "failure_count", "failures", "last_failure", "cool_down_until")
    assert [document[column] for column in cleared] == ["success", 0, {}, None, None]
    assert (await room.app.story(document["id"])).summary_neutral == TOLD["summary_neutral"]


def _hours_until(ready_at: datetime | None, failed_at: str) -> int | None:
    if ready_at is None:
        return None
    return round((ready_at - datetime.fromisoformat(failed_at).astimezone(UTC)) / timedelta(hours=1))
