"""Batches of a run are stored once, and only under the live claim."""

from dataclasses import fields
from typing import Any

import pytest

from holdfast.configs.phase import ParseConfigs
from holdfast.db.connection import Database, connect
from holdfast.engine.attempt import Attempt
from holdfast.engine.queue import Lane, Queue
from holdfast.engine.strict_json import dump
from holdfast.errors import Conflict, DatabaseUnusable
from holdfast.settings import Settings
from tests.configs.conftest import Desk
from tests.endpoint import with_user
from tests.extract.readers.archive_samples import zip_of

BATCH: dict[str, list[dict[str, Any]]] = {
    "files": [{"number": 1, "source_path": "a/b.conf", "file": "b.conf", "encoding": "utf-8"}],
    "stanzas": [{"file_number": 1, "number": 1, "name": "s", "line": 1}],
    "settings": [{"file_number": 1, "stanza_number": 1, "line": 2, "key": "a", "value": "1"}],
    "errors": [{"file_number": 1, "line": 3, "message": "bad", "text": "nonsense"}],
}
ONE_OF_EACH = {"file": 1, "stanza": 1, "setting": 1, "parse_error": 1}


@pytest.fixture
async def claim(desk: Desk) -> tuple[int, int]:
    """A run that someone parses: its job and token."""
    attempt = await claim_one(desk, b"[s]\na = 1\nnonsense\n")
    return attempt.job_id, attempt.token


async def claim_one(desk: Desk, data: bytes) -> Attempt:
    await desk.take_in(zip_of({"b.conf": data}))
    await desk.work(only_phases=("receive",))
    queue = Queue(desk.app.database)
    await queue.register_worker("worker-1", host="test", pid=1, lanes=[Lane("configs", "parse", 1)])
    (attempt,) = await queue.claim("worker-1", [Lane("configs", "parse", 1)])
    return attempt


async def store(database: Database, claim: tuple[int, int], batch: dict[str, Any] = BATCH) -> None:
    await database.execute("select holdfast.store_configs($1, $2, $3::text::jsonb)", *claim, dump(batch).decode())


async def counts(desk: Desk) -> dict[str, int]:
    rows = await desk.rows((await desk.job())["document_id"])
    return {table: len(found) for table, found in rows.items()}


async def test_batch_that_is_sent_twice_is_stored_once(desk: Desk, claim: tuple[int, int]) -> None:
    for _ in range(2):
        await store(desk.app.database, claim)
    assert await counts(desk) == ONE_OF_EACH


async def test_stanza_is_stored_once_per_run_file_name_and_path(desk: Desk, claim: tuple[int, int]) -> None:
    await store(desk.app.database, claim)
    again = {**BATCH, "stanzas": [{"file_number": 1, "number": 2, "name": "s", "line": 9}]}
    await store(desk.app.database, claim, again)
    assert await counts(desk) == ONE_OF_EACH


async def test_lost_claim_stores_and_clears_nothing(desk: Desk, claim: tuple[int, int]) -> None:
    await store(desk.app.database, claim)
    stale = (claim[0], claim[1] - 1)
    with pytest.raises(Conflict, match="was lost: nothing is stored"):
        await store(desk.app.database, stale)
    with pytest.raises(Conflict, match="was lost: nothing is stored"):
        await desk.app.database.execute("select holdfast.clear_configs($1, $2, 10)", *stale)
    assert await counts(desk) == ONE_OF_EACH


async def test_what_an_earlier_attempt_left_is_cleared_piece_by_piece(desk: Desk, claim: tuple[int, int]) -> None:
    lines = [{**BATCH["settings"][0], "line": line} for line in range(2, 27)]
    await store(desk.app.database, claim, {**BATCH, "settings": lines})
    answers = [await desk.app.database.fetchval("select holdfast.clear_configs($1, $2, 10)", *claim) for _ in range(4)]
    assert answers == [True, True, True, False]
    assert await counts(desk) == dict.fromkeys(ONE_OF_EACH, 0)


async def test_attempt_says_how_far_it_is(desk: Desk) -> None:
    seen: list[float] = []

    class Watched(Attempt):
        def progress(self, fraction: float) -> None:
            seen.append(fraction)

    claimed = await claim_one(desk, "".join(f"key_{n} = value\n" for n in range(10_000)).encode())
    watched = Watched(**{one.name: getattr(claimed, one.name) for one in fields(Attempt) if one.init})
    assembly = desk.app.assembly
    await ParseConfigs(desk.app.database, assembly.store, assembly.children).run(watched)
    assert seen == sorted(seen)
    assert len({fraction for fraction in seen if 0.3 < fraction < 1}) >= 3
    assert seen[-1] == 1


async def test_worker_may_store_but_not_write_the_tables(
    desk: Desk, claim: tuple[int, int], dsn: str, guest: str
) -> None:
    await desk.app.database.execute(f'grant holdfast_worker to "{guest}"')
    async with connect(Settings(database_url=with_user(dsn, guest))) as database:
        await store(database, claim)
        with pytest.raises(DatabaseUnusable, match="permission denied"):
            await database.execute("delete from holdfast.config_setting")
    assert await counts(desk) == ONE_OF_EACH
