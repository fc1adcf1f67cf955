"""Texts generated from prompts: one phase with a limit, three retries, and an end that says why."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from holdfast.db.connection import Database
from holdfast.engine.pipeline import Pipeline
from holdfast.engine.policy import Policy
from holdfast.engine.queue import Lane, Queue, Submission, submit
from holdfast.engine.selection import Selection
from holdfast.engine.worker import Worker
from holdfast.errors import NotFound
from holdfast.intake.intake import Taken
from holdfast.testing import HANG, server_error
from tests.conftest import Clock
from tests.engine.working import QUICK, all_final, running, until
from tests.stories.newsroom import Newsroom, asked

PROMPT = {"prompt": "A poem about the tidal gate", "instructions": "In four lines."}
SLOTS = 80
# The clock of the database runs ahead of the worker, which must not count as lost for that.
LEASE_SECONDS = 300
NEVER_LOST = replace(QUICK, lease_seconds=LEASE_SECONDS)
AT_ONCE = Policy.retrying("generation_at_once", (0, 0, 0))


async def test_prompt_becomes_a_text(room: Newsroom) -> None:
    taken = await room.take_in(PROMPT)
    await room.work()
    assert (await room.app.reading(taken.document_id or 0)).text == "Once upon a time."
    job = await room.job(taken.job_id)
    assert (job["state"], job["status"], job["total_cost_usd"] > 0) == ("done", "generated", True)
    call = room.provider.calls[0]
    assert PROMPT["prompt"] in asked(call)
    assert PROMPT["instructions"] in call.json["messages"][0]["content"]


async def test_prompt_may_be_plain_text_or_the_very_input_of_a_job(room: Newsroom) -> None:
    await room.take_in("A poem in plain text")
    item = Submission(organisation="acme", input={"prompt": "A poem by SQL"})
    await submit(room.app.database, "readings", [item])
    await room.work()
    shown = " ".join(asked(call) for call in room.provider.calls)
    assert all(prompt in shown for prompt in ("A poem in plain text", "A poem by SQL"))
    assert await room.app.database.fetchval("select count(*) from holdfast.reading") == 2


async def test_phase_has_two_minutes_and_three_retries(room: Newsroom, clock: Clock) -> None:
    room.provider.refuses = lambda _: server_error()
    taken = await room.take_in(PROMPT)
    seen = []
    for _ in range(3):
        await room.work()  # the first retry comes at once
        job = await room.job(taken.job_id)
        seen.append((job["state"], job["retry_count"], len(room.provider.calls)))
        await clock.advance(seconds=121)
    assert seen == [("failed", 2, 2), ("failed", 3, 3), ("deadletter", 3, 4)]
    (phase,) = room.pipeline.phases
    assert (phase.name, phase.limit_seconds, job["max_retries"]) == ("generating", 120, 3)


async def test_text_that_could_not_be_stored_is_not_paid_for_again(room: Newsroom, clock: Clock) -> None:
    taken = await _paid_but_not_stored(room)
    await clock.advance(seconds=61)
    await room.work()
    assert (await room.app.reading(taken.document_id or 0)).text
    assert len(room.provider.calls) == 1


async def test_text_that_is_reset_is_written_anew(room: Newsroom) -> None:
    taken = await _paid_but_not_stored(room)
    await room.app.control("tester").reset(Selection(ids=(taken.job_id or 0,)))
    await room.work()
    assert (await room.app.reading(taken.document_id or 0)).text
    assert len(room.provider.calls) == 2


async def _paid_but_not_stored(room: Newsroom) -> Taken:
    await room.app.database.execute("alter table holdfast.reading add constraint nothing_fits check (false) not valid")
    taken = await room.take_in(PROMPT)
    await room.work()
    assert ((await room.job(taken.job_id))["state"], len(room.provider.calls)) == ("failed", 1)
    await room.app.database.execute("alter table holdfast.reading drop constraint nothing_fits")
    return taken


async def test_reading_can_be_cancelled_while_it_is_generated(room: Newsroom) -> None:
    room.provider.script(HANG)
    taken = await room.take_in(PROMPT)
    async with running(room.app.database, room.pipeline):
        await until(lambda: _asked_once(room))
        await room.app.control("tester").cancel(Selection(ids=(taken.job_id or 0,)))
        other = await room.take_in("Another one")
        await until(lambda: _is(room, other.job_id, "done"))
    assert (await room.job(taken.job_id))["state"] == "cancelled"
    with pytest.raises(NotFound):
        await room.app.reading(taken.document_id or 0)


async def _asked_once(room: Newsroom) -> bool:
    return len(room.provider.calls) == 1


async def _is(room: Newsroom, job_id: int | None, state: str) -> bool:
    return bool((await room.job(job_id))["state"] == state)


async def test_plain_sql_ends_what_hangs_as_the_worker_does(room: Newsroom, clock: Clock) -> None:
    room.provider.refuses = lambda _: HANG
    by_sql = await _hung_until_sql_looked(room, clock)
    by_worker = await _hung_in_a_worker(room, clock)
    assert by_sql == by_worker
    threshold = {"threshold_seconds": 1, "cost_is_known": False}
    assert by_sql == [("timeout", "TIMEOUT", threshold)] * 3 + [("failed", "TIMEOUT_MAX_RETRIES", threshold)]


async def _hung_until_sql_looked(room: Newsroom, clock: Clock) -> list[Any]:
    queue, taken = Queue(room.app.database), await room.take_in({"prompt": "By SQL"})
    await queue.register([_hurried(room.pipeline)])
    await queue.register_worker("elsewhere", host="test", pid=1, lanes=[])
    for _ in range(4):
        assert await queue.claim("elsewhere", [Lane("readings", "generating", 1)])
        await clock.advance(seconds=2)
        ended = await room.app.database.fetchrow("select * from holdfast.check_timeouts()")
        assert ended is not None
        assert (ended["updated_count"], ended["updated_jobs"]) == (1, [taken.job_id])
    return await _endings(room, taken)


async def _hung_in_a_worker(room: Newsroom, clock: Clock) -> list[Any]:
    taken = await room.take_in({"prompt": "By a worker"})
    await Worker(room.app.database, [_hurried(room.pipeline)], pace=QUICK).run(until_idle=True)
    return await _endings(room, taken)


async def _endings(room: Newsroom, taken: Taken) -> list[Any]:
    rows = await room.app.database.fetch(
        "select outcome, error from holdfast.pipeline_phase where job_id = $1 order by token", taken.job_id
    )
    return [(row["outcome"], row["error"]["error_code"], row["error"]["details"]) for row in rows]


def _hurried(pipeline: Pipeline, **changed: Any) -> Pipeline:
    """The same with a limit that a test can wait for, and retries that do not wait."""
    (phase,) = pipeline.phases
    return replace(pipeline, version=2, phases=(replace(phase, **{"limit_seconds": 1, "policy": AT_ONCE, **changed}),))


async def test_of_200_readings_half_hang_and_each_ends_as_it_should(room: Newsroom, clock: Clock) -> None:
    room.provider.refuses = lambda call: HANG if "hangs" in asked(call) else None
    pipeline = _hurried(room.pipeline, limit_seconds=120, concurrency=SLOTS)
    database = room.app.database
    await Queue(database).register([pipeline])
    await room.app.control("tester").set_budget("language_model", Decimal(100))
    words = ["hangs", "answers"] * 100
    await submit(database, "readings", [_asking_for(word, n) for n, word in enumerate(words)])
    async with running(database, pipeline, NEVER_LOST):
        while not await all_final(database):
            await until(lambda: _only_time_helps(database))
            # Past the limit a living worker has a lease to say that a call ended; longer steps would part it from us.
            for _ in range(4):
                await clock.advance(seconds=LEASE_SECONDS / 2 - 10)
                await until(lambda: _was_heard(database))
        # No slot is lost: as many again are served at once.
        await submit(database, "readings", [_asking_for("answers", n) for n in range(200, 200 + SLOTS)])
        await until(lambda: all_final(database))
    rows = await database.fetch(
        "select d.source_name, j.state, j.error_code"
        " from holdfast.pipeline_job j join holdfast.document d on d.id = j.document_id"
    )
    assert Counter(map(tuple, rows)) == {
        ("answers", "done", None): 180,
        ("hangs", "deadletter", "TIMEOUT_MAX_RETRIES"): 100,
    }
    assert await database.fetchval("select count(*) from holdfast.reading") == 180
    outcomes = await database.fetch(
        "select d.source_name, a.outcome"
        " from holdfast.pipeline_phase a join holdfast.document d on d.id = a.document_id"
    )
    assert Counter(map(tuple, outcomes)) == {
        ("answers", "completed"): 180,
        ("hangs", "timeout"): 300,
        ("hangs", "failed"): 100,
    }


async def _was_heard(database: Database) -> bool:
    """Whether the worker has sent a heartbeat since the clock was moved."""
    heard = "select bool_and(seen_at > holdfast.clock() - interval '1 minute') from holdfast.worker where lanes <> '[]'"
    return bool(await database.fetchval(heard))


async def _only_time_helps(database: Database) -> bool:
    """Whether nothing moves by itself: what works hangs, and no slot is free or nobody waits for one."""
    counts = await database.fetchrow(
        """
        select count(*) filter (where j.state = 'working') as working,
               count(*) filter (where j.state = 'working' and d.source_name = 'answers') as answering,
               count(*) filter (where j.started_at < holdfast.clock() - make_interval(secs => 120 + $1)) as late,
               count(*) filter (where j.state in ('queued', 'failed', 'held')) as waiting
        from holdfast.pipeline_job j join holdfast.document d on d.id = j.document_id
        """,
        LEASE_SECONDS,
    )
    assert counts is not None
    nobody_is_served = counts["working"] == SLOTS or counts["waiting"] == 0
    return nobody_is_served and counts["answering"] == counts["late"] == 0


def _asking_for(word: str, number: int) -> Submission:
    return Submission(organisation="acme", source_name=word, input={"prompt": f"{word} {number}"})
