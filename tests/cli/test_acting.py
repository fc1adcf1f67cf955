"""The commands that change something: what they did is said, and the exit code tells whether all of it was done."""

import asyncio
import json
import re
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path

import pytest

from holdfast.db.connection import Database
from holdfast.engine.journal import INSTALLATION
from holdfast.engine.pipeline import Done
from holdfast.engine.queue import Lane, Queue, ending_call
from holdfast.engine.strict_json import dump
from tests.cli.conftest import CommandLine
from tests.conftest import Clock


def _state(holdfast: CommandLine, job_id: int) -> str:
    return str(holdfast.succeed("show", str(job_id), "--json").json["state"])


def test_retry_queues_the_jobs_named(seeded: CommandLine) -> None:
    result = seeded.succeed("retry", "17", "18", "--json")

    assert result.json == {"counts": {"queued": 2}, "ids": {"queued": [17, 18]}}
    assert _state(seeded, 17) == "queued"


def test_retry_says_which_jobs_it_left_and_exits_1(seeded: CommandLine) -> None:
    result = seeded.run("retry", "1", "17")

    assert result.code == 1
    assert result.out == "1 queued again: job 17\n1 not changed (is complete already): job 1\n"


def test_retry_by_filter_reaches_what_matches(seeded: CommandLine) -> None:
    result = seeded.succeed("retry", "--category", "corrupt_input", "--json")

    assert result.json["ids"] == {"queued": [17, 18]}


def test_a_filter_that_matches_nothing_is_no_failure(seeded: CommandLine) -> None:
    assert seeded.succeed("retry", "--org", "nobody").out == "no job matches: nothing to do\n"


def test_dry_run_counts_and_changes_nothing(seeded: CommandLine) -> None:
    answer = seeded.succeed("retry", "--all", "--dry-run", "--json").json

    assert answer["would_change"] == 3
    assert [(group["category"], group["jobs"]) for group in answer["groups"]] == [
        ("corrupt_input", 2),
        ("network_timeout", 1),
    ]
    assert _state(seeded, 17) == "failed"


def test_reset_starts_over(seeded: CommandLine) -> None:
    seeded.succeed("reset", "17")

    assert seeded.succeed("show", "17", "--json").json["run"] == 2


def test_cancel_ends_waiting_jobs(seeded: CommandLine) -> None:
    assert seeded.succeed("cancel", "45", "--reason", "wrong upload").out == "1 cancelled: job 45\n"
    assert _state(seeded, 45) == "cancelled"


def test_requeue_stuck_names_what_it_took_back(seeded: CommandLine) -> None:
    answer = seeded.succeed("requeue-stuck", "--phase", "embed", "--stuck-for-minutes", "5", "--json").json

    assert answer == {"dry_run": False, "jobs": []}


def test_a_hold_is_listed_until_it_is_released(seeded: CommandLine) -> None:
    hold_id = seeded.succeed("hold", "--org", "acme", "--for", "2h", "--json").json["hold_id"]
    assert hold_id in [hold["hold_id"] for hold in seeded.succeed("hold", "--list", "--json").json]

    seeded.succeed("release", str(hold_id))

    assert hold_id not in [hold["hold_id"] for hold in seeded.succeed("hold", "--list", "--json").json]


def test_a_budget_is_set_for_one_organisation(seeded: CommandLine) -> None:
    seeded.succeed("budget", "set", "enrichment", "2.50", "--org", "acme", "--time-zone", "Europe/Zurich")

    budgets = seeded.succeed("budget", "--json").json
    assert [(budget["organisation"], budget["limit_usd"]) for budget in budgets] == [(None, 5), ("acme", 2.5)]


def test_submit_twice_with_one_key_is_one_job(holdfast: CommandLine) -> None:
    first = holdfast.submit("report", "--key", "k")

    assert holdfast.submit("report", "--key", "k") == first


def test_submit_keeps_metadata_and_input(holdfast: CommandLine) -> None:
    job_id = holdfast.submit("report", "--meta", "team=sales", "--meta", "sum=1=2", "--input", '{"pages": 3}')

    holdfast.succeed("worker", "--drain")
    job = holdfast.succeed("show", str(job_id), "--json").json
    assert job["document"]["metadata"] == {"team": "sales", "sum": "1=2"}
    assert job["attempts"][0]["input"] == {"pages": 3}


def test_submit_reads_json_lines_in_batches(holdfast: CommandLine) -> None:
    lines = "\n".join(json.dumps({"source_name": f"report-{number}"}) for number in range(2500))

    answer = holdfast.succeed("submit", "reports", "--org", "acme", "--file", "-", "--json", stdin=lines).json

    assert answer["counts"] == {"created": 2500}
    assert len(answer["submissions"]) == 2500


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("nonsense", "line 2: not JSON"),
        ("[1]", "line 2 is no JSON object"),
        ('{"colour": "red"}', 'line 2 has the unknown field "colour"'),
        ('{"metadata": {"a": "\\u0000"}}', "line 2: the value holds a NUL"),
    ],
)
def test_a_bad_line_is_named_and_nothing_of_its_batch_taken_in(
    holdfast: CommandLine, tmp_path: Path, line: str, complaint: str
) -> None:
    file = tmp_path / "documents.jsonl"
    file.write_text('{"source_name": "good"}\n' + line)

    result = holdfast.run("submit", "reports", "--org", "acme", "--file", str(file))

    assert result.code == 2
    assert complaint in result.err
    assert "0 documents before it were taken in" in result.err


@pytest.fixture
async def broken(seeded: CommandLine, database: Database) -> CommandLine:
    """A job whose cost is not what its attempts cost."""
    await database.execute("update holdfast.pipeline_job set total_cost_usd = 99 where id = 1")
    return seeded


def test_doctor_names_what_is_broken_and_exits_1(broken: CommandLine) -> None:
    result = broken.run("doctor")

    assert result.code == 1
    assert "I11 is broken" in result.out
    assert "job: 1" in result.out
    assert "holdfast doctor --repair mends it" in result.out


def test_doctor_mends_what_it_may(broken: CommandLine) -> None:
    result = broken.succeed("doctor", "--repair", "--json")

    assert [repair["ids"] for repair in result.json["repairs"]] == [[1]]
    assert result.json["findings"] == []


@pytest.fixture
async def left_on_disk(seeded: CommandLine, database: Database, clock: Clock) -> CommandLine:
    """A dead worker has two jobs; what it had paid for the first is on this disk."""
    claimed = await Queue(database).claim("worker-1", [Lane("reports", "embed", 2)])
    await clock.advance(minutes=1)
    place = Path(seeded.settings["HOLDFAST_HOME"]) / "journal" / str(await database.fetchval(INSTALLATION))
    folder = place / "1-dead"
    folder.mkdir(parents=True)
    verb, body = ending_call(claimed[0], Done(cost_usd=Decimal("0.01")))
    (folder / f"{verb}-1.json").write_bytes(dump(body))
    return seeded


def test_doctor_names_paid_results_on_this_disk_and_what_comes_first(left_on_disk: CommandLine) -> None:
    result = left_on_disk.run("doctor")

    assert result.code == 1
    assert "I22 is broken" in result.out
    assert "job: 4\n" in result.out
    assert "start a worker with this HOLDFAST_HOME first" in " ".join(result.out.split())


def test_repair_records_paid_results_before_it_takes_jobs_back(left_on_disk: CommandLine) -> None:
    result = left_on_disk.succeed("doctor", "--repair", "--json")

    assert [(repair["invariant"], repair["ids"]) for repair in result.json["repairs"]] == [("I22", [4]), ("I19", [5])]
    assert result.json["findings"] == []
    assert (_state(left_on_disk, 4), _state(left_on_disk, 5)) == ("done", "queued")


async def test_doctor_names_who_keeps_an_old_snapshot(holdfast: CommandLine, database: Database, clock: Clock) -> None:
    async with database.transaction() as reader:
        await reader.execute("set transaction isolation level repeatable read")
        pid = await reader.fetchval("select pg_backend_pid()")
        await clock.advance(minutes=6)
        shown = await asyncio.to_thread(holdfast.succeed, "doctor")
        told = await asyncio.to_thread(holdfast.succeed, "doctor", "--json")
    assert shown.out.startswith("every invariant holds\n")
    assert f"\ndatabase: session {pid} (" in shown.out
    assert told.json["doubts"][-1].startswith(f"session {pid} (")


async def test_migrate_says_on_the_terminal_for_whom_it_waits(holdfast: CommandLine, database: Database) -> None:
    await database.execute("update holdfast.schema_state set checksum = 'of an older release'")
    async with AsyncExitStack() as stack:
        reader = await stack.enter_async_context(database.transaction())
        await reader.fetch("select * from holdfast.attempt")
        pid = await reader.fetchval("select pg_backend_pid()")
        given_up = await asyncio.to_thread(holdfast.with_settings(HOLDFAST_MIGRATE_WAIT_SECONDS="0").run, "migrate")
        assert (given_up.code, given_up.out) == (1, "")
        assert re.fullmatch(rf"error: the schema is as it was: .* session {pid} \(.*\n", given_up.err)
        process = stack.enter_context(holdfast.started("migrate"))
        assert process.stderr is not None
        line = await asyncio.to_thread(process.stderr.readline)
        assert line.startswith(f"the migration waits for session {pid} (")
        await reader.execute("commit; begin")
        assert await asyncio.to_thread(process.wait, holdfast.seconds) == 0


def test_migrate_twice_changes_nothing_the_second_time(empty_dsn: str) -> None:
    holdfast = CommandLine({"HOLDFAST_DATABASE_URL": empty_dsn})
    assert holdfast.run("migrate", "--check").code == 1

    holdfast.succeed("migrate")

    assert holdfast.succeed("migrate").out == "the database is up to date\n"
    assert holdfast.succeed("migrate", "--check").out == "the database is up to date\n"


def test_retry_tries_a_few_first(seeded: CommandLine) -> None:
    begun = seeded.succeed("retry", "--category", "corrupt_input", "--first", "1", "--reason", "fixed")
    assert begun.out.startswith("trial 1: 1 job queued again: 17; the rest follows")
    assert (_state(seeded, 17), _state(seeded, 18)) == ("queued", "failed")

    (trial,) = seeded.succeed("trials", "--json").json
    assert (trial["state"], trial["first_jobs"], trial["reason"]) == ("trying", [17], "fixed")
    assert "category corrupt_input" in seeded.succeed("trials").out


def test_first_and_an_earlier_phase_exclude_each_other(seeded: CommandLine) -> None:
    assert seeded.run("retry", "17", "--first", "1", "--phase", "extract").code == 2


def test_no_trial_yet_says_how_to_begin_one(seeded: CommandLine) -> None:
    assert seeded.succeed("trials").out.startswith("nothing was tried yet")
