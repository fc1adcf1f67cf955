"""Every event comes from its real cause, once, in the same transaction, and only to those it concerns."""

from decimal import Decimal

from holdfast.db.connection import Database
from holdfast.engine.control import Control
from holdfast.engine.pipeline import Done
from holdfast.engine.policy import Policy
from holdfast.engine.queue import Queue
from holdfast.errors import AuthenticationFailed, CorruptInput, NetworkTimeout, RateLimited
from holdfast.notices.receivers import Event
from tests.conftest import Clock
from tests.engine.scenario import LEASE_SECONDS, STORIES, Scenario, begin, plain
from tests.notices.hook import Hook
from tests.notices.telling import Telling

TWO_PHASES = plain("extract", "embed", name="letters")
IMPATIENT = plain("extract", name="hasty", policy=Policy.retrying("once", (60,)))
SHORT = plain("extract", name="letters", version=2)


async def test_job_is_done_when_its_last_phase_is(telling: Telling, hook: Hook, database: Database) -> None:
    scenario = await begin(database, TWO_PHASES)
    await telling.add(hook)
    submitted = await scenario.submit(3, source_name="tides.pdf")
    await scenario.settle(await scenario.claim("extract", 3))
    assert await telling.events() == []
    await scenario.settle(await scenario.claim("embed", 3), Done(cost_usd=Decimal("0.25")))
    await telling.deliver()
    told = sorted((body["data"] for body in hook.told), key=lambda data: data["job_id"])
    assert [data["job_id"] for data in told] == [one.job_id for one in submitted]
    assert {body["type"] for body in hook.told} == {"job.done"}
    assert told[0] | {"submitted_at": "", "finished_at": ""} == {
        "job_id": submitted[0].job_id,
        "document_id": submitted[0].document_id,
        "organisation": "acme",
        "source_name": "tides.pdf",
        "pipeline": "letters",
        "phase": "embed",
        "status": "embed_done",
        "state": "done",
        "run": 1,
        "total_cost_usd": 0.25,
        "component": None,
        "category": None,
        "error_code": None,
        "error": None,
        "submitted_at": "",
        "finished_at": "",
    }


async def test_repeated_settlement_is_announced_once(telling: Telling, hook: Hook, scenario: Scenario) -> None:
    await telling.add(hook)
    await scenario.submit()
    attempt = await scenario.settle_once("extract")
    await scenario.settle([attempt])
    assert await telling.events() == ["job.done"]


async def test_failure_is_announced_when_no_retry_comes(telling: Telling, hook: Hook, scenario: Scenario) -> None:
    await telling.add(hook)
    await scenario.submit(2)
    await scenario.fail_once("extract", NetworkTimeout("reset by peer"))
    assert await telling.events() == []
    await scenario.fail_once("extract", CorruptInput("torn at byte 9"))
    await telling.deliver()
    (told,) = hook.told
    assert told["type"] == "job.failed"
    assert {name: told["data"][name] for name in ("state", "category", "error")} == {
        "state": "failed",
        "category": "corrupt_input",
        "error": "torn at byte 9",
    }


async def test_exhausted_patience_is_announced(telling: Telling, hook: Hook, database: Database, clock: Clock) -> None:
    scenario = await begin(database, IMPATIENT)
    await telling.add(hook)
    await scenario.submit()
    await scenario.fail_once("extract", NetworkTimeout("reset"))
    await clock.advance(minutes=2)
    await scenario.fail_once("extract", NetworkTimeout("reset"))
    assert await telling.events() == ["job.deadletter"]


async def test_document_that_kills_workers_is_announced(
    telling: Telling, hook: Hook, scenario: Scenario, clock: Clock
) -> None:
    await telling.add(hook)
    await scenario.submit()
    for number in range(3):
        await scenario.register_worker(f"doomed-{number}")
        await scenario.claim("extract", worker=f"doomed-{number}")
        await clock.advance(seconds=LEASE_SECONDS + 1)
        await scenario.queue.sweep(LEASE_SECONDS)
    assert await telling.events() == ["job.deadletter"]


async def test_job_whose_last_phase_was_retired_is_done(telling: Telling, hook: Hook, database: Database) -> None:
    scenario = await begin(database, TWO_PHASES)
    await telling.add(hook)
    await scenario.submit()
    await scenario.settle_once("extract")
    await Queue(database).register([SHORT])
    await scenario.queue.sweep(LEASE_SECONDS)
    assert await telling.events() == ["job.done"]


async def test_first_refusal_of_a_day_is_announced(
    telling: Telling, hook: Hook, database: Database, clock: Clock
) -> None:
    scenario = await begin(database, STORIES)
    await Control(database, "tester").set_budget("stories", Decimal(1), organisation="acme")
    await telling.add(hook)
    await scenario.submit(2)
    for attempt in await scenario.claim("enrich", 2):
        assert not await scenario.reserve(attempt, "1.5")
    await telling.deliver()
    (told,) = hook.told
    assert told["type"] == "budget.exhausted"
    assert (told["data"]["budget"], told["data"]["left_usd"], told["data"]["asked_usd"]) == ("stories", 1, 1.5)
    await clock.advance(days=1)
    await scenario.submit()
    assert not await scenario.reserve(await scenario.claim_one("enrich"), "1.5")
    assert await telling.events() == ["budget.exhausted"] * 2


async def test_held_provider_is_announced_once_until_it_is_free_again(
    telling: Telling, hook: Hook, database: Database, clock: Clock
) -> None:
    scenario = await begin(database, STORIES)
    await telling.add(hook, Event.PROVIDER_HELD)
    await scenario.submit(3)
    attempts = await scenario.claim("enrich", 3)
    for attempt in attempts[:2]:
        await scenario.fail([attempt], RateLimited("slow down", retry_after_seconds=60))
    await telling.deliver()
    (told,) = hook.told
    assert (told["type"], told["data"]["provider"], told["data"]["organisation"]) == ("provider.held", "model", "acme")
    assert "slow down" in told["data"]["reason"]
    await clock.advance(minutes=2)
    await scenario.fail([attempts[2]], RateLimited("slow down", retry_after_seconds=60))
    assert await telling.events() == ["provider.held"] * 2


async def test_operators_hold_on_a_provider_is_announced_and_on_a_phase_is_not(
    telling: Telling, hook: Hook, database: Database, scenario: Scenario
) -> None:
    await telling.add(hook)
    control = Control(database, "alice")
    await control.hold({"phase": "extract"})
    assert await telling.events() == []
    hold_id = await control.hold({"provider": "model"}, reason="their incident")
    await control.release(hold_id)
    await control.hold({"provider": "model"}, reason="once more")
    assert await telling.events() == ["provider.held"] * 2


async def test_refused_credentials_are_announced(telling: Telling, hook: Hook, database: Database) -> None:
    scenario = await begin(database, STORIES)
    await telling.add(hook)
    await scenario.submit()
    await scenario.fail_once("enrich", AuthenticationFailed("the key was revoked"))
    assert await telling.events() == ["provider.held"]


async def test_what_is_rolled_back_is_not_announced(telling: Telling, hook: Hook, scenario: Scenario) -> None:
    await telling.add(hook)
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    items = [{"job_id": attempt.job_id, "token": attempt.token}]
    async with scenario.database.transaction() as connection:
        undone = connection.transaction()
        await undone.start()
        await connection.execute("select * from holdfast.settle($1)", items)
        assert await connection.fetchval("select count(*) from holdfast.delivery") == 1
        await undone.rollback()
    assert await telling.events() == []


async def test_nothing_is_written_while_nobody_listens(telling: Telling, hook: Hook, scenario: Scenario) -> None:
    await telling.add(hook, Event.JOB_FAILED)
    await telling.add(hook, Event.JOB_DONE, organisation="other")
    removed = await telling.add(hook)
    await telling.receivers.remove(removed.receiver_id, actor="tester")
    await scenario.submit()
    await scenario.settle_once("extract")
    assert await telling.events() == []


async def test_each_organisation_hears_of_itself_and_the_operator_of_all(
    telling: Telling, hook: Hook, other_hook: Hook, scenario: Scenario
) -> None:
    await telling.add(hook, organisation="acme")
    await telling.add(other_hook)
    for organisation in ("acme", "other"):
        await scenario.submit(organisation=organisation)
        await scenario.settle_once("extract")
    await telling.deliver()
    assert [body["data"]["organisation"] for body in hook.told] == ["acme"]
    assert sorted(body["data"]["organisation"] for body in other_hook.told) == ["acme", "other"]


async def test_what_concerns_all_is_not_told_to_one(telling: Telling, hook: Hook, database: Database) -> None:
    await telling.add(hook, organisation="acme")
    await Control(database, "alice").hold({"provider": "model"}, reason="their incident")
    assert await telling.events() == []


async def test_long_words_are_cut(telling: Telling, hook: Hook, scenario: Scenario) -> None:
    await telling.add(hook)
    await scenario.submit(source_name="n" * 100_000)
    await scenario.fail_once("extract", CorruptInput("x" * 100_000))
    await telling.deliver()
    assert len(hook.calls[0].body) < 20_000


async def test_deleted_document_is_told_of_without_its_words(telling: Telling, hook: Hook, scenario: Scenario) -> None:
    await telling.add(hook)
    submitted = await scenario.submit_one(source_name="zanzibar.pdf")
    await scenario.fail_once("extract", CorruptInput("zanzibar is torn"))
    await scenario.database.execute("select holdfast.delete_document($1, 'tester')", submitted.document_id)
    await telling.deliver()
    (call,) = hook.calls
    assert call.json["data"]["job_id"] == submitted.job_id
    assert b"zanzibar" not in call.body
