"""The promise in every weather: what is finished is kept, paid once, and billed truly."""

import asyncio
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest

from tests.conftest import OwnServer
from tests.weather.account import Account
from tests.weather.cells import RESULTS, SECONDS, WORKERS, Cell, covering, quick
from tests.weather.conditions import CONDITIONS, DATABASE_ANSWERS
from tests.weather.fleet import Fleet, opened

SLOTS = 4
# More than all slots: some are claimed only when the weather allows it.
MORE = 3
CLEARED_SECONDS = 60.0

UNFINISHED = "select id, state, last_error from holdfast.pipeline_job where state <> 'done'"
RECORDED = "select count(*) as count from holdfast.pipeline_phase where phase = 'ask' and outcome = 'completed'"


@pytest.mark.parametrize("cell", list(quick()), ids=str)
async def test_quick(cell: Cell, weather_server: OwnServer, weather_dsn: str, tmp_path: Path) -> None:
    await _live_through(cell, weather_server, weather_dsn, tmp_path)


@pytest.mark.thorough
@pytest.mark.timeout(300)
@pytest.mark.parametrize("cell", list(covering()), ids=str)
async def test_in_real_time(cell: Cell, weather_server: OwnServer, weather_dsn: str, tmp_path: Path) -> None:
    await _live_through(cell, weather_server, weather_dsn, tmp_path)


def test_every_pair_of_values_occurs() -> None:
    cells = [(cell.weather, cell.seconds, cell.results, cell.workers) for cell in covering()]
    for (n, some), (m, others) in combinations(enumerate((tuple(CONDITIONS), SECONDS, RESULTS, WORKERS)), 2):
        assert {(cell[n], cell[m]) for cell in cells} == set(product(some, others))


async def _live_through(cell: Cell, server: OwnServer, dsn: str, folder: Path) -> None:
    async with opened(dsn, folder, workers=cell.workers, slots=SLOTS, scale=cell.scale) as fleet:
        paid, asked = (SLOTS + MORE) * cell.workers, SLOTS * cell.workers
        await fleet.submit("weather", paid)
        await fleet.until(lambda: fleet.provider.asked >= asked, "asked the provider in every slot")
        async with CONDITIONS[cell.weather](fleet, server):
            await _endure(cell, fleet, asked)
        fleet.provider.answer()
        await fleet.until_none(UNFINISHED, "done", CLEARED_SECONDS)
        assert set(await fleet.stop()) == {0}, fleet.last_words()
        account = await Account.taken(fleet)
    _check(cell, account, paid)


async def _endure(cell: Cell, fleet: Fleet, asked: int) -> None:
    loop = asyncio.get_running_loop()
    clears_at = loop.time() + cell.seconds * cell.scale
    if cell.results == "during":
        fleet.provider.answer()
        await fleet.until(lambda: fleet.provider.answered >= asked, "answered every call")
    await asyncio.sleep(clears_at - loop.time())
    if cell.results == "during" and cell.seconds > 1 and cell.weather in DATABASE_ANSWERS:
        (recorded,) = await fleet.ask(RECORDED)
        assert recorded["count"] >= asked, f"{recorded['count']} of {asked} results recorded while the database answers"


def _check(cell: Cell, account: Account, paid: int) -> None:
    jobs = sum(account.states.values())
    if cell.may_be_taken_over:
        assert account.called.keys() <= {1, 2}
        assert account.called.get(2, 0) <= SLOTS, "only what the worker held that was cut off"
        assert account.crashes <= SLOTS
        account = replace(account, called={1: paid}, crashes=0)
        if cell.results == "after":
            # Broken off in the middle of a call: what that cost may stay unknown, and counts as spent.
            account = replace(account, unknown_costs=0)
    assert account == Account.perfect(jobs=jobs, paid=paid, bill_usd=account.billed_usd), account
