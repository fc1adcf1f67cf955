"""A document's way through a pipeline with the documents' own statuses: progress, retries, duplicates, metadata."""

import pytest

from holdfast.db.connection import Database
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.errors import CorruptInput, InvalidInput, NetworkTimeout
from tests.conftest import Clock
from tests.engine.scenario import WORKER, Scenario, begin, no_work, plain

PROGRESS = {
    "pending_upload": 5,
    "uploaded": 10,
    "parse_queued": 20,
    "parsed": 30,
    "parse_validated": 35,
    "chunking": 45,
    "chunks_stored": 50,
    "embedding_queued": 60,
    "embedding_in_progress": 70,
    "embeddings_stored": 80,
    "complete": 100,
}
DOCUMENTS = Pipeline(
    "documents",
    (
        Phase(name="upload", handler=no_work, done="uploaded", component="storage"),
        Phase(name="extract", handler=no_work, queued="parse_queued", done="parsed", component="parse"),
        Phase(name="validate", handler=no_work, done="parse_validated", component="validation"),
        Phase(name="chunk", handler=no_work, working="chunking", done="chunks_stored", component="chunking"),
        Phase(
            name="embed",
            handler=no_work,
            queued="embedding_queued",
            working="embedding_in_progress",
            done="embeddings_stored",
            component="embedding",
        ),
        Phase(name="graph", handler=no_work, done="complete"),
    ),
    starts="pending_upload",
    progress=PROGRESS,
)
NAMES = [phase.name for phase in DOCUMENTS.phases]
PERCENT = "select percent from holdfast.job_progress where job_id = $1"


@pytest.mark.parametrize(
    ("phase", "component", "status"),
    [
        ("extract", "parse", "uploaded"),
        ("validate", "validation", "parsed"),
        ("chunk", "chunking", "parse_validated"),
        ("embed", "embedding", "chunks_stored"),
    ],
)
async def test_retry_resumes_from_the_status_before_the_phase_that_failed(
    database: Database, clock: Clock, phase: str, component: str, status: str
) -> None:
    scenario = await begin(database, DOCUMENTS)
    submitted = await scenario.submit_one()
    await _bring_to(scenario, phase)
    await scenario.fail_once(phase, NetworkTimeout("reset"))
    assert (await scenario.job(submitted.job_id))["last_error"]["component"] == component
    await clock.advance(minutes=2)
    await scenario.put_back_what_is_due()
    job = await scenario.job(submitted.job_id)
    assert (job["state"], job["status"], job["phase"]) == ("queued", status, phase)


async def test_retry_reuses_what_finished_phases_gave(database: Database, clock: Clock) -> None:
    scenario = await begin(database, DOCUMENTS)
    submitted = await scenario.submit_one()
    await _bring_to(scenario, "chunk")
    await scenario.fail_once("chunk", NetworkTimeout("reset"))
    await clock.advance(minutes=2)
    assert (await scenario.settle_once("chunk")).input == {"from": "validate"}
    rows = await database.fetch(
        "select phase from holdfast.pipeline_phase where job_id = $1 order by id", submitted.job_id
    )
    assert [row["phase"] for row in rows] == ["upload", "extract", "validate", "chunk", "chunk"]


async def test_progress_follows_the_status(database: Database, clock: Clock) -> None:
    scenario = await begin(database, DOCUMENTS)
    submitted = await scenario.submit_one()
    seen = dict([await _status_and_percent(scenario, submitted.job_id)])
    for phase in NAMES:
        await scenario.fail_once(phase, NetworkTimeout("reset"))
        await clock.advance(minutes=2)
        await scenario.put_back_what_is_due()
        seen |= dict([await _status_and_percent(scenario, submitted.job_id)])
        attempts = await scenario.claim(phase)
        seen |= dict([await _status_and_percent(scenario, submitted.job_id)])
        await scenario.settle(attempts)
        seen |= dict([await _status_and_percent(scenario, submitted.job_id)])
    assert {status: seen.get(status) for status in PROGRESS} == PROGRESS


async def test_progress_inside_a_phase_moves_towards_the_next_status(database: Database) -> None:
    scenario = await begin(database, DOCUMENTS)
    submitted = await scenario.submit_one()
    await _bring_to(scenario, "embed")
    attempt = await scenario.claim_one("embed")
    attempt.progress(0.5)
    await scenario.queue.heartbeat(WORKER, [attempt])
    assert await database.fetchval(PERCENT, submitted.job_id) == 75


@pytest.mark.parametrize("error", [NetworkTimeout("reset"), CorruptInput("no pages")])
async def test_progress_of_a_failed_job_is_minus_one(database: Database, error: NetworkTimeout | CorruptInput) -> None:
    scenario = await begin(database, DOCUMENTS)
    submitted = await scenario.submit_one()
    await scenario.fail_once("upload", error)
    assert await database.fetchval(PERCENT, submitted.job_id) == -1


async def test_working_job_shows_its_phases_own_name(database: Database) -> None:
    scenario = await begin(database, plain("transcribe"))
    submitted = await scenario.submit_one()
    await scenario.claim("transcribe")
    assert (await scenario.job(submitted.job_id))["status"] == "transcribe"


async def test_same_content_again_ends_as_a_duplicate_that_points_to_the_first(database: Database) -> None:
    scenario = await begin(database, DOCUMENTS)
    first = await scenario.submit_one(content_hash="sha256:1")
    again = await scenario.submit_one(content_hash="sha256:1")
    assert again.result == "duplicate"
    assert (await scenario.document(again.document_id))["duplicate_of"] == first.document_id
    job = await scenario.job(again.job_id)
    assert (job["status"], job["state"]) == ("duplicate", "done")
    assert await database.fetchval(PERCENT, again.job_id) == -1


async def test_no_phase_runs_for_a_duplicate(database: Database) -> None:
    scenario = await begin(database, DOCUMENTS)
    first = await scenario.submit_one(content_hash="sha256:1")
    await scenario.submit(3, content_hash="sha256:1")
    assert [attempt.job_id for attempt in await scenario.claim("upload", 10)] == [first.job_id]


async def test_duplicates_within_one_call_are_recognised(database: Database) -> None:
    scenario = await begin(database, DOCUMENTS)
    submitted = await scenario.submit(3, content_hash="sha256:1")
    assert [one.result for one in submitted] == ["created", "duplicate", "duplicate"]


async def test_same_content_of_another_organisation_is_no_duplicate(database: Database) -> None:
    scenario = await begin(database, DOCUMENTS)
    await scenario.submit(content_hash="sha256:1")
    assert (await scenario.submit_one(organisation="other", content_hash="sha256:1")).result == "created"


async def test_key_for_a_document_that_exists_is_refused_not_ignored(database: Database) -> None:
    scenario = await begin(database, DOCUMENTS)
    first = await scenario.submit_one()
    with pytest.raises(InvalidInput, match="a key is for a document that comes in"):
        await scenario.submit_one(document_id=first.document_id, idempotency_key="again")


async def test_content_whose_only_job_was_cancelled_may_come_again(database: Database) -> None:
    scenario = await begin(database, DOCUMENTS)
    first = await scenario.submit_one(content_hash="sha256:1")
    await database.execute("select holdfast.cancel(array[$1]::bigint[])", first.job_id)
    again = await scenario.submit_one(content_hash="sha256:1")
    assert (again.result, again.document_id != first.document_id) == ("created", True)


async def test_metadata_is_merged_and_found(database: Database) -> None:
    scenario = await begin(database, DOCUMENTS)
    submitted = await scenario.submit_one(metadata={"folder": "contracts", "pages": 0})
    await scenario.settle_once("upload", Done(metadata={"pages": 12, "languages": ["en"]}))
    found = await database.fetch(
        "select id, metadata from holdfast.document where metadata @> $1::text::jsonb", '{"languages": ["en"]}'
    )
    assert [row["id"] for row in found] == [submitted.document_id]
    assert found[0]["metadata"] == {"folder": "contracts", "pages": 12, "languages": ["en"]}


async def test_metadata_is_found_by_its_index(database: Database) -> None:
    async with database.transaction() as connection:
        await connection.execute("set local enable_seqscan = off")
        rows = await connection.fetch(
            """explain select id from holdfast.document where metadata @> '{"folder": "contracts"}'"""
        )
    assert any("document_metadata" in row[0] for row in rows)


async def _bring_to(scenario: Scenario, phase: str) -> None:
    for name in NAMES[: NAMES.index(phase)]:
        await scenario.settle_once(name, Done({"from": name}))


async def _status_and_percent(scenario: Scenario, job_id: int) -> tuple[str, int]:
    percent: int = await scenario.database.fetchval(PERCENT, job_id)
    return (await scenario.job(job_id))["status"], percent
