"""Tables as they really are: other names, other keys, the same content twice, and rows that nobody expected."""

import asyncio
import json
from collections.abc import Mapping
from itertools import pairwise

import pytest

from holdfast.app import open_app
from holdfast.db.connection import Database
from holdfast.db.connection import connect as open_source
from holdfast.engine.doctor import examine
from holdfast.errors import Conflict, DatabaseUnusable, InvalidInput, NotFound
from holdfast.settings import Settings
from holdfast.takeover.old_table import BATCH_BYTES
from holdfast.takeover.plan import Plan, chosen_columns, chosen_flows
from tests.cli.conftest import CommandLine
from tests.endpoint import with_database, with_user
from tests.takeover.conftest import Installation

pytestmark = pytest.mark.thorough

LEGACY = """
create schema legacy;
create table legacy."Old Jobs" (ref uuid primary key, stage varchar(40), whose text, "where is it" text, trouble text);
insert into legacy."Old Jobs" values
    ('00000000-0000-0000-0000-000000000002', 'failed_parse', 'acme', 'https://old.example/2', 'no json: {'),
    ('00000000-0000-0000-0000-000000000001', 'complete', '', null, null),
    ('ffffffff-0000-0000-0000-000000000003', 'failed_embedding', repeat('x', 400), repeat('long', 2000),
     '{"error": "torn"}');
"""
COLUMNS = {
    "status": "stage",
    "state": "",
    "organisation": "whose",
    "location": "where is it",
    "last_error": "trouble",
    "name": "",
}


async def test_other_names_other_keys_and_text_for_errors(old: Installation) -> None:
    await old.database.execute(LEGACY)
    report = await old.run(table='legacy."Old Jobs"', columns=COLUMNS)

    assert (report.rows, report.taken, report.verified) == (3, 3, True)
    assert report.columns == {"key": "ref", **{field: name for field, name in COLUMNS.items() if name}}
    parse = await old.job("00000000-0000-0000-0000-000000000002")
    assert (parse["status"], parse["last_error"]["error"]) == ("parse_queued", "no json: {")
    assert parse["input"] == {"url": "https://old.example/2"}
    done = await old.job("00000000-0000-0000-0000-000000000001")
    assert (done["organisation"], done["state"], done["last_error"]) == ("acme", "done", None)
    odd = await old.job("ffffffff-0000-0000-0000-000000000003")
    assert odd["organisation"] == "x" * 255
    document = await old.app.overview.pipeline_of(odd["document_id"])
    assert (document["source_location"], document["metadata"]["takeover"]["location"]) == (None, "long" * 2000)
    assert await examine(old.database) == []


async def test_usual_names_are_found_however_their_case(old: Installation, desk: CommandLine) -> None:
    await old.database.execute(
        'create table public.upper ("ID" int primary key, "Status" text, "State" text, state_since date, org text);'
        "insert into public.upper values (1, 'failed_parse', 'deadletter', now(), 'a')"
    )
    told = await asyncio.to_thread(desk.succeed, "takeover", "--run", "--table", "upper", "--json")

    assert told.json["columns"] == {"key": "ID", "status": "Status", "state": "State", "organisation": "org"}
    assert (await old.job(1))["state"] == "deadletter"


async def test_names_that_differ_in_case_only_are_asked_about(old: Installation) -> None:
    columns = 'id int primary key, status text, "State" text, "STATE" text, "Status" text'
    await old.database.execute(f"create table public.twice ({columns})")
    with pytest.raises(InvalidInput, match='columns "State", "STATE" could all be the state: name one with --column'):
        await old.check(table="twice")
    assert (await old.check(table="twice", columns={"state": "STATE"})).columns["status"] == "status"


async def test_table_without_a_state_is_not_taken_over_before_someone_says_so(
    old: Installation, desk: CommandLine
) -> None:
    await old.database.execute(
        "create table public.stateless (id int primary key, status text, lage text);"
        "insert into public.stateless values (1, 'failed_parse', 'deadletter'), (2, 'parsed', 'queued')"
    )
    call = ("takeover", "--table", "stateless")

    def walk() -> None:
        says = "no column for the state was found"
        means = "dead letters cannot be told from what may be retried, and all that failed is tried again"
        (warning,) = desk.succeed(*call, "--check", "--json").json["warnings"]
        assert says in warning
        assert means in warning
        assert warning in desk.succeed(*call, "--check").out
        refused = desk.run(*call, "--run", "--json")
        assert refused.code == 2
        message = json.loads(refused.err)["error"]["message"]
        assert says in message
        assert "--column state=COLUMN" in message
        assert desk.succeed("jobs", "--json").json["jobs"] == []

        told = desk.succeed(*call, "--run", "--column", "state=").out
        assert means in told
        assert desk.succeed(*call, "--run", "--column", "state=lage", "--json").json["warnings"] == []

    await asyncio.to_thread(walk)


@pytest.mark.parametrize("key", ["text", "timestamptz", "numeric", "date"])
async def test_keys_of_any_type_are_read_in_batches(
    old: Installation, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.takeover.old_table.BATCH_ROWS", 3)
    values = {
        "text": "'k ' || n",
        "timestamptz": "now() + n * interval '1 ms'",
        "numeric": "n / 3.0",
        "date": "now()::date + n",
    }
    await old.database.execute(
        f"create table public.odd as select ({values[key]})::{key} as id, 'parsed' as status, 'queued' as state"
        " from generate_series(1, 10) n; alter table public.odd add primary key (id)"
    )
    report = await old.run(table="odd")
    assert (report.rows, report.taken, report.verified) == (10, 10, True)
    assert (await old.run(table="public.odd")).taken == 10
    assert await old.database.fetchval("select count(*) from holdfast.document") == 10


async def test_large_rows_come_in_small_batches(old: Installation) -> None:
    await old.database.execute(
        "create table public.wide as"
        " select n as id, 'parsed' as status, 'queued' as state, repeat('text ', 300 * 1000) as content"
        " from generate_series(1, 30) n; alter table public.wide add primary key (id)"
    )
    passed = [0]
    report = await (await old.taking(table="wide")).run(passed.append)
    assert (report.taken, passed[-1], report.verified) == (30, 30, True)
    most = max(after - before for before, after in pairwise(passed))
    assert most * 1_500_000 < 2 * BATCH_BYTES
    lengths = "select distinct length(row_before ->> 'content') from holdfast.taken_row"
    assert [row[0] for row in await old.database.fetch(lengths)] == [1_500_000]


@pytest.mark.parametrize("batch", [1, 2, 1_000])
async def test_content_that_comes_twice_is_carried_once(
    old: Installation, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.takeover.old_table.BATCH_ROWS", batch)
    monkeypatch.setattr("holdfast.takeover.undoing.BATCH_ROWS", batch)
    facts = {"tenant_id": "acme", "content_hash": "abc", "state": "queued"}
    await old.insert(
        {"id": 1, "status": "duplicate", **facts},
        {"id": 2, "status": "parsed", **facts},
        {"id": 3, "status": "duplicate", **facts},
        {"id": 4, "status": "chunking", **facts},
        {"id": 5, "status": "parsed", **facts, "tenant_id": "other"},
    )
    report = await old.run()
    assert report.verified
    jobs = {key: await old.job(key) for key in range(1, 6)}
    documents = {key: await old.app.overview.pipeline_of(job["document_id"]) for key, job in jobs.items()}
    assert [documents[key]["content_hash"] for key in range(1, 6)] == ["abc", "abc", "abc", None, "abc"]
    original = jobs[2]["document_id"]
    assert [documents[key]["duplicate_of"] for key in range(1, 6)] == [original, None, original, None, None]
    assert documents[4]["metadata"]["takeover"] == {"table": "public.documents", "key": "4", "content_hash": "abc"}
    assert (await old.undo()).kept == 0
    assert await old.database.fetchval("select count(*) from holdfast.document") == 0


async def test_one_row_that_cannot_be_stored_is_left_and_the_others_go_on(old: Installation) -> None:
    await old.insert(*({"id": n, "status": "parsed", "state": "queued"} for n in range(40)))
    await old.database.execute(
        "create function public.refuse_one() returns trigger language plpgsql as $$ begin"
        " if new.metadata -> 'takeover' ->> 'key' = '17' then raise exception 'no' using errcode = '22P05'; end if;"
        " return new; end $$;"
        "create trigger refuse_one before insert on holdfast.document for each row execute function public.refuse_one()"
    )
    report = await old.run()
    assert (report.taken, report.left, report.verified) == (39, 1, True)
    assert report.left_rows == [{"key": "17", "reason": "it cannot be stored: a value cannot be stored: no"}]
    await old.database.execute("drop trigger refuse_one on holdfast.document")


async def test_row_shown_before_that_cannot_be_stored_now_stays_as_it_was(old: Installation) -> None:
    await old.insert(*({"id": n, "status": "parsed", "state": "queued"} for n in range(3)))
    await old.run(share=0)
    await old.database.execute(
        "create function public.refuse_one() returns trigger language plpgsql as $$ begin"
        " if new.metadata -> 'takeover' ->> 'key' = '1' then raise exception 'no' using errcode = '22P05'; end if;"
        " return new; end $$;"
        "create trigger refuse_one before update on holdfast.document for each row execute function public.refuse_one()"
    )
    report = await old.run(share=100)
    assert (report.taken, report.old_flow, report.verified) == (2, 1, True)
    assert await old.flows() == {"0": "new", "1": "old", "2": "new"}
    await old.database.execute("drop trigger refuse_one on holdfast.document")


@pytest.mark.parametrize(
    ("table", "columns", "says"),
    [
        ("public.nothing", {}, "there is no table public.nothing in that database: name it with --table"),
        ("a.b.c", {}, '"a.b.c" is no table'),
        ("public.documents", {"status": "stage"}, 'there is no column "stage" for status: the table has id, tenant_id'),
        ("public.documents", {"key": "nothing"}, 'public.documents has no column "nothing"'),
        ("public.documents", {"key": "status"}, 'column "status" of public.documents does not tell its rows apart'),
        (
            "public.documents",
            {"status": ""},
            "public.documents has no column for the status: name it with --column status",
        ),
        ("public.keyless", {}, "public.keyless has no primary key of one column"),
        ("public.double", {}, "public.double has no primary key of one column"),
        ("public.documents", {"colour": "red"}, 'there is no field "colour": name one of key, status'),
        (
            "public.seen",
            {},
            "public.seen is a view, and views are not read: name the table .*; it shows public.documents",
        ),
        ("public.kept", {}, "public.kept is a materialized view, and views are not read: .* it shows public.documents"),
    ],
)
async def test_table_that_cannot_be_read_says_what_to_do(
    old: Installation, table: str, columns: Mapping[str, str], says: str
) -> None:
    await old.database.execute(
        "create table public.keyless (id int, status text);"
        "create table public.double (a int, b int, status text, primary key (a, b));"
        "create view public.seen as select d.*, k.id as other from public.documents d join public.keyless k using (id);"
        "create materialized view public.kept as select * from public.documents"
    )
    with pytest.raises((NotFound, InvalidInput), match="^" + says.replace("(", r"\(")):
        await old.check(table=table, columns=columns)


async def test_who_may_not_read_or_take_over_is_told(old: Installation, dsn: str, guest: str) -> None:
    plan = Plan(pipeline="documents", organisation="acme")
    await old.database.execute(f'grant holdfast_api to "{guest}"')
    async with open_app(Settings(database_url=with_user(dsn, guest))) as app:
        with pytest.raises(InvalidInput, match=f'role "{guest}" may not read public.documents: grant select on it'):
            async with app.takeover("eve").table(plan, url=None):
                pass
        await old.database.execute(f'grant select on public.documents to "{guest}"')
        async with app.takeover("eve").table(plan, url=None) as table:
            with pytest.raises(DatabaseUnusable, match="permission denied"):
                await app.takeover("eve").taking(table, plan, files=None).run(lambda _: None)
    await old.database.execute(f'drop owned by "{guest}"')


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://nobody@127.0.0.1:1/x", "cannot reach the database: .* and --from"),
        ("mysql://x", "--from is invalid"),
    ],
)
async def test_old_database_that_is_not_there_is_named_by_its_option(old: Installation, url: str, says: str) -> None:
    with pytest.raises(Exception, match=says):
        async with old.desk.table(Plan(pipeline="documents", organisation="acme"), url=url):
            pass


async def test_two_runs_at_once_do_not_take_anything_twice(old: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.takeover.old_table.BATCH_ROWS", 5)
    await old.insert(*({"id": n, "status": "parsed", "state": "queued"} for n in range(40)))
    ended = await asyncio.gather(old.run(), old.run(), return_exceptions=True)
    refused = [one for one in ended if isinstance(one, BaseException)]

    assert all(isinstance(one, Conflict) and "by somebody else" in str(one) for one in refused)
    assert (await old.run()).verified
    assert await old.database.fetchval("select count(*) from holdfast.document") == 40


async def test_pipeline_cannot_be_changed_on_the_way(old: Installation, database: Database) -> None:
    await old.run()
    await database.execute(
        'select holdfast.register_pipeline(declaration || \'{"name": "copies"}\') from holdfast.pipeline'
    )
    with pytest.raises(Conflict, match='into pipeline "documents", not "copies": undo that first'):
        await old.run(pipeline="copies")
    with pytest.raises(NotFound, match='there is no pipeline "nothing"'):
        await old.check(pipeline="nothing")


@pytest.mark.parametrize("words", [["1"], ["=new"], ["1=both"]])
def test_flows_are_named_as_key_and_flow(words: list[str]) -> None:
    with pytest.raises(InvalidInput):
        chosen_flows(words)
    assert chosen_flows(["a=b=new"]) == {"a=b": "new"}
    assert chosen_columns(["status=a=b"]) == {"status": "a=b"}
    with pytest.raises(InvalidInput, match="a share of 101 % makes no sense"):
        Plan(pipeline="documents", organisation="acme", share=101)


async def test_the_old_table_may_be_in_another_database_and_gone_when_it_is_undone(old: Installation, dsn: str) -> None:
    other = f"{dsn.rpartition('/')[2].partition('?')[0]}_old"
    await old.database.execute(f'create database "{other}"')
    plan = Plan(pipeline="documents", organisation="acme")
    url = with_database(dsn, other)
    async with open_source(Settings(database_url=url)) as source:
        await source.execute("create table public.documents (id int primary key, status text, state text)")
        await source.execute("insert into public.documents values (1, 'failed_parse', 'retryable')")
    async with old.desk.table(plan, url=url) as table:
        report = await old.desk.taking(table, plan, files=None).run(lambda _: None)
    assert (report.taken, report.source.partition("@")[0]) == (1, other)
    assert (await old.job(1))["status"] == "parse_queued"

    await old.run()
    with pytest.raises(Conflict, match=r"were taken over from .*: name one of these with --from"):
        await old.undo()
    await old.database.execute(f'drop database "{other}" with (force)')
    with pytest.raises(NotFound, match=r'documents of database "nothing" was not taken over'):
        await old.undo(url=with_database(dsn, "nothing"))
    assert (await old.undo(url=url)).removed == 1
    assert (await old.undo(url=dsn)).removed == 0


async def test_takeovers_from_databases_of_one_name_are_told_apart_by_what_was_recorded(
    old: Installation, dsn: str
) -> None:
    report = await old.run()
    there = f"{report.source.partition('@')[0]}@10.0.0.1:5432"
    await old.database.execute(
        "insert into holdfast.takeover (source, table_name, columns, pipeline, organisation, first_vtime, started_at)"
        " select $1, table_name, columns, pipeline, organisation, first_vtime, started_at from holdfast.takeover",
        there,
    )
    with pytest.raises(Conflict, match=rf"were taken over from .*, {there}: name one of these with --from"):
        await old.undo(url=dsn)
    await old.undo(url=there)
    await old.undo(url=dsn)


async def test_undoing_needs_neither_the_old_database_nor_its_columns(
    old: Installation, dsn: str, desk: CommandLine
) -> None:
    other = f"{dsn.rpartition('/')[2].partition('?')[0]}_old"
    await old.database.execute(f'create database "{other}"')
    url = with_database(dsn, other)
    async with open_source(Settings(database_url=url)) as source:
        await source.execute("create table public.documents (id int primary key, stage text, state text)")
        await source.execute("insert into public.documents values (1, 'failed_parse', 'retryable')")
    await asyncio.to_thread(desk.succeed, "takeover", "--run", "--from", url, "--column", "status=stage")
    await old.database.execute(f'drop database "{other}" with (force)')

    undone = await asyncio.to_thread(desk.succeed, "takeover", "--undo", "--from", url)
    assert undone.out == "1 row of public.documents let go; the old table is as it was\n"
