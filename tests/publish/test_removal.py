"""Deleting a document takes everything with it that was made of it, and says how much that was."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from holdfast.artifacts.store import ArtifactStore
from holdfast.artifacts.upload import Upload
from holdfast.engine.pipeline import Done
from holdfast.errors import Conflict, NetworkTimeout, NotFound
from holdfast.publish.removal import Receipt, delete_document
from tests.engine.scenario import until_someone_waits_for_a_lock
from tests.publish.library import CHUNK, Library, keep


async def attempts_of(library: Library, document: int) -> list[dict[str, Any]]:
    rows = await library.database.fetch(
        "select * from holdfast.pipeline_phase where document_id = $1 order by id", document
    )
    return [dict(row) for row in rows]


async def delete(library: Library, store: ArtifactStore, document: int) -> Receipt:
    return await delete_document(library.database, store, document, actor="ann")


async def test_everything_that_was_made_of_it_goes_and_is_counted(library: Library, store: ArtifactStore) -> None:
    document = await library.add("apples", "a.txt")
    kept = await keep(library, store, document, original=b"apples", text=b"text of apples")
    await library.database.execute(CHUNK, document, 12)
    receipt = await delete(library, store, document)
    assert receipt == Receipt(documents=1, chunks=12, artifacts=2, bytes=20)
    assert await library.answers() == []
    assert not any(store.exists("acme", artifact) for artifact in kept.values())
    for table in ("chunk", "artifact", "artifact_use"):
        assert await library.database.fetchval(f"select count(*) from holdfast.{table}") == 0


async def test_each_room_is_asked_in_turn_and_its_counts_are_added(library: Library) -> None:
    document = await library.add("apples")
    for name, answer in {
        "remove_part_from_graph": '{"entities": 2, "relations": 3}',
        "remove_embeddings": '{"embeddings": 4}',
        "remove_chunks": '{"chunks": 5}',
        "remove_story": '{"stories": 7}',
        "remove_reading": '{"readings": 8}',
        "remove_configs": '{"settings": 9}',
        "remove_answers": '{"answers": 6}',
    }.items():
        by_generation = name in ("remove_part_from_graph", "remove_embeddings", "remove_chunks")
        parameters = "p_generation bigint, p_before integer" if by_generation else "p_document bigint"
        await library.database.execute(
            f"""
            create table if not exists public.asked (id serial, name text);
            grant all on public.asked, public.asked_id_seq to public;
            create or replace function holdfast.{name}({parameters}) returns jsonb language sql as
            $$ insert into public.asked (name) values ('{name}'); select '{answer}'::jsonb $$
            """
        )
    counts = await library.database.fetchval("select holdfast.remove_derived($1)", document)
    asked = [row["name"] for row in await library.database.fetch("select name from public.asked order by id")]
    assert counts == {
        "entities": 2,
        "relations": 3,
        "embeddings": 4,
        "chunks": 5,
        "stories": 7,
        "readings": 8,
        "settings": 9,
        "answers": 6,
    }
    rooms = ("part_from_graph", "embeddings", "chunks", "story", "reading", "configs", "answers")
    assert asked == [f"remove_{room}" for room in rooms]


async def test_what_is_left_is_a_tombstone_that_quotes_nothing(library: Library, store: ArtifactStore) -> None:
    document = await library.take_in("apples", "a.txt")
    await library.scenario.fail_once("publish", NetworkTimeout("while apples were read"))
    receipt = await delete(library, store, document)
    assert (receipt.documents, receipt.errors) == (1, 1)
    tombstone = await library.document(document)
    assert tombstone["deleted_at"] is not None
    assert (tombstone["source_name"], tombstone["source_location"], tombstone["content_hash"]) == (
        "deleted",
        None,
        None,
    )
    assert (tombstone["metadata"], tombstone["idempotency_key"], tombstone["last_failure"]) == ({}, None, None)
    (job,) = await library.database.fetch("select * from holdfast.pipeline_job")
    assert (job["state"], job["input"]) == ("cancelled", None)
    assert "apples" not in str(dict(job))
    assert await library.database.fetchval("select count(*) from holdfast.error_log") == 0


async def test_a_job_at_work_is_cancelled_and_writes_nothing(library: Library, store: ArtifactStore) -> None:
    document = await library.take_in("apples", "a.txt")
    attempt = await library.scenario.claim_one("publish")
    await delete(library, store, document)
    assert set((await library.scenario.settle([attempt])).values()) == {"stale"}
    assert await library.scenario.outcomes(attempt.job_id) == ["cancelled"]
    assert await library.answers() == []


async def test_attempts_stay(library: Library, store: ArtifactStore) -> None:
    document = await library.add("apples")
    await delete(library, store, document)
    assert await library.database.fetchval("select count(*) from holdfast.pipeline_phase") == 1


async def test_of_attempts_only_what_tells_nothing_of_the_document_stays(
    library: Library, store: ArtifactStore
) -> None:
    document = await library.take_in("apples", "a.txt")
    other = await library.take_in("pears", "b.txt")
    told = {"name": "apples.txt", "title": "Apples", "warnings": [{"code": "X", "message": "apples"}], "chunks": 3}
    artifact = {"hash": "ab" * 32, "size": 6}
    forged = {"hash": "ab" * 32, "size": 6, "note": "apples"}
    await library.scenario.fail_once("publish", NetworkTimeout("while apples were read", details={"of": "apples"}))
    await library.database.execute(
        "select holdfast.retry(array_agg(id)) from holdfast.pipeline_job where state = 'failed'"
    )
    for attempt in await library.scenario.claim("publish", 2):
        made = Done({**told, "text": artifact, "forged": forged}, cost_usd=Decimal(2))
        await library.scenario.queue.settle([(attempt, made)])
    before = await attempts_of(library, document)
    kept = await attempts_of(library, other)
    receipt = await delete(library, store, document)
    after = await attempts_of(library, document)
    assert receipt == Receipt(documents=1, errors=1)
    assert len(after) == 2
    assert "apples" not in str(after).lower()
    assert after[-1]["output"] == {"text": artifact}
    untouched = before[0].keys() - {"input", "output", "error"}
    assert [{name: row[name] for name in untouched} for row in after] == [
        {name: row[name] for name in untouched} for row in before
    ]
    assert after[0]["error"] == {**before[0]["error"], "error": "deleted with its document", "details": {}}
    assert await attempts_of(library, other) == kept


async def test_money_that_may_have_been_paid_stays_known(library: Library, store: ArtifactStore) -> None:
    document = await library.take_in("apples", "a.txt")
    await library.scenario.fail_once(
        "publish", NetworkTimeout("apples", details={"cost_is_known": False, "of": "apples"})
    )
    await delete(library, store, document)
    (attempt,) = await attempts_of(library, document)
    assert attempt["error"]["details"] == {"cost_is_known": False}


@pytest.mark.parametrize("change", ["cost_usd = 0", "outcome = 'lost'", "output = '{}'", 'input = \'{"name": "b"}\''])
async def test_attempts_of_a_deleted_document_stay_append_only(
    library: Library, store: ArtifactStore, change: str
) -> None:
    document = await library.take_in("apples", "a.txt")
    await library.scenario.fail_once("publish", NetworkTimeout("apples", cost_usd=Decimal(2)))
    await delete(library, store, document)
    with pytest.raises(Conflict, match="append-only"):
        await library.database.execute(f"update holdfast.pipeline_phase set {change}")


async def test_words_go_from_attempts_of_deleted_documents_only(library: Library) -> None:
    document = await library.take_in("apples", "a.txt")
    await library.scenario.fail_once("publish", NetworkTimeout("apples"))
    with pytest.raises(Conflict, match="append-only"):
        await library.database.execute("select holdfast.forget_words($1)", [document])


async def test_it_is_written_to_the_audit_log_without_what_it_was(library: Library, store: ArtifactStore) -> None:
    document = await library.add("apples", "a.txt")
    await delete(library, store, document)
    row = await library.database.fetchrow("select * from holdfast.audit_log")
    assert row is not None
    assert (row["actor"], row["action"], row["reason"], row["after"]["documents"]) == (
        "ann",
        "delete",
        f"document {document}",
        1,
    )
    assert "apples" not in str(dict(row))


async def test_a_second_time_it_is_not_found(library: Library, store: ArtifactStore) -> None:
    document = await library.add("apples")
    await delete(library, store, document)
    for gone in (document, 4711):
        with pytest.raises(NotFound, match=f"no document {gone}"):
            await delete(library, store, gone)


async def test_of_two_who_delete_at_the_same_time_one_does(library: Library, store: ArtifactStore) -> None:
    document = await library.add("apples")
    async with library.database.transaction() as connection:
        await connection.execute("select holdfast.delete_document($1, 'ann')", document)
        other = asyncio.ensure_future(delete(library, store, document))
        await until_someone_waits_for_a_lock(library.database)
    with pytest.raises(NotFound):
        await other


async def test_what_another_document_uses_stays(library: Library, store: ArtifactStore) -> None:
    one, other = await library.add("apples"), await library.add("pears")
    await keep(library, store, one, spans=b"[]", original=b"apples")
    kept = await keep(library, store, other, spans=b"[]")
    assert (await delete(library, store, one)).artifacts == 1
    assert store.exists("acme", kept["spans"])


async def test_what_somebody_puts_again_waits_for_retention(library: Library, store: ArtifactStore) -> None:
    document = await library.add("apples")
    kept = await keep(library, store, document, original=b"apples")
    await Upload(library.database, store, "acme").put_bytes(b"apples")
    receipt = await delete(library, store, document)
    assert (receipt.artifacts, receipt.artifacts_waiting) == (0, 1)
    assert store.exists("acme", kept["original"])


async def test_what_is_young_goes_at_once_although_others_work(library: Library, store: ArtifactStore) -> None:
    document = await library.add("apples")
    await keep(library, store, document, original=b"apples")
    await library.take_in("pears")
    await library.scenario.claim_one("publish")
    receipt = await delete(library, store, document)
    assert (receipt.artifacts, receipt.artifacts_waiting) == (1, 0)


async def test_copies_of_its_content_go_with_it(library: Library, store: ArtifactStore) -> None:
    document = await library.add("apples", "a.txt")
    copy = await library.take_in("apples", "b.txt")
    assert (await delete(library, store, document)).documents == 2
    assert (await library.document(copy))["source_name"] == "deleted"


async def test_the_versions_it_replaced_go_with_it(library: Library, store: ArtifactStore) -> None:
    kept = []
    for content in ("apples", "pears", "plums"):
        document = await library.add(content, "a.txt")
        kept += (
            await keep(library, store, document, original=content.encode(), text=b"text of " + content.encode())
        ).values()
    other = await library.add("quinces", "b.txt")
    receipt = await delete(library, store, document)
    rows = await library.database.fetch(
        "select id, source_name, metadata from holdfast.document where deleted_at is not null"
    )
    assert (receipt.documents, receipt.artifacts, receipt.bytes) == (3, 6, sum(one.size for one in kept))
    assert {(row["source_name"], str(row["metadata"])) for row in rows} == {("deleted", "{}")}
    assert other not in {row["id"] for row in rows}


async def test_a_newer_version_that_is_not_finished_goes_alone(library: Library, store: ArtifactStore) -> None:
    await library.add("apples", "a.txt")
    await library.add("pears", "a.txt")
    newer = await library.take_in("plums", "a.txt")
    assert (await delete(library, store, newer)).documents == 1
    assert await library.answers() == [("pears", "a.txt")]


async def test_a_replaced_version_goes_alone(library: Library, store: ArtifactStore) -> None:
    oldest = await library.add("apples", "a.txt")
    old = await library.add("pears", "a.txt")
    await library.add("plums", "a.txt")
    assert (await delete(library, store, old)).documents == 1
    assert (await library.document(oldest))["deleted_at"] is None
    assert await library.answers() == [("plums", "a.txt")]


async def test_content_that_moved_outlives_the_place_it_came_from(library: Library, store: ArtifactStore) -> None:
    await library.add("apples", "a.txt")
    await library.take_in("apples", "b.txt")
    newer = await library.add("pears", "a.txt")
    assert (await delete(library, store, newer)).documents == 2
    assert await library.answers() == [("apples", "b.txt")]


async def test_a_copy_goes_alone(library: Library, store: ArtifactStore) -> None:
    await library.add("apples", "a.txt")
    copy = await library.take_in("apples", "b.txt")
    assert (await delete(library, store, copy)).documents == 1
    assert await library.answers() == [("apples", "a.txt")]


async def test_its_parts_go_with_it_however_deep(library: Library, store: ArtifactStore) -> None:
    archive = await library.add("archive", "z.zip")
    inner = await library.add("inner", parent=archive)
    deepest = await library.take_in("apples", parent=inner)
    await library.take_in("apples", parent=archive)
    await library.database.execute(CHUNK, deepest, 3)
    receipt = await delete(library, store, archive)
    assert (receipt.documents, receipt.chunks) == (4, 3)
    assert await library.answers() == []
    assert await library.scenario.states() == {"done": 3, "cancelled": 1}


async def test_a_part_that_stands_elsewhere_too_goes_on_answering_there(library: Library, store: ArtifactStore) -> None:
    archive = await library.add("archive", "z.zip")
    member = await library.add("apples", parent=archive)
    await library.take_in("apples", "apples.txt")
    kept = await keep(library, store, member, original=b"apples")
    assert (await delete(library, store, archive)).documents == 2
    assert await library.answers() == [("apples", "apples.txt")]
    assert store.exists("acme", kept["original"])


async def test_deleted_content_may_come_again(library: Library, store: ArtifactStore) -> None:
    await delete(library, store, await library.add("apples", "a.txt"))
    await library.add("apples", "a.txt")
    assert await library.answers() == [("apples", "a.txt")]


async def test_content_that_comes_again_while_it_is_deleted_is_new(library: Library) -> None:
    first = await library.add("apples", "a.txt")
    async with library.database.transaction() as removing:
        await removing.execute("select from holdfast.document where id = $1 for update", first)
        coming = asyncio.create_task(library.take_in("apples", "a.txt"))
        await until_someone_waits_for_a_lock(library.database)
        await removing.execute("select holdfast.delete_document($1, 'operator')", first)
    again = await coming
    await library.finish(again)
    assert again != first
    assert await library.answers() == [("apples", "a.txt")]
