"""The doctor on a database at work: workers that settle, fail and vanish, operators that interfere, no false alarm."""

import asyncio
import itertools
import random
from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.doctor import examine, repair
from holdfast.engine.patience import insist
from holdfast.engine.pipeline import Done, GiveBack, Phase, Pipeline
from holdfast.engine.policy import ENRICHMENT, PATIENT, Policy
from holdfast.engine.queue import Lane, Queue, Submission, submit
from holdfast.errors import Category, Conflict
from tests.conftest import Clock
from tests.engine.lively_history import failure, nothing


def hastened(policy: Policy, name: str) -> Policy:
    """The same policy with waits and holds that a test can sit out."""
    rules = {
        category: replace(
            rule, wait_seconds=tuple(0.01 for _ in rule.wait_seconds), hold_seconds=rule.hold_seconds and 0.05
        )
        for category, rule in policy.rules.items()
    }
    return replace(policy, name=name, rules=rules)


QUICK = hastened(PATIENT, "quick")
QUICK_TWO_LEVEL = hastened(ENRICHMENT, "quick_two_level")
EXTRACT = Phase(name="extract", handler=nothing, done="parsed", policy=QUICK)
CHECK = Phase(name="check", handler=nothing, done="checked", policy=QUICK)
ENRICH = Phase(
    name="enrich", handler=nothing, done="enriched", policy=QUICK_TWO_LEVEL, provider="model", budget="daily"
)
PIPELINE = Pipeline("documents", phases=(EXTRACT, CHECK, ENRICH))
SECOND = Pipeline("stories", phases=(ENRICH,))
REORDERED = Pipeline("documents", phases=(ENRICH, replace(EXTRACT, done="complete")), version=2)
LANES = [Lane(line.name, phase.name, 3) for line in (PIPELINE, SECOND) for phase in line.phases]
CATEGORIES = (
    Category.NETWORK_TIMEOUT,
    Category.RATE_LIMIT,
    Category.JSON_PARSE,
    Category.CORRUPT_INPUT,
    Category.TIMEOUT,
)
OPERATIONS = (
    "select from holdfast.cancel(array[$1::bigint])",
    "select $1::bigint from holdfast.cancel(array(select id from holdfast.pipeline_job where worker_id <> '' limit 1))",
    "select from holdfast.retry(array[$1::bigint])",
    "select from holdfast.retry(array[$1::bigint], 'extract')",
    "select from holdfast.reset(array[$1::bigint])",
    "select holdfast.set_budget('daily', 0.01 * $1::bigint)",
    """select holdfast.release(holdfast.hold('{"organisation": "org-1"}'), 'operator', $1::bigint::text)""",
    "select $1::bigint from holdfast.requeue_stuck(0)",
    "select $1::bigint from holdfast.sweep(0.1)",
    "select $1::bigint from holdfast.sweep(0.1)",
)


@pytest.mark.parametrize("declared", [PIPELINE, REORDERED], ids=["as declared", "reordered meanwhile"])
async def test_no_false_alarm_while_the_house_is_busy(database: Database, clock: Clock, declared: Pipeline) -> None:
    queue = Queue(database)
    await queue.register([PIPELINE, SECOND])
    await clock.advance(minutes=2)
    closing = asyncio.Event()
    actors = [work(queue, random.Random(n), closing=closing, name=f"worker-{n}") for n in range(4)]
    actors += [operate(database, random.Random(4), closing), take_in(database, random.Random(5), closing)]
    busy = asyncio.gather(*actors)
    await queue.register([declared])
    looks = 0
    while not busy.done() and (looks < 15 or not await all_outcomes_were_seen(database)):
        assert await examine(database) == []
        assert await repair(database) == []
        looks += 1
    closing.set()
    await busy
    assert await examine(database) == []


async def all_outcomes_were_seen(database: Database) -> bool:
    """Whether attempts have completed, failed, timed out, been lost, released and cancelled."""
    return bool(await database.fetchval("select count(distinct outcome) = 6 from holdfast.pipeline_phase"))


async def take_in(database: Database, luck: random.Random, closing: asyncio.Event) -> None:
    """Submits documents, some of which are known already, and some of them to a second pipeline."""
    while not closing.is_set():
        items = [
            Submission(organisation=f"org-{luck.randrange(3)}", content_hash=str(luck.randrange(400))) for _ in range(5)
        ]
        taken = await submit(database, "documents", items)
        again = [
            Submission(organisation=i.organisation, document_id=t.document_id)
            for i, t in zip(items, taken, strict=True)
        ]
        await submit(database, "stories", again[:2])
        await asyncio.sleep(0.02)


async def operate(database: Database, luck: random.Random, closing: asyncio.Event) -> None:
    """Interferes with jobs, wherever they stand."""
    while not closing.is_set():
        await insist(partial(database.execute, luck.choice(OPERATIONS), luck.randrange(1, 200)))
        await asyncio.sleep(0.01)


async def work(queue: Queue, luck: random.Random, *, closing: asyncio.Event, name: str) -> None:
    """Lives again and again; each life ends with jobs in its hands, as a killed process does."""
    for life in itertools.takewhile(lambda _: not closing.is_set(), itertools.count()):
        worker = f"{name}-{life}"
        await queue.register_worker(worker, host="here", pid=1, lanes=LANES)
        try:
            for _ in range(10):
                for attempt in await queue.claim(worker, LANES):
                    await end(queue, attempt, luck)
                await queue.heartbeat(worker, [])
                await asyncio.sleep(0.01)
            await queue.claim(worker, LANES)
        except Conflict:
            continue  # the machine was slow, and a sweep declared this life over


async def end(queue: Queue, attempt: Attempt, luck: random.Random) -> None:
    """Ends an attempt in some way; if its claim was lost meanwhile, that changes nothing.

    Insists as workers do: whoever loses a deadlock against all that goes on here is told to try again.
    """
    if attempt.phase == "enrich" and luck.random() < 0.7:
        try:
            await queue.reserve_budget(attempt, Decimal("0.003"))
        except Conflict:
            return
    await asyncio.sleep(0.01)
    chance = luck.random()
    cost = Decimal(luck.randrange(5)) / 1000
    if chance < 0.6:
        await insist(lambda: queue.settle([(attempt, Done({"by": attempt.token}, cost_usd=cost))]))
    elif chance < 0.9:
        wait = luck.choice([None, 0.05])
        account = failure(luck.choice(CATEGORIES), retry_after_seconds=wait, cost_usd=cost)
        await insist(lambda: queue.fail([(attempt, account)]))
    else:
        await insist(lambda: queue.give_back([(attempt, GiveBack("not now"))]))
