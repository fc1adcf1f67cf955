"""Whatever happens reaches whoever wants it, once if it can be, again if it must be, and always under the same id."""

import asyncio
from datetime import datetime

import pytest

from holdfast.db.connection import Database
from holdfast.engine.overview import Overview
from holdfast.errors import Conflict
from holdfast.network.addresses import Guard
from holdfast.network.pinned import PinnedClient
from holdfast.notices.delivering import Deliverer
from holdfast.notices.delivery import Failed
from holdfast.notices.webhook import WebhookSender
from holdfast.testing import Reply
from tests.conftest import Clock
from tests.notices.hook import Hook, genuine
from tests.notices.telling import Telling, numbers, running, until

WAITS = (5, 30, 120, 600, 3600, 21600, 86400)


async def test_notice_arrives_signed(telling: Telling, hook: Hook) -> None:
    made = await telling.add(hook)
    await telling.happen()
    await telling.deliver()
    (call,) = hook.calls
    assert genuine(call, made.secret)
    assert call.json["type"] == "job.done"
    assert call.json["data"] == {"number": 0}
    assert datetime.fromisoformat(call.json["timestamp"]).tzinfo is not None
    assert call.headers["content-type"] == "application/json"
    delivery = await telling.delivery()
    assert (delivery["state"], delivery["attempts"], delivery["last_status"]) == ("delivered", 1, 200)


async def test_failed_delivery_comes_again_under_the_same_id(telling: Telling, hook: Hook, clock: Clock) -> None:
    await telling.add(hook)
    await telling.happen()
    hook.script(*[Reply(500, b"out of\n  order")] * 2)
    await telling.deliver()
    delivery = await telling.delivery()
    assert (delivery["state"], delivery["last_answer"]) == ("waiting", "it answered 500: out of order")
    await clock.advance(seconds=7)
    await telling.deliver()
    await telling.deliver()  # nothing is due for half a minute
    assert len(hook.calls) == 2
    await clock.advance(seconds=40)
    await telling.deliver()
    assert len(set(hook.ids)) == 1
    assert [call.body for call in hook.calls] == [hook.calls[0].body] * 3
    assert (await telling.delivery())["state"] == "delivered"


async def test_patience_grows_and_ends(telling: Telling, hook: Hook, clock: Clock) -> None:
    await telling.add(hook)
    await telling.happen()
    hook.script(*[Reply(500)] * 20)
    waited = []
    for seconds in WAITS:
        await telling.deliver()
        delivery = await telling.delivery()
        waited.append((delivery["next_at"] - delivery["last_at"]).total_seconds() / seconds)
        await clock.advance(seconds=seconds * 1.2)
    await telling.deliver()
    delivery = await telling.delivery()
    assert all(1 <= ratio <= 1.2 for ratio in waited)
    assert (delivery["state"], delivery["attempts"], len(hook.calls)) == ("given_up", 8, 8)


@pytest.mark.parametrize(
    ("status", "asked", "waits"), [(429, 900, 900), (503, 900, 900), (500, 900, 5), (429, 10**9, 86400)]
)
async def test_receiver_may_ask_for_time(telling: Telling, hook: Hook, status: int, asked: int, waits: int) -> None:
    await telling.add(hook)
    await telling.happen()
    hook.script(Reply(status, headers={"Retry-After": str(asked)}))
    await telling.deliver()
    delivery = await telling.delivery()
    assert (delivery["next_at"] - delivery["last_at"]).total_seconds() == pytest.approx(waits, rel=0.2)


async def test_redirect_is_not_followed(telling: Telling, hook: Hook, other_hook: Hook) -> None:
    await telling.add(hook)
    telling.allowed.add(other_hook.host)
    await telling.happen()
    hook.script(Reply(307, headers={"Location": other_hook.url}))
    await telling.deliver()
    assert other_hook.calls == []
    delivery = await telling.delivery()
    assert (delivery["state"], delivery["last_status"]) == ("waiting", 307)
    assert "redirects are not followed" in delivery["last_answer"]


async def test_receiver_that_is_gone_is_told_nothing_more(telling: Telling, hook: Hook, database: Database) -> None:
    await telling.add(hook)
    await telling.happen(3)
    hook.script(Reply(410, b"moved out"), Reply(410))
    await telling.deliver()
    await telling.happen()
    (receiver,) = await telling.receivers.all()
    assert receiver.disabled_at is not None
    assert receiver.disabled_reason is not None
    assert receiver.disabled_reason.startswith("it answered 410")
    assert await telling.events() == ["job.done"] * 3
    assert {row["state"] for row in await database.fetch("select state from holdfast.delivery")} == {"given_up"}
    assert (await Overview(database).audit())[0]["action"] == "disable receiver"
    with pytest.raises(Conflict, match="disabled"):
        await telling.receivers.redeliver(1, actor="tester")


@pytest.mark.parametrize("reply", [Reply(500, b"x", end="reset"), Reply(500, b"x" * 1_000_000)])
async def test_bad_answer_is_read_a_little_way(telling: Telling, hook: Hook, reply: Reply) -> None:
    await telling.add(hook)
    await telling.happen()
    hook.script(reply)
    await telling.deliver()
    delivery = await telling.delivery()
    assert (delivery["state"], delivery["attempts"]) == ("waiting", 1)
    assert len(delivery["last_answer"]) < 400


async def test_silent_receiver_holds_up_nobody_and_gets_two_calls_at_a_time(
    telling: Telling, hook: Hook, other_hook: Hook
) -> None:
    hook.silent = True
    await telling.add(hook)
    await telling.add(other_hook)
    await telling.happen(10)
    async with running(telling.deliverer()):
        await until(lambda: len(other_hook.calls) == 10)
        assert len(hook.calls) == 2
    assert numbers(other_hook.told) == list(range(10))


async def test_silence_ends_as_a_failure(telling: Telling, hook: Hook) -> None:
    hook.silent = True
    await telling.add(hook)
    await telling.happen()
    deliverer = telling.deliverer(seconds=0.1)
    (taken,) = await deliverer.take()
    assert await deliverer.deliver(taken) == Failed("it did not answer within 0.1 s")
    assert (await telling.delivery())["state"] == "waiting"


async def test_several_deliverers_share_the_work(telling: Telling, hook: Hook) -> None:
    await telling.add(hook)
    await telling.happen(30)
    async with running(telling.deliverer(), telling.deliverer(), telling.deliverer()):
        await until(lambda: len(hook.calls) >= 30)
        await asyncio.sleep(0)
    assert len(set(hook.ids)) == 30
    assert numbers(hook.told) == list(range(30))


async def test_what_a_dead_deliverer_had_is_delivered_under_the_same_id(
    telling: Telling, hook: Hook, clock: Clock
) -> None:
    await telling.add(hook)
    await telling.happen()
    late = telling.deliverer()
    (taken,) = await late.take()
    await telling.deliver()
    assert hook.calls == []
    await clock.advance(seconds=61)
    hook.script(Reply(500))
    await telling.deliver()
    await late.deliver(taken)
    assert set(hook.ids) == {str(taken.message_id)}
    delivery = await telling.delivery()
    assert (delivery["state"], delivery["attempts"], delivery["last_status"]) == ("waiting", 1, 500)


async def test_inner_network_is_not_reached(telling: Telling, hook: Hook) -> None:
    await telling.add(hook)
    await telling.happen()
    client = PinnedClient(Guard(), connect_seconds=1, read_seconds=1)
    strict = Deliverer(telling.database, {"webhook": WebhookSender(client)})
    (taken,) = await strict.take()
    outcome = await strict.deliver(taken)
    assert isinstance(outcome, Failed)
    assert "HOLDFAST_ALLOWED_HOSTS" in outcome.answer
    assert hook.calls == []


async def test_new_secret_signs_at_once_and_the_old_one_for_a_day(telling: Telling, hook: Hook, clock: Clock) -> None:
    old = await telling.add(hook)
    new = await telling.receivers.rotate(old.receiver_id, actor="tester")
    await telling.happen()
    await telling.deliver()
    await clock.advance(hours=25)
    await telling.happen()
    await telling.deliver()
    first, second = hook.calls
    assert [genuine(first, old.secret), genuine(first, new.secret)] == [True, True]
    assert [genuine(second, old.secret), genuine(second, new.secret)] == [False, True]


async def test_delivery_can_be_asked_for_again(telling: Telling, hook: Hook) -> None:
    await telling.add(hook)
    await telling.happen()
    await telling.deliver()
    await telling.receivers.redeliver(1, actor="tester")
    await telling.deliver()
    assert hook.ids == [hook.ids[0]] * 2


async def test_delivery_under_way_is_not_sent_beside_itself(telling: Telling, hook: Hook) -> None:
    await telling.add(hook)
    await telling.happen()
    await telling.deliverer().take()
    with pytest.raises(Conflict, match="under way"):
        await telling.receivers.redeliver(1, actor="tester")


async def test_notices_are_kept_for_thirty_days(telling: Telling, hook: Hook, database: Database, clock: Clock) -> None:
    await telling.add(hook)
    await telling.happen()
    await clock.advance(days=29)
    await telling.happen()
    await clock.advance(days=2)
    await database.execute("select holdfast.clean_up()")
    assert [row["id"] for row in await database.fetch("select id from holdfast.notice")] == [2]
    assert await database.fetchval("select count(*) from holdfast.delivery") == 1
