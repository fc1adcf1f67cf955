"""Every reading command on a database with a history: one JSON document for programs, aligned text for people."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import CommandLine
from tests.engine.isolated_traces import without_gaps

QUESTIONS: dict[str, Callable[[Any], bool]] = {
    "status": lambda a: a["queues"]["extract"] == {"queued": 27, "processing": 0, "failed": 3},
    "queues": lambda a: [row["phase"] for row in a] == ["extract", "embed"],
    "jobs --limit 2": lambda a: [job["job_id"] for job in a["jobs"]] == [45, 44],
    "jobs --state failed --component parse": lambda a: {job["job_id"] for job in a["jobs"]} == {16, 17, 18},
    "jobs --state failed --not-retryable": lambda a: {job["job_id"] for job in a["jobs"]} == {17, 18},
    "jobs --status complete --org acme": lambda a: len(a["jobs"]) == 3,
    "jobs --meta team=support": lambda a: a == {"jobs": [], "cursor": None},
    "jobs --text 17": lambda a: [job["job_id"] for job in a["jobs"]] == [17],
    "jobs --fingerprint nothing": lambda a: a["jobs"] == [],
    "show 17": lambda a: [attempt["outcome"] for attempt in a["attempts"]] == ["failed"],
    "show --document 17": lambda a: [job["job_id"] for job in a["jobs"]] == [17],
    "errors": lambda a: {row["key"]: row["errors"] for row in a} == {"corrupt_input": 2, "network_timeout": 1},
    "errors --by component": lambda a: [row["key"] for row in a] == ["parse"],
    "errors top --limit 1": lambda a: len(a) == 1,
    "errors recovery": lambda a: a == [],
    "errors repeat --times 1": lambda a: {row["document_id"] for row in a} == {16, 17, 18},
    "errors refusals": lambda a: a == [],
    "stats throughput": lambda a: sum(row["completed"] for row in a) == 18,
    "stats durations": lambda a: {row["phase"]: row["completed"] for row in a} == {"extract": 15, "embed": 3},
    "stats costs": lambda a: [row["cost_usd"] for row in a] == [0.03],
    "stats platforms": lambda a: [row["failed"] for row in a] == [3],
    "stats retries": lambda a: {row["phase"]: row["failures"] for row in a} == {"extract": 3},
    "stats backlog": lambda a: {row["phase"]: row["queued"] for row in a} == {"extract": 27, "embed": 12},
    "workers": lambda a: [row["worker_id"] for row in a] == ["worker-1"],
    "policies patient": lambda a: {row["policy"] for row in a} == {"patient"},
    "budget": lambda a: [(row["name"], row["spent_usd"]) for row in a] == [("enrichment", 0.03)],
    "hold --list": lambda a: [row["provider"] for row in a] == ["scanner", "translator", "speech"],
    "doctor": lambda a: {**a, "doubts": without_gaps(a["doubts"])} == {"repairs": [], "findings": [], "doubts": []},
    "migrate --check": lambda a: a == {"missing": [], "rights": [], "notes": []},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_in_json(history: CommandLine, question: str) -> None:
    result = history.succeed(*question.split(), "--json")

    assert QUESTIONS[question](result.json), result.out
    assert result.err == ""


def test_times_in_json_carry_their_zone(history: CommandLine) -> None:
    job = history.succeed("show", "17", "--json").json

    assert job["submitted_at"].endswith("+00:00")


def test_tables_are_plain_aligned_text_when_nobody_watches(history: CommandLine) -> None:
    heading, first, *_ = history.succeed("queues").out.splitlines()

    assert heading.startswith("PIPELINE  PHASE    QUEUED")
    assert first.startswith("reports   extract      27")
    assert "\x1b" not in heading + first


def test_a_page_leads_to_the_next(history: CommandLine) -> None:
    page = history.succeed("jobs", "--limit", "2", "--json").json

    following = history.succeed("jobs", "--limit", "2", "--cursor", page["cursor"], "--json").json

    assert [job["job_id"] for job in following["jobs"]] == [43, 42]


def test_the_life_of_a_job_says_what_failed_and_what_comes_next(history: CommandLine) -> None:
    text = history.succeed("show", "17").out

    assert text.startswith("job 17  failed  reports / extract\n")
    assert "correct the file and ingest it again: corrupt_input is permanent" in text
    assert "torn at byte 9" in text


def test_what_operators_did_stands_in_the_life_of_a_job(seeded: CommandLine) -> None:
    seeded.succeed("retry", "17", "--reason", "scanner repaired")

    assert ": scanner repaired" in seeded.succeed("show", "17").out


def test_names_cannot_command_a_terminal(holdfast: CommandLine) -> None:
    holdfast.submit("\x1b[2Jgone\u202e")

    name = holdfast.succeed("jobs").out

    assert "\x1b" not in name
    assert "\u202e" not in name
    assert "gone" in name


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("status", "holdfast worker"),
        ("queues", "holdfast worker"),
        ("jobs", "holdfast ingest"),
        ("workers", "holdfast worker"),
        ("budget", "holdfast budget set"),
        ("errors", "no errors in the last 7 days"),
        ("stats throughput", "holdfast status"),
        ("stats costs", "nothing was spent in the last 7 days: see holdfast stats throughput"),
        ("stats retries", "nothing failed in the last 7 days: see holdfast stats throughput"),
    ],
)
def test_an_empty_answer_says_what_to_do_next(holdfast: CommandLine, command: str, hint: str) -> None:
    assert hint in holdfast.succeed(*command.split()).out
