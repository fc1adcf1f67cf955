"""Viewers of the dashboard: `python -m bench.viewer URL COUNT` looks at its pages until its standard input ends.

Each opens a page, keeps its socket open as a browser does, and goes on to the next page after a while. Prints how many
milliseconds the pages took to answer, as a JSON list.
"""

import asyncio
import json
import re
import sys
import time
import uuid

import httpx2
import socketio

PAGES = ("/", "/jobs", "/failures", "/money", "/health", "/search?q=ferry")
LOOK_SECONDS = 4.0
CLIENT = re.compile(r"""['"]client_id['"]: *['"]([0-9a-f-]+)""")


async def main(url: str, count: int) -> list[float]:
    """What each answer took."""
    took: list[float] = []
    viewers = [asyncio.create_task(_look(url, number, took)) for number in range(count)]
    await asyncio.to_thread(sys.stdin.read)
    for viewer in viewers:
        viewer.cancel()
    ended = await asyncio.gather(*viewers, return_exceptions=True)
    for end in ended:
        if not isinstance(end, asyncio.CancelledError):
            raise RuntimeError("a viewer saw an error instead of a page") from (
                end if isinstance(end, Exception) else None
            )
    return took


async def _look(url: str, number: int, took: list[float]) -> None:
    await asyncio.sleep(number * 0.2)
    async with httpx2.AsyncClient(base_url=url, timeout=30) as client:
        while True:
            for place in range(len(PAGES)):
                began = time.perf_counter()
                answer = await client.get(PAGES[(number + place) % len(PAGES)])
                answer.raise_for_status()
                took.append((time.perf_counter() - began) * 1000)
                await _stay(url, answer.text)


async def _stay(url: str, page: str) -> None:
    """Take in what the page is sent, as long as someone looks at it."""
    found = CLIENT.search(page)
    assert found is not None, "the page names no client: has the toolkit changed?"
    tab, document = uuid.uuid4(), uuid.uuid4()
    said = f"client_id={found[1]}&next_message_id=0&implicit_handshake=true&tab_id={tab}&document_id={document}"
    socket = socketio.AsyncClient(reconnection=False)
    try:
        await socket.connect(f"{url}?{said}", socketio_path="/_nicegui_ws/socket.io", transports=["websocket"])
        await asyncio.sleep(LOOK_SECONDS)
    finally:
        await socket.disconnect()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2])))))
