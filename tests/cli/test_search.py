"""`holdfast search`: passages with the place they stand at, for people and for programs."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.cli.conftest import CommandLine, common_desk
from tests.cli.library import BREAD, GATE
from tests.conftest import Server

# Meaning is found by vectors, and only this server has pgvector.
pytestmark = pytest.mark.parametrize("server", ["embedded"], indirect=True)

FOUND = "\x1b[1;33m"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def searched(
    server: Server, template: str, ready_holdfast: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[CommandLine]:
    """A desk whose two documents are complete, one of the sales team and one of nobody's."""
    folder = tmp_path_factory.mktemp("searched")
    (folder / "gate.md").write_text(GATE)
    async with common_desk(server, template, folder, ready_holdfast) as desk:
        desk.succeed("ingest", "gate.md", "--meta", "team=sales")
        desk.succeed("ingest", "-", "--name", "bakery.md", stdin=BREAD)
        yield desk


def names(desk: CommandLine, *arguments: str) -> list[str]:
    return [hit["source_name"] for hit in desk.succeed("search", *arguments, "--json").json["hits"]]


def test_a_passage_is_plain_text_with_its_place_and_the_reason(searched: CommandLine) -> None:
    first, *rest = searched.succeed("search", "when", "does", "the", "gate", "open", "--limit", "1").out.splitlines()

    assert first.startswith("1. gate.md  Lock keeper's notes > The gate   ")
    assert "   The lower gate opens when the lamp on the pier turns green. Keep clear of the winch." in rest
    assert rest[-1].startswith("   words #1 (")
    assert "· meaning #1 (" in rest[-1]
    assert "\x1b" not in "".join(rest)


def test_on_a_terminal_the_words_found_stand_out(searched: CommandLine) -> None:
    seen = searched.on_terminal("search", "lamp pier", "--limit", "1", columns=50)

    assert seen.code == 0
    assert f"{FOUND}lamp" in seen.raw
    assert f"{FOUND}pier" in seen.raw
    assert f"{FOUND}green" not in seen.raw
    assert max(map(len, seen.text.splitlines())) <= 50


def test_a_program_gets_the_passage_its_place_and_why(searched: CommandLine) -> None:
    found: dict[str, Any] = searched.succeed("search", "ledger", "--limit", "1", "--json").json
    (hit,) = found["hits"]

    assert (found["mode"], found["notes"], found["graph"]) == ("fused", [], [])
    assert hit["place"] == {"heading": ["Lock keeper's notes", "The gate"]}
    assert hit["metadata"]["team"] == "sales"
    assert hit["source_location"].endswith("/gate.md")
    assert hit["why"]["words_rank"] == hit["why"]["vector_rank"] == 1
    assert [hit["text"][start:end] for start, end in hit["highlights"]] == ["ledger", "ledger"]


@pytest.mark.parametrize(
    "narrowed", ["--meta team=sales", "--platform file", "--name gate.md", "--location gate.md", "--document 1"]
)
def test_filters_leave_out_what_does_not_fit(narrowed: str, searched: CommandLine) -> None:
    assert set(names(searched, "Anna", "Berg", *narrowed.split())) == {"gate.md"}


def test_phrases_must_stand_so_and_excluded_words_must_not(searched: CommandLine) -> None:
    assert names(searched, '"Anna Berg" -ledger', "--by", "words") == ["bakery.md"]


def test_another_organisation_finds_nothing_and_is_told_what_to_try(searched: CommandLine) -> None:
    result = searched.succeed("search", "gate", "--org", "strangers")

    assert result.out == "nothing found: try other words, or look at what was ingested with: holdfast jobs\n"


def test_the_graph_adds_what_passages_speak_of(searched: CommandLine) -> None:
    text = searched.succeed("search", "ledger", "--graph").out
    spoken = searched.succeed("search", "ledger", "--graph", "--json").json["graph"]

    assert "What they speak of" in text
    assert "Anna Berg" in text
    assert "Anna Berg" in [entity["name"] for entity in spoken]


@pytest.mark.parametrize("question", ["", "-gate"])
def test_a_question_without_words_exits_2(question: str, searched: CommandLine) -> None:
    result = searched.run("search", "--", question)

    assert result.code == 2
    assert "has no words to look for" in result.err


def test_only_the_part_around_the_words_found_is_shown_of_a_long_passage(searched: CommandLine) -> None:
    filler = "The keeper counts the boats and writes their names down. " * 18
    searched.succeed("ingest", "-", "--name", "long.md", "--org", "long", stdin=f"{filler}A heron nests here. {filler}")

    lines = searched.succeed("search", "heron", "--org", "long", "--limit", "1").out.splitlines()

    assert "A heron nests here." in lines[1]
    assert lines[1].startswith("   …")
    assert lines[1].endswith("…")
    assert len(lines[1]) < 720
