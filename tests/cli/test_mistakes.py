"""What goes wrong ends in one clear line on stderr, nothing on stdout, and the right exit code."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.conftest import CommandLine
from tests.endpoint import with_database

WRONG_CALLS = {
    "show 999": "there is no job 999",
    "show --document 999": "there is no document 999",
    "show": "name a job",
    "jobs --state nonsense": 'there is no state "nonsense"',
    "jobs --status nonsense": 'there is no status "nonsense"',
    "jobs --pipeline nonsense": 'there is no pipeline "nonsense"',
    "jobs --phase nonsense": 'there is no phase "nonsense"',
    "search gate --document 1 --document 2": "--document narrows the search to one document",
    "jobs --limit -1": "--limit",
    "jobs --cursor nonsense": "is no cursor",
    "jobs --meta nonsense": "key=value",
    "submit nonsense --org acme": 'there is no pipeline "nonsense"',
    "submit reports": "--org",
    "submit reports --org acme --input {": "not JSON",
    "submit reports --org acme --input NaN": "NaN",
    "submit reports --org acme --input 1e999": "out of range",
    'submit reports --org acme --input "\\u0000"': "NUL",
    "submit reports --org acme --file /nowhere": "cannot read /nowhere",
    "submit reports --org acme --priority 1000": "--priority",
    "submit reports --file - --name x": "--name and --file exclude each other",
    "retry": "say that all are meant",
    "retry 999": "there is no job 999",
    "retry 99999999999999999999": "out of range",
    "retry 17 --state failed": "not both",
    "retry 17 --phase nonsense": 'there is no phase "nonsense"',
    "retry --state nonsense": 'there is no state "nonsense"',
    "cancel 999": "there is no job 999",
    "reset --pipeline nonsense": 'there is no pipeline "nonsense"',
    "requeue-stuck --stuck-for-minutes -1": "--stuck-for-minutes",
    "requeue-stuck --phase nonsense": 'there is no phase "nonsense"',
    "hold": "needs a scope",
    "hold --org acme --until tomorrow": "is no time",
    "hold --org acme --until 2099-01-01T00:00": "names no zone",
    "hold --org acme --until 2001-01-01T00:00Z": "is over already",
    "hold --org acme --for 2x": "is no duration",
    "hold --pipeline nonsense": 'there is no pipeline "nonsense"',
    "release 999": "there is no hold 999",
    "takeover": "say what to do: --check, --run or --undo, one of them",
    "takeover --check --undo": "say what to do: --check, --run or --undo, one of them",
    "takeover --run --discard-work": "--discard-work belongs to --undo",
    "takeover --check --pipeline reports": "there is no table public.documents in that database",
    "budget set enrichment much": "is no amount",
    "budget set enrichment 5 --time-zone Mars": "Mars",
    "policies nonsense": 'there is no policy "nonsense": name one of',
    "errors --by colour": "colour",
    "stats costs --days 0": "--days",
    "stats costs --days 3000": "name 1 to 366",
    "nonsense": "No such command",
}


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_a_wrong_call_exits_2_and_says_why(history: CommandLine, call: str) -> None:
    result = history.run(*call.split())

    assert result.code == 2
    assert WRONG_CALLS[call] in result.err
    assert result.out == ""
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    "call",
    [
        "ingest /dev/null",
        "search gate",
        "mcp",
        "jobs",
        "retry --state failed",
        "hold --pipeline reports",
        "budget set enrichment 5",
        "reindex",
        "submit reports",
        "keys create press",
        "webhooks add https://example.org/hook",
        "stories entities",
        "takeover --check",
    ],
)
def test_an_empty_organisation_is_refused_everywhere(history: CommandLine, call: str) -> None:
    result = history.run(*call.split(), "--org", "")

    assert (result.code, result.out) == (2, "")
    assert "the organisation is empty: name one" in result.err


def test_an_organisation_too_long_to_be_kept_is_refused_in_words(history: CommandLine) -> None:
    result = history.run("ingest", "/dev/null", "--org", "x" * 300)

    assert result.code == 2
    assert "an organisation has at most 255 characters, not 300: shorten it" in result.err


def test_a_wrong_call_is_explained_in_json_where_json_was_asked_for(history: CommandLine) -> None:
    result = history.run("show", "999", "--json")

    assert result.out == ""
    assert json.loads(result.err) == {"error": {"code": "not_found", "message": "there is no job 999"}}


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("jobs --limit -1 --json", "'--limit'"),
        ("jobs --nonsense --json", "--nonsense"),
        ("nonsense --json", "'nonsense'"),
        ("--nonsense jobs --json", "--nonsense"),
        ("search --json", "QUESTION"),
    ],
)
def test_a_call_that_cannot_be_read_is_explained_in_json_too(history: CommandLine, call: str, named: str) -> None:
    result = history.run(*call.split())

    assert (result.code, result.out) == (2, "")
    error = json.loads(result.err)["error"]
    assert error["code"] == "invalid_input"
    assert named in error["message"]


@pytest.mark.parametrize(
    "name", ["", "x\n;drop table y; --", "x\r;drop table y", "x\x85", "\u202ex", "x" * 64, "é" * 32]
)
def test_login_that_no_script_can_name_is_refused_in_one_line(name: str) -> None:
    result = CommandLine({}).run("migrate", "--print-roles", "--login", "press", "--login", name)

    assert (result.code, result.out) == (2, "")
    assert "--login" in result.err
    assert len(result.err.splitlines()) == 1


def test_deeply_nested_input_is_refused(holdfast: CommandLine) -> None:
    result = holdfast.run("submit", "reports", "--org", "acme", "--input", "[" * 5000 + "]" * 5000)

    assert result.code == 2
    assert "Traceback" not in result.err


def test_a_database_that_is_down_exits_1_and_says_what_to_check() -> None:
    down = CommandLine({"HOLDFAST_DATABASE_URL": "postgresql://postgres@127.0.0.1:1/holdfast"})

    result = down.run("status")

    assert result.code == 1
    assert result.err.startswith("error: cannot reach the database")
    assert "HOLDFAST_DATABASE_URL" in result.err
    assert "Traceback" not in result.err


def test_a_database_that_is_not_migrated_exits_1_and_names_the_command(empty_dsn: str) -> None:
    result = CommandLine({"HOLDFAST_DATABASE_URL": empty_dsn}).run("queues")

    assert result.code == 1
    assert "run `holdfast migrate`" in result.err


def test_a_database_that_does_not_exist_exits_1(dsn: str) -> None:
    absent = CommandLine({"HOLDFAST_DATABASE_URL": with_database(dsn, "nowhere")})

    result = absent.run("status")

    assert result.code == 1
    assert "nowhere" in result.err


def test_a_setting_that_makes_no_sense_exits_2_and_is_named(holdfast: CommandLine) -> None:
    result = holdfast.with_settings(HOLDFAST_POOL_SIZE="many").run("status")

    assert result.code == 2
    assert "HOLDFAST_POOL_SIZE" in result.err


@pytest.mark.parametrize("command", ["jobs", "queues"])
def test_a_reader_that_has_seen_enough_is_no_error(history: CommandLine, command: str) -> None:
    """The longer answer breaks off while it is written, the shorter one when it is flushed at the end."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "holdfast.cli", command, "--json"],
        env=history.environment,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)

    assert done.stderr == ""


def test_help_needs_no_database_and_nothing_heavy() -> None:
    program = (
        "import sys; from holdfast.cli.main import cli; "
        "cli(['--help'], standalone_mode=False); "
        "print([name for name in ('asyncpg', 'pydantic', 'rich', 'structlog') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.endswith("[]\n")


def test_version_is_the_packages(holdfast: CommandLine) -> None:
    from importlib.metadata import version

    assert holdfast.succeed("--version").out == f"holdfast {version('holdfast')}\n"
