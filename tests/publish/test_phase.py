"""The last phase waits for the members of what it publishes."""

import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt, Json
from holdfast.engine.control import Control
from holdfast.engine.overview import Overview
from holdfast.engine.pipeline import Done, GiveBack, Phase, Pipeline
from holdfast.engine.policy import PATIENT
from holdfast.engine.queue import Lane, Queue, Submission, Submitted, submit
from holdfast.engine.selection import Selection
from holdfast.engine.slots import Slots
from holdfast.engine.worker import Worker
from holdfast.errors import EmptyText, NetworkTimeout
from holdfast.publish.phase import Publish
from tests.conftest import Clock
from tests.engine.working import QUICK


async def read(attempt: Attempt) -> Done:
    if attempt.document.metadata.get("empty"):
        raise EmptyText("nothing stands in it")
    if attempt.document.metadata.get("unlucky") and attempt.number == 1:
        raise NetworkTimeout("no answer")
    return Done()


def pipeline_of(database: Database) -> Pipeline:
    return Pipeline(
        "archives",
        phases=(
            Phase(name="read", handler=read, done="read_all", policy=PATIENT),
            Phase(name="publish", handler=Publish(database).run, done="complete"),
        ),
    )


async def take_in_archive(database: Database) -> Submitted:
    await Queue(database).register([pipeline_of(database)])
    (archive,) = await submit(database, "archives", [Submission(organisation="acme")])
    await work(database, "read")
    return archive


async def take_in_member(database: Database, archive: Submitted, **metadata: Json) -> Submitted:
    member = Submission(organisation="acme", parent_id=archive.document_id, metadata=metadata)
    return (await submit(database, "archives", [member]))[0]


async def work(database: Database, *phases: str) -> None:
    pipeline = pipeline_of(database)
    slots = Slots.serving([pipeline], only_phases=phases)
    await Worker(database, [pipeline], slots=slots, pace=QUICK).run(until_idle=True)


async def state_of(database: Database, submitted: Submitted) -> str:
    return str(await database.fetchval("select state from holdfast.pipeline_job where id = $1", submitted.job_id))


async def test_archive_waits_for_its_members_and_says_so(database: Database, clock: Clock) -> None:
    archive = await take_in_archive(database)
    member = await take_in_member(database, archive)
    await work(database, "publish")
    card = await Overview(database).job(archive.job_id)
    assert card["state"] == "held"
    assert card["next"].endswith("1 of its 1 members are under way")

    await work(database, "read", "publish")
    assert await state_of(database, member) == "done"
    await clock.advance(minutes=2)
    await work(database, "publish")
    assert await state_of(database, archive) == "done"
    first, second = await database.fetch("select searchable_at from holdfast.document order by id")
    assert first["searchable_at"] > second["searchable_at"]


async def test_member_that_failed_for_good_holds_nobody_up(database: Database) -> None:
    archive = await take_in_archive(database)
    member = await take_in_member(database, archive, empty=True)
    await work(database, "read")
    await work(database, "publish")
    assert await state_of(database, member) == "failed"
    assert await state_of(database, archive) == "done"


@pytest.mark.parametrize("last_ends", ["published", "failed", "cancelled"])
async def test_draining_ends_only_when_no_archive_could_go_on(database: Database, last_ends: str) -> None:
    archive = await take_in_archive(database)
    member = await take_in_member(database, archive, empty=last_ends == "failed")
    await work(database, "publish")
    assert await state_of(database, archive) == "held"

    if last_ends == "cancelled":
        await Control(database, "ann").cancel(Selection(ids=(member.job_id,)))
    await work(database)
    assert await state_of(database, archive) == "done"


async def test_draining_does_not_wait_for_the_retry_of_a_member(database: Database, clock: Clock) -> None:
    archive = await take_in_archive(database)
    member = await take_in_member(database, archive, unlucky=True)
    await work(database)
    assert (await state_of(database, member), await state_of(database, archive)) == ("failed", "held")

    await clock.advance(seconds=30)
    await work(database)
    assert await state_of(database, archive) == "held"

    await clock.advance(minutes=2)
    await work(database)
    assert (await state_of(database, member), await state_of(database, archive)) == ("done", "done")


async def test_draining_lets_go_on_what_was_given_back_after_its_last_member_ended(database: Database) -> None:
    archive = await take_in_archive(database)
    member = await take_in_member(database, archive)
    await work(database, "publish")
    late = "update holdfast.pipeline_job set state = 'cancelled', ready_at = null, finished_at = now() where id = $1"
    await database.execute(late, member.job_id)  # unseen by whoever gave the archive back
    await work(database)
    assert await state_of(database, archive) == "done"


async def test_member_that_ends_does_not_end_another_wait_of_its_archive(database: Database) -> None:
    archive = await take_in_archive(database)
    member = await take_in_member(database, archive)
    queue = Queue(database)
    await queue.register_worker("elsewhere", host="test", pid=1, lanes=[Lane("archives", "publish", 1)])
    (attempt,) = await queue.claim("elsewhere", [Lane("archives", "publish", 1)])
    await queue.give_back([(attempt, GiveBack("their lunch hour", wait_seconds=3600))])
    await work(database)
    assert (await state_of(database, member), await state_of(database, archive)) == ("done", "held")
