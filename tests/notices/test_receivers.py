"""Receivers: added, listed without their secrets, and out of reach for other organisations."""

import pytest

from holdfast.db.connection import Database
from holdfast.engine.overview import Overview
from holdfast.errors import DatabaseUnusable, InvalidInput, NotFound
from holdfast.notices.delivery import Delivered
from holdfast.notices.receivers import Event, Receivers
from tests.notices.hook import Hook
from tests.notices.telling import Telling

URL = "https://example.org/hooks"


@pytest.fixture
def receivers(database: Database) -> Receivers:
    return Receivers(database)


@pytest.fixture
def confined(database: Database) -> Receivers:
    return Receivers(database.confined_to("acme"))


async def test_receiver_is_listed_without_its_secret(receivers: Receivers, database: Database) -> None:
    made = await receivers.add(URL, events=[Event.JOB_DONE], organisation="acme", actor="alice")
    (listed,) = await receivers.all()
    assert (listed.url, listed.events, listed.organisation, listed.kind) == (URL, ["job.done"], "acme", "webhook")
    assert made.secret not in str(listed.to_json())
    assert made.secret not in repr(made)
    (act,) = await Overview(database).audit()
    assert (act["actor"], act["action"], act["after"]["url"]) == ("alice", "add webhook", URL)
    assert made.secret not in str(act)


@pytest.mark.parametrize("role", ["holdfast_worker", "holdfast_api", "holdfast_readonly", "holdfast_tenant"])
async def test_nobody_reads_secrets(database: Database, role: str) -> None:
    async def look() -> None:
        async with database.transaction() as connection:
            await connection.execute(f"set local role {role}")
            await connection.fetch("select secret from holdfast.receiver")

    with pytest.raises(DatabaseUnusable, match="permission"):
        await look()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://example.org", "neither http nor https"),
        ("https://user:pass@example.org", "user name"),
        ("https://example.org/" + "a" * 2000, "1 to 2000 characters"),
        ("https:///hooks", "names no host"),
        ("https://example.org:port/", "refused"),
    ],
)
async def test_address_that_cannot_be_posted_to_is_refused(receivers: Receivers, url: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        await receivers.add(url, organisation=None, actor="alice")
    assert await receivers.all() == []


async def test_unknown_event_is_refused(receivers: Receivers, database: Database) -> None:
    for events in (["job.dune"], []):
        with pytest.raises(InvalidInput, match=r"name one or more of job\.done"):
            await database.execute("select holdfast.add_webhook(null, $1, $2, 'whsec_', 'alice')", URL, events)


async def test_removed_receiver_is_gone_with_what_waits_for_it(telling: Telling, hook: Hook) -> None:
    made = await telling.add(hook)
    await telling.happen()
    await telling.receivers.remove(made.receiver_id, actor="alice")
    await telling.deliver()
    assert hook.calls == []
    assert await telling.receivers.all() == []
    assert await telling.database.fetchval("select secret from holdfast.receiver") is None
    assert (await telling.delivery())["state"] == "given_up"
    with pytest.raises(NotFound):
        await telling.receivers.remove(made.receiver_id, actor="alice")


async def test_ping_reaches_whoever_asked_for_it(telling: Telling, hook: Hook, other_hook: Hook) -> None:
    made = await telling.add(hook, Event.JOB_FAILED)
    await telling.add(other_hook)
    deliverer = telling.deliverer()
    outcome = await deliverer.deliver(await telling.receivers.make_ping(made.receiver_id, actor="alice"))
    assert outcome == Delivered(200)
    assert [body["type"] for body in hook.told] == ["ping"]
    await telling.deliver()
    assert other_hook.calls == []


async def test_deliveries_can_be_narrowed_down(telling: Telling, hook: Hook, other_hook: Hook) -> None:
    first = await telling.add(hook)
    await telling.add(other_hook)
    await telling.happen(2)
    await telling.receivers.remove((await telling.add(hook)).receiver_id, actor="alice")
    of_first = await telling.receivers.deliveries(receiver_id=first.receiver_id)
    assert [one.delivery_id for one in of_first] == [3, 1]
    assert len(await telling.receivers.deliveries(state="waiting")) == 4
    assert await telling.receivers.deliveries(state="delivered") == []
    assert len(await telling.receivers.deliveries(limit=1)) == 1
    with pytest.raises(InvalidInput, match="waiting, delivered or given_up"):
        await telling.receivers.deliveries(state="lost")


async def test_tenant_manages_its_own_and_no_other(
    telling: Telling, receivers: Receivers, confined: Receivers, hook: Hook
) -> None:
    own = await confined.add(URL, organisation="acme", actor="acme's key")
    theirs = await telling.add(hook, organisation="other")
    everyones = await telling.add(hook)
    await telling.happen(organisation="other")
    assert [one.receiver_id for one in await confined.all()] == [own.receiver_id]
    assert await confined.deliveries() == []
    for stranger in (theirs.receiver_id, everyones.receiver_id):
        with pytest.raises(NotFound):
            await confined.remove(stranger, actor="acme's key")
        with pytest.raises(NotFound):
            await confined.rotate(stranger, actor="acme's key")
        with pytest.raises(NotFound):
            await confined.deliveries(receiver_id=stranger)
    with pytest.raises(NotFound):
        await confined.redeliver(1, actor="acme's key")
    for organisation in ("other", None):
        with pytest.raises(NotFound):
            await confined.add(URL, organisation=organisation, actor="acme's key")
    await confined.rotate(own.receiver_id, actor="acme's key")
    await confined.remove(own.receiver_id, actor="acme's key")
    assert len(await receivers.all()) == 2
