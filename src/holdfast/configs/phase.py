"""The parse phase of configuration archives: what they say is read in an isolated child and stored in batches."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, BinaryIO, cast

from holdfast.artifacts.store import ArtifactStore
from holdfast.configs.child import read_configs
from holdfast.configs.records import RECORDS_FILE, Batch, batches
from holdfast.db.connection import Database
from holdfast.engine import strict_json
from holdfast.engine.attempt import Attempt
from holdfast.engine.isolated_children import Children
from holdfast.engine.patience import insist
from holdfast.engine.pipeline import Done
from holdfast.errors import CorruptInput
from holdfast.standard import Carried

INPUT_FILE = "input"
CLEARED_AT_ONCE = 20_000
# Reading is quicker than storing what was read.
_READ_SHARE = 0.3


class ParseConfigs:
    """Reads an archive of .conf files and stores its stanzas and settings, each with its file and line.

    Nothing is stored before the whole archive was found sound. Batches are stored as they come, each under the claim;
    an attempt that follows a crash takes away what that left, so that the end is the same as without it. The worker's
    memory does not grow with the archive.
    """

    def __init__(self, database: Database, store: ArtifactStore, children: Children) -> None:
        self._database = database
        self._store = store
        self._children = children

    async def run(self, attempt: Attempt) -> Done:
        """Keep the metrics of the run with its document."""
        began = time.monotonic()
        carried = Carried.from_json(attempt.input)
        with ExitStack() as files:
            counts, records = await self._read(attempt, carried, files)
            await self._clear(attempt)
            await self._write(attempt, records)
        return Done(
            output=carried.to_json(),
            metadata={
                "metrics": {
                    "files_parsed": counts["files"],
                    "stanzas_created": counts["stanzas"],
                    "settings_created": counts["settings"],
                    "parse_errors": counts["parse_errors"],
                    "duration_seconds": round(time.monotonic() - began, 3),
                    "retry_count": await self._retries(attempt),
                },
                # Not "extracted": the same document may have been read as one.
                "parsed": {"warnings": list(_warnings(attempt, counts))},
            },
        )

    async def _read(self, attempt: Attempt, carried: Carried, files: ExitStack) -> tuple[Mapping[str, Any], BinaryIO]:
        organisation = attempt.document.organisation
        async with self._children.child(key=organisation) as child:
            await asyncio.to_thread(self._store.fetch, organisation, carried.original, child.desk / INPUT_FILE)
            path = child.hand_in(INPUT_FILE)
            answer = await child.run(
                read_configs,
                {"path": str(path), "folder": str(path.parent), "name": carried.name},
                on_progress=lambda fraction: attempt.progress(fraction * _READ_SHARE),
                wall_seconds=attempt.limit_seconds,
            )
            # Open beyond the lease: the file has no name any more, and others read while this is stored.
            records = files.enter_context(child.take_out(RECORDS_FILE).open("rb"))
        return _checked(answer), records

    async def _clear(self, attempt: Attempt) -> None:
        """Take away what an earlier attempt left behind; of none, this asks once."""
        is_more = True
        while is_more:
            is_more = await insist(
                lambda: self._database.fetchval(
                    "select holdfast.clear_configs($1, $2, $3)", attempt.job_id, attempt.token, CLEARED_AT_ONCE
                )
            )

    async def _write(self, attempt: Attempt, records: BinaryIO) -> None:
        size = max(1, records.seek(0, 2))
        records.seek(0)
        ready = batches(records)
        while body := await asyncio.to_thread(_next_body, ready):
            await self._store_batch(attempt, body)
            attempt.progress(_READ_SHARE + (1 - _READ_SHARE) * records.tell() / size)

    async def _retries(self, attempt: Attempt) -> int:
        """How often this run was tried again, in this phase or one before."""
        retries: int = await insist(lambda: self._database.fetchval("select holdfast.retries_of($1)", attempt.job_id))
        return retries

    async def _store_batch(self, attempt: Attempt, body: str) -> None:
        await insist(
            lambda: self._database.execute(
                "select holdfast.store_configs($1, $2, $3::text::jsonb)", attempt.job_id, attempt.token, body
            )
        )


def _next_body(ready: Iterator[Batch]) -> str | None:
    batch = next(ready, None)
    return None if batch is None else strict_json.dump(batch.rows).decode()


def _checked(answer: object) -> Mapping[str, Any]:
    """The child's answer, if it has the shape that `read_configs` gives it: a child may have been taken over."""
    match answer:
        case {
            "files": int(),
            "stanzas": int(),
            "settings": int(),
            "parse_errors": int(),
            "omissions": list() as omissions,
        } if all(isinstance(omission, str) for omission in omissions):
            return cast("Mapping[str, Any]", answer)
    raise CorruptInput("the reader broke and answered nonsense", error_code="NONSENSE_ANSWER")


def _warnings(attempt: Attempt, counts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if counts["parse_errors"]:
        run = attempt.document.id
        message = f"lines that are not right: {counts['parse_errors']:,}; `holdfast configs show {run}` names them"
        yield {"code": "PARSE_ERRORS", "message": message}
    for omission in counts["omissions"]:
        yield {"code": "MEMBERS_SKIPPED", "message": omission}
