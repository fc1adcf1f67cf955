"""Keeps paid results on disk while the database does not take them, for the case that the worker dies before it does.

A result is written down only when the database has not taken it within a second: in fair weather nothing touches the
disk. Whoever lives or starts on the same disk offers what dead workers left. The verbs are those that may be repeated.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from holdfast.db.connection import Database
from holdfast.db.pauses import Pauses
from holdfast.engine import events
from holdfast.engine.journal_files import Entry, Folder, Subject, subject_of
from holdfast.engine.patience import Patience, ask_once, insist
from holdfast.engine.strict_json import dump
from holdfast.errors import DatabaseUnavailable, DatabaseUnusable, HoldfastError

Value = TypeVar("Value")

AFTER_SECONDS = 1.0
INSTALLATION = "select checksum from holdfast.schema_state where key = 'installation'"
# Each says what became of it.
REPLAYED = {
    "settle": "select result from holdfast.settle($1::text::jsonb)",
    "await_answers": "select result from holdfast.await_answers($1::text::jsonb)",
    "fail": "select result from holdfast.fail($1::text::jsonb)",
    "give_back": "select 'released' from holdfast.give_back($1::text::jsonb)",
    "keep_answer": "select 'kept' from holdfast.keep_late_answer($1::text::jsonb)",
}
TRIES = 8
# A fault of the server's own, a time-out of a statement or of a lock: perhaps because of this entry. What else keeps
# the database from answering concerns every entry alike, and is waited out.
PERHAPS_ITS_FAULT = ("XX", "57014", "55P03")

# Its own: a disk that hangs must keep nobody from looking up where the database is.
_threads = ThreadPoolExecutor(4, thread_name_prefix="holdfast-journal")


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many paid results of dead workers lie on this disk, and whose."""

    place: Path
    count: int
    jobs: tuple[int, ...]


class Journal:
    """One folder per process, locked while the process lives, below one per database. Made when it is needed.

    Nothing is kept before `replay` has learned which database it is.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._place: Path | None = None
        self._folder: Folder | None = None
        self._making = threading.Lock()
        self._kept: set[Entry] = set()
        # How often the database has failed at an entry, perhaps because of it.
        self._tries: Counter[Entry] = Counter()
        self._adopting: asyncio.Task[list[Subject]] | None = None

    @property
    def kept(self) -> tuple[int, Path | None]:
        """How many results of this process wait on its disk, and where."""
        return len(self._kept), self._folder.path if self._folder else None

    # Keeping one's own

    async def guard(self, call: Callable[[], tuple[str, object]], writing: Coroutine[Any, Any, Value]) -> Value:
        """Write, and keep the call that would write it on disk meanwhile, if that takes long."""
        task = asyncio.ensure_future(writing)
        kept: Entry | None = None
        try:
            done, _ = await asyncio.wait({task}, timeout=AFTER_SECONDS)
            if not done and self._place is not None:
                kept = await self._keep_until(task, call)
            value = await task
        except asyncio.CancelledError:
            task.cancel()
            raise
        if kept is not None:
            await _in_thread(kept.remove)
            self._kept.discard(kept)
        return value

    async def _keep_until(self, written: "asyncio.Future[Any]", call: Callable[[], tuple[str, object]]) -> Entry | None:
        """Try until the disk takes it, or it is needed there no more."""
        pauses = Pauses()
        while not written.done():
            verb, body = call()
            try:
                entry = await _in_thread(lambda: self._own_folder().write(verb, dump(body)))  # noqa: B023
            except OSError as error:
                events.journal_not_kept(subject_of(body), error)
                await asyncio.wait({written}, timeout=pauses.next())
            except HoldfastError as error:
                events.journal_not_kept(subject_of(body), error)  # the value is what no file and no column can hold
                return None
            else:
                self._kept.add(entry)
                return entry
        return None

    def _own_folder(self) -> Folder:
        with self._making:
            if self._folder is None:
                assert self._place is not None
                self._folder = Folder.made(self._place)
            return self._folder

    # Offering what others left

    async def replay(self, database: Database, *, patience: Patience = insist) -> list[Subject]:
        """Offer what dead workers left behind, and say whose it was. What the database refuses for good stays aside.

        What it fails at time and again stays as it is: the next worker that starts offers it once more.
        """
        await self._find_place(database, patience)
        offered: list[Subject] = []
        pauses = Pauses()
        while True:
            tries = self._tries.total()
            offered += await patience(lambda: self._adopt(database))
            if self._tries.total() == tries:
                return offered
            await asyncio.sleep(pauses.next())

    async def adopt(self, database: Database, *, within_seconds: float) -> None:
        """Offer what neighbours left that have died since. A disk that hangs is waited for no longer than that.

        Raises DatabaseUnavailable: then nobody may be declared lost, for what is here may be a job's result.
        """
        if self._place is None:
            return
        if self._adopting is None:
            self._adopting = asyncio.create_task(self._adopt(database))
        adopting = self._adopting
        try:
            await asyncio.wait({adopting}, timeout=within_seconds)
        except asyncio.CancelledError:
            adopting.cancel()
            raise
        if adopting.done():
            self._adopting = None
            adopting.result()

    async def waiting(self, database: Database) -> Waiting | None:
        """What of dead workers lies here and is not recorded yet. Offers nothing."""
        if not self._root.exists():
            return None
        place = await self._find_place(database, ask_once)
        subjects = await _in_thread(lambda: _left_in(place))
        jobs = tuple(sorted({subject.job for subject in subjects if subject.job is not None}))
        return Waiting(place, len(subjects), jobs) if subjects else None

    async def _find_place(self, database: Database, patience: Patience) -> Path:
        if self._place is None:
            self._place = self._root / str(await patience(lambda: database.fetchval(INSTALLATION)))
        return self._place

    async def _adopt(self, database: Database) -> list[Subject]:
        """Go once through what is there; DatabaseUnavailable where the database takes nothing from anybody."""
        place, offered = self._place, list[Subject]()
        assert place is not None
        folders = await _in_thread(lambda: list(Folder.abandoned(place)))
        try:
            for folder in folders:
                for entry in await _in_thread(folder.entries):
                    if self._tries[entry] < TRIES:
                        offered += await self._offer(database, entry)
                await _in_thread(folder.remove_if_empty)
        except OSError as error:
            events.journal_not_read(str(place), error)
        finally:
            for folder in folders:
                folder.release()
        return offered

    async def _offer(self, database: Database, entry: Entry) -> list[Subject]:
        subject = await _in_thread(entry.subject)
        try:
            result = await database.fetchval(REPLAYED[entry.verb], await _in_thread(entry.read))
        except OSError:
            raise
        except (DatabaseUnavailable, DatabaseUnusable) as error:
            if not _perhaps_its_fault(error):
                raise
            self._tries[entry] += 1
            if self._tries[entry] == TRIES:
                events.journal_set_aside(str(entry.path), subject, error)
            return []
        except Exception as error:
            events.journal_refused(str(entry.path), subject, error)
            await _in_thread(entry.refuse)
            return []
        events.journal_replayed(entry.verb, subject, str(result or "stale"))
        await _in_thread(entry.remove)
        return [subject]


async def _in_thread(call: Callable[[], Value]) -> Value:
    return await asyncio.get_running_loop().run_in_executor(_threads, call)


def _perhaps_its_fault(error: HoldfastError) -> bool:
    cause = error.__cause__
    return isinstance(error, DatabaseUnusable) or (
        isinstance(cause, asyncpg.PostgresError) and (cause.sqlstate or "").startswith(PERHAPS_ITS_FAULT)
    )


def _left_in(place: Path) -> list[Subject]:
    subjects: list[Subject] = []
    for folder in Folder.abandoned(place):
        subjects += [entry.subject() for entry in folder.entries()]
        folder.release()
    return subjects
