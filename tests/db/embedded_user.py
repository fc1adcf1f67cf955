"""A process that uses the embedded server of a home folder until its standard input ends."""

import asyncio
import sys
from pathlib import Path

import asyncpg

from holdfast.db.embedded import embedded


async def main(home: Path) -> None:
    async with embedded(home, durable=False) as dsn:
        connection = await asyncpg.connect(dsn)
        await connection.execute("select 1")
        print(dsn, flush=True)
        await asyncio.to_thread(sys.stdin.read)
        print(await connection.fetchval("select 'still here'"), flush=True)
        await connection.close()


asyncio.run(main(Path(sys.argv[1])))
