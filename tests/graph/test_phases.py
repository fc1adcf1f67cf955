"""From stored chunks to a graph, by a worker: in order, in pages, and the same after a repetition."""

import pytest

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.engine.pipeline import GiveBack
from holdfast.engine.strict_json import dump
from holdfast.errors import Conflict, CorruptInput, StorageUnavailable
from holdfast.graph import adding, extracting
from holdfast.graph.adding import AddToGraph
from holdfast.graph.contribution import Contribution
from holdfast.graph.mentions import MentionExtractor
from holdfast.standard import Carried
from tests.graph.documents import Desk
from tests.graph.graph import Graph, chunk

TEXTS = [f"We sailed from Kelp Point to Boat Island{number} again." for number in range(7)]


@pytest.fixture
def desk(database: Database, store: ArtifactStore) -> Desk:
    return Desk(database, store, MentionExtractor())


async def test_a_document_goes_from_chunks_to_the_graph(desk: Desk) -> None:
    job = await desk.take_in("from Kelp Point to Gull Island", "it rained")
    await desk.work()
    assert (await desk.job(job))["status"] == "complete"
    rows = await desk.database.fetch(
        "select e.name, e.kind, m.generation_id, m.ordinal "
        "from holdfast.entity_mention m join holdfast.entity e on e.id = m.entity_id order by e.name"
    )
    assert [(row["name"], row["kind"], row["ordinal"]) for row in rows] == [
        ("Gull Island", "name", 0),
        ("Kelp Point", "name", 0),
    ]
    assert {row["generation_id"] for row in rows} == {job}


async def test_findings_are_stored_in_the_order_of_the_chunks_and_used_by_the_document(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extracting, "PAGE", 3)
    monkeypatch.setattr(adding, "BATCH", 2)
    job = await desk.take_in(*TEXTS)
    await desk.work()
    assert [line["ordinal"] for line in await desk.findings(job)] == list(range(7)) == await desk.ordinals()
    graph = (await desk.carried(job)).graph
    used = await desk.database.fetchval("select hash from holdfast.artifact_use where kind = 'graph'")
    assert graph is not None
    assert used == graph.hash


async def test_a_document_that_mentions_nothing_passes(desk: Desk) -> None:
    job = await desk.take_in("it rained", "and rained")
    await desk.work()
    assert (await desk.job(job))["status"] == "complete"
    assert await desk.ordinals() == []


async def test_a_repeated_run_leaves_nothing_of_the_one_before(
    graph: Graph, store: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "REMOVED_AT_ONCE", 2)
    phase = AddToGraph(graph.database, store)
    attempt = await graph.claim()
    for chunks in (7, 3):
        attempt.input = found(store, *(chunk(ordinal, "Kelp Point", f"Boat {ordinal}") for ordinal in range(chunks)))
        await phase.run(attempt)  # and dies before it settles
    assert {row[4] for row in (await graph.everything())["mentions"]} == {0, 1, 2}
    assert await graph.names() == ["name Boat 0", "name Boat 1", "name Boat 2", "name Kelp Point"]
    assert attempt.fraction == 1.0


async def test_what_was_found_is_added_across_the_borders_of_what_a_store_hands_out(
    graph: Graph, store: ArtifactStore
) -> None:
    attempt = await graph.claim()
    long = [chunk(ordinal, *(f"Boat {ordinal} {n} {'x' * 200}" for n in range(12))) for ordinal in range(300)]
    attempt.input = found(store, *long)
    await AddToGraph(graph.database, store).run(attempt)
    assert await graph.database.fetchval("select count(*) from holdfast.entity_mention") == 300 * 12


async def test_a_worker_whose_claim_was_lost_stops_without_adding(graph: Graph, store: ArtifactStore) -> None:
    attempt = await graph.claim()
    attempt.input = found(store, chunk(0, "Kelp Point"))
    await graph.scenario.queue.give_back([(attempt, GiveBack("as a sweep would"))])
    with pytest.raises(Conflict, match="claim"):
        await AddToGraph(graph.database, store).run(attempt)
    assert await graph.names() == []


async def test_without_findings_adding_says_what_to_do(graph: Graph, store: ArtifactStore) -> None:
    attempt = await graph.claim()
    attempt.input = Carried(original=store.put_bytes("acme", b"x"), media_type="text/plain", name="a.txt").to_json()
    with pytest.raises(CorruptInput, match="reset the job"):
        await AddToGraph(graph.database, store).run(attempt)


async def test_findings_that_are_not_in_the_store_are_storage_trouble(graph: Graph, store: ArtifactStore) -> None:
    attempt = await graph.claim()
    attempt.input = Carried(
        original=store.put_bytes("acme", b"x"), media_type="text/plain", name="a.txt", graph=Artifact("0" * 64, 10)
    ).to_json()
    with pytest.raises(StorageUnavailable):
        await AddToGraph(graph.database, store).run(attempt)


def found(store: ArtifactStore, *chunks: Contribution) -> dict[str, object]:
    """What extraction hands on when it found this."""
    lines = b"".join(dump(one.to_json()) + b"\n" for one in chunks)
    original = store.put_bytes("acme", b"a document")
    graph = store.put_bytes("acme", lines)
    carried = Carried(original=original, media_type="text/plain", name="a.txt", chunks=len(chunks), graph=graph)
    return carried.to_json()
