"""Opens the old database, wherever it is, and finds the table in it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from holdfast.db.connection import Database, connect
from holdfast.errors import DatabaseUnavailable, DatabaseUnusable, InvalidInput
from holdfast.settings import Settings
from holdfast.takeover.old_table import OLDEST_SERVER, OldTable, find_table


@asynccontextmanager
async def opened_table(
    own: Database, settings: Settings, *, url: str | None, table: str, columns: Mapping[str, str]
) -> AsyncIterator[OldTable]:
    """The table in the database of that URL; without one, in Holdfast's own."""
    if url is None:
        yield await find_table(own, table, columns)
        return
    there = settings.model_copy(update={"database_url": url, "database_direct_url": None, "pool_size": 1})
    try:
        async with connect(there, oldest_server=OLDEST_SERVER) as database:
            yield await find_table(database, table, columns)
    except (DatabaseUnavailable, DatabaseUnusable, InvalidInput) as error:
        # The connection speaks of the setting that it usually comes from.
        raise type(error)(str(error).replace("HOLDFAST_DATABASE_URL", "--from")) from error
