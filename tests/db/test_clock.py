"""The one time seam of the tests."""

from datetime import timedelta

from holdfast.db.connection import Database
from tests.conftest import Clock


async def test_advancing_moves_the_engines_clock(database: Database, clock: Clock) -> None:
    await clock.advance(hours=12)
    ahead = await database.fetchval("select holdfast.clock() - clock_timestamp()")
    assert timedelta(hours=11, minutes=59) < ahead <= timedelta(hours=12)
