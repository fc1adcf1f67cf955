"""Workers that died or froze, lost at once instead of after their lease.

So leases can be as long as a busy machine needs: nobody who lives is taken for dead.
"""

import asyncio

from holdfast.db.connection import Database

PATIENCE_SECONDS = 60.0
# What was on its way when it died may still arrive, so it is said again until it counts.
SILENT = "update holdfast.worker set seen_at = seen_at - interval '1 day' where id = any ($1) and lost_at is null"


async def lose(database: Database, *, pid: int) -> None:
    """Have this process be silent for longer than any lease; comes back when that has been noticed."""
    rows = await database.fetch("select id from holdfast.worker where pid = $1 and lost_at is null", pid)
    await lose_named(database, *(row["id"] for row in rows))


async def lose_named(database: Database, *names: str) -> None:
    """The same for workers of one process, which their names tell apart."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await database.execute(SILENT, names) != "UPDATE 0":
            await database.execute("select holdfast.sweep(3600)")
