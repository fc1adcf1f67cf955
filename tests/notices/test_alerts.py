"""An alert goes on once and off once, whoever looks and however often."""

import asyncio
from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.control import Control
from holdfast.errors import BudgetExceeded, CorruptInput
from holdfast.notices.incidents import Incident, Incidents
from holdfast.notices.receivers import Event
from tests.conftest import Clock
from tests.engine.scenario import STORIES, Scenario, begin
from tests.notices.hook import Hook
from tests.notices.telling import Telling

ALERTS = (Event.ALERT_OPENED, Event.ALERT_CLOSED)


@pytest.fixture
async def watched(telling: Telling, hook: Hook, clock: Clock) -> Telling:
    await telling.add(hook, *ALERTS)
    return telling


async def check(telling: Telling, clock: Clock) -> list[Incident]:
    """Check at a time at which nobody else just did."""
    await clock.advance(seconds=31)
    await Incidents(telling.database).check()
    return await Incidents(telling.database).all()


async def attempts(scenario: Scenario, *, settled: int, failed: int) -> None:
    await scenario.submit(settled + failed)
    claimed = await scenario.claim("extract", settled + failed)
    await scenario.settle(claimed[:settled])
    await scenario.fail(claimed[settled:], CorruptInput("torn"))


async def test_error_rate_above_ten_per_cent_is_one_incident(
    watched: Telling, hook: Hook, scenario: Scenario, clock: Clock
) -> None:
    await attempts(scenario, settled=18, failed=2)
    assert await check(watched, clock) == []
    await attempts(scenario, settled=0, failed=1)
    (incident,) = await check(watched, clock)
    assert (incident.kind, incident.figures) == ("error_rate", {"failed": 3, "attempts": 21})
    assert "14.3 %" in incident.message
    assert await check(watched, clock) == [incident]
    await attempts(scenario, settled=20, failed=0)
    assert await check(watched, clock) == [incident], "a rate that hovers is one incident"
    await watched.deliver()  # what is due at the same time is sent side by side, in any order
    await clock.advance(hours=1)
    (closed,) = await check(watched, clock)
    assert closed.closed_at is not None
    await check(watched, clock)
    await watched.deliver()
    assert [body["type"] for body in hook.told] == ["alert.opened", "alert.closed"]
    assert {body["data"]["incident_id"] for body in hook.told} == {incident.incident_id}


async def test_few_attempts_are_no_rate(watched: Telling, scenario: Scenario, clock: Clock) -> None:
    await attempts(scenario, settled=0, failed=19)
    assert await check(watched, clock) == []


async def test_stuck_jobs_alert_until_they_are_freed(watched: Telling, scenario: Scenario, clock: Clock) -> None:
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    await clock.advance(minutes=11)
    (incident,) = await check(watched, clock)
    assert (incident.kind, incident.figures["first_ids"]) == ("stuck_jobs", [attempt.job_id])
    await scenario.settle([attempt])
    await check(watched, clock)
    assert await watched.events() == ["alert.opened", "alert.closed"]


async def test_spent_budget_alerts_its_organisation_until_it_is_raised(
    watched: Telling, database: Database, other_hook: Hook, clock: Clock
) -> None:
    scenario = await begin(database, STORIES)
    await watched.add(other_hook, *ALERTS, organisation="acme")
    await Control(database, "tester").set_budget("stories", Decimal("1.00000000"), organisation="acme")
    await scenario.submit()
    attempt = await scenario.claim_one("enrich")
    assert not await scenario.reserve(attempt, "1.5")
    await scenario.fail([attempt], BudgetExceeded("spent", details={"needs_usd": 1.5}))
    (incident,) = await check(watched, clock)
    assert (incident.kind, incident.scope, incident.organisation) == ("budget_spent", "stories", "acme")
    assert incident.message.startswith('budget "stories" has 1 USD left of 1 and refused 1 times today')
    await watched.deliver()
    await Control(database, "tester").set_budget("stories", Decimal(5), organisation="acme")
    (closed,) = await check(watched, clock)
    assert closed.closed_at is not None
    await watched.deliver()
    assert [body["type"] for body in other_hook.told] == ["alert.opened", "alert.closed"]


async def test_growing_dead_letter_alerts_for_an_hour(watched: Telling, scenario: Scenario, clock: Clock) -> None:
    await scenario.submit(10)
    await scenario.database.execute(
        "update holdfast.pipeline_job set state = 'failed';"
        "update holdfast.pipeline_job set state = 'deadletter', finished_at = holdfast.clock()"
    )
    (incident,) = await check(watched, clock)
    assert (incident.kind, incident.figures) == ("dead_letters", {"jobs": 10})
    await clock.advance(hours=1)
    (closed,) = await check(watched, clock)
    assert closed.closed_at is not None


async def test_many_who_look_at_once_open_one_incident(
    watched: Telling, scenario: Scenario, clock: Clock, database: Database
) -> None:
    await attempts(scenario, settled=0, failed=20)
    await asyncio.gather(*(Incidents(database).check() for _ in range(6)))
    assert await watched.events() == ["alert.opened"]


async def test_tenant_sees_its_own_incidents(
    watched: Telling, database: Database, scenario: Scenario, clock: Clock
) -> None:
    await attempts(scenario, settled=0, failed=20)
    assert len(await check(watched, clock)) == 1
    assert await Incidents(database.confined_to("acme")).all() == []


async def test_what_comes_again_is_another_incident(watched: Telling, scenario: Scenario, clock: Clock) -> None:
    for _ in range(2):
        await attempts(scenario, settled=0, failed=20)
        await check(watched, clock)
        await clock.advance(hours=1)
        incidents = await check(watched, clock)
    assert len(incidents) == 2
    assert await watched.events() == ["alert.opened", "alert.closed"] * 2


async def test_incident_is_kept_for_30_days_after_it_is_over(
    watched: Telling, scenario: Scenario, clock: Clock
) -> None:
    await attempts(scenario, settled=0, failed=20)
    (opened,) = await check(watched, clock)
    await clock.advance(days=31)
    await scenario.queue.sweep(3600 * 24 * 365)
    assert await Incidents(watched.database).all() == [opened]  # still on, however old

    assert len(await check(watched, clock)) == 1  # it is off now
    kept = []
    for days in (29, 2):
        await clock.advance(days=days)
        await scenario.queue.sweep(3600 * 24 * 365)
        kept.append(len(await Incidents(watched.database).all()))
    assert kept == [1, 0]


async def test_who_comes_right_after_another_does_not_look_again(
    watched: Telling, scenario: Scenario, clock: Clock
) -> None:
    assert await check(watched, clock) == []
    await attempts(scenario, settled=0, failed=20)
    await Incidents(watched.database).check()
    assert await watched.events() == []
    assert len(await check(watched, clock)) == 1
