"""What runs beside every worker and server: receivers are told and alerts are noticed, as the settings say."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.app import App, open_app
from holdfast.cli.worker import beside
from holdfast.errors import CorruptInput
from holdfast.settings import Settings
from tests.engine.scenario import Scenario
from tests.notices.hook import Hook
from tests.notices.post_office import PostOffice
from tests.notices.telling import Telling, until

FAULTY = """
alter function holdfast.take_deliveries(text[], bigint[], integer) rename to took_deliveries;
create function holdfast.take_deliveries(text[], bigint[], integer) returns integer language sql as $$ select 1 / 0 $$;
create or replace function holdfast.check_alerts(out opened integer, out closed integer)
language plpgsql as $$ begin opened := 1 / 0; end $$;
"""
MENDED = """
drop function holdfast.take_deliveries(text[], bigint[], integer);
alter function holdfast.took_deliveries(text[], bigint[], integer) rename to take_deliveries;
"""


@asynccontextmanager
async def kept(dsn: str, home: Path, **settings: object) -> AsyncIterator[App]:
    async with open_app(Settings.model_validate({"database_url": dsn, "home": home, **settings})) as app:
        with beside(app.keep_telling()):
            yield app


async def test_alert_reaches_hook_and_mailbox(
    telling: Telling, scenario: Scenario, hook: Hook, dsn: str, tmp_path: Path
) -> None:
    await telling.add(hook)
    await scenario.submit(20)
    await scenario.fail(await scenario.claim("extract", 20), CorruptInput("torn"))
    async with PostOffice() as office:
        settings = {
            "allowed_hosts": hook.host,
            "alert_mail_to": "ops@example.org",
            "alert_mail_from": "Holdfast <holdfast@example.org>",
            "smtp_url": f"smtp://{office.host}",
        }
        async with kept(dsn, tmp_path, **settings):
            await until(lambda: office.letters and len(hook.calls) == 21)
    (letter,) = office.letters
    assert letter["Subject"] == "[holdfast] alert.opened: error_rate"
    assert letter.get_content().startswith("100.0 % of the attempts of the last hour failed (20 of 20)")
    assert [body["type"] for body in hook.told].count("alert.opened") == 1


async def test_chore_that_fails_is_not_silent(caplog: pytest.LogCaptureFixture) -> None:
    async def stumble() -> None:
        raise ZeroDivisionError("oh")

    with beside(stumble()):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    (record,) = [record for record in caplog.records if record.getMessage() == "chore.failed"]
    assert record.__dict__["error_type"] == "ZeroDivisionError"


async def test_fault_in_one_look_ends_neither_alerts_nor_webhooks(
    telling: Telling, hook: Hook, dsn: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await telling.add(hook)
    await telling.database.execute(FAULTY)
    async with kept(dsn, tmp_path, allowed_hosts=hook.host):
        await until(lambda: "alerts.not_checked" in caplog.text and "delivery.not_now" in caplog.text)
        await telling.database.execute(MENDED)
        await telling.happen()
        await until(lambda: hook.told)
