"""Lists of jobs, single jobs and documents: what is found, in which order, and what is said to happen next."""

import re
from typing import Any

import pytest

from holdfast.db.connection import Database
from holdfast.engine.fault import FAULTS_OF_THE_FILE, is_fault_of_the_file
from holdfast.engine.overview import Overview
from holdfast.engine.pipeline import Done
from holdfast.engine.policy import PERMANENT
from holdfast.engine.queue import Lane
from holdfast.errors import OPERATOR_MENDS, AuthenticationFailed, InvalidInput, NotFound, PhaseError, RateLimited
from tests.conftest import Clock
from tests.engine.observed_pipeline import DAMAGED, RESET, WATCHED, finish
from tests.engine.scenario import WORKER, Scenario, begin, plain


@pytest.fixture
async def watched(database: Database) -> Scenario:
    """The pipeline registered, with one worker."""
    return await begin(database, WATCHED)


@pytest.fixture
def overview(database: Database) -> Overview:
    """What is under test."""
    return Overview(database)


@pytest.fixture
async def mixed(watched: Scenario, database: Database) -> dict[str, int]:
    """One job of each kind, by a word for it."""
    jobs = {}
    await watched.submit(content_hash="first", source_platform="s3", metadata={"case": 7, "lang": "en"})
    jobs["done"] = await finish(watched)
    jobs["duplicate"] = (await watched.submit_one(content_hash="first")).job_id
    await watched.submit(organisation="bolt", metadata={"case": 7})
    jobs["retrying"] = (await watched.fail_once("extract", RESET)).job_id
    await watched.submit(organisation="bolt")
    jobs["permanent"] = (await watched.fail_once("extract", DAMAGED)).job_id
    jobs["cancelled"] = (await watched.submit_one(organisation="bolt")).job_id
    await database.execute("select holdfast.cancel(array[$1]::bigint[])", jobs["cancelled"])
    await watched.submit(source_platform="gdrive")
    jobs["working"] = (await watched.claim_one("extract")).job_id
    letters = await begin(database, plain("sort", name="letters"))
    jobs["letter"] = (await letters.submit_one()).job_id
    return jobs


async def _found(overview: Overview, jobs: dict[str, int], **narrowed: Any) -> list[str]:
    words = {job_id: word for word, job_id in jobs.items()}
    page = await overview.jobs(**narrowed)
    return [words[job["job_id"]] for job in page["jobs"]]


async def test_jobs_of_the_newest_documents_come_first(overview: Overview, mixed: dict[str, int]) -> None:
    assert await _found(overview, mixed) == [
        "letter",
        "working",
        "cancelled",
        "permanent",
        "retrying",
        "duplicate",
        "done",
    ]


@pytest.mark.parametrize(
    ("narrowed", "words"),
    [
        ({"state": "failed"}, ["permanent", "retrying"]),
        ({"state": ["working", "cancelled"]}, ["working", "cancelled"]),
        ({"state": "done"}, ["duplicate", "done"]),
        ({"status": "duplicate"}, ["duplicate"]),
        ({"status": "parsing"}, ["working", "permanent", "retrying"]),
        ({"pipeline": "letters"}, ["letter"]),
        ({"phase": "extract"}, ["working", "cancelled", "permanent", "retrying"]),
        ({"component": "parse"}, ["permanent", "retrying"]),
        ({"category": "corrupt_input"}, ["permanent"]),
        ({"retryable": True}, ["retrying"]),
        ({"organisation": "bolt"}, ["cancelled", "permanent", "retrying"]),
        ({"platform": "gdrive"}, ["working"]),
        ({"metadata": {"case": 7}}, ["retrying", "done"]),
        ({"metadata": {"case": 7, "lang": "en"}}, ["done"]),
        ({"organisation": "bolt", "state": "failed", "metadata": {"case": 7}}, ["retrying"]),
        ({"organisation": "nobody"}, []),
        ({"state": None, "pipeline": None, "category": "corrupt_input"}, ["permanent"]),
    ],
)
async def test_jobs_are_narrowed(
    overview: Overview, mixed: dict[str, int], narrowed: dict[str, Any], words: list[str]
) -> None:
    assert await _found(overview, mixed, **narrowed) == words


async def test_trait_of_very_many_documents_narrows_the_same(overview: Overview, watched: Scenario) -> None:
    await watched.submit(2, source_platform="s3", metadata={"lang": "en"})
    await finish(watched)
    await watched.submit(10_000, source_platform="upload", metadata={"lang": "de"})
    german = await overview.jobs(platform="upload", metadata={"lang": "de"}, limit=10_000)
    english = await overview.jobs(metadata={"lang": "en"}, limit=10)
    assert {job["platform"] for job in german["jobs"]} == {"upload"}
    assert (len(german["jobs"]), len(english["jobs"])) == (10_000, 2)


async def test_pages_show_every_job_once(overview: Overview, mixed: dict[str, int]) -> None:
    seen: list[int] = []
    cursor = None
    for _ in range(4):
        page = await overview.jobs(limit=2, cursor=cursor)
        seen += [job["job_id"] for job in page["jobs"]]
        cursor = page["cursor"]
    assert cursor is None
    assert sorted(seen) == sorted(mixed.values())


async def test_several_jobs_of_one_document_are_paged_one_by_one(overview: Overview, watched: Scenario) -> None:
    first = await watched.submit_one()
    await finish(watched)
    again = await watched.submit_one(document_id=first.document_id)
    newest = await overview.jobs(limit=1)
    older = await overview.jobs(limit=1, cursor=newest["cursor"])
    assert [page["jobs"][0]["job_id"] for page in (newest, older)] == [again.job_id, first.job_id]


async def test_new_documents_do_not_shift_the_pages(overview: Overview, watched: Scenario) -> None:
    await watched.submit(4)
    page = await overview.jobs(limit=2)
    await watched.submit(3)
    following = await overview.jobs(limit=2, cursor=page["cursor"])
    assert [job["job_id"] for job in following["jobs"]] == [2, 1]


@pytest.mark.parametrize(
    ("narrowed", "refusal"),
    [
        ({"state": "asleep"}, 'there is no state "asleep": name queued, working'),
        ({"colour": "red"}, 'jobs have no filter "colour"'),
        ({"metadata": ["case"]}, "metadata is filtered by an object"),
        ({"limit": -1}, "a limit of -1 makes no sense"),
        ({"limit": 1_000_000}, "a limit of 1000000 makes no sense"),
        ({"cursor": "1'; drop"}, "is no cursor"),
        ({"metadata": {"name": "\x00"}}, "NUL"),
    ],
)
async def test_senseless_filters_are_refused(
    overview: Overview, watched: Scenario, narrowed: dict[str, Any], refusal: str
) -> None:
    with pytest.raises(InvalidInput, match=refusal):
        await overview.jobs(**narrowed)


@pytest.mark.parametrize(
    "narrowed",
    [
        {"pipeline": "nowhere"},
        {"phase": "nowhere"},
        {"status": "nowhere"},
        {"pipeline": "documents", "phase": "nowhere"},
    ],
)
async def test_unknown_names_are_not_found(overview: Overview, watched: Scenario, narrowed: dict[str, Any]) -> None:
    with pytest.raises(NotFound, match='"nowhere"'):
        await overview.jobs(**narrowed)


async def test_failed_lists_what_was_given_up_too(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit(2)
    await watched.fail_once("extract", DAMAGED)
    for wait in (61, 301, 0):
        await watched.fail_once("extract", RESET)
        await clock.advance(seconds=wait)
    assert [job["state"] for job in await overview.failed()] == ["deadletter", "failed"]
    assert [job["state"] for job in await overview.failed(category="corrupt_input")] == ["failed"]


@pytest.mark.parametrize(("word", "percent"), [("done", 100), ("retrying", -1), ("duplicate", -1), ("letter", 33)])
async def test_job_tells_how_far_it_is(overview: Overview, mixed: dict[str, int], word: str, percent: int) -> None:
    assert (await overview.job(mixed[word]))["percent"] == percent


@pytest.mark.parametrize(
    ("word", "following"),
    [
        ("done", "nothing: it is done"),
        ("duplicate", "nothing: document 1 has the same content"),
        ("retrying", r"retries extract at 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
        ("permanent", "correct the file and ingest it again: corrupt_input is permanent"),
        ("cancelled", "nothing, unless an operator retries it"),
        ("working", rf"extract runs on {WORKER}; its limit ends it at 20.*Z"),
        ("letter", "waits for a worker that runs sort: none is alive"),
    ],
)
async def test_job_says_what_happens_next(overview: Overview, mixed: dict[str, int], word: str, following: str) -> None:
    assert re.fullmatch(following, (await overview.job(mixed[word]))["next"])


@pytest.mark.parametrize("mended", [{}, OPERATOR_MENDS])
async def test_only_a_fault_of_the_file_asks_for_another_file(
    overview: Overview, watched: Scenario, mended: dict[str, object]
) -> None:
    errors = {one.category: one for one in PhaseError.__subclasses__() if one.category in PERMANENT}
    assert errors.keys() == PERMANENT
    for category, error in errors.items():
        (job_id,) = await watched.submit_and_fail(1, error("no", details=mended))
        job = await overview.job(job_id)
        asks = job["next"] == f"correct the file and ingest it again: {category} is permanent"
        assert asks or job["next"] == f"an operator must retry it: {category} is permanent"
        assert asks == is_fault_of_the_file(job["last_error"]) == (category in FAULTS_OF_THE_FILE and not mended)


async def test_given_up_job_needs_an_operator(overview: Overview, watched: Scenario, clock: Clock) -> None:
    job = await watched.submit_one()
    for wait in (61, 301, 0):
        await watched.fail_once("extract", RESET)
        await clock.advance(seconds=wait)
    assert (await overview.job(job.job_id))["next"] == (
        "an operator must retry it: patience with network_timeout is used up"
    )


async def test_queued_job_with_a_living_worker_waits_for_its_turn(overview: Overview, watched: Scenario) -> None:
    job = await watched.submit_one()
    await watched.queue.register_worker(WORKER, host="test", pid=1, lanes=[Lane("documents", "extract", 1)])
    assert (await overview.job(job.job_id))["next"] == "runs extract when its turn comes"


async def test_parked_job_names_its_hold(overview: Overview, watched: Scenario) -> None:
    job = await watched.submit_one()
    await watched.settle_once("extract")
    await watched.fail_once("enrich", RateLimited("slow down", retry_after_seconds=600))
    following = (await overview.job(job.job_id))["next"]
    assert following.startswith("waits for hold 1 (rate_limit: slow down) until 20")


async def test_job_behind_an_endless_hold_waits_for_a_release(overview: Overview, watched: Scenario) -> None:
    job = await watched.submit_one()
    await watched.fail_once("extract", AuthenticationFailed("the key was revoked"))
    assert (await overview.job(job.job_id))["next"] == (
        "waits for hold 1 (auth: the key was revoked) until someone releases it"
    )


async def test_queued_job_of_a_held_pipeline_names_the_hold(
    overview: Overview, watched: Scenario, database: Database
) -> None:
    job = await watched.submit_one()
    await database.execute("select holdfast.hold('{\"pipeline\": \"documents\"}', p_reason => 'maintenance')")
    assert (await overview.job(job.job_id))["next"] == ("waits for hold 1 (maintenance) until someone releases it")


async def test_job_shows_its_document_and_all_attempts(overview: Overview, watched: Scenario, clock: Clock) -> None:
    submitted = await watched.submit_one(source_name="a.pdf", metadata={"case": 7})
    await watched.fail_once("extract", RESET)
    await clock.advance(seconds=61)
    await watched.settle_once("extract", Done(output={"text": "stored"}))
    await watched.claim_one("enrich")
    job = await overview.job(submitted.job_id)
    assert (job["document"]["source_name"], job["document"]["metadata"]) == ("a.pdf", {"case": 7})
    failed, completed, current = job["attempts"]
    assert [a["outcome"] for a in job["attempts"]] == ["failed", "completed", "working"]
    assert completed["retries_attempt_id"] == failed["attempt_id"]
    assert (failed["error"]["error"], completed["output"]) == ("connection reset by peer", {"text": "stored"})
    assert (current["attempt_id"], current["ended_at"], current["phase"]) == (None, None, "enrich")


async def test_pipeline_of_a_document_shows_every_job_it_had(overview: Overview, watched: Scenario) -> None:
    first = await watched.submit_one()
    await finish(watched)
    again = await watched.submit_one(document_id=first.document_id)
    document = await overview.pipeline_of(first.document_id)
    assert [job["job_id"] for job in document["jobs"]] == [again.job_id, first.job_id]
    assert [len(job["attempts"]) for job in document["jobs"]] == [0, 3]


@pytest.fixture
async def named(watched: Scenario) -> dict[str, int]:
    """Jobs of documents that are told apart by their names."""
    names = ("Annual-Report_2024.pdf", "report annual 2025.docx", "Übersicht Häfen.txt", "o'hare & sons.eml")
    return {name: (await watched.submit_one(source_name=name)).job_id for name in names}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("report", [1, 0]),
        ("REP ann", [1, 0]),
        ("annual 2024", [0]),
        ("pdf", [0]),
        ("eport", []),
        ("Übers", [2]),
        ("häfen", [2]),
        ("o'hare", [3]),
        ("& sons |", [3]),
        ("annual-report_2024.pdf", [0]),
        ("report:* | sons", []),
        ("\\' OR 1=1", []),
        ("x" * 3000, []),
    ],
)
async def test_jobs_are_found_by_words_of_a_name(
    overview: Overview, named: dict[str, int], text: str, places: list[int]
) -> None:
    names = list(named)
    assert await _found(overview, named, text=text) == [names[place] for place in places]


async def test_number_finds_a_document_or_a_job(overview: Overview, watched: Scenario, database: Database) -> None:
    # Otherwise documents and jobs would have the same numbers.
    await database.execute("alter sequence holdfast.pipeline_job_id_seq restart 1000")
    first = await watched.submit_one(source_name="one.pdf")
    await finish(watched)
    again = await watched.submit_one(document_id=first.document_id)
    last = await watched.submit_one(source_name="of 7999.pdf")

    async def found(text: str) -> list[int]:
        return [job["job_id"] for job in (await overview.jobs(text=text))["jobs"]]

    assert await found(str(first.document_id)) == [again.job_id, first.job_id]
    assert await found(f" {last.job_id} ") == [last.job_id]
    assert await found("7999") == [last.job_id]
    assert await found("4711") == []
    assert await found("9" * 30) == []


async def test_name_of_any_length_can_be_submitted_and_found(overview: Overview, watched: Scenario) -> None:
    job = await watched.submit_one(source_name="begin " + "ä" * 20_000)
    assert [found["job_id"] for found in (await overview.jobs(text="begin"))["jobs"]] == [job.job_id]
    assert [found["job_id"] for found in (await overview.jobs(text="ä" * 400))["jobs"]] == [job.job_id]


@pytest.mark.parametrize("text", ["", "  ", "-!?"])
async def test_text_without_a_word_is_refused(overview: Overview, text: str) -> None:
    with pytest.raises(InvalidInput, match="no word to look for"):
        await overview.jobs(text=text)


async def test_text_narrows_together_with_others(overview: Overview, named: dict[str, int]) -> None:
    assert await _found(overview, named, text="report", state="done") == []
    assert await _found(overview, named, text="report", organisation="acme", limit=1) == ["report annual 2025.docx"]


async def test_jobs_are_found_by_their_cause(overview: Overview, mixed: dict[str, int]) -> None:
    fingerprints = {group["category"]: group["fingerprint"] for group in await overview.failure_groups()}
    assert await _found(overview, mixed, fingerprint=fingerprints["corrupt_input"]) == ["permanent"]
    assert await _found(overview, mixed, fingerprint=fingerprints["network_timeout"], state="failed") == ["retrying"]
    assert await _found(overview, mixed, fingerprint="nothing") == []
