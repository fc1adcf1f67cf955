"""Embeds all passages in a bare loop: `python -m bench.bare_embedding DSN` prints the seconds it took.

A process of its own, so that it loads the model as a worker does.
"""

import asyncio
import sys
import time

import asyncpg

from holdfast.providers.light import LightEmbedder

BATCHES = (32, 64, 128, 256, 512, 1024)
SAMPLE = 2048
PASSAGES = "select holdfast.passage_of(c) from holdfast.chunk c order by document_id, ordinal"


async def main(dsn: str) -> float:
    """Seconds for loading the model and for all passages, in batches of the size that is best here."""
    connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(dsn)
    passages = [row[0] for row in await connection.fetch(PASSAGES)]
    await connection.close()
    loading = await _embed(passages[:1], 1)
    _, size = min([(await _embed(passages[:SAMPLE], size), size) for size in BATCHES])
    return loading + await _embed(passages, size)


async def _embed(passages: list[str], size: int) -> float:
    embedder = LightEmbedder()
    began = time.perf_counter()
    for start in range(0, len(passages), size):
        await embedder.embed(passages[start : start + size])
    return time.perf_counter() - began


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1])))
