"""A document is deleted: its receipt counts what was there, nothing of it is left, and what others share stays."""

from typing import Any

from holdfast.app import App
from tests.extract.samples import docx, word_paragraph, zipped
from tests.walks.documents.ground import ORGANISATION, Ground, jobs, take_in, work

SHARED = "Captain Elinor Marsh steered the brig Persephone into Kelp Sound on 4 March 1871."
SECRET = "Her cargo of saltpetre belonged to Baron Ulrich Tenby and was worth 9,300 pounds."
PUBLIC = "A painting of the brig Persephone and Captain Elinor Marsh hangs in the town hall."
COUNTS = """
with own as materialized (select holdfast.generation_of($1) as id)
select (select count(*) from holdfast.chunk where generation_id = (table own)) as chunks,
       (select count(*) from holdfast.embedding where generation_id = (table own)) as embeddings,
       (select count(*) from holdfast.entity e where exists (
            select from holdfast.entity_mention m where m.entity_id = e.id and m.generation_id = (table own))
        and not exists (
            select from holdfast.entity_mention m
            where m.entity_id = e.id and m.generation_id <> (table own))) as entities,
       (select count(*) from holdfast.relation where generation_id = (table own)) as relations,
       (select count(distinct hash) from holdfast.artifact_use where document_id = $1) as artifacts,
       (select coalesce(sum(size), 0) from holdfast.artifact a where exists (
            select from holdfast.artifact_use u where u.hash = a.hash and u.document_id = $1)) as bytes
"""


async def test_deleting_a_document_removes_all_that_was_made_of_it_and_says_how_much(ground: Ground) -> None:
    (ground.library / "secret.docx").write_bytes(_letter("The brig", SHARED, SECRET))
    (ground.library / "public.txt").write_text(PUBLIC)
    async with ground.opened() as app:
        await take_in(app, ground.library)
        await work(app)
        secret = (await jobs(app))["secret.docx"]["document_id"]
        there = await _counts(app, secret)
        shared = await _shared_names(app, secret)
        assert "saltpetre" in _stored_text(ground)

        receipt = await app.delete(secret, actor="an operator")

        assert there["chunks"] > 0
        assert there["entities"] > 0
        assert there["relations"] > 0
        assert (receipt.documents, receipt.artifacts_waiting) == (1, 0)
        assert {name: getattr(receipt, name) for name in there} == there
        assert await _counts(app, secret) == dict.fromkeys(there, 0)
        assert await _names(app) >= shared > set()
        assert "saltpetre" not in _stored_text(ground)
        assert "town hall" in _stored_text(ground)
        found = await app.search.find("saltpetre of Baron Tenby", organisation=ORGANISATION)
        assert secret not in {hit.document_id for hit in found.hits}
        assert await app.examine(deep=True) == []


async def test_deleting_an_archive_takes_its_members_along(ground: Ground) -> None:
    (ground.library / "papers.zip").write_bytes(
        zipped({"a.docx": _letter("One", SECRET), "b.docx": _letter("Two", SHARED)})
    )
    async with ground.opened() as app:
        await take_in(app, ground.library)
        await work(app)
        archive = (await jobs(app))["papers.zip"]["document_id"]

        receipt = await app.delete(archive, actor="an operator")

        assert receipt.documents == 3
        assert await app.database.fetchval("select count(*) from holdfast.chunk") == 0
        assert await app.database.fetchval("select count(*) from holdfast.entity") == 0
        assert _stored_text(ground) == ""
        assert (await app.search.find("brig Persephone", organisation=ORGANISATION)).hits == ()


def _letter(heading: str, *paragraphs: str) -> bytes:
    return docx(word_paragraph(heading, style="Heading1") + "".join(map(word_paragraph, paragraphs)))


async def _counts(app: App, document_id: int) -> dict[str, Any]:
    row = await app.database.fetchrow(COUNTS, document_id)
    assert row is not None
    return dict(row)


async def _names(app: App) -> set[str]:
    return {row["name"] for row in await app.database.fetch("select name from holdfast.entity")}


async def _shared_names(app: App, document_id: int) -> set[str]:
    """The entities that other documents speak of too."""
    rows = await app.database.fetch(
        "select name from holdfast.entity e"
        " where exists (select from holdfast.entity_mention m"
        " where m.entity_id = e.id and m.generation_id = holdfast.generation_of($1))"
        " and exists (select from holdfast.entity_mention m"
        " where m.entity_id = e.id and m.generation_id <> holdfast.generation_of($1))",
        document_id,
    )
    return {row["name"] for row in rows}


def _stored_text(ground: Ground) -> str:
    """All that is in the store."""
    files = (path for path in ground.store.rglob("*") if path.is_file())
    return "".join(path.read_bytes().decode(errors="replace") for path in files)
