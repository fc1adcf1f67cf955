"""`holdfast migrate --for supabase`: what it opens, and that it stays so."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from holdfast.access.supabase import open_to_supabase
from holdfast.db.connection import Database, connect
from holdfast.db.migrations import migrate
from holdfast.engine.queue import Queue, Submission, submit
from holdfast.errors import DatabaseUnavailable, DatabaseUnusable, InvalidInput
from holdfast.schema import FUNCTIONS
from holdfast.settings import Settings
from tests.endpoint import with_user
from tests.engine.scenario import plain, until_someone_waits_for_a_lock
from tests.supabase.project import Supabase

SERVICE = {"role": "service_role", "iss": "supabase"}
RIGHTS = """
select c.oid::regclass::text as object, a.grantee::regrole::text as role, a.privilege_type as deed
from pg_class c, aclexplode(c.relacl) a where relnamespace in ('holdfast'::regnamespace, 'public'::regnamespace)
union all
select format('%s.%s', c.oid::regclass, t.attname), a.grantee::regrole::text, a.privilege_type
from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
where relnamespace in ('holdfast'::regnamespace, 'public'::regnamespace)
union all
select p.oid::regprocedure::text, a.grantee::regrole::text, a.privilege_type
from pg_proc p, aclexplode(p.proacl) a where pronamespace = 'holdfast'::regnamespace
union all
select n.nspname, a.grantee::regrole::text, a.privilege_type from pg_namespace n, aclexplode(n.nspacl) a
where n.nspname in ('holdfast', 'public')
union all
select polrelid::regclass::text, polroles::regrole[]::text, polname from pg_policy
union all
select tablename, schemaname, pubname from pg_publication_tables
order by 1, 2, 3
"""


@pytest.fixture
async def database(opened: str) -> AsyncIterator[Database]:
    """A project with a document of each of two organizations on its way."""
    async with connect(Settings(database_url=opened)) as database:
        await Queue(database).register([plain("extract")])
        await submit(
            database, "documents", [Submission(organisation=org, source_name=f"{org}.pdf") for org in ("acme", "other")]
        )
        yield database


@asynccontextmanager
async def request(dsn: str, role: str, claims: object) -> AsyncIterator[asyncpg.Connection]:
    """A call through PostgREST."""
    connection = await asyncpg.connect(with_user(dsn, "authenticator"))
    try:
        async with connection.transaction():
            await connection.execute(f"set local role {role}")
            await connection.execute("select set_config('request.jwt.claims', $1, true)", json.dumps(claims))
            yield connection
    finally:
        await connection.close()


async def seen(dsn: str, claims: object) -> list[tuple[str, str, int]]:
    async with request(dsn, "authenticated", claims) as connection:
        rows = await connection.fetch("select org, name, percent from public.holdfast_documents")
    return [tuple(row) for row in rows]


async def test_token_shows_the_documents_of_its_organization(opened: str, database: Database) -> None:
    assert await seen(opened, {"o": {"id": "acme"}}) == [("acme", "acme.pdf", 33)]
    assert await seen(opened, {"org_id": "other"}) == [("other", "other.pdf", 33)]
    assert await seen(opened, {"sub": "user_1"}) == []


async def test_service_submits_retries_and_asks(opened: str, database: Database) -> None:
    async with request(opened, "service_role", SERVICE) as service:
        item = json.dumps([{"organisation": "acme", "source_name": "late.pdf"}])
        job = await service.fetchval("select job_id from holdfast.submit('documents', $1)", item)
        assert await service.fetchval("select result from holdfast.cancel($1)", [job]) == "cancelled"
        assert await service.fetchval("select result from holdfast.retry($1)", [job]) == "queued"
        await service.execute("select holdfast.check_timeouts()")
        assert await service.fetchval("select count(*) from holdfast.overview_jobs('{}', 9)") == 3
        assert await service.fetchval("select count(*) from public.holdfast_documents") == 3
    assert {row["actor"] for row in await database.fetch("select * from holdfast.overview_audit(9)")} == {
        "service_role"
    }


async def test_audit_names_whom_the_token_is_about(opened: str, database: Database) -> None:
    job = await database.fetchval("select id from holdfast.pipeline_job order by id limit 1")
    async with request(opened, "service_role", SERVICE | {"sub": "user_2abc"}) as service:
        await service.execute("select holdfast.cancel($1)", [job])
    assert await database.fetchval("select actor from holdfast.overview_audit(1)") == "user_2abc"


async def test_claim_is_chosen_once_and_kept(opened: str, database: Database) -> None:
    front_end = await open_to_supabase(database, ("app_metadata.team",))
    assert front_end.claims == ("app_metadata.team",)
    assert (await open_to_supabase(database)).claims == ("app_metadata.team",)
    assert await seen(opened, {"o": {"id": "acme"}}) == []
    assert await seen(opened, {"app_metadata": {"team": "acme"}}) == [("acme", "acme.pdf", 33)]


@pytest.mark.parametrize("claim", ["", ".", "o.", ".id", "o..id", ".".join("abcdefghijk")])
async def test_what_is_no_path_is_refused(database: Database, claim: str) -> None:
    with pytest.raises(InvalidInput, match="not the path of a claim"):
        await open_to_supabase(database, (claim,))


async def test_claim_that_users_write_themselves_is_refused(database: Database) -> None:
    with pytest.raises(InvalidInput, match="themselves: name a claim that only the issuer"):
        await open_to_supabase(database, ("user_metadata.org_id",))


async def test_migrating_again_takes_back_what_was_granted_by_accident(opened: str, database: Database) -> None:
    before = await database.fetch(RIGHTS)
    await open_to_supabase(database)
    assert await database.fetch(RIGHTS) == before
    await database.execute("grant usage on schema holdfast to anon, authenticated")
    await database.execute("grant all on all tables in schema holdfast to anon, authenticated")
    await database.execute("grant all on all routines in schema holdfast to anon, authenticated")
    await database.execute("update holdfast.schema_state set checksum = 'an older version' where key = 'functions'")
    assert [applied.name for applied in await migrate(database, functions=FUNCTIONS)] == ["functions"]
    assert await database.fetch(RIGHTS) == before


async def test_older_project_is_opened_too(older_supabase: Supabase) -> None:
    async with older_supabase.project() as dsn, connect(Settings(database_url=dsn)) as database:
        await migrate(database, functions=FUNCTIONS)
        granted = {(grant.role, grant.object) for grant in (await open_to_supabase(database)).granted}
        assert granted == {
            ("authenticated", "holdfast.document"),
            ("authenticated", "holdfast.job_progress"),
            ("authenticated", "holdfast.phase"),
            ("authenticated", "holdfast.pipeline_job"),
            ("authenticated", "holdfast.pipeline_status"),
            ("authenticated", "public.holdfast_documents"),
            ("service_role", "public.holdfast_documents"),
            ("service_role", "schema holdfast"),
            ("supabase_realtime", "holdfast.document"),
            ("supabase_realtime", "holdfast.pipeline_job"),
        }


async def test_others_go_on_while_a_long_reader_keeps_it_from_being_opened(migrated: str) -> None:
    async with connect(Settings(database_url=migrated)) as database:
        async with database.transaction() as reader:
            await reader.fetch("select from holdfast.pipeline_job")
            opening = asyncio.create_task(open_to_supabase(database))
            await until_someone_waits_for_a_lock(database)
            async with database.transaction() as worker:
                await worker.execute("set local statement_timeout = '15s'")
                await worker.fetch("select from holdfast.pipeline_job")
            with pytest.raises(DatabaseUnavailable, match="let it finish, then migrate again; nothing was changed"):
                await opening
        assert (await open_to_supabase(database)).granted


@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_another_database_is_told_apart(dsn: str) -> None:
    async with connect(Settings(database_url=dsn)) as database:
        with pytest.raises(DatabaseUnusable, match='not a Supabase project: it has no role "anon"'):
            await open_to_supabase(database)
