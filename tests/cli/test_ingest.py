"""`holdfast ingest`: whatever it is given is carried to the end, and what is not is named."""

import asyncio
import os
import re
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio

from tests.cli.conftest import SECONDS, STARTED, CommandLine, Result, common_desk
from tests.cli.library import GATE, PAGE, PHASES, states, write_library
from tests.conftest import Server
from tests.intake.web import respond, web

# Documents are embedded, and only this server has pgvector.
pytestmark = pytest.mark.parametrize("server", ["embedded"], indirect=True)


@dataclass(frozen=True, slots=True)
class Ingested:
    """A library that was taken in twice: once for programs, once, unchanged, for people."""

    desk: CommandLine
    first: Result
    second: Result


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ingested(
    server: Server, template: str, ready_holdfast: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Ingested]:
    folder = tmp_path_factory.mktemp("ingested")
    write_library(folder / "library")
    async with common_desk(server, template, folder, ready_holdfast) as desk:
        first = desk.run("ingest", "library", "--meta", "team=quay", "--json")
        yield Ingested(desk, first, desk.run("ingest", "library"))


def test_a_folder_is_carried_to_the_end_and_summed_up_for_programs(ingested: Ingested) -> None:
    summary = ingested.first.json

    assert summary["taken_in"] == {"created": 4, "duplicate": 1}
    assert summary["states"] == {"done": 3, "failed": 1}
    assert [row["phase"] for row in summary["phases"]] == PHASES
    assert summary["phases"][-1]["completed"] == 3
    assert summary["knowledge"]["chunks"] == summary["knowledge"]["embeddings"] >= 3
    assert summary["interrupted"] is False
    assert ingested.first.err == ""


def test_a_document_that_fails_is_named_with_its_category_and_what_next(ingested: Ingested) -> None:
    (failure,) = ingested.first.json["failures"]

    assert ingested.first.code == 1
    assert (failure["source_name"], failure["phase"], failure["state"]) == ("zero.txt", "extract", "failed")
    assert failure["last_error"]["category"] == "empty_text"
    assert failure["next"] == "correct the file and ingest it again: empty_text is permanent"


def test_what_owners_should_know_is_told(ingested: Ingested) -> None:
    (warning,) = ingested.first.json["warnings"]

    assert warning["source_name"] == "cafe.txt"
    assert "cp1252" in warning["message"]


def test_warnings_of_every_phase_are_told_once_wherever_a_document_is_shown(desk: CommandLine) -> None:
    (desk.directory / "short.txt").write_bytes("Ein Café da".encode("cp1252"))
    german = desk.with_settings(HOLDFAST_LANGUAGES="de")

    ingested = german.succeed("ingest", "short.txt", "--json").json
    job = german.succeed("show", "1", "--json").json
    document = german.succeed("show", "--document", "1", "--json").json

    told = [warning["code"] for warning in ingested["warnings"]]
    assert told == ["ENCODING_GUESSED", "SHORT_TEXT", "LANGUAGE_UNKNOWN"]
    assert job["warnings"] == document["warnings"] == ingested["warnings"]
    assert [warning["code"] for warning in document["metadata"]["extracted"]["warnings"]] == told
    assert german.succeed("show", "--document", "1").out.count("the text has only 9 letters and figures") == 1


def test_what_is_unchanged_is_not_run_again_and_what_failed_before_is_named(ingested: Ingested) -> None:
    text = ingested.second.out

    assert ingested.second.code == 1
    assert "taken in   5 unchanged\n" in text
    assert "documents  nothing to do\n" in text
    assert re.search(
        r"Unchanged since they failed\n  zero.txt · job \d+\n      next: correct the file and ingest", text
    )
    assert re.search(r"holdfast ingest FILE +again, once the file is corrected", text)
    assert "holdfast retry" not in text
    assert "Phases" not in text


def test_standard_input_is_a_document_under_the_name_it_is_given(desk: CommandLine) -> None:
    summary = desk.run("ingest", "-", "--name", "notes.md", "--org", "acme", stdin=GATE)

    assert summary.code == 0, summary.err
    assert "1 new or changed" in summary.out
    (job,) = desk.succeed("jobs", "--json").json["jobs"]
    assert (job["source_name"], job["platform"], job["organisation"]) == ("notes.md", "stdin", "acme")
    assert job["status"] == "complete"


async def test_a_link_is_fetched_and_one_that_leads_nowhere_is_named(desk: CommandLine) -> None:
    async with web() as site:
        site.answers["/ferry.html"] = respond(PAGE, Content_Type="text/html")
        links = (site.url("/ferry.html"), site.url("/gone.html"))
        allowed = desk.with_settings(HOLDFAST_ALLOWED_HOSTS=site.host)
        result = await asyncio.to_thread(allowed.run, "ingest", *links)

    assert result.code == 1
    assert "documents  1 done, 1 failed" in result.out or "documents  1 failed, 1 done" in result.out
    assert "gone.html · job " in result.out
    assert "source_gone" in result.out


async def test_a_page_is_read_in_the_charset_that_its_server_declares(desk: CommandLine) -> None:
    page = "<html><head><title>Договор</title></head><body><p>Договор вступает в силу.</p></body></html>"
    async with web() as site:
        site.answers["/contract.html"] = respond(page.encode("cp1251"), Content_Type="text/html; charset=windows-1251")
        allowed = desk.with_settings(HOLDFAST_ALLOWED_HOSTS=site.host)
        await asyncio.to_thread(allowed.succeed, "ingest", site.url("/contract.html"))

    (hit,) = desk.succeed("search", "вступает", "--json").json["hits"]
    assert (hit["title"], hit["text"].strip()) == ("Договор", "Договор вступает в силу.")


async def test_a_link_into_the_inner_network_is_not_followed(desk: CommandLine) -> None:
    async with web() as site:
        result = await asyncio.to_thread(desk.run, "ingest", site.url("/ferry.html"), "--json")
        requests = list(site.requests)

    assert result.code == 1
    assert "HOLDFAST_ALLOWED_HOSTS" in result.json["failures"][0]["last_error"]["error"]
    assert requests == []


MISTAKES = {
    "nowhere.pdf": "there is no file or folder nowhere.pdf: correct the path",
    "library --name x": "--name is what standard input is called",
    "-": "standard input has no name of its own",
    "note.md --watch": "--watch needs a folder to watch",
    "library --watch --no-wait": "choose one",
    "ftp://example.org/a.pdf": "give http or https",
    "library --meta team": "write it as key=value",
    "library --pipeline nonsense": 'there is no pipeline "nonsense": name one of configs, documents',
}


@pytest.mark.parametrize("call", MISTAKES)
def test_a_call_that_cannot_be_meant_exits_2_and_says_why(call: str, desk: CommandLine) -> None:
    (desk.directory / "library").mkdir()
    (desk.directory / "note.md").write_text(GATE)

    result = desk.run("ingest", *call.split())

    assert result.code == 2
    assert result.err.startswith("error: ")
    assert MISTAKES[call] in result.err
    assert result.out == ""


def test_a_file_beyond_the_limit_is_named_and_the_others_are_carried(desk: CommandLine) -> None:
    (desk.directory / "gate.md").write_text(GATE)
    with (desk.directory / "large.bin").open("wb") as file:
        file.truncate((1 << 20) + 1)

    result = desk.with_settings(HOLDFAST_MOST_FILE_MB="1").run("ingest", "gate.md", "large.bin")

    assert result.code == 1
    assert "taken in   1 new or changed, 1 too large\n" in result.out
    assert "documents  1 done\n" in result.out
    assert "Not taken in\n  large.bin\n" in result.out
    assert "HOLDFAST_MOST_FILE_MB" in result.out


def test_a_file_for_which_the_disk_has_no_room_is_named_and_the_others_are_carried(desk: CommandLine) -> None:
    (desk.directory / "gate.md").write_text(GATE)
    (desk.directory / "large.txt").write_text("The lamp is lit at dusk.\n" * 50_000)
    (desk.directory / "pier.md").write_text("The pier is closed in winter.")
    files = ("gate.md", "large.txt", "pier.md")

    # The system refuses to write beyond the limit as it refuses to write to a full disk: in the middle.
    with_little_room = ("sh", "-c", 'ulimit -f 1000 && exec "$@"', "sh", *STARTED)
    result = replace(desk, program=with_little_room).run("ingest", *files)

    assert result.code == 1, result.err
    assert "taken in   2 new or changed, 1 without room\n" in result.out
    assert "documents  2 done\n" in result.out
    assert "Not taken in\n  large.txt\n" in result.out
    assert "is full: make room, then take it in again\n" in result.out
    again = desk.run("ingest", *files, "--json")
    assert (again.code, again.json["taken_in"]) == (0, {"unchanged": 2, "created": 1})


def test_what_of_a_folder_is_left_out_is_counted(desk: CommandLine) -> None:
    folder = desk.directory / "inbox"
    folder.mkdir()
    for name in (".one", ".two", ".three"):
        (folder / name).write_text(GATE)
    (folder / "link.md").symlink_to("/etc/hostname")
    os.mkfifo(folder / "pipe")

    assert "taken in   nothing\nleft out   3 hidden, 1 link, 1 special file\n" in desk.succeed("ingest", "inbox").out
    assert desk.succeed("ingest", "inbox", "--json").json["left_out"] == {
        "hidden": 3,
        "links": 1,
        "special": 1,
        "own": 0,
    }
    (desk.directory / "gate.md").write_text(GATE)
    assert "left out" not in desk.succeed("ingest", "gate.md").out


@pytest.mark.parametrize("scope", [("--pipeline", "documents"), ("--org", "default")])
def test_what_a_hold_without_end_keeps_is_named_and_not_waited_for(desk: CommandLine, scope: tuple[str, str]) -> None:
    (desk.directory / "gate.md").write_text(GATE)
    desk.succeed("ingest", "gate.md", "--no-wait", "--org", "elsewhere")
    hold = desk.succeed("hold", *scope, "--reason", "new disks", "--json").json["hold_id"]

    waiting = desk.succeed("ingest", "gate.md", "--json").json["waiting"]
    desk.succeed("release", str(hold))
    desk.succeed("ingest", "gate.md")

    assert [row["next"] for row in waiting] == [f"waits for hold {hold} (new disks) until someone releases it"]
    assert [job["state"] for job in desk.succeed("jobs", "--org", "default", "--json").json["jobs"]] == ["done"]


def test_the_home_and_the_store_within_a_folder_are_left_out(desk: CommandLine) -> None:
    library = desk.directory / "library"
    for name in ("state", "kept files"):
        (library / name).mkdir(parents=True)
        (library / name / "server.log").write_text("ready")
    (library / "gate.md").write_text(GATE)
    own = desk.with_settings(
        HOLDFAST_HOME=str(library / "state"), HOLDFAST_STORAGE_URL=(library / "kept files").as_uri()
    )

    first, again = own.succeed("ingest", "library"), own.succeed("ingest", "library", "--json").json

    assert "taken in   1 new or changed\nleft out   2 folders of Holdfast's own\n" in first.out
    assert (again["taken_in"], again["left_out"]["own"]) == ({"unchanged": 1}, 2)


def test_without_waiting_documents_are_left_to_workers_elsewhere(desk: CommandLine) -> None:
    (desk.directory / "gate.md").write_text(GATE)

    result = desk.succeed("ingest", "gate.md", "--no-wait", "--priority", "5")

    assert "documents  1 queued\n" in result.out
    desk.succeed("worker", "--drain")
    assert states(desk) == ["complete"]


def test_a_watched_folder_gives_what_appears_in_it(desk: CommandLine) -> None:
    folder = desk.directory / "inbox"
    folder.mkdir()
    with desk.started("ingest", "inbox", "--watch", "--json") as process:
        (folder / "late.md").write_text(GATE)
        _until(desk, ["complete"])
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)

    assert process.returncode == 0
    assert '"created": 1' in out


def _until(desk: CommandLine, wanted: list[str]) -> None:
    give_up_at = time.monotonic() + SECONDS
    while states(desk) != wanted:
        assert time.monotonic() < give_up_at
        time.sleep(0.2)


def test_on_a_terminal_every_phase_has_a_bar_and_long_messages_wrap(desk: CommandLine) -> None:
    write_library(desk.directory / "library")

    seen = desk.on_terminal("ingest", "library", columns=46)

    assert seen.code == 1
    assert all(f"{phase} " in seen.text for phase in PHASES)
    assert "━" in seen.text
    assert "zero.txt has no content: zero bytes" in seen.text
    summary = seen.text[seen.text.rindex("taken in   4 new or changed") :]
    assert "correct the file and ingest it again:" in " ".join(summary.split())
    assert "once the file is corrected" in " ".join(summary.split())
    assert "holdfast retry" not in summary
    assert "…" not in summary
    assert max(map(len, summary.splitlines())) <= 46
