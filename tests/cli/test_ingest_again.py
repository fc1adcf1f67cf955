"""`holdfast ingest` called again: nothing is done twice, and what an earlier call left is finished."""

import asyncio
import json
import signal
import subprocess

import pytest

from holdfast.cli.picture import LEAVING
from holdfast.db.connection import connect
from holdfast.settings import Settings
from tests.cli.conftest import CommandLine
from tests.cli.library import GATE, PAGE, PHASES, states, write_library
from tests.intake.web import respond, web

# Documents are embedded, and only this server has pgvector.
pytestmark = pytest.mark.parametrize("server", ["embedded"], indirect=True)


def test_what_an_earlier_call_left_is_finished_by_the_next(desk: CommandLine) -> None:
    write_library(desk.directory / "library")
    desk.succeed("ingest", "library/gate.md", "--no-wait")

    finished = desk.succeed("ingest", "library/gate.md", "--json").json

    assert (finished["taken_in"], finished["states"]) == ({"unchanged": 1}, {"done": 1})
    assert desk.succeed("ingest", "library/gate.md", "--json").json["states"] == {}


async def test_what_failed_in_an_earlier_call_and_is_retried_is_finished_by_the_next(desk: CommandLine) -> None:
    write_library(desk.directory / "library")
    desk.succeed("ingest", "library/gate.md", "--no-wait")
    async with connect(Settings(database_url=desk.settings["HOLDFAST_DATABASE_URL"])) as database:
        await database.execute("select holdfast.register_worker('gone', 'test', 1)")
        lanes = '[{"pipeline": "documents", "phase": "store", "limit": 1}]'
        job, token = await database.fetchrow("select job_id, token from holdfast.claim('gone', $1::text::jsonb)", lanes)
        failure = json.dumps([{"job_id": job, "token": token, "category": "network_timeout", "error": "cut off"}])
        await database.execute("select holdfast.fail($1::text::jsonb)", failure)
        await database.execute("update holdfast.pipeline_job set ready_at = now()")

    finished = desk.succeed("ingest", "library/gate.md", "--json").json

    assert (finished["taken_in"], finished["states"]) == ({"unchanged": 1}, {"done": 1})


def test_copy_of_what_failed_is_named_as_failed(desk: CommandLine) -> None:
    folder = write_library(desk.directory / "library")
    assert desk.run("ingest", "library/zero.txt").code == 1
    (folder / "again.txt").write_bytes((folder / "zero.txt").read_bytes())

    copied = desk.run("ingest", "library/again.txt", "--json")

    assert (copied.code, copied.json["taken_in"]) == (1, {"duplicate": 1})
    (failed,) = copied.json["failed_before"]
    assert (failed["name"], failed["state"]) == ("again.txt", "failed")


async def test_only_what_changed_is_run_and_the_old_version_is_replaced(desk: CommandLine) -> None:
    folder = write_library(desk.directory / "library")
    (folder / "zero.txt").unlink()
    desk.succeed("ingest", "library")
    (folder / "gate.md").write_text(GATE.replace("green", "white"))
    (folder / "third.md").write_text((folder / "bakery.md").read_text())

    changed = desk.succeed("ingest", "library", "--json").json

    assert changed["taken_in"] == {"unchanged": 3, "created": 1, "duplicate": 1}
    assert [row["completed"] for row in changed["phases"]] == [1] * len(PHASES)
    found = desk.succeed("search", "lamp on the pier", "--json").json["hits"]
    assert {hit["source_name"]: "white" in hit["text"] for hit in found[:2]} == {"gate.md": True, "copy.md": False}


def test_metadata_of_an_unchanged_file_is_merged_and_finds_it(desk: CommandLine) -> None:
    (desk.directory / "gate.md").write_text(GATE)
    desk.succeed("ingest", "gate.md", "--meta", "team=a")

    told = desk.succeed("ingest", "gate.md", "--meta", "year=2")
    silent = desk.succeed("ingest", "gate.md", "--meta", "year=2", "--json")

    assert "taken in   1 unchanged\nmetadata   merged into 1 document known already\n" in told.out
    assert silent.json["metadata_merged"] == 0
    found = desk.succeed("search", "gate", "--meta", "team=a", "--meta", "year=2", "--json").json["hits"]
    assert [hit["source_name"] for hit in found] == ["gate.md"]


def test_of_a_failed_version_that_was_corrected_nothing_is_asked(desk: CommandLine) -> None:
    (desk.directory / "gate.md").write_text("")
    assert desk.run("ingest", "gate.md").code == 1
    (desk.directory / "gate.md").write_text(GATE)
    desk.succeed("ingest", "gate.md")

    (failed,) = desk.succeed("jobs", "--state", "failed", "--json").json["jobs"]

    assert failed["next"] == "nothing: a newer version, document 2, is complete"


async def test_interrupted_it_loses_nothing_and_the_next_call_finishes(desk: CommandLine) -> None:
    write_library(desk.directory / "library")
    (desk.directory / "library" / "zero.txt").unlink()
    async with web() as site:
        asked = asyncio.Event()

        async def hang(writer: asyncio.StreamWriter) -> None:
            asked.set()
            await asyncio.Event().wait()

        site.answers["/ferry.html"] = hang
        allowed = desk.with_settings(HOLDFAST_ALLOWED_HOSTS=site.host)
        with allowed.started("ingest", "library", site.url("/ferry.html")) as process:
            await asyncio.wait_for(asked.wait(), 60)
            process.send_signal(signal.SIGINT)
            await asyncio.to_thread(_until_it_says, process, "Ctrl-C again")
            process.send_signal(signal.SIGINT)
            out, err = await asyncio.to_thread(process.communicate, timeout=60)
        site.answers["/ferry.html"] = respond(PAGE, Content_Type="text/html")
        again = await asyncio.to_thread(allowed.run, "ingest", "library", site.url("/ferry.html"), "--json")
        drained = await asyncio.to_thread(allowed.run, "worker", "--drain")

    assert process.returncode == 130
    assert [line for line in err.splitlines() if "taken in" not in line] == [LEAVING]
    assert "holdfast worker --drain" in out
    assert again.code == 0, again.err
    assert drained.code == 0
    assert states(desk) == ["complete"] * 4 + ["duplicate"]


def _until_it_says(process: "subprocess.Popen[str]", words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"it never said {words!r}")
