"""Panels that keep themselves up to date. What many viewers look at is asked for once."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from markupsafe import Markup
from nicegui import ui

from holdfast.errors import DatabaseUnavailable

REFRESH_SECONDS = 2.0
FRESH_SECONDS = 1.0
MOST_KEPT = 200

T = TypeVar("T")


class Shared:
    """Answers that several viewers want at about the same time: computed once, good for a moment."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, tuple[float, asyncio.Task[Any]]] = {}

    async def get(self, key: Hashable, make: Callable[[], Awaitable[T]], *, seconds: float = FRESH_SECONDS) -> T:
        """The answer to `key`, at most so old. Whoever comes while it is computed waits for the same one."""
        now = time.monotonic()
        made_at, answer = self._answers.get(key, (0.0, None))
        if answer is None or (answer.done() and (now - made_at > seconds or answer.exception() is not None)):
            self._forget(now, seconds)
            answer = asyncio.ensure_future(_awaited(make))
            self._answers[key] = (now, answer)
        return await asyncio.shield(answer)

    def _forget(self, now: float, seconds: float) -> None:
        if len(self._answers) >= MOST_KEPT:
            self._answers = {
                key: kept for key, kept in self._answers.items() if now - kept[0] <= seconds or not kept[1].done()
            }


async def _awaited(make: Callable[[], Awaitable[Any]]) -> Any:
    return await make()


class Panel:
    """A part of a page, as markup, that is made anew every few seconds while someone looks at it.

    While the database is away it keeps showing what was there, and says so.
    """

    def __init__(self, make: Callable[[], Awaitable[Markup]]) -> None:
        self._make = make
        self.element = ui.html("", sanitize=False)  # everything in it went through markup.py, which escapes

    async def show(self, *, every: float | None = REFRESH_SECONDS) -> "Panel":
        """Fill it now, and again every so many seconds."""
        await self.refresh()
        if every is not None:
            ui.timer(every, self.refresh, immediate=False)
        return self

    async def refresh(self) -> None:
        """Make it anew; nothing is sent when nothing changed."""
        try:
            content = await self._make()
        except DatabaseUnavailable:
            self.element.classes(add="stale")
            return
        self.element.classes(remove="stale")
        if content != self.element.content:
            self.element.set_content(content)

    def on_act(self, act: Callable[[dict[str, str]], Awaitable[None]]) -> "Panel":
        """Call this with the data-* of whatever button inside was pressed."""
        self.element.on(
            "click",
            lambda event: act(event.args),
            js_handler="(e) => { const b = e.target.closest('[data-act]'); if (b) emit({...b.dataset}); }",
        )
        return self
