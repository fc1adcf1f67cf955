"""Files of any size pass through a worker whose memory stays flat; what is beyond the limits is refused clearly."""

from pathlib import Path

import pytest

from holdfast.app import App
from holdfast.intake.intake import Result
from tests.extract.samples import pdf
from tests.walks.documents.ground import LONG, UNHURRIED, Ground, jobs, take_in, until, work
from tests.walks.documents.measured import MEGABYTE, Watch, resident_mb
from tests.walks.documents.worker_process import WorkerProcess

pytestmark = [pytest.mark.thorough, LONG]

TEXT_MB = 256
PAGES = 3000
ABOVE_BASE_MB = 300
CHILD_MB = 1024
READING = ("store", "extract", "validate")


async def test_memory_stays_flat_however_large_the_files_are(ground: Ground) -> None:
    async with ground.opened() as app:
        worker = _worker(ground)
        try:
            await worker.start(*(word for phase in READING for word in ("--phase", phase)))
            await until(lambda: _is_registered(app))
            base_mb = resident_mb(worker.pid)
            _write_text(ground.library / "large.txt", TEXT_MB)
            (ground.library / "long.pdf").write_bytes(_long_pdf())
            async with Watch(worker.pid) as watch:
                await take_in(app, ground.library)
                await until(lambda: _are_read(app))
        finally:
            await worker.kill()
        standing = await jobs(app)

    assert {job["status"] for job in standing.values()} == {"parse_validated"}
    assert watch.peak_mb < base_mb + ABOVE_BASE_MB
    assert watch.children_mb < CHILD_MB


async def test_file_beyond_the_limit_is_refused_with_both_numbers(ground: Ground) -> None:
    _write_text(ground.library / "large.txt", 3)
    async with ground.opened(most_file_mb=2) as app:
        (taken,) = await take_in(app, ground.library)

    assert (taken.result, taken.document_id) == (Result.TOO_LARGE, None)
    assert taken.reason is not None
    assert "2,097,152" in taken.reason
    assert "3,145,728" in taken.reason


async def test_text_beyond_the_limit_is_too_large_and_its_neighbour_completes(ground: Ground) -> None:
    _write_text(ground.library / "large.txt", 3)
    (ground.library / "small.txt").write_text("The neighbour is small enough to be read.")
    async with ground.opened(most_text_mb=2) as app:
        await take_in(app, ground.library)
        await work(app)
        standing = await jobs(app)

    error = standing["large.txt"]["last_error"]
    assert (error["category"], error["component"], error["retryable"]) == ("too_large", "parse", False)
    assert "2,097,152" in error["error"]
    assert standing["small.txt"]["status"] == "complete"


def _worker(ground: Ground) -> WorkerProcess:
    settings = {"database_url": ground.dsn, "home": ground.folder / "home", "storage_url": ground.store.as_uri()}
    return WorkerProcess({**settings, **UNHURRIED}, ground.folder / "worker.log")


async def _is_registered(app: App) -> bool:
    return bool(await app.database.fetchval("select exists (select from holdfast.worker)"))


async def _are_read(app: App) -> bool:
    assert not await app.database.fetchval("select exists (select from holdfast.pipeline_job where state = 'failed')")
    return bool(await app.database.fetchval("select bool_and(phase = 'chunk') from holdfast.pipeline_job"))


def _write_text(path: Path, megabytes: int) -> None:
    """Lines of prose, each megabyte of them another."""
    lines = "".join(f"Entry {n}: the tide stood at {n % 47} feet and the ferry sailed.\n" for n in range(20_000))
    block = lines.encode()[: MEGABYTE - 8]
    with path.open("wb") as file:
        for number in range(megabytes):
            file.write(b"%07d\n" % number + block)


def _long_pdf() -> bytes:
    return pdf([[f"Page {n} line {row}: stores, ropes and sails." for row in range(5)] for n in range(PAGES)])
