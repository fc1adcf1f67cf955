"""Answers that come later: a phase hands its work to a provider, and goes on exactly once when that calls back."""

import asyncio
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from holdfast.db.connection import Database
from holdfast.engine.answer import Answer, deliver
from holdfast.engine.attempt import Attempt
from holdfast.engine.doctor import examine
from holdfast.engine.overview import Overview
from holdfast.engine.pipeline import Awaits, Done, GiveBack, Outcome, Pipeline
from holdfast.engine.worker import Worker
from holdfast.errors import InvalidInput, PhaseError, StorageUnavailable
from tests.conftest import Clock
from tests.engine.scenario import (
    STORIES,
    begin,
    many_connections,
    plain,
    told_to_workers,
    until_someone_waits_for_a_lock,
)
from tests.engine.working import QUICK, jobs_of, pipeline_of, take_in

TEXT = Answer("completed", {"text": "hello"})
SORRY = Answer("failed", {"category": "network_timeout", "code": "P17", "message": "the parser is down"})


@dataclass(slots=True)
class Parser:
    """A phase that hands its work over once, and makes its output of the answer."""

    within_seconds: float = 3600.0
    asked: list[str] = field(default_factory=list)
    calls: int = 0

    async def handle(self, attempt: Attempt) -> Outcome:
        self.calls += 1
        if attempt.answer is not None:
            return Done(attempt.answer.result())
        self.asked.append(f"order-{len(self.asked) + 1}")
        return Awaits("parser", self.asked[-1], self.within_seconds, cost_usd=Decimal("0.01"))

    @property
    def pipeline(self) -> Pipeline:
        return pipeline_of(self.handle)


async def tell(database: Database, reference: str, answer: Answer = TEXT, *, message: str = "message-1") -> str:
    return await deliver(database, "parser", message_id=message, reference=reference, answer=answer)


async def work(database: Database, pipeline: Pipeline) -> Any:
    """Work until nothing can go on, and return the one job."""
    await Worker(database, [pipeline], pace=QUICK).run(until_idle=True)
    (job,) = await jobs_of(database)
    return job


async def outcomes(database: Database) -> list[str]:
    rows = await database.fetch("select outcome from holdfast.pipeline_phase order by id")
    return [row["outcome"] for row in rows]


@pytest.fixture
async def parser(database: Database) -> Parser:
    """One job that waits for the answer to order-1."""
    parser = Parser()
    await take_in(database, parser.pipeline)
    await work(database, parser.pipeline)
    return parser


async def test_job_waits_without_a_worker_and_says_for_what(database: Database, parser: Parser) -> None:
    (job,) = await jobs_of(database)
    assert (job["state"], job["worker_id"], job["retry_count"]) == ("held", None, 0)
    assert job["total_cost_usd"] == Decimal("0.01")
    told = (await Overview(database).job(job["id"]))["next"]
    assert told.startswith("waits for the answer of parser until 2")
    assert await examine(database) == []


async def test_answer_completes_the_phase(database: Database, parser: Parser) -> None:
    assert await tell(database, "order-1") == "accepted"
    job = await work(database, parser.pipeline)
    assert (job["state"], job["input"], job["retry_count"]) == ("done", {"text": "hello"}, 0)
    assert job["total_cost_usd"] == Decimal("0.01")
    assert parser.asked == ["order-1"]
    assert await outcomes(database) == ["released", "completed"]
    assert await examine(database) == []


async def test_answer_wakes_idle_workers(database: Database, parser: Parser) -> None:
    async with told_to_workers(database) as told, asyncio.timeout(30):
        await database.execute("select setval('holdfast.last_wake', 0)")  # as if nobody had been woken just now
        await tell(database, "order-1")
        assert await told.get() == "work"


@pytest.mark.parametrize("message", ["message-1", "message-2"])
async def test_second_answer_changes_nothing(database: Database, parser: Parser, message: str) -> None:
    await tell(database, "order-1")
    other = Answer("completed", {"text": "something else"})
    assert await tell(database, "order-1", other, message=message) == "already"
    job = await work(database, parser.pipeline)
    assert job["input"] == {"text": "hello"}
    assert await tell(database, "order-1", other, message=message) == "already"


async def test_of_many_who_bring_the_same_message_one_is_accepted(dsn: str, database: Database, parser: Parser) -> None:
    async with many_connections(dsn, 8) as several:
        results = await asyncio.gather(*(tell(several, "order-1") for _ in range(8)))
    assert sorted(results) == ["accepted", *["already"] * 7]


async def test_answer_that_comes_before_the_ask_is_on_record_is_found(database: Database) -> None:
    parser = Parser()
    await take_in(database, parser.pipeline)
    assert await tell(database, "order-1") == "unknown"
    assert await tell(database, "order-1") == "already"
    job = await work(database, parser.pipeline)
    assert (job["state"], job["input"]) == ("done", {"text": "hello"})
    assert await outcomes(database) == ["released", "completed"]


async def test_answer_and_ask_in_the_same_moment_find_each_other(dsn: str, database: Database) -> None:
    scenario = await begin(database, plain("parse"))
    await scenario.submit()
    attempt = await scenario.claim_one("parse")
    async with many_connections(dsn, 2) as several:
        async with several.transaction() as connection:
            early = await deliver(connection, "parser", message_id="m", reference="order-1", answer=TEXT)
            asking = asyncio.create_task(scenario.queue.await_answers([(attempt, Awaits("parser", "order-1", 60))]))
            await until_someone_waits_for_a_lock(database)
        assert (early, set((await asking).values())) == ("unknown", {"answered"})
    assert (await scenario.claim_one("parse")).answer == TEXT


async def test_failure_is_raised_by_its_category_and_the_retry_asks_anew(
    database: Database, clock: Clock, parser: Parser
) -> None:
    await tell(database, "order-1", SORRY)
    job = await work(database, parser.pipeline)
    assert (job["state"], job["retry_count"]) == ("failed", 1)
    error = job["last_error"]
    assert (error["category"], error["error_code"], error["error"]) == (
        *("network_timeout", "P17"),
        "the parser is down",
    )
    await clock.advance(seconds=70)
    await work(database, parser.pipeline)
    assert parser.asked == ["order-1", "order-2"]
    await tell(database, "order-2", message="message-2")
    assert (await work(database, parser.pipeline))["state"] == "done"
    assert await examine(database) == []


@pytest.mark.parametrize("body", [None, "broken", ["odd"], {"category": "worker_lost"}, {"category": {}, "message": 7}])
def test_failure_in_words_of_its_own_is_unknown(body: Any) -> None:
    with pytest.raises(PhaseError) as raised:
        Answer("failed", body).result()
    assert raised.value.category == "unknown"


async def test_provider_that_asks_for_a_pause_holds_and_is_then_asked_anew(
    database: Database, clock: Clock, parser: Parser
) -> None:
    pause = Answer("failed", {"category": "rate_limit", "message": "slow down", "retry_after_seconds": 30})
    await tell(database, "order-1", pause)
    assert (await work(database, parser.pipeline))["state"] == "held"
    await clock.advance(seconds=31)
    await work(database, parser.pipeline)
    assert parser.asked == ["order-1", "order-2"]


async def test_answer_that_does_not_come_in_time_is_a_timeout_and_asked_for_anew(
    database: Database, clock: Clock, parser: Parser
) -> None:
    await clock.advance(seconds=3601)
    job = await work(database, parser.pipeline)
    assert (job["state"], job["retry_count"], job["last_error"]["category"]) == ("failed", 1, "timeout")
    assert "parser has not answered to order-1" in job["last_error"]["error"]
    assert parser.calls == 1, "no handler needs a rule for this"
    await clock.advance(seconds=70)
    assert (await work(database, parser.pipeline))["state"] == "held"
    assert parser.asked == ["order-1", "order-2"]
    assert await outcomes(database) == ["released", "timeout", "released"]
    assert await tell(database, "order-1") == "late"
    assert await tell(database, "order-2", message="message-2") == "accepted"
    assert (await work(database, parser.pipeline))["state"] == "done"
    assert await examine(database) == []


async def test_answer_after_the_deadline_saves_the_second_ask(database: Database, clock: Clock, parser: Parser) -> None:
    await clock.advance(seconds=3601)
    await work(database, parser.pipeline)
    assert await tell(database, "order-1") == "accepted"
    (job,) = await jobs_of(database)
    assert job["state"] == "failed", "its retry keeps its time"
    await clock.advance(seconds=70)
    assert (await work(database, parser.pipeline))["state"] == "done"
    assert parser.asked == ["order-1"]
    assert await examine(database) == []


@pytest.mark.parametrize("verb", ["cancel", "reset"])
async def test_answer_to_a_job_that_was_ended_or_started_over_changes_nothing(
    database: Database, parser: Parser, verb: str
) -> None:
    (before,) = await jobs_of(database)
    await database.fetch(f"select * from holdfast.{verb}(array[$1::bigint])", before["id"])
    (ended,) = await jobs_of(database)
    assert await tell(database, "order-1") == "late"
    assert await jobs_of(database) == [ended]
    assert await examine(database) == []


async def test_operator_who_does_not_want_to_wait_has_it_asked_anew(database: Database, parser: Parser) -> None:
    (job,) = await jobs_of(database)
    assert await database.fetchval("select result from holdfast.retry($1)", [job["id"]]) == "queued"
    await work(database, parser.pipeline)
    assert parser.asked == ["order-1", "order-2"]
    assert await tell(database, "order-1") == "late"


async def test_success_is_not_asked_for_again_when_what_follows_fails(database: Database, clock: Clock) -> None:
    parser = Parser()
    failures = iter([StorageUnavailable("the disk is full")])

    async def store(attempt: Attempt) -> Outcome:
        outcome = await parser.handle(attempt)
        if attempt.answer is not None and (failure := next(failures, None)):
            raise failure
        return outcome

    pipeline = pipeline_of(store)
    await take_in(database, pipeline)
    await work(database, pipeline)
    await tell(database, "order-1")
    assert (await work(database, pipeline))["state"] == "failed"
    await clock.advance(seconds=70)
    assert (await work(database, pipeline))["state"] == "done"
    assert parser.asked == ["order-1"]


@pytest.mark.parametrize("answer", [TEXT, SORRY], ids=lambda answer: answer.outcome)
async def test_answer_outlives_the_worker_that_had_it(database: Database, clock: Clock, answer: Answer) -> None:
    scenario = await begin(database, plain("parse"))
    await scenario.submit()
    await scenario.queue.await_answers([(await scenario.claim_one("parse"), Awaits("parser", "order-1", 60))])
    await tell(database, "order-1", answer)
    assert (await scenario.claim_one("parse")).answer == answer
    await clock.advance(seconds=11)
    await scenario.queue.sweep(10)
    await scenario.register_worker("worker-2")
    again = await scenario.claim_one("parse", worker="worker-2")
    assert again.answer == answer
    await scenario.queue.give_back([(again, GiveBack("its worker stopped"))])
    assert (await scenario.claim_one("parse", worker="worker-2")).answer == answer


async def test_attempt_that_lost_its_claim_waits_for_nothing(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("parse"))
    submitted = await scenario.submit_one()
    lost = await scenario.claim_one("parse")
    await clock.advance(seconds=11)
    await scenario.queue.sweep(10)
    await scenario.register_worker("worker-2")
    await scenario.claim_one("parse", worker="worker-2")
    asked = await scenario.queue.await_answers([(lost, Awaits("parser", "order-1", 60))])
    assert set(asked.values()) == {"stale"}
    assert (await scenario.job(submitted.job_id))["worker_id"] == "worker-2"
    assert await tell(database, "order-1") == "unknown"


async def test_ask_may_be_repeated_after_a_cut_connection(database: Database) -> None:
    scenario = await begin(database, plain("parse"))
    await scenario.submit()
    asks = [(await scenario.claim_one("parse"), Awaits("parser", "order-1", 60, cost_usd=Decimal("0.01")))]
    assert set((await scenario.queue.await_answers(asks)).values()) == {"awaits"}
    assert set((await scenario.queue.await_answers(asks)).values()) == {"already"}
    assert await database.fetchval("select total_cost_usd from holdfast.pipeline_job") == Decimal("0.01")


async def test_what_asking_costs_is_spent_from_the_budget(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await database.execute("select holdfast.set_budget('stories', 1)")
    await scenario.submit()
    attempt = await scenario.claim_one("enrich")
    assert await scenario.reserve(attempt, "0.5")
    await scenario.queue.await_answers([(attempt, Awaits("parser", "order-1", 60, cost_usd=Decimal("0.2")))])
    day = await database.fetchrow("select reserved_usd, spent_usd from holdfast.budget_day")
    assert day is not None
    assert tuple(day) == (0, Decimal("0.2"))
    assert await examine(database) == []


async def test_reference_of_another_job_is_refused_and_the_others_are_written(database: Database) -> None:
    async def handle(attempt: Attempt) -> Outcome:
        return Awaits("parser", "the same for all" if attempt.job_id < 3 else "its own", 60, cost_usd=Decimal("0.01"))

    pipeline = pipeline_of(handle)
    await take_in(database, pipeline, 3)
    await Worker(database, [pipeline], pace=QUICK).run(until_idle=True)
    jobs = await jobs_of(database)
    assert sorted(job["state"] for job in jobs[:2]) == ["failed", "held"]
    assert jobs[2]["state"] == "held"
    (refused,) = [job for job in jobs if job["state"] == "failed"]
    assert "a reference belongs to one job" in refused["last_error"]["error"]
    assert {job["total_cost_usd"] for job in jobs} == {Decimal("0.01")}, "what was paid is known"


@pytest.mark.parametrize("answered", [None, TEXT, SORRY], ids=["unanswered", "completed", "failed"])
async def test_job_may_ask_again_under_the_same_reference(database: Database, answered: Answer | None) -> None:
    """As providers have it that know a request by its key."""
    scenario = await begin(database, plain("parse"))
    submitted = await scenario.submit_one()
    await scenario.queue.await_answers([(await scenario.claim_one("parse"), Awaits("parser", "order-1", 60))])
    if answered is not None:
        await tell(database, "order-1", answered)
        await scenario.claim_one("parse")
        await database.fetch("select * from holdfast.cancel($1)", [submitted.job_id])
    await database.fetch("select * from holdfast.retry($1)", [submitted.job_id])
    again = await scenario.queue.await_answers([(await scenario.claim_one("parse"), Awaits("parser", "order-1", 60))])
    assert set(again.values()) == {"answered" if answered is TEXT else "awaits"}
    repeated = await tell(database, "order-1", SORRY)
    assert repeated == ("accepted" if answered is None else "already")
    if answered is SORRY:
        assert await tell(database, "order-1", message="message-2") == "accepted"


@pytest.mark.parametrize(
    "awaits", [Awaits("", "r", 1), Awaits("p", "", 1), Awaits("p", "r" * 256, 1), Awaits("p", "r", 0)]
)
async def test_ask_that_nobody_could_answer_is_refused(database: Database, awaits: Awaits) -> None:
    scenario = await begin(database, plain("parse"))
    await scenario.submit()
    with pytest.raises(InvalidInput):
        await scenario.queue.await_answers([(await scenario.claim_one("parse"), awaits)])


async def test_answers_nobody_asks_for_are_bounded_and_forgotten_after_a_day(database: Database, clock: Clock) -> None:
    await database.execute(
        "select holdfast.answer('parser', 'm' || n, 'r' || n, 'completed', 'null') from generate_series(1, 1000) n"
    )
    assert await tell(database, "one more") == "full"
    await clock.advance(hours=25)
    await database.execute("select holdfast.sweep()")
    assert await tell(database, "one more") == "unknown"


async def test_deleted_document_takes_its_answers_along_and_gets_no_more(database: Database, parser: Parser) -> None:
    (job,) = await jobs_of(database)
    await database.execute("select holdfast.delete_document($1, 'tester')", job["document_id"])
    assert await tell(database, "order-1") == "already"
    assert await database.fetchval("select count(*) from holdfast.awaited_answer where body is not null") == 0
