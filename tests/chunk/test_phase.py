"""From a standard text to stored chunks: the same every time, each with its place, however often it was cut off."""

from itertools import accumulate, pairwise

import pytest

from holdfast.artifacts.store import ArtifactStore
from holdfast.chunk import phase as chunk_phase
from holdfast.chunk.phase import Chunk
from holdfast.chunk.section import Sizes
from holdfast.db.connection import Database
from holdfast.engine.pipeline import GiveBack
from holdfast.errors import CorruptInput, EmptyText
from holdfast.standard import Carried, Span
from tests.chunk.documents import carried, chunk, chunks_of, claimed, settled
from tests.chunk.texts import long_text, paragraph

SIZES = Sizes(tokens=80, overlap=10)


def handbook() -> tuple[str, list[Span]]:
    """Two sections on two pages."""
    first = f"# Tides\n\n{paragraph(1)}\n\n{paragraph(2)}\n\n"
    second = f"# Storms\n\n{paragraph(3)}\n\n{paragraph(4)}\n"
    half, end = len(first), len(first) + len(second)
    spans = [
        Span(0, half, "page", 1),
        Span(half, end, "page", 2),
        Span(0, half, "heading", ("Tides",)),
        Span(half, end, "heading", ("Storms",)),
    ]
    return first + second, spans


async def test_chunks_are_the_text_at_their_offsets(database: Database, store: ArtifactStore) -> None:
    text = long_text(30_000, seed=7)
    rows = await chunk(database, Chunk(database, store, sizes=SIZES), carried(store, text))
    assert len(rows) > 50
    assert [row["text"] for row in rows] == [text[row["start_at"] : row["end_at"]] for row in rows]
    assert [row["ordinal"] for row in rows] == list(range(len(rows)))


async def test_chunks_know_their_page_and_heading(database: Database, store: ArtifactStore) -> None:
    text, spans = handbook()
    rows = await chunk(database, Chunk(database, store, sizes=SIZES), carried(store, text, spans, title="Handbook"))
    places = [(row["place"]["pages"], row["place"]["heading"]) for row in rows]
    assert {*map(str, places)} == {"([1], ['Tides'])", "([2], ['Storms'])"}
    assert rows[0]["context"] == "Handbook › Tides"  # noqa: RUF001


async def test_a_chunk_of_several_pages_knows_where_each_begins(database: Database, store: ArtifactStore) -> None:
    text = "Moor at the pier.\n\nPay at the kiosk.\n\nLeave at dawn.\n\n"
    starts = [0, text.index("Pay"), text.index("Leave"), len(text)]
    spans = [Span(start, end, "page", n) for n, (start, end) in enumerate(pairwise(starts), 1)]
    (row,) = await chunk(database, Chunk(database, store, sizes=Sizes()), carried(store, text, spans))
    assert row["place"]["pages"] == [1, 2, 3]
    found = {value: row["text"][start:end].strip() for start, end, kind, value in row["place"]["spans"]}
    assert found == {1: "Moor at the pier.", 2: "Pay at the kiosk.", 3: "Leave at dawn."}


async def test_a_chunk_of_one_page_has_its_place_alone(database: Database, store: ArtifactStore) -> None:
    text, spans = handbook()
    rows = await chunk(database, Chunk(database, store, sizes=SIZES), carried(store, text, spans))
    assert {*map(str, (sorted(row["place"]) for row in rows))} == {"['heading', 'pages']"}


async def test_a_blank_page_at_the_edge_is_none_of_its_pages(database: Database, store: ArtifactStore) -> None:
    parts = ["  \n\n", "    Moor at the pier.\n\n", "Pay at the kiosk.\n\n", " \n\n"]
    starts = [0, *accumulate(map(len, parts))]
    spans = [Span(start, end, "page", n) for n, (start, end) in enumerate(pairwise(starts), 1)]
    (row,) = await chunk(database, Chunk(database, store, sizes=Sizes()), carried(store, "".join(parts), spans))
    assert row["place"]["pages"] == [2, 3]


async def test_pages_change_neither_what_a_chunk_is_called_nor_what_is_embedded(
    database: Database, store: ArtifactStore
) -> None:
    text = f"{paragraph(1)}\n\n{paragraph(2)}"
    phase = Chunk(database, store, sizes=Sizes())
    spans = [Span(0, 40, "page", 1), Span(40, len(text), "page", 2)]
    (without,) = await chunk(database, phase, carried(store, text))
    paging = carried(store, text, spans, organisation="other")
    (paged,) = await chunk(database, phase, paging, organisation="other")
    assert (paged["id"], paged["text_hash"]) == (without["id"], without["text_hash"])


async def test_a_short_section_does_not_name_the_chunk_it_begins(database: Database, store: ArtifactStore) -> None:
    text = f"# Handbook\n\n## Tides\n\n{paragraph(1)}"
    begin = text.index("## Tides")
    spans = [Span(0, begin, "heading", ("Handbook",)), Span(begin, len(text), "heading", ("Handbook", "Tides"))]
    (row,) = await chunk(database, Chunk(database, store, sizes=Sizes()), carried(store, text, spans))
    assert row["place"]["heading"] == ["Handbook", "Tides"]


async def test_a_chunk_that_repeats_nothing_quotes_what_precedes_it(database: Database, store: ArtifactStore) -> None:
    text = f"{paragraph(1)}\n\n{paragraph(2)}\n\n{paragraph(3)}"
    rows = await chunk(database, Chunk(database, store, sizes=Sizes(tokens=60, overlap=0)), carried(store, text))
    last_sentence = rows[0]["text"].rsplit(". ", 1)[-1]
    assert rows[1]["context"] == f"handbook.md\n… {last_sentence}"


async def test_the_same_document_has_the_same_chunks_in_every_organisation_and_run(
    database: Database, store: ArtifactStore
) -> None:
    text, spans = handbook()
    phase = Chunk(database, store, sizes=SIZES)
    facts = "id", "start_at", "end_at", "text", "context", "place", "text_hash"
    runs = []
    for organisation in ("acme", "other"):
        document = carried(store, text, spans, organisation=organisation)
        rows = await chunk(database, phase, document, organisation=organisation)
        runs.append([[row[fact] for fact in facts] for row in rows])
    assert runs[0] == runs[1]
    assert len({row[0] for row in runs[0]}) == len(runs[0])


async def test_an_attempt_after_a_crash_ends_with_the_same_chunks(
    database: Database, store: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_phase, "BATCH", 3)
    text, spans = handbook()
    phase = Chunk(database, store, sizes=SIZES)
    scenario, attempt = await claimed(database, carried(store, text, spans))
    await phase.run(attempt)  # the worker dies before it settles
    stored = await chunks_of(database, attempt.document.id)
    await scenario.queue.give_back([(attempt, GiveBack("as a sweep would"))])
    again = await scenario.claim_one("chunk")
    await settled(scenario, again, await phase.run(again))
    assert len(stored) > 3
    assert await chunks_of(database, attempt.document.id) == stored


async def test_fewer_chunks_than_before_leave_none_behind(database: Database, store: ArtifactStore) -> None:
    document = carried(store, long_text(8_000, seed=3))
    scenario, attempt = await claimed(database, document)
    await Chunk(database, store, sizes=Sizes(tokens=50, overlap=0)).run(attempt)
    many = len(await chunks_of(database, attempt.document.id))
    done = await Chunk(database, store, sizes=Sizes(tokens=400, overlap=0)).run(attempt)
    await settled(scenario, attempt, done)
    few = len(await chunks_of(database, attempt.document.id))
    assert few < many
    assert Carried.from_json(done.output).chunks == few


async def test_progress_reaches_the_end(database: Database, store: ArtifactStore) -> None:
    _, attempt = await claimed(database, carried(store, long_text(5_000, seed=1).strip()))
    await Chunk(database, store, sizes=SIZES).run(attempt)
    assert attempt.fraction == 1.0


async def test_white_space_is_an_empty_text(database: Database, store: ArtifactStore) -> None:
    _, attempt = await claimed(database, carried(store, " \n\n "))
    with pytest.raises(EmptyText):
        await Chunk(database, store, sizes=SIZES).run(attempt)


async def test_spans_that_are_none_are_refused(database: Database, store: ArtifactStore) -> None:
    document = carried(store, "The tide turned.").adding(spans=store.put_bytes("acme", b"[[1, 2], {"))
    _, attempt = await claimed(database, document)
    with pytest.raises(CorruptInput, match="extraction"):
        await Chunk(database, store, sizes=SIZES).run(attempt)
