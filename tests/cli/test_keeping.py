"""`holdfast delete`, `clean`, `reindex` and `doctor` on documents: what is kept is sound, what goes is gone."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.testing import KEY, StandIn
from holdfast.testing.answering import DIMENSION
from tests.cli.conftest import CommandLine
from tests.cli.library import GATE

# Documents are embedded, and only this server has pgvector.
pytestmark = pytest.mark.parametrize("server", ["embedded"], indirect=True)


@pytest.fixture
def kept(desk: CommandLine) -> CommandLine:
    """A desk with one document, which is complete."""
    (desk.directory / "gate.md").write_text(GATE)
    desk.succeed("ingest", "gate.md")
    return desk


def hits(desk: CommandLine, *arguments: str) -> list[str]:
    return [hit["text"] for hit in desk.succeed("search", *arguments, "--json").json["hits"]]


def test_what_is_deleted_is_gone_and_the_receipt_counts_it(kept: CommandLine) -> None:
    refused = kept.run("delete", "1")
    assert refused.code == 2
    assert refused.err == "error: removing document 1 cannot be undone: add --yes if that is meant\n"

    receipt = kept.run("delete", "1", "99", "--yes")
    assert receipt.code == 2
    assert receipt.err == "error: there is no document 99\n"
    assert receipt.out.startswith("document 1 is gone, and with it:\n")
    counts = {name: int(count) for count, name in (line.split(maxsplit=1) for line in receipt.out.splitlines()[1:])}
    assert counts["document"] == counts["chunk"] == counts["vector"] == 1
    waiting = {count for name, count in counts.items() if name.endswith("to go with a later clean")}
    assert len(_artifacts(kept)) == sum(waiting)
    assert hits(kept, "lamp") == []

    again = kept.run("delete", "1", "--yes")
    assert again.code == 2
    assert "there is no document 1" in again.err
    assert kept.succeed("doctor", "--deep").out == "every invariant holds\n"


def test_on_a_terminal_it_asks_before_it_deletes(kept: CommandLine) -> None:
    declined = kept.on_terminal("delete", "1", types="n\n")
    assert declined.code == 1
    assert "Remove document 1 and everything made from it, for good? [y/N]" in declined.text
    assert hits(kept, "lamp") != []

    agreed = kept.on_terminal("delete", "1", types="y\n")
    assert agreed.code == 0
    assert "document 1 is gone" in agreed.text
    assert hits(kept, "lamp") == []


def test_clean_removes_what_replaced_versions_left_and_nothing_else(kept: CommandLine) -> None:
    assert kept.succeed("clean").out == "there was nothing to remove\n"
    (kept.directory / "gate.md").write_text(GATE.replace("green", "white"))
    kept.succeed("ingest", "gate.md")

    removed = kept.with_settings(HOLDFAST_SUPERSEDED_DAYS="0").succeed("clean", "--json").json

    assert removed["replaced_versions"] == 1
    assert removed["chunks"] > 0
    assert "white" in hits(kept, "lamp")[0]
    assert kept.succeed("doctor", "--deep").out == "every invariant holds\n"


@pytest.fixture
async def stand_in() -> AsyncIterator[StandIn]:
    async with StandIn() as server:
        yield server


async def test_reindexing_switches_to_another_model_and_back(kept: CommandLine, stand_in: StandIn) -> None:
    described = kept.with_settings(
        HOLDFAST_EMBEDDER_BASE_URL=stand_in.base_url,
        HOLDFAST_EMBEDDER_API_KEY=KEY,
        HOLDFAST_EMBEDDER_DIMENSION=str(DIMENSION),
    )
    remote = described.with_settings(HOLDFAST_EMBEDDER="openai")

    switched = await asyncio.to_thread(described.succeed, "reindex", "--model", "openai")
    assert switched.out.endswith("it answers searches now\n")
    assert "$0.0" in switched.out
    assert (await asyncio.to_thread(remote.succeed, "search", "lamp", "--json")).json["mode"] == "fused"
    left = (await asyncio.to_thread(described.succeed, "search", "lamp")).out
    assert left.startswith('note: found by words alone: the vectors stored are of model "')
    unreachable = remote.with_settings(HOLDFAST_EMBEDDER_BASE_URL="http://127.0.0.1:9/v1")
    without = (await asyncio.to_thread(unreachable.succeed, "search", "lamp")).out
    assert without.startswith("note: found by words alone: embedder")

    back = await asyncio.to_thread(described.succeed, "reindex", "--model", "light", "--prune", "--json")
    assert (back.json["embedded"], back.json["active"]) == (0, True)
    assert back.json["pruned"] > 0
    assert (await asyncio.to_thread(kept.succeed, "search", "lamp", "--json")).json["mode"] == "fused"


def test_a_model_that_the_settings_do_not_describe_is_refused(desk: CommandLine) -> None:
    result = desk.run("reindex", "--model", "nonsense")

    assert result.code == 2
    assert "name one of light (light-256), openai (" in result.err


def test_doctor_finds_an_artifact_that_was_changed_or_removed_behind_our_back(kept: CommandLine) -> None:
    artifact = _an_artifact(kept)
    artifact.chmod(0o600)
    artifact.write_bytes(artifact.read_bytes()[::-1])
    assert kept.run("doctor").code == 0
    assert kept.run("doctor", "--deep").out.startswith("I16 is broken")

    artifact.unlink()
    result = kept.run("doctor")
    assert result.code == 1
    assert result.out.startswith(
        "I16 is broken: an artifact that a finished document needs is missing or damaged (1)\n"
    )
    assert "  document: 1\n" in result.out
    assert "  next: restore it from a backup of the store" in result.out


def _an_artifact(desk: CommandLine) -> Path:
    return next(path for path in _artifacts(desk) if path.read_bytes() == GATE.encode())


def _artifacts(desk: CommandLine) -> list[Path]:
    return [path for path in (desk.directory / "home" / "artifacts").rglob("*") if path.is_file()]
