"""A model elsewhere: `python -m bench.served_model` prints its address, then answers as fast as a good service does."""

import asyncio

from holdfast.testing import KEY, Call, StandIn

MODEL = "served"
DIMENSION = 256
CALL_SECONDS = 0.03
TEXT_SECONDS = 0.001

SETTINGS = {
    "HOLDFAST_EMBEDDER": "openai",
    "HOLDFAST_EMBEDDER_MODEL": MODEL,
    "HOLDFAST_EMBEDDER_DIMENSION": str(DIMENSION),
    "HOLDFAST_EMBEDDER_SHORTENS": "true",
    "HOLDFAST_EMBEDDER_API_KEY": KEY,
}


class _Slow(StandIn):
    """Thirty milliseconds for a call and one for each text in it."""

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(CALL_SECONDS + TEXT_SECONDS * len(call.json["input"]))
        await super()._answer(call, writer)


async def main() -> None:
    """Serve until killed."""
    async with _Slow() as server:
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
