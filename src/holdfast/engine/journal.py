"""Keeps paid results on disk while the database does not take them, for the case that the worker dies before it does.

A result is written down only when the database has not taken it within a second: in fair weather nothing touches the
disk. Whoever starts next on the same disk offers what dead workers left. The verbs are those that may be repeated.
"""

import asyncio
import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from holdfast.db.connection import Database
from holdfast.db.pauses import Pauses
from holdfast.engine import events
from holdfast.engine.patience import insist
from holdfast.engine.strict_json import dump
from holdfast.errors import DatabaseUnavailable, HoldfastError

Value = TypeVar("Value")

AFTER_SECONDS = 1.0
INSTALLATION = "select checksum from holdfast.schema_state where key = 'installation'"
REPLAYED = {
    "settle": "select holdfast.settle($1::text::jsonb)",
    "await_answers": "select holdfast.await_answers($1::text::jsonb)",
    "fail": "select holdfast.fail($1::text::jsonb)",
    "give_back": "select holdfast.give_back($1::text::jsonb)",
    "keep_answer": "select holdfast.keep_late_answer($1::text::jsonb)",
}
KEPT_FIRST = "keep_answer"
TRIES = 8
# A fault of the server's own, a time-out of a statement or of a lock: perhaps because of this entry. What else keeps
# the database from answering concerns every entry alike, and is waited out.
PERHAPS_ITS_FAULT = ("XX", "57014", "55P03")
LOCK, WRITTEN, REFUSED = "lock", ".json", ".refused"

# Its own: a disk that hangs must keep nobody from looking up where the database is.
_threads = ThreadPoolExecutor(4, thread_name_prefix="holdfast-journal")


class Journal:
    """One folder per process, locked while the process lives, below one per database. Made when it is needed.

    Nothing is kept before `replay` has learned which database it is.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._place: Path | None = None
        self._folder: Path | None = None
        self._lock: int | None = None

    async def guard(self, call: Callable[[], tuple[str, object]], writing: Coroutine[Any, Any, Value]) -> Value:
        """Write, and keep the call that would write it on disk meanwhile, if that takes long."""
        task = asyncio.ensure_future(writing)
        kept: Path | None = None
        try:
            done, _ = await asyncio.wait({task}, timeout=AFTER_SECONDS)
            if not done and self._place is not None:
                kept = await self._keep(*call())
            value = await task
        except asyncio.CancelledError:
            task.cancel()
            raise
        if kept is not None:
            await _in_thread(lambda: kept.unlink(missing_ok=True))
        return value

    async def replay(self, database: Database) -> None:
        """Offer what dead workers left behind. What the database refuses for good stays, under another name.

        What it fails at time and again stays as it is: the next worker that starts offers it once more.
        """
        place = self._place = self._root / str(await insist(lambda: database.fetchval(INSTALLATION)))
        for folder, lock in await _in_thread(lambda: list(_abandoned(place))):
            for path in sorted(folder.glob(f"*{WRITTEN}"), key=_order):
                await _offer(database, path)
            if not {path.suffix for path in folder.iterdir()} & {WRITTEN, REFUSED}:
                shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)

    async def _keep(self, verb: str, body: object) -> Path | None:
        try:
            return await _in_thread(lambda: self._write(verb, dump(body)))
        except (OSError, HoldfastError) as error:
            events.journal_not_kept(error)  # it is in memory still
            return None

    def _write(self, verb: str, body: bytes) -> Path:
        path = self._own_folder() / f"{verb}-{secrets.token_hex(8)}{WRITTEN}"
        unfinished = path.with_suffix(".part")
        with unfinished.open("xb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
        return path

    def _own_folder(self) -> Path:
        if self._folder is None:
            assert self._place is not None
            name = f"{os.getpid()}-{secrets.token_hex(4)}"
            # Others see it once it is locked: before, they would take it for a dead worker's, and remove it.
            hidden = self._place / f".{name}"
            hidden.mkdir(mode=0o700, parents=True)
            self._lock = _locked(hidden)
            self._folder = hidden.rename(self._place / name)
        return self._folder


async def _in_thread(call: Callable[[], Value]) -> Value:
    return await asyncio.get_running_loop().run_in_executor(_threads, call)


async def _offer(database: Database, path: Path) -> None:
    verb = path.name.split("-")[0]
    try:
        body = await _in_thread(path.read_text)
        await _insist(database, REPLAYED[verb], body)
    except DatabaseUnavailable as error:
        events.journal_set_aside(str(path), error)
    except Exception as error:
        events.journal_refused(str(path), error)
        await _in_thread(lambda: path.rename(path.with_suffix(REFUSED)))
    else:
        events.journal_replayed(verb)
        await _in_thread(path.unlink)


async def _insist(database: Database, sql: str, body: str) -> None:
    """Send it until the database takes it, but only so often if it may be itself what the database fails at."""
    pauses, tries = Pauses(), 0
    while True:
        try:
            await database.execute(sql, body)
            return
        except DatabaseUnavailable as error:
            cause = error.__cause__
            tries += isinstance(cause, asyncpg.PostgresError) and (cause.sqlstate or "").startswith(PERHAPS_ITS_FAULT)
            if tries >= TRIES:
                raise
            events.database_unavailable(error)
        await asyncio.sleep(pauses.next())


def _abandoned(root: Path) -> Iterator[tuple[Path, int]]:
    """Folders whose processes are gone, and the locks that make them this process's."""
    for folder in sorted(root.glob("[!.]*")):
        with suppress(OSError):
            yield folder, _locked(folder)


def _locked(folder: Path) -> int:
    """A descriptor that locks the folder for as long as the process lives; BlockingIOError: another has it."""
    descriptor = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _order(path: Path) -> bool:
    """What an attempt spent is told after the answers that it spent it on."""
    return path.name.split("-")[0] != KEPT_FIRST
