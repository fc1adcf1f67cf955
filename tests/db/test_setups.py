"""Migrating and working with the rights that managed servers give: each way works, or is refused before it begins."""

import asyncio
import json
import os
import subprocess
import sys

import pytest

from holdfast.app import open_app
from holdfast.db.connection import Database, connect
from holdfast.db.migrations import Applied, migrate, pending
from holdfast.db.roles import ROLES, preparation, quoted
from holdfast.embed.phase import Embed
from holdfast.embed.reindex import reindex, remove_replaced
from holdfast.engine.pipeline import Done
from holdfast.errors import DatabaseUnusable
from holdfast.providers.light import LightEmbedder
from holdfast.schema import FUNCTIONS, migrate_for_supabase
from holdfast.search.search import Search
from holdfast.settings import Settings
from tests.embed.desk import open_desk
from tests.endpoint import with_option
from tests.search.embedders import CountingEmbedder
from tests.throwaway import Throwaway

HAS_PGVECTOR = "select exists (select from pg_available_extensions where name = 'vector')"
NEAREST = """
explain select e.generation_id from holdfast.embedding e where e.embedder_id = {}
order by holdfast.half_distance(holdfast.half(e.vector, 256), holdfast.half(holdfast.to_vector($1), 256)) limit 5
"""
OWNER_USES_PGVECTOR = "select has_schema_privilege('holdfast_owner', 'extensions', 'usage')"
SUPERUSERS_FUNCTIONS = """
select count(*) from pg_proc p join pg_roles r on r.oid = p.proowner
where p.pronamespace = 'holdfast'::regnamespace and r.rolsuper
"""
LENT_FUNCTIONS = """
select array_agg(p.proname || ' ' || array_to_string(p.proconfig, ';') order by p.proname)
from pg_proc p where p.pronamespace = 'holdfast'::regnamespace and p.proowner <> to_regrole('holdfast_owner')
"""
# Better matches, for what the functions of the login call, than what PostgreSQL has: each takes a right of the login.
TRAPS = """
create function holdfast.take() returns text language plpgsql as $$
begin
    if current_user = 'press' and to_regrole('stolen') is null then
        create role stolen;
    end if;
    return 'extensions';
end $$;
create function holdfast.quote_ident(name) returns text language sql as $$ select holdfast.take() $$;
create function holdfast.format(text, text) returns text language sql as $$ select 'select holdfast.take()' $$;
create function holdfast.format(text, smallint, text, integer) returns text language sql as $$
    select 'select holdfast.take()'
$$;
create function holdfast.same(oid, regclass) returns boolean language sql as $$ select holdfast.take() <> '' $$;
create operator holdfast.= (leftarg = oid, rightarg = regclass, function = holdfast.same);
create or replace function holdfast.may_name_vectors() returns boolean language sql as $$
    select holdfast.take() <> ''
$$;
create or replace function holdfast.has_vectors() returns boolean language sql as $$ select holdfast.take() = '' $$;
create or replace function holdfast.wall_off(p_table regclass) returns void language sql as $$
    select holdfast.take()
$$;
"""
# More than a model of 256 numbers may have without an index.
MANY_VECTORS = """
insert into holdfast.embedding (generation_id, ordinal, embedder_id, organisation, text_hash, vector)
select -1, n, embedder_id, organisation, text_hash, vector from holdfast.embedding, generate_series(1, 31000) n
"""
HAS_SCHEMA = "select to_regnamespace('holdfast') is not null"


async def graded(fresh: Throwaway) -> bool:
    """Whether creating a role does not yet let one act as it."""
    return int(str(await fresh.value("show server_version_num"))) >= 160000


async def make(fresh: Throwaway, login: str, database: str) -> Settings:
    """A login that may create roles, if there is none, and a database in which it may create a schema."""
    if await fresh.value("select to_regrole($1) is null", quoted(login)):
        await fresh.execute(f"create role {quoted(login)} login createrole")
    await fresh.execute(f"create database {database}", f"grant create on database {database} to {quoted(login)}")
    return Settings(database_url=fresh.dsn(login, database))


async def bring_up(settings: Settings) -> list[Applied]:
    async with connect(settings) as database:
        return await migrate(database, functions=FUNCTIONS)


async def serves_tenants(database: Database) -> bool:
    return bool(await database.confined_to("acme").fetchval("select current_user = 'holdfast_tenant'"))


def typed(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Holdfast's command line with this database."""
    environment = {**os.environ, "HOLDFAST_DATABASE_URL": settings.database_url or "", "COLUMNS": "200"}
    command = [sys.executable, "-m", "holdfast.cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


async def test_login_that_may_create_roles_serves_tenants_in_each_of_its_databases(fresh: Throwaway) -> None:
    both = [await make(fresh, 'odd"press', name) for name in ("first", "second")]
    # Neither finds a role, and both create them.
    await asyncio.gather(*map(bring_up, both))
    for settings in both:
        async with connect(settings) as database:
            assert await serves_tenants(database)
            assert await pending(database, functions=FUNCTIONS) == []


async def test_second_login_that_may_create_roles_is_told_what_to_run(fresh: Throwaway) -> None:
    await bring_up(await make(fresh, "press", "first"))
    settings = await make(fresh, "other", "second")
    if await graded(fresh):
        with pytest.raises(DatabaseUnusable, match="may not act as holdfast_owner: have") as refusal:
            await bring_up(settings)
        assert not await fresh.value(HAS_SCHEMA, database="second")
        await fresh.execute(*_statements(refusal.value))
    await bring_up(settings)
    async with connect(settings) as database:
        assert await serves_tenants(database)


async def test_prepared_roles_let_a_login_without_rights_migrate_and_work(fresh: Throwaway) -> None:
    names = [
        "press",
        'it\'s "odd"',
        "$roles$; create role x; --",
        "{roles} {names} {logins}",
        "$\\'; create role x; --",
    ]
    for login in (*names, "press_worker", "press_api"):
        await fresh.execute(f"create role {quoted(login)} login")
    await fresh.execute('create database "library"')
    printed = typed(Settings(database_url=fresh.dsn("x")), "migrate", "--print-roles", *_each("--login", names))
    assert printed.stdout == preparation(names)
    await fresh.execute(printed.stdout, database="library")
    lenient = with_option(fresh.dsn(None, "library"), "standard_conforming_strings", "off")
    async with connect(Settings(database_url=lenient)) as again:
        await again.execute(printed.stdout)
    assert await fresh.value(
        "select count(*) from pg_roles where pg_has_role(rolname, 'holdfast_owner', 'usage') and rolname = any ($1)",
        names,
    ) == len(names)
    settings = Settings(database_url=fresh.dsn("press", "library"))
    await bring_up(settings)
    # The other one can migrate again, with no right on the database.
    async with connect(Settings(database_url=fresh.dsn(names[1], "library"))) as database:
        await database.execute("update holdfast.schema_state set checksum = 'older'")
        assert await migrate(database, functions=FUNCTIONS) == [Applied(None, "functions")]
        assert await serves_tenants(database)
    await fresh.execute("grant holdfast_worker to press_worker", "grant holdfast_api to press_api")
    async with open_app(Settings(database_url=fresh.dsn("press_worker", "library"))) as worker:
        await worker.register()
        await worker.database.execute("select holdfast.register_worker('mine', 'here', 1)")
    async with open_app(Settings(database_url=fresh.dsn("press_api", "library"))) as api:
        await api.register()
        assert await serves_tenants(api.database)


async def test_login_without_any_grant_is_told_which_to_ask_for(fresh: Throwaway) -> None:
    await bring_up(await make(fresh, "press", "library"))
    await fresh.execute("create role stranger login")
    stranger = Settings(database_url=fresh.dsn("stranger", "library"))
    with pytest.raises(
        DatabaseUnusable, match=r'see the schema holdfast: .* `grant ROLE to "stranger".*`, with holdfast_r'
    ):
        async with open_app(stranger):
            pass
    checked = typed(stranger, "migrate", "--check")
    assert (checked.returncode, checked.stderr) == (1, "")
    assert 'have an administrator run: grant holdfast_owner to "stranger"' in checked.stdout
    assert "holdfast_owner to migrate" in typed(stranger, "migrate").stderr
    await fresh.execute('grant holdfast_readonly to "stranger"')
    async with open_app(stranger) as app:
        assert await app.overview.health()


@pytest.mark.parametrize(
    "given",
    [
        "grant holdfast_owner to press with set false",
        "grant holdfast_owner to press with inherit false",
        "alter role press noinherit; grant holdfast_owner to press",
        "grant holdfast_owner to press; revoke holdfast_tenant from holdfast_api; "
        "grant holdfast_tenant to holdfast_api with set false",
    ],
)
async def test_member_without_the_rights_of_its_role_is_told_what_gives_them(fresh: Throwaway, given: str) -> None:
    if "false" in given and not await graded(fresh):
        pytest.skip("here memberships have no options")
    await fresh.execute("create role press login", "create role other login", 'create database "library"')
    await fresh.execute(preparation(["other"]), *given.split("; "), database="library")
    with pytest.raises(DatabaseUnusable) as refusal:
        await bring_up(settings := Settings(database_url=fresh.dsn("press", "library")))
    await fresh.execute(*(one.replace("ROLE", "holdfast_owner") for one in _statements(refusal.value)))
    await bring_up(settings)
    async with connect(settings) as database:
        assert await serves_tenants(database)


async def test_login_that_cannot_open_a_project_is_told_so_before_anything_is_created(fresh: Throwaway) -> None:
    await fresh.execute("create role press login", 'create database "library"')
    # As an older project has them.
    await fresh.execute(*(f"create role {name} noinherit" for name in ("anon", "authenticated", "service_role")))
    await fresh.execute(preparation(["press"]), database="library")
    settings = Settings(database_url=fresh.dsn("press", "library"))
    refused = typed(settings, "migrate", "--for", "supabase")
    asked = "create role holdfast_claims nologin; grant holdfast_claims to press with admin option; "
    asked += "grant holdfast_api to press with admin option"
    assert refused.returncode == 1
    assert asked in refused.stderr
    await fresh.execute(*asked.split("; "), "grant create on schema public to press", database="library")
    if not await graded(fresh):
        with pytest.raises(DatabaseUnusable, match="have an administrator run") as refusal:
            await migrate_for_supabase(settings, ())
        await fresh.execute("; ".join(_statements(refusal.value)))  # at once, as an SQL editor does
    assert await fresh.value("select to_regclass('holdfast.migration') is null", database="library")
    assert (done := typed(settings, "migrate", "--for", "supabase")).returncode == 0, done.stderr


async def test_doctor_says_that_vectors_went_and_migrating_brings_them_back(fresh: Throwaway) -> None:
    if not await fresh.value(HAS_PGVECTOR):
        pytest.skip("this server has no pgvector")
    settings = await make(fresh, "postgres", "library")
    await bring_up(settings)
    async with open_app(settings) as app:
        assert await app.database_doubts() == []
        await fresh.execute("drop extension vector cascade", database="library")
        (doubt,) = await app.database_doubts()
        assert doubt.startswith("searches are answered by words alone: pgvector is not created in this database")
        assert typed(settings, "migrate").returncode == 0
        assert await app.database_doubts() == []


async def test_login_with_no_right_is_told_all_that_is_missing_before_anything_is_created(fresh: Throwaway) -> None:
    await fresh.execute("create role press login", 'create database "library"')
    settings = Settings(database_url=fresh.dsn("press", "library"))
    checked = typed(settings, "migrate", "--check", "--json")
    rights = json.loads(checked.stdout)["rights"]
    assert checked.returncode == 1
    assert [one["statement"] for one in rights] == [
        'grant create on database "library" to "press"',
        'alter role "press" createrole',
    ]
    refused = typed(settings, "migrate")
    assert refused.returncode == 1
    assert refused.stderr.startswith('error: role "press" may not create a schema, create holdfast_owner, holdfast_w')
    assert "holdfast migrate --print-roles" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert await fresh.value("select count(*) from pg_roles where rolname = any ($1)", ROLES) == 0
    assert not await fresh.value(HAS_SCHEMA, database="library")
    await fresh.execute(*(one["statement"] for one in rights))
    assert (done := typed(settings, "migrate")).returncode == 0, done.stderr
    assert (again := typed(settings, "migrate", "--check")).stdout.startswith("the database is up to date"), again


async def test_login_that_cannot_act_as_a_tenant_is_noticed_and_healed(fresh: Throwaway) -> None:
    settings = await make(fresh, "press", "library")
    await bring_up(settings)
    # As earlier versions left it: from PostgreSQL 16 on creating a role gives the right to grant it, and no more.
    await fresh.execute("revoke holdfast_tenant from holdfast_owner", login="press")
    with pytest.raises(DatabaseUnusable, match=r"missing: roles\): run `holdfast migrate`"):
        async with open_app(settings):
            pass
    assert (doctor := typed(settings, "doctor")).returncode == 1
    assert "missing: roles" in doctor.stderr
    assert await bring_up(settings) == [Applied(None, "roles")]
    async with open_app(settings) as app:
        assert await serves_tenants(app.database)


async def test_schema_made_by_somebody_else_is_taken_over_or_refused(fresh: Throwaway) -> None:
    settings = await make(fresh, "press", "library")
    await fresh.execute("create schema holdfast", database="library")
    with pytest.raises(DatabaseUnusable, match=r"alter schema holdfast owner to holdfast_owner|see the schema"):
        await bring_up(settings)
    await fresh.execute("alter schema holdfast owner to press", database="library")
    await bring_up(settings)
    owner = "select nspowner::regrole::text from pg_namespace where nspname = 'holdfast'"
    assert await fresh.value(owner, database="library") == "holdfast_owner"


async def test_pgvector_that_only_the_login_may_use_serves_every_phase(fresh: Throwaway) -> None:
    settings = await make(fresh, "press", "library")
    if not await fresh.value(HAS_PGVECTOR):
        assert "searches are answered by words alone: this server has no pgvector" in typed(settings, "migrate").stdout
        return
    private = ("create schema extensions", "create extension vector schema extensions")
    await fresh.execute(*private, "grant all on schema extensions to press", database="library")
    await fresh.execute("create role press_worker login", "create role press_api login")
    await bring_up(settings)
    await fresh.execute("grant holdfast_worker to press_worker", "grant holdfast_api to press_api")
    assert not await fresh.value(OWNER_USES_PGVECTOR, database="library")
    async with (
        connect(settings) as database,
        connect(Settings(database_url=fresh.dsn("press_worker", "library"))) as worker,
        connect(Settings(database_url=fresh.dsn("press_api", "library"))) as api,
    ):
        desk = await open_desk(database)
        done = await Embed(worker, LightEmbedder()).run(await desk.take_in("The walrus sleeps.", "Taxes are due."))
        assert isinstance(done, Done)
        shown = await desk.library.add("The walrus sleeps.")
        assert (await reindex(api, CountingEmbedder(name="other"))).active
        assert await remove_replaced(api) == 2
        assert "embedding_nearest_2" in await _plan_with_index(database, model=2)
        for reader in (worker, api, database.confined_to("acme")):
            (hit, *_) = (await Search(reader, CountingEmbedder(name="other")).find("walrus", organisation="acme")).hits
            assert (hit.document_id, hit.why.vector_rank) == (shown, 1)
        assert (await database.fetchval("select holdfast.remove_embeddings($1, null)", shown))["embeddings"] == 1


async def test_member_of_the_owner_gains_no_right_of_the_login_that_migrates(fresh: Throwaway) -> None:
    settings = await make(fresh, "press", "library")
    if not await fresh.value(HAS_PGVECTOR):
        return  # where nobody's functions belong to a login
    private = ("create schema extensions", "create extension vector schema extensions")
    await fresh.execute(*private, "grant all on schema extensions to press", database="library")
    await bring_up(settings)
    await fresh.execute("create role guest login", "grant holdfast_owner to guest")
    trapped = ("set role holdfast_owner", TRAPS)
    calls = ("create_vectors()", "create_nearest_index(1::smallint, 256)", "ensure_vectors()")
    await fresh.execute(*trapped, *(f"select holdfast.{call}" for call in calls), login="guest", database="library")
    assert await fresh.value("select to_regrole('stolen') is null")
    assert await fresh.value("select to_regclass('holdfast.embedding_nearest_1') is not null", database="library")
    assert await fresh.value(LENT_FUNCTIONS, database="library") == [
        "create_nearest_index search_path=pg_catalog, pg_temp",
        "create_vectors search_path=pg_catalog, pg_temp",
    ]


async def test_model_goes_on_without_an_index_once_its_login_may_not_build_one(fresh: Throwaway) -> None:
    settings = await make(fresh, "press", "library")
    if not await fresh.value(HAS_PGVECTOR):
        return  # nor any vector
    private = ("create schema extensions", "create extension vector schema extensions")
    await fresh.execute(*private, "grant all on schema extensions to press", database="library")
    await bring_up(settings)
    await fresh.execute("create role press_worker login", "grant holdfast_worker to press_worker")
    async with (
        connect(Settings(database_url=fresh.dsn(None, "library"))) as database,
        connect(Settings(database_url=fresh.dsn("press_worker", "library"))) as worker,
    ):
        desk = await open_desk(database)
        assert isinstance(await Embed(worker, LightEmbedder()).run(await desk.take_in("The walrus sleeps.")), Done)
        await database.execute("alter table holdfast.embedding drop constraint embedding_generation_id_ordinal_fkey")
        await database.execute(MANY_VECTORS)
        await fresh.execute("revoke holdfast_owner from press", login="press")
        assert isinstance(await Embed(worker, LightEmbedder()).run(await desk.take_in("Taxes are due.")), Done)
        assert await database.fetchval("select to_regclass('holdfast.embedding_nearest_1') is null")


async def test_pgvector_that_comes_later_is_used_once_it_is_migrated_again(fresh: Throwaway) -> None:
    settings = await make(fresh, "press", "library")
    migrated = typed(settings, "migrate", "--json")
    assert [note[:38] for note in json.loads(migrated.stdout)["notes"]] == ["searches are answered by words alone: "]
    assert typed(settings, "migrate", "--check").returncode == 0
    if not await fresh.value(HAS_PGVECTOR):
        return
    await fresh.execute("create extension vector", database="library")
    assert await bring_up(settings) == [Applied(None, "functions")]
    async with open_app(settings) as app:
        await (await open_desk(app.database)).library.add("The walrus sleeps.")
        await reindex(app.database, LightEmbedder())
        await app.database.execute("set role holdfast_owner; select holdfast.create_nearest_index(1::smallint, 256)")
        (hit,) = (await Search(app.database, LightEmbedder()).find("sleeping walrus", organisation="acme")).hits
    assert hit.why.vector_rank == 1
    assert await fresh.value(SUPERUSERS_FUNCTIONS, database="library") == 0
    # Who may create it need not ask: a superuser, or a login that its provider lets.
    await fresh.execute("create database other")
    notes = json.loads(typed(Settings(database_url=fresh.dsn(None, "other")), "migrate", "--json").stdout)["notes"]
    assert (notes, await fresh.value(SUPERUSERS_FUNCTIONS, database="other")) == ([], 0)


async def _plan_with_index(database: Database, *, model: int) -> str:
    """How the owner, who may not look into pgvector's schema, finds the nearest once it has built the model's index."""
    async with database.transaction() as connection:
        await connection.execute("set local role holdfast_owner")
        await connection.execute(f"select holdfast.create_nearest_index({model}::smallint, 256)")
        await connection.execute("set local enable_seqscan = off; set local enable_sort = off")
        return str(await connection.fetch(NEAREST.format(model), [0.1] * 256))


def _statements(refusal: DatabaseUnusable) -> list[str]:
    return str(refusal).partition("`")[2].partition("`")[0].split("; ")


def _each(option: str, values: list[str]) -> list[str]:
    return [argument for value in values for argument in (option, value)]
