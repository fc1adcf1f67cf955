"""Embeds all passages in bare loops: `python -m bench.bare_embedding DSN LOOPS [URL]` prints the seconds it took.

A process of its own, so that it loads the model as a worker does. With an address the model is served there.
"""

import asyncio
import sys
import time

import asyncpg

from bench.served_model import DIMENSION, MODEL
from holdfast.providers.embedder import Embedder
from holdfast.providers.http import Endpoint, HttpApi
from holdfast.providers.light import LightEmbedder
from holdfast.providers.openai_embedder import EmbeddingModel, OpenAIEmbedder
from holdfast.testing import KEY

BATCHES = (32, 64, 128, 256, 512, 1024)
SAMPLE = 2048
PASSAGES = "select holdfast.passage_of(c) from holdfast.chunk c order by generation_id, ordinal"


async def main(dsn: str, loops: str, url: str | None = None) -> float:
    """Seconds for loading the model and for all passages, in batches of the size that is best here."""
    connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(dsn)
    passages = [row[0] for row in await connection.fetch(PASSAGES)]
    await connection.close()
    embedder = LightEmbedder() if url is None else _served(url)
    loading = await _embed(embedder, passages[:1], 1)
    at_once = int(loops)
    _, size = min([(await _embed(embedder, passages[:SAMPLE], size, at_once), size) for size in BATCHES])
    return loading + await _embed(embedder, passages, size, at_once)


def _served(url: str) -> Embedder:
    api = HttpApi(Endpoint("bare loop", url, KEY))
    return OpenAIEmbedder(api, EmbeddingModel(MODEL, DIMENSION, shortens=True))


async def _embed(embedder: Embedder, passages: list[str], size: int, loops: int = 1) -> float:
    began = time.perf_counter()
    starts = iter(range(0, len(passages), size))

    async def loop() -> None:
        for start in starts:
            await embedder.embed(passages[start : start + size])

    await asyncio.gather(*(loop() for _ in range(loops)))
    return time.perf_counter() - began


if __name__ == "__main__":
    print(asyncio.run(main(*sys.argv[1:])))
