"""A worker that is killed while the database is away: what it had paid for is on its disk, and the next offers it."""

import asyncio
import json
import signal
from pathlib import Path

from tests.conftest import OwnServer
from tests.weather.account import Account
from tests.weather.conditions import cut_for_all
from tests.weather.fleet import PATIENCE_SECONDS, Fleet, opened
from tests.weather.test_weather import UNFINISHED

SLOTS = 4
QUICK = 0.4


async def test_paid_results_outlive_a_worker_killed_during_an_outage(
    weather_server: OwnServer, weather_dsn: str, tmp_path: Path
) -> None:
    async with opened(weather_dsn, tmp_path, workers=1, slots=SLOTS, scale=QUICK) as fleet:
        await fleet.submit("weather", SLOTS)
        await fleet.until(lambda: fleet.provider.asked == SLOTS, "asked the provider in every slot")
        async with cut_for_all(fleet, weather_server):
            fleet.provider.answer()
            await fleet.until(lambda: len(_kept(fleet)) == SLOTS, "kept every result on disk")
            (killed,) = fleet.workers
            killed.process.kill()
            await killed.process.wait()
        fleet.workers.clear()
        await fleet.start(1)
        await fleet.until_none(UNFINISHED, "done")
        await fleet.stop()
        account = await Account.taken(fleet)
        again = [document for document, calls in fleet.provider.calls.items() if calls > 1]
        assert _kept(fleet) == []
    # A save is code of the process that died: of such a result only the cost is known, and the call is made again.
    assert all(document % 2 == 0 for document in again)
    assert account.recorded_usd == account.budget_spent_usd == account.billed_usd
    assert (account.unknown_costs, account.crashes, account.findings) == (0, 0, [])


async def test_living_worker_adopts_what_a_dead_neighbour_left_on_the_disk_they_share(
    weather_server: OwnServer, weather_dsn: str, tmp_path: Path
) -> None:
    async with opened(weather_dsn, tmp_path, workers=2, slots=SLOTS, scale=QUICK) as fleet:
        await fleet.submit("weather", 2 * SLOTS)
        await fleet.until(lambda: fleet.provider.asked == 2 * SLOTS, "asked the provider in every slot")
        async with cut_for_all(fleet, weather_server):
            fleet.provider.answer()
            await fleet.until(lambda: len(_kept(fleet)) == 2 * SLOTS, "kept every result on disk")
            killed = fleet.workers.pop(0)
            killed.process.kill()
            await killed.process.wait()
        await fleet.until_none(UNFINISHED, "done")
        await fleet.stop()
        account = await Account.taken(fleet)
        again = [document for document, calls in fleet.provider.calls.items() if calls > 1]
        assert _kept(fleet) == []
    assert all(document % 2 == 0 for document in again)
    assert account.recorded_usd == account.budget_spent_usd == account.billed_usd
    assert (account.unknown_costs, account.crashes, account.findings) == (0, 0, [])


async def test_worker_that_stops_in_an_outage_says_what_it_leaves_on_disk(
    weather_server: OwnServer, weather_dsn: str, tmp_path: Path
) -> None:
    async with opened(weather_dsn, tmp_path, workers=1, slots=SLOTS, scale=QUICK) as fleet:
        await fleet.submit("weather", SLOTS)
        await fleet.until(lambda: fleet.provider.asked == SLOTS, "asked the provider in every slot")
        async with cut_for_all(fleet, weather_server):
            fleet.provider.answer()
            await fleet.until(lambda: len(_kept(fleet)) == SLOTS, "kept every result on disk")
            (worker,) = fleet.workers
            for _ in range(2):  # the second: now
                worker.process.send_signal(signal.SIGTERM)
                await asyncio.sleep(0.5)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await worker.process.wait()
        (left,) = [json.loads(line) for line in worker.log.read_text().splitlines() if "journal.left" in line]
    assert (left["results"], left["path"]) == (SLOTS, str(_kept(fleet)[0].parent))
    assert "HOLDFAST_HOME" in left["next"]


def _kept(fleet: Fleet) -> list[Path]:
    return list((fleet.folder / "home" / "journal").glob("*/*/*.json"))
