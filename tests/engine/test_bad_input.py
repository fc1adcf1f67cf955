"""Submissions that make no sense, or come many times at once: a clear answer, and nothing half-written."""

import asyncio
import json
from typing import Any

import psycopg
import pytest

from holdfast.db.connection import Database
from holdfast.engine.queue import Submission, submit
from holdfast.errors import InvalidInput, NotFound, UsageError
from tests.engine.recorded import nested, recorded
from tests.engine.scenario import Scenario, begin, many_connections, plain


@pytest.fixture
async def scenario(database: Database) -> Scenario:
    return await begin(database, plain("extract", "embed"))


# -- submissions ------------------------------------------------------------------------------------------------------

ONE_GOOD = {"organisation": "acme", "source_name": "good"}


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ('{"organisation": "acme"}', "array of items, not object"),
        ('"acme"', "array of items, not string"),
        ("null", "array of items, not null"),
        ('["acme"]', "array of objects"),
        ("[[]]", "array of objects"),
        ('[{"source_name": "whose?"}]', "organisation"),
        ('[{"organisation": null}]', "organisation"),
        ('[{"organisation": ""}]', "organisation"),
        ('[{"organisation": "acme", "metadata": [1]}]', "metadata"),
        ('[{"organisation": "acme", "metadata": "text"}]', "metadata"),
        ('[{"organisation": "acme", "priority": "urgent"}]', "urgent"),
        ('[{"organisation": "acme", "priority": 99999}]', "out of range"),
        ('[{"organisation": "acme", "priority": 1e400}]', "out of range"),
        ('[{"organisation": "acme", "parent_id": 123456789012345678901234567890}]', "out of range"),
        ('[{"organisation": "acme", "document_id": "first"}]', "first"),
        ('[{"organisation": "acme", "metadata": {"a": "\\u0000"}}]', "u0000"),
        ('[{"organisation": "acme", "metadata": {"a": "\\ud800"}}]', "surrogate"),
        ('[{"organisation": "acme", "metadata": {"a": NaN}}]', "NaN"),
        ('[{"organisation": "acme", "metadata": {"a": 1]', "JSON|json"),
    ],
)
async def test_malformed_items_are_refused_as_a_whole(scenario: Scenario, items: str, says: str) -> None:
    # The good item beside the bad one must not be taken in alone.
    body = items.replace("[{", f"[{json.dumps(ONE_GOOD)}, {{", 1)
    with pytest.raises(InvalidInput, match=says):
        await scenario.database.fetch("select * from holdfast.submit('documents', $1::text::jsonb)", body)
    assert (await recorded(scenario.database))["documents"] == 0


@pytest.mark.parametrize("field", ["organisation", "idempotency_key", "content_hash"])
async def test_identifiers_over_255_characters_are_refused(scenario: Scenario, field: str) -> None:
    # As many different characters as there are, or compression would make it fit an index.
    item = {"organisation": "acme", field: "".join(chr(0x4E00 + n) for n in range(3000))}
    for length in (256, 300, 3000):
        item[field] = item[field][:length] if length < 3000 else item[field]
        with pytest.raises(InvalidInput, match=field):
            await scenario.database.fetch(
                "select * from holdfast.submit('documents', $1::text::jsonb)", json.dumps([item])
            )
    assert (await recorded(scenario.database))["documents"] == 0


@pytest.mark.parametrize(
    "metadata",
    [
        {"nul": "a\0b"},
        {"a\0key": 1},
        {"surrogate": "\ud800"},
        {"not a number": float("nan")},
        {"endless": float("inf")},
        {"deep": nested(5000)},
        {"bytes": b"raw"},
    ],
    ids=lambda metadata: next(iter(metadata)).replace("\0", ""),
)
async def test_metadata_that_cannot_be_stored_is_refused(scenario: Scenario, metadata: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await submit(
            scenario.database,
            "documents",
            [Submission(organisation="acme"), Submission(organisation="acme", metadata=metadata)],
        )
    assert (await recorded(scenario.database))["documents"] == 0


async def test_metadata_of_5000_levels_in_raw_json_is_refused_or_kept_whole(scenario: Scenario) -> None:
    body = '[{"organisation": "acme", "metadata": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}]"
    try:
        await scenario.database.fetch("select * from holdfast.submit('documents', $1::text::jsonb)", body)
    except InvalidInput:
        assert (await recorded(scenario.database))["documents"] == 0
    else:
        depth = "select length(metadata::text) from holdfast.document"
        assert await scenario.database.fetchval(depth) >= 5000 * len('{"a":}')


async def test_long_keys_huge_numbers_and_odd_text_in_metadata_come_back_whole(scenario: Scenario) -> None:
    metadata = {"k" * 300: 10**4000, "text": 'C:\\u0000 is text, "quoted" \u202e too', "": None}
    made = await scenario.submit_one(metadata=metadata)
    stored = "select metadata = $2::text::jsonb from holdfast.document where id = $1"
    assert await scenario.database.fetchval(stored, made.document_id, json.dumps(metadata))


async def test_unknown_pipeline_is_not_found_and_the_known_ones_are_named(scenario: Scenario) -> None:
    with pytest.raises(NotFound, match=r'no pipeline "paperwork".*documents'):
        await submit(scenario.database, "paperwork", [Submission(organisation="acme")])


async def test_unknown_document_is_not_found(scenario: Scenario) -> None:
    with pytest.raises(NotFound, match="no document 404"):
        await submit(scenario.database, "documents", [Submission(organisation="acme", document_id=404)])


async def test_document_of_another_organisation_is_not_found(scenario: Scenario) -> None:
    made = await scenario.submit_one(organisation="acme")
    with pytest.raises(NotFound, match=f"no document {made.document_id}"):
        await submit(scenario.database, "documents", [Submission(organisation="birch", document_id=made.document_id)])


@pytest.mark.parametrize("organisation", ["acme", "birch"])
async def test_parent_must_exist_in_the_same_organisation(scenario: Scenario, organisation: str) -> None:
    parent = await scenario.submit_one(organisation="acme")
    missing = parent.document_id + 1000 if organisation == "acme" else parent.document_id
    with pytest.raises(UsageError, match=r"parent|belongs"):
        await submit(scenario.database, "documents", [Submission(organisation=organisation, parent_id=missing)])


async def test_document_id_of_null_means_none(scenario: Scenario) -> None:
    item = json.dumps([{"organisation": "acme", "content_hash": "same", "document_id": None}])
    results = [
        await scenario.database.fetchval("select result from holdfast.submit('documents', $1::text::jsonb)", item)
        for _ in range(2)
    ]
    assert results == ["created", "duplicate"]


async def test_duplicate_keeps_its_parent(scenario: Scenario) -> None:
    parent = await scenario.submit_one()
    await scenario.submit_one(content_hash="same")
    copy = await scenario.submit_one(content_hash="same", parent_id=parent.document_id)
    assert (await scenario.document(copy.document_id))["parent_id"] == parent.document_id


async def test_nothing_to_submit_is_fine(scenario: Scenario) -> None:
    assert await submit(scenario.database, "documents", []) == []


# -- submissions many times at once -----------------------------------------------------------------------------------


async def test_the_same_submission_500_times_at_once_is_one_job(scenario: Scenario, dsn: str) -> None:
    item = Submission(organisation="acme", idempotency_key="once", content_hash="same")
    async with many_connections(dsn, 20) as database:
        answers = await asyncio.gather(*(submit(database, "documents", [item]) for _ in range(500)))
    made = {(answer.document_id, answer.job_id) for (answer,) in answers}
    results = sorted(answer.result for (answer,) in answers)
    assert len(made) == 1
    assert results == ["created"] + ["existing"] * 499
    assert (await recorded(scenario.database))["jobs"] == 1


async def test_one_key_for_known_content_many_times_at_once_is_one_duplicate(scenario: Scenario, dsn: str) -> None:
    await scenario.submit_one(content_hash="same")
    item = Submission(organisation="acme", idempotency_key="again", content_hash="same")
    async with many_connections(dsn, 20) as database:
        answers = await asyncio.gather(*(submit(database, "documents", [item]) for _ in range(100)))
    assert sorted(answer.result for (answer,) in answers) == ["duplicate"] + ["existing"] * 99
    assert len({answer.job_id for (answer,) in answers}) == 1


async def test_of_the_same_content_50_times_at_once_one_runs(scenario: Scenario, dsn: str) -> None:
    item = Submission(organisation="acme", content_hash="same")
    async with many_connections(dsn, 20) as database:
        answers = await asyncio.gather(*(submit(database, "documents", [item]) for _ in range(50)))
    assert sorted(answer.result for (answer,) in answers) == ["created"] + ["duplicate"] * 49
    assert await scenario.states() == {"queued": 1, "done": 49}


async def test_groups_with_the_same_items_in_any_order_do_not_block_each_other(scenario: Scenario, dsn: str) -> None:
    items = [Submission(organisation="acme", content_hash=f"{n:03}", idempotency_key=f"{99 - n}") for n in range(50)]
    async with many_connections(dsn, 8) as database:
        answers = await asyncio.gather(
            *(submit(database, "documents", items if n % 2 else items[::-1]) for n in range(24))
        )
    assert sum(answer.result == "created" for group in answers for answer in group) == 50


# -- submissions in the caller's own transaction ----------------------------------------------------------------------


@pytest.mark.parametrize("commits", [True, False])
async def test_submission_commits_with_its_callers_transaction(scenario: Scenario, dsn: str, commits: bool) -> None:
    def work() -> None:
        with psycopg.connect(dsn) as connection:
            connection.execute("create table public.invoice (id integer)")
            connection.execute(
                "select * from holdfast.submit('documents', %s)", [json.dumps([{"organisation": "acme"}])]
            )
            if not commits:
                connection.rollback()

    await asyncio.to_thread(work)
    table = await scenario.database.fetchval("select to_regclass('public.invoice') is not null")
    assert (table, (await recorded(scenario.database))["jobs"]) == (commits, int(commits))


async def test_refused_submission_leaves_the_callers_transaction_usable_at_a_savepoint(
    scenario: Scenario, dsn: str
) -> None:
    def work() -> str | None:
        with psycopg.connect(dsn) as connection:
            connection.execute("select * from holdfast.submit('documents', %s)", ['[{"organisation": "acme"}]'])
            try:
                with connection.transaction():
                    connection.execute("select * from holdfast.submit('documents', %s)", ["[{}]"])
            except psycopg.Error as error:
                return error.sqlstate
        return None

    assert await asyncio.to_thread(work) == "HF400"
    assert (await recorded(scenario.database))["jobs"] == 1
