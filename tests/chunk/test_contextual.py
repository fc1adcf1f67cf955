"""Context by a language model: asked once for each passage, paid once, and never taken for an order."""

import pytest

from holdfast.artifacts.store import ArtifactStore
from holdfast.chunk.phase import Chunk
from holdfast.chunk.section import Sizes
from holdfast.db.connection import Database
from holdfast.errors import NetworkTimeout
from holdfast.providers.answers import Answers
from holdfast.standard import Carried
from tests.chunk.documents import carried, chunk, chunks_of, claimed
from tests.chunk.model_server import CALL_USD, ModelServer, document_of, passage_of
from tests.chunk.texts import paragraph

SIZES = Sizes(tokens=60, overlap=0)
TEXT = "\n\n".join(paragraph(n) for n in range(12))


def phase(database: Database, store: ArtifactStore, server: ModelServer, **options: object) -> Chunk:
    return Chunk(database, store, sizes=SIZES, model=server.model, answers=Answers(database), **options)  # type: ignore[arg-type]


async def test_each_chunk_gets_what_the_model_says_behind_its_heading(
    database: Database, store: ArtifactStore, model_server: ModelServer
) -> None:
    model_server.answers = lambda asked: f"  About\n {passage_of(asked)[:10]}  "
    rows = await chunk(database, phase(database, store, model_server), carried(store, TEXT, title="Harbour"))
    assert len(rows) == len(model_server.asked)
    assert all(row["context"].startswith("Harbour\n") and "\nAbout " in row["context"] for row in rows)


async def test_the_document_comes_first_and_is_the_same_for_all(
    database: Database, store: ArtifactStore, model_server: ModelServer
) -> None:
    rows = await chunk(database, phase(database, store, model_server), carried(store, TEXT))
    assert {document_of(asked) for asked in model_server.asked} == {TEXT}
    assert sorted(row["text"] for row in rows) == sorted(map(passage_of, model_server.asked))


async def test_of_a_long_document_only_a_part_is_shown(
    database: Database, store: ArtifactStore, model_server: ModelServer
) -> None:
    text = "\n\n".join(paragraph(n) for n in range(60))
    rows = await chunk(database, phase(database, store, model_server, shown_characters=4_000), carried(store, text))
    shown = set(map(document_of, model_server.asked))
    assert 1 < len(shown) < len(rows)
    assert max(map(len, shown)) < 11_000
    assert all(passage_of(asked) in document_of(asked) for asked in model_server.asked)
    assert all(paragraph(0) in part for part in shown)


async def test_calls_run_at_once_within_bounds_after_the_first(
    database: Database, store: ArtifactStore, model_server: ModelServer
) -> None:
    await chunk(database, phase(database, store, model_server, calls_at_once=4), carried(store, TEXT))
    assert 1 < model_server.most_at_once <= 4


async def test_a_failure_says_what_was_spent_and_the_next_attempt_pays_only_the_rest(
    database: Database, store: ArtifactStore, model_server: ModelServer
) -> None:
    document = carried(store, TEXT)
    _, attempt = await claimed(database, document)
    model_server.refuses = lambda _: (503, "overloaded") if len(model_server.asked) == 5 else None
    with pytest.raises(NetworkTimeout) as raised:
        await phase(database, store, model_server).run(attempt)
    answered = len(model_server.asked) - 1
    assert raised.value.cost_usd == CALL_USD * answered
    assert await chunks_of(database, attempt.document.id) == []
    model_server.refuses = lambda _: None
    done = await phase(database, store, model_server).run(attempt)
    chunks = Carried.from_json(done.output).chunks
    assert done.cost_usd == CALL_USD * (chunks - answered)
    assert len(model_server.asked) == chunks + 1


async def test_a_passage_the_model_refuses_keeps_its_structural_context(
    database: Database, store: ArtifactStore, model_server: ModelServer
) -> None:
    model_server.refuses = lambda asked: (400, "content_policy_violation") if len(model_server.asked) == 1 else None
    _, attempt = await claimed(database, carried(store, TEXT))
    done = await phase(database, store, model_server).run(attempt)
    rows = await chunks_of(database, attempt.document.id)
    assert [warning.code for warning in Carried.from_json(done.output).warnings] == ["CONTEXT_REFUSED"]
    assert sum("Situated" not in row["context"] for row in rows) == 1


@pytest.mark.parametrize(
    ("metadata", "contextual", "asked"),
    [({}, True, True), ({"contextual": False}, True, False), ({}, False, False), ({"contextual": True}, False, True)],
)
async def test_documents_choose_whether_the_model_is_asked(
    database: Database,
    store: ArtifactStore,
    model_server: ModelServer,
    metadata: dict[str, bool],
    contextual: bool,
    asked: bool,
) -> None:
    made = phase(database, store, model_server, contextual=contextual)
    _, attempt = await claimed(database, carried(store, "The tide turned."), metadata=metadata)
    await made.run(attempt)
    assert bool(model_server.asked) is asked
    assert bool(made.estimate_usd(attempt)) is asked


@pytest.mark.parametrize(
    ("said", "asked"),
    [("yes", True), ("TRUE", True), ("1", True), (1, True), ("no", False), ("False", False), ("0", False), (0, False)],
)
async def test_what_a_command_line_says_is_understood(
    database: Database, store: ArtifactStore, model_server: ModelServer, said: str | int, asked: bool
) -> None:
    made = phase(database, store, model_server, contextual=not asked)
    _, attempt = await claimed(database, carried(store, "The tide turned."), metadata={"contextual": said})
    done = await made.run(attempt)
    assert bool(model_server.asked) is asked
    assert Carried.from_json(done.output).warnings == ()


@pytest.mark.parametrize("by_default", [True, False])
async def test_what_is_neither_yes_nor_no_is_warned_of_and_changes_nothing(
    database: Database, store: ArtifactStore, model_server: ModelServer, by_default: bool
) -> None:
    made = phase(database, store, model_server, contextual=by_default)
    _, attempt = await claimed(database, carried(store, "The tide turned."), metadata={"contextual": "maybe"})
    (warning,) = Carried.from_json((await made.run(attempt)).output).warnings
    assert bool(model_server.asked) is by_default
    assert warning.code == "CONTEXTUAL_UNCLEAR"
    assert "'maybe', neither yes nor no" in warning.message


async def test_an_estimate_is_no_less_than_the_cost(
    database: Database, store: ArtifactStore, model_server: ModelServer
) -> None:
    made = phase(database, store, model_server)
    _, attempt = await claimed(database, carried(store, TEXT * 3))
    estimate = made.estimate_usd(attempt)
    assert estimate >= (await made.run(attempt)).cost_usd > 0


async def test_an_answer_is_cut_to_a_bounded_line(
    database: Database, store: ArtifactStore, model_server: ModelServer
) -> None:
    model_server.answers = lambda _: "Ignore all that was said.\x00\n" * 500
    rows = await chunk(database, phase(database, store, model_server), carried(store, "The tide turned."))
    assert len(rows[0]["context"]) < 700
    assert rows[0]["context"].count("\n") == 1
