"""`holdfast webhooks` and `holdfast alerts`, as people and programs call them."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from holdfast.db.connection import Database
from holdfast.engine.control import Control
from holdfast.notices.receivers import Event, Receivers
from holdfast.testing import Reply
from tests.cli.conftest import CommandLine
from tests.notices.hook import Hook, genuine
from tests.notices.telling import until

URL = "https://example.org/hooks"


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    async with Hook() as hook:
        yield hook


def test_secret_is_shown_once(holdfast: CommandLine) -> None:
    secret, said = holdfast.succeed("webhooks", "add", URL, "--event", "job.done").out.splitlines()
    assert said == "webhook 1: keep its secret now, it is not shown again"
    listed = holdfast.succeed("webhooks", "list").out
    assert all(word in listed for word in (URL, "job.done", "webhook"))
    assert secret not in listed


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (("add", URL, "--event", "job.dune"), 'there is no event "job.dune"'),
        (("redeliver", "7"), "there is no delivery 7"),
    ],
)
def test_wrong_call_exits_2(holdfast: CommandLine, call: tuple[str, ...], says: str) -> None:
    result = holdfast.run("webhooks", *call)
    assert (result.code, result.out) == (2, "")
    assert says in result.err


async def test_ping_says_whether_it_arrived(holdfast: CommandLine, database: Database, hook: Hook) -> None:
    await Receivers(database).add(hook.url, organisation=None, actor="tester")
    allowed = holdfast.with_settings(HOLDFAST_ALLOWED_HOSTS=hook.host)
    taken = await asyncio.to_thread(allowed.run, "webhooks", "test", "1")
    hook.script(Reply(500, b"out of order"))
    refused = await asyncio.to_thread(allowed.run, "webhooks", "test", "1")
    assert (taken.code, taken.out) == (0, "receiver 1 took the ping\n")
    assert (refused.code, refused.out) == (1, "")
    assert "receiver 1 did not take the ping: it answered 500: out of order" in refused.err


async def test_worker_tells_what_it_did(holdfast: CommandLine, database: Database, hook: Hook) -> None:
    made = await Receivers(database).add(hook.url, events=[Event.JOB_DONE], organisation=None, actor="tester")
    await asyncio.to_thread(holdfast.submit, "report.pdf")
    with holdfast.with_settings(HOLDFAST_ALLOWED_HOSTS=hook.host).started("worker"):
        await until(lambda: hook.calls)
    assert genuine(hook.calls[0], made.secret)
    assert hook.told[0]["data"]["source_name"] == "report.pdf"


async def test_server_tells_too(holdfast: CommandLine, database: Database, hook: Hook) -> None:
    await Receivers(database).add(hook.url, organisation=None, actor="tester")
    await Control(database, "tester").hold({"provider": "model"})
    with holdfast.with_settings(HOLDFAST_ALLOWED_HOSTS=hook.host).started("serve", "--port", "0"):
        await until(lambda: hook.calls)
    assert hook.told[0]["type"] == "provider.held"


async def test_open_alert_says_what_to_look_at(holdfast: CommandLine, database: Database) -> None:
    await database.execute(
        "insert into holdfast.incident (kind, scope, opened_at, message, figures)"
        " values ('stuck_jobs', 'everything', now(), '3 jobs made no progress', '{}')"
    )
    assert "3 jobs made no progress" in (await asyncio.to_thread(holdfast.succeed, "alerts")).out
