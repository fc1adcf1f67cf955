"""`holdfast ingest --pipeline configs`, `configs show` and `configs diff`, as typed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.cli.conftest import CommandLine, common_desk
from tests.conftest import Server
from tests.extract.readers.archive_samples import tar_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

ROOT = Path(__file__).parents[2]
OLD = tar_of([("app/app.conf", b"[ui]\nlabel = one \\\n  two\nsize = 1\nnonsense\n[empty]\n")], "w:gz")
NEW = tar_of([("app/app.conf", b"[ui]\nlabel = one \\\n  two\nsize = 2\n")], "w:gz")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def desk(
    server: Server, template: str, ready_holdfast: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[CommandLine]:
    """Two versions of an archive, taken in."""
    folder = tmp_path_factory.mktemp("configs")
    async with common_desk(server, template, folder, ready_holdfast) as desk:
        for data in (OLD, NEW):
            (folder / "app.tgz").write_bytes(data)
            desk.succeed("ingest", "app.tgz", "--pipeline", "configs")
        yield desk


async def test_ingestion_names_the_run(desk: CommandLine) -> None:
    again = desk.succeed("ingest", "app.tgz", "--pipeline", "configs")
    assert "app.tgz · run 2\n      holdfast configs show 2\n" in again.out


async def test_run_is_shown_with_file_and_line(desk: CommandLine) -> None:
    shown = desk.succeed("configs", "show", "1").out
    assert "run 1 · app.tgz · COMPLETE · done\n" in shown
    assert "\napp/app.conf:2  ui      label  one two\napp/app.conf:4  ui      size   1\n" in shown
    assert "\napp/app.conf:6  empty   -      -\n" in shown
    assert "app/app.conf:5  is neither a stanza" in shown


async def test_program_gets_values_as_they_are(desk: CommandLine) -> None:
    shown = desk.succeed("configs", "show", "1", "--stanza", "ui", "--limit", "1", "--json").json
    assert shown["settings"][0]["value"] == "one \n  two"
    more = desk.succeed("configs", "show", "1", "--stanza", "ui", "--cursor", shown["cursor"], "--json").json
    assert [one["key"] for one in more["settings"]] == ["size"]


async def test_difference_is_an_exit_code_only_when_asked(desk: CommandLine) -> None:
    plain = desk.succeed("configs", "diff", "1", "2")
    assert "run 1 → run 2: 0 added, 0 removed, 1 changed\n" in plain.out
    assert "changed  ui      size  app/app.conf:4  1    app/app.conf:4  2\n" in plain.out
    assert desk.run("configs", "diff", "1", "2", "--exit-code").code == 1
    assert desk.run("configs", "diff", "1", "1", "--exit-code").code == 0


async def test_retry_of_a_complete_run_says_what_the_how_to_says(desk: CommandLine) -> None:
    page = (ROOT / "docs/how-to/read-configuration-archives.md").read_text()
    assert "1 not changed (is complete already): job 1\n" in desk.run("retry", "1").out
    assert desk.run("retry", "1", "--json").json["counts"] == {"already_completed": 1}
    assert '`holdfast retry` says that it "is complete already"' in page


async def test_what_is_no_run_is_a_wrong_call(desk: CommandLine) -> None:
    result = desk.run("configs", "show", "4711")
    assert (result.code, result.out) == (2, "")
    assert "there is no configs run 4711" in result.err


async def test_failed_run_says_why_and_what_to_do(desk: CommandLine) -> None:
    (desk.directory / "torn.tgz").write_bytes(OLD[:60])
    taken = desk.run("ingest", "torn.tgz", "--pipeline", "configs", "--json").json
    (failure,) = taken["failures"]
    shown = desk.succeed("configs", "show", str(failure["document_id"])).out.splitlines()
    assert shown[0] == f"run {failure['document_id']} · torn.tgz · PARSING · failed"
    assert shown[1].startswith("  error: torn.tgz is damaged")
    told = "correct the file and ingest it again: corrupt_input is permanent"
    assert shown[2] == f"  next: {told}; all of it with: holdfast show {failure['job_id']}"
    assert shown[-1] == "no setting is stored"
    compared = desk.run("configs", "diff", "1", str(failure["document_id"]))
    assert (compared.code, compared.out) == (2, "")
    assert "torn.tgz, cannot be compared: it is not complete" in compared.err


async def test_run_that_waits_says_how_far_it_is(desk: CommandLine) -> None:
    (desk.directory / "waits.conf").write_bytes(b"[waits]\na = 1\n")
    desk.succeed("ingest", "waits.conf", "--pipeline", "configs", "--no-wait")
    (job,) = desk.succeed("jobs", "--text", "waits.conf", "--json").json["jobs"]
    shown = desk.succeed("configs", "show", str(job["document_id"])).out.splitlines()
    assert shown[0] == f"run {job['document_id']} · waits.conf · PENDING · queued · 5 %"
    assert shown[1].startswith("  next: ")
