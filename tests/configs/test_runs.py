"""A run from its archive to its settings, and how it ends when the archive or the storage is bad."""

import gzip
from pathlib import Path

import pytest

from holdfast.engine.queue import Lane, Queue
from holdfast.engine.selection import Selection
from holdfast.engine.strict_json import dump
from holdfast.errors import NotFound
from tests.configs.conftest import Desk
from tests.conftest import Clock
from tests.extract.readers.archive_samples import tar_of, zip_of

FILES = {
    "app/default/app.conf": b"version = 2\n[install]\nstate = enabled\n[nothing]\n",
    "app/local/inputs.conf": "[monitor:///var/log]\r\nindex = main\r\nnonsense\r\n".encode("utf-16"),
    "app/readme.txt": b"[not] = read",
}


@pytest.mark.parametrize(
    "data",
    [zip_of(FILES), *(tar_of(FILES.items(), mode) for mode in ("w", "w:gz", "w:bz2", "w:xz"))],
    ids=["zip", "tar", "tar.gz", "tar.bz2", "tar.xz"],
)
async def test_archive_of_any_kind_is_read_with_file_and_line(desk: Desk, data: bytes) -> None:
    run = await desk.run(data)
    assert (run.status, run.state) == ("COMPLETE", "done")
    assert [(one.source_path, one.line, one.stanza, one.key, one.value) for one in run.settings] == [
        ("app/default/app.conf", 1, "default", "version", "2"),
        ("app/default/app.conf", 3, "install", "state", "enabled"),
        ("app/default/app.conf", 4, "nothing", None, None),
        ("app/local/inputs.conf", 2, "monitor:///var/log", "index", "main"),
    ]
    assert [(one.source_path, one.line, one.text) for one in run.errors] == [("app/local/inputs.conf", 3, "nonsense")]


@pytest.mark.parametrize(
    ("data", "name", "path"),
    [
        (b"a = 1\n", "inputs.conf", "inputs.conf"),
        (gzip.compress(b"a = 1\n"), "inputs.conf.gz", "inputs.conf"),
        (tar_of([("INPUTS.CONF", b"a = 1\n")]), "a.tar", "INPUTS.CONF"),
    ],
)
async def test_single_file_is_a_run_too(desk: Desk, data: bytes, name: str, path: str) -> None:
    run = await desk.run(data, name)
    assert [(one.source_path, one.stanza, one.key) for one in run.settings] == [(path, "default", "a")]


async def test_run_shows_its_statuses_on_the_way(desk: Desk) -> None:
    await desk.take_in(zip_of(FILES))
    seen = [(await desk.job())["status"]]
    await desk.work(only_phases=("receive",))
    seen.append((await desk.job())["status"])
    await desk.work()
    seen.append((await desk.job())["status"])
    declared = await desk.app.database.fetch(
        "select distinct status from holdfast.pipeline_status where pipeline = 'configs' and status <> 'duplicate'"
    )
    assert seen == ["PENDING", "STORED", "COMPLETE"]
    assert {row["status"] for row in declared} == {"PENDING", "STORED", "PARSING", "COMPLETE"}


async def test_complete_run_keeps_its_metrics(desk: Desk) -> None:
    run = await desk.run(zip_of(FILES))
    document = await desk.app.overview.pipeline_of(run.run)
    assert run.metrics is not None
    assert run.metrics == document["metadata"]["metrics"]
    assert run.metrics.pop("duration_seconds") > 0
    assert run.metrics == {
        "files_parsed": 2,
        "stanzas_created": 4,
        "settings_created": 3,
        "parse_errors": 1,
        "retry_count": 0,
    }


async def test_failed_run_says_how_long_how_often_and_why(desk: Desk) -> None:
    run = await desk.run(b"\x1f\x8b broken", "broken.tgz")
    assert run.metrics is not None
    assert run.metrics.pop("duration_seconds") >= 0
    assert run.metrics == {"retry_count": 0, "error_type": "CorruptInput"}


async def test_run_says_how_far_it_is_and_what_happens_next(desk: Desk) -> None:
    await desk.take_in(zip_of(FILES))
    await desk.work(only_phases=("receive",))
    queue = Queue(desk.app.database)
    await queue.register_worker("worker-1", host="test", pid=1, lanes=[Lane("configs", "parse", 1)])
    (attempt,) = await queue.claim("worker-1", [Lane("configs", "parse", 1)])
    attempt.progress(0.2)
    await queue.heartbeat("worker-1", [attempt])
    run = await desk.app.configs.show(attempt.document.id)
    assert (run.status, run.state, run.percent, run.error_message) == ("PARSING", "working", 32, None)
    assert run.next.startswith("parse runs on worker-1")


async def test_failed_run_says_what_went_wrong_and_what_to_do(desk: Desk) -> None:
    run = await desk.run(b"\x1f\x8b broken", "broken.tgz")
    assert run.percent == -1
    assert (run.error_message or "").startswith("broken.tgz is damaged")
    assert run.next == "correct the file and ingest it again: corrupt_input is permanent"


async def test_metrics_come_in_the_order_in_which_people_ask_for_them(desk: Desk) -> None:
    done, failed = await desk.run(zip_of(FILES)), await desk.run(b"\x1f\x8b broken", "broken.tgz")
    assert list(done.metrics or ()) == [
        "files_parsed",
        "stanzas_created",
        "settings_created",
        "parse_errors",
        "duration_seconds",
        "retry_count",
    ]
    assert list(failed.metrics or ()) == ["duration_seconds", "error_type", "retry_count"]


async def test_what_was_read_of_it_as_a_document_is_kept(desk: Desk) -> None:
    extracted = {"pages": 3, "warnings": [{"code": "SCANNED", "message": "page 2 is a picture"}]}
    taken = await desk.take_in(zip_of(FILES))
    assert taken.document_id is not None
    await desk.app.database.execute(
        "update holdfast.document set metadata = metadata || $2::text::jsonb where id = $1",
        taken.document_id,
        dump({"extracted": extracted}).decode(),
    )
    await desk.work()
    document = await desk.app.overview.pipeline_of(taken.document_id)
    assert document["metadata"]["extracted"] == extracted
    warnings = await desk.app.warnings([taken.document_id])
    assert [warning["code"] for warning in warnings] == ["SCANNED", "PARSE_ERRORS"]


async def test_retry_of_a_complete_run_changes_nothing(desk: Desk) -> None:
    run = await desk.run(zip_of(FILES))
    before = await desk.rows(run.run)
    tally = await desk.app.control("ann").retry(Selection(ids=(run.job_id,)))
    assert tally.counts == {"already_completed": 1}
    assert (await desk.job())["state"] == "done"
    assert await desk.rows(run.run) == before


async def test_same_archive_again_answers_with_the_first_run(desk: Desk) -> None:
    data = zip_of(FILES)
    first = await desk.run(data)
    again = await desk.take_in(data, "copy.zip")
    assert again.document_id is not None
    assert again.document_id != first.run
    assert again.result == "duplicate"
    assert (await desk.app.configs.show(again.document_id)).run == first.run


async def test_storage_trouble_is_retried_after_60_180_and_600_seconds(
    desk: Desk, clock: Clock, tmp_path: Path
) -> None:
    await desk.take_in(zip_of(FILES))
    await desk.work(only_phases=("receive",))
    for path in (tmp_path / "store").rglob("*"):
        if path.is_file():
            path.unlink()
    waits = []
    for _ in range(4):
        await desk.work()
        job = await desk.job()
        assert job["last_error"]["category"] == "storage_unavailable"
        waits.append(await _seconds_to_wait(desk))
        await clock.advance(seconds=(waits[-1] or 0) + 1)
    assert waits == [60, 180, 600, None]
    assert job["state"] in ("failed", "deadletter")


async def test_retries_of_every_phase_are_those_of_the_run(desk: Desk, clock: Clock, tmp_path: Path) -> None:
    taken = await desk.take_in(zip_of(FILES))
    assert taken.document_id is not None
    seen = []
    for phase in ("receive", "parse"):
        (tmp_path / "store").rename(tmp_path / "away")
        for _ in range(2):
            await desk.work()
            seen.append((await desk.app.configs.show(taken.document_id)).metrics)
            await clock.advance(seconds=601)
        (tmp_path / "away").rename(tmp_path / "store")
        await desk.work(only_phases=(phase,))
    seen.append((await desk.app.configs.show(taken.document_id)).metrics)
    assert [metrics and metrics["retry_count"] for metrics in seen] == [0, 1, 2, 3, 4]
    assert (await desk.job())["state"] == "done"


async def test_crash_of_a_worker_is_no_retry(desk: Desk, clock: Clock) -> None:
    taken = await desk.take_in(zip_of(FILES))
    assert taken.document_id is not None
    queue, lane = Queue(desk.app.database), Lane("configs", "receive", 1)
    await queue.register_worker("worker-1", host="test", pid=1, lanes=[lane])
    await queue.claim("worker-1", [lane])
    await clock.advance(seconds=61)
    await queue.sweep(60)
    await desk.work()
    run = await desk.app.configs.show(taken.document_id)
    assert run.state == "done"
    assert run.metrics is not None
    assert run.metrics["retry_count"] == 0


async def _seconds_to_wait(desk: Desk) -> int | None:
    seconds: float | None = await desk.app.database.fetchval(
        "select extract(epoch from j.ready_at - a.ended_at)::float8 from holdfast.pipeline_job j"
        " join holdfast.pipeline_phase a on a.job_id = j.id order by a.id desc limit 1"
    )
    return None if seconds is None else round(seconds)


async def test_deleting_a_run_takes_its_settings_and_counts_them(desk: Desk) -> None:
    kept = await desk.run(zip_of(FILES))
    gone = await desk.run(zip_of({"a.conf": b"[s]\na = 1\nbad\n"}), "other.zip")
    receipt = await desk.app.delete(gone.run, actor="ann")
    assert (receipt.config_files, receipt.stanzas, receipt.settings) == (1, 1, 1)
    assert await desk.rows(gone.run) == {"file": [], "stanza": [], "setting": [], "parse_error": []}
    assert (await desk.rows(kept.run))["file"] != []
    with pytest.raises(NotFound, match=f"no configs run {gone.run}"):
        await desk.app.configs.show(gone.run)


async def test_another_organisation_sees_nothing_of_a_run(desk: Desk) -> None:
    run = await desk.run(zip_of(FILES), organisation="other")
    confined = desk.app.confined_to("acme")
    with pytest.raises(NotFound):
        await confined.configs.show(run.run)
    for table in ("config_file", "config_stanza", "config_setting", "config_parse_error"):
        assert await confined.database.fetchval(f"select count(*) from holdfast.{table}") == 0
    assert (await desk.app.confined_to("other").configs.show(run.run)).settings == (
        await desk.app.configs.show(run.run)
    ).settings
