"""Who may do what: three roles, every function and table of the schema, those to come included."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from holdfast.db.connection import Connection, Database
from holdfast.engine.queue import Submission, submit
from holdfast.errors import DatabaseUnusable
from tests.engine.scenario import Scenario, begin, plain

SEARCHING = {
    "answering_embedder",
    "entity_neighbours",
    "find",
    "has_older_answer",
    "is_shown",
    "is_shown_with",
    "knowledge_of",
    "neighbourhood",
    "shows_members",
    "warnings_of",
    "weakness",
    "words_to_highlight",
}
READING = SEARCHING | {
    "generation_of",
    "clock",
    "document_file",
    "fingerprint",
    "jobs_of",
    "matching_jobs",
    "name_words",
    "needed_artifacts",
    "next_budget_day",
    "budget_today",
    "budget_left",
    "passages_of",
    "pays_itself",
    "preview_jobs",
    "retries_of",
    "deliveries",
    "receivers",
    "submission_under",
    "configs_run",
    "diff_configs",
    "effective_settings",
    "parse_errors_of",
    "settings_of",
    "reading_of",
    "story_entities",
    "story_of",
    "takeovers",
    "title_of",
}
TELLING = {"check_alerts", "end_delivery", "mail_alerts_to", "take_deliveries"}
RECEIVERS = {"add_webhook", "redeliver", "remove_receiver", "rotate_secret"}
KEYS = {"create_key", "has_keys", "key_with", "keys", "revoke_key"}
TENANTS = {
    "actor",
    "begin_removal",
    "cancel",
    "begin_reading",
    "current_documents",
    "delete_document",
    "finish_removal",
    "lease_artifacts",
    "merge_metadata",
    "publish_document",
    "release_artifacts",
    "reset",
    "retry",
    "submit",
    "try_first",
    "use_artifacts",
}
KEEPING = {
    "ensure_vectors",
    "flow_of",
    "begin_removal",
    "end_dead_leases",
    "finish_removal",
    "index_embedder",
    "lease_artifacts",
    "needs_index",
    "publish_document",
    "purge_superseded",
    "remove_retired_generations",
    "record_orphans",
    "register_embedder",
    "release_artifacts",
    "remove_answers",
    "remove_old_answers",
    "unused_artifacts",
    "use_artifacts",
    "vector_schema",
}
OPERATING = KEEPING | {
    "activate_embedder",
    "actor",
    "answer",
    "cancel",
    "charge_reindexed",
    "check_timeouts",
    "close_embedder",
    "begin_reading",
    "current_documents",
    "delete_document",
    "hold",
    "lacking_vectors",
    "merge_metadata",
    "next_place",
    "release",
    "remove_inactive_vectors",
    "requeue_stuck",
    "reset",
    "retry",
    "set_budget",
    "store_reindexed",
    "submit",
    "take_for_reindexing",
    "try_first",
}
WORKING = (
    SEARCHING
    | KEEPING
    | TELLING
    | {
        "add_to_graph",
        "advance_trials",
        "await_answers",
        "members_under_way",
        "wake_parents",
        "begin_graph",
        "check_timeouts",
        "claim",
        "clear_configs",
        "store_configs",
        "clock",
        "begin_reading",
        "current_documents",
        "fail",
        "finish_chunks",
        "finish_embedding",
        "generation_of",
        "give_back",
        "heartbeat",
        "keep_answer",
        "keep_late_answer",
        "merge_metadata",
        "original_of",
        "recall_answers",
        "register_pipeline",
        "register_policy",
        "register_worker",
        "reserve_budget",
        "retries_of",
        "settle",
        "settle_budget",
        "settle_saved",
        "stop_worker",
        "store_chunks",
        "store_duplicate",
        "store_embeddings",
        "store_fetched",
        "store_reading",
        "store_story",
        "submit",
        "sweep",
        "take_for_embedding",
    }
)
ROLES = ("holdfast_worker", "holdfast_api", "holdfast_readonly")

FUNCTIONS = "select p.oid, p.proname from pg_proc p where p.pronamespace = 'holdfast'::regnamespace"
TABLES = """
select c.oid, c.relname, c.relkind from pg_class c
where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'v', 'm', 'p', 'S')
"""


async def callable_by(database: Database, role: str) -> set[str]:
    """All but vectors(), which exists where pgvector does: it gives back what it was given."""
    rows = await database.fetch(
        f"select proname from ({FUNCTIONS}) f where has_function_privilege($1, f.oid, 'execute')", role
    )
    return {row["proname"] for row in rows} - {"vectors"}


async def overviews(database: Database) -> set[str]:
    rows = await database.fetch(f"select proname from ({FUNCTIONS}) f where proname like 'overview\\_%'")
    return {row["proname"] for row in rows}


@asynccontextmanager
async def acting_as(role: str, database: Database) -> AsyncIterator[Connection]:
    async with database.transaction() as connection:
        await connection.execute(f"set local role {role}")
        yield connection


@pytest.fixture
async def scenario(database: Database) -> Scenario:
    return await begin(database, plain("extract", "embed"))


async def test_worker_calls_what_workers_need(database: Database) -> None:
    assert await callable_by(database, "holdfast_worker") == WORKING


async def test_api_calls_what_operators_need(database: Database) -> None:
    assert await callable_by(database, "holdfast_api") == (
        OPERATING | READING | KEYS | TELLING | RECEIVERS | {"ping"} | await overviews(database)
    )


async def test_tenant_reads_and_calls_what_asks_for_its_organisation(database: Database) -> None:
    assert await callable_by(database, "holdfast_tenant") == READING | TENANTS | RECEIVERS | await overviews(database)


async def test_readonly_calls_what_only_reads(database: Database) -> None:
    assert await callable_by(database, "holdfast_readonly") == READING | await overviews(database)


async def test_what_readonly_calls_cannot_write(database: Database) -> None:
    """A function that says it is stable is refused by PostgreSQL when it writes."""
    rows = await database.fetch(
        """
        select proname from pg_proc
        where pronamespace = 'holdfast'::regnamespace and provolatile = 'v' and proname <> all ($1)
          and has_function_privilege('holdfast_readonly', oid, 'execute')
        """,
        ["clock", "budget_today", "next_budget_day", "overview_since"],  # each call may tell another time
    )
    assert [row["proname"] for row in rows] == []


async def test_public_calls_nothing(database: Database) -> None:
    assert await callable_by(database, "public") == set()


async def test_functions_with_their_owners_rights_fix_their_search_path(database: Database) -> None:
    rows = await database.fetch(
        """
        select proname from pg_proc
        where pronamespace = 'holdfast'::regnamespace and prosecdef
          -- The second for those that a login owns: others may create what they would call in schema holdfast.
          and not coalesce(
              proconfig && array['search_path=holdfast, pg_temp', 'search_path=pg_catalog, pg_temp'], false)
        """
    )
    assert [row["proname"] for row in rows] == []


async def test_everything_belongs_to_an_owner_nobody_logs_in_as(database: Database) -> None:
    rows = await database.fetch(
        """
        select relname as name, relowner as owner from pg_class where relnamespace = 'holdfast'::regnamespace
        union all
        select proname, proowner from pg_proc where pronamespace = 'holdfast'::regnamespace
        """
    )
    owner = await database.fetchrow("select oid, rolcanlogin, rolsuper from pg_roles where rolname = 'holdfast_owner'")
    assert owner is not None
    assert (owner["rolcanlogin"], owner["rolsuper"]) == (False, False)
    assert {row["name"] for row in rows if row["owner"] != owner["oid"]} == set()


@pytest.mark.parametrize("role", [*ROLES, "public"])
async def test_nobody_else_writes_a_table(database: Database, role: str) -> None:
    rows = await database.fetch(
        f"""
        select relname from ({TABLES}) t
        where case relkind when 'S' then has_sequence_privilege($1, oid, 'usage, update')
                           else has_table_privilege($1, oid, 'insert, update, delete, truncate, references, trigger')
                                or has_any_column_privilege($1, oid, 'insert, update, references') end
        """,
        role,
    )
    assert [row["relname"] for row in rows] == []


@pytest.mark.parametrize("role", [*ROLES, "public"])
async def test_nobody_else_creates_in_the_schema(database: Database, role: str) -> None:
    assert not await database.fetchval("select has_schema_privilege($1, 'holdfast', 'create')", role)


@pytest.mark.parametrize("role", ROLES)
async def test_roles_read_everything_but_the_operators_tables(database: Database, role: str) -> None:
    rows = await database.fetch(
        f"select relname from ({TABLES}) t where relkind <> 'S' and not has_table_privilege($1, oid, 'select')", role
    )
    operators = {
        "api_key",
        "audit_log",
        "awaited_answer",
        "error_log",
        "paid_answer",
        "receiver",
        "taken_row",
        "takeover",
    }
    assert {row["relname"] for row in rows} == operators


async def test_views_show_no_more_than_their_reader_may_see(database: Database) -> None:
    rows = await database.fetch(
        f"""
        select relname from ({TABLES}) t join pg_class c using (oid, relname, relkind)
        where relkind = 'v' and not coalesce('security_invoker=true' = any (c.reloptions), false)
        """
    )
    assert [row["relname"] for row in rows] == []


async def test_worker_role_does_a_workers_whole_work(scenario: Scenario) -> None:
    async with acting_as("holdfast_worker", scenario.database) as connection:
        await submit(connection, scenario.pipeline, [Submission(organisation="acme"), Submission(organisation="acme")])
        await connection.execute("select holdfast.register_worker('mine', 'here', 1)")
        lanes = json.dumps([{"pipeline": scenario.pipeline, "phase": "extract", "limit": 2}])
        one, two = await connection.fetch("select * from holdfast.claim('mine', $1::text::jsonb)", lanes)
        items = [{"job_id": row["job_id"], "token": row["token"], "category": "network_timeout"} for row in (one, two)]
        await connection.execute("select * from holdfast.heartbeat('mine', $1::text::jsonb)", json.dumps(items))
        await connection.execute("select * from holdfast.settle($1::text::jsonb)", json.dumps(items[:1]))
        await connection.execute("select * from holdfast.fail($1::text::jsonb)", json.dumps(items[1:]))
        await connection.execute("select * from holdfast.sweep()")
        await connection.execute("select holdfast.stop_worker('mine')")
    assert await scenario.states() == {"queued": 1, "failed": 1}


async def test_api_role_does_an_operators_whole_work(scenario: Scenario) -> None:
    async with acting_as("holdfast_api", scenario.database) as connection:
        (made,) = await submit(connection, scenario.pipeline, [Submission(organisation="acme")])
        hold = await connection.fetchval('select holdfast.hold(\'{"organisation": "acme"}\')')
        await connection.execute("select holdfast.release($1)", hold)
        await connection.execute("select holdfast.cancel($1)", [made.job_id])
        await connection.execute("select holdfast.reset($1)", [made.job_id])
        await connection.execute("select holdfast.requeue_stuck(10)")
        await connection.execute("select holdfast.set_budget('stories', 7)")
        found = await connection.fetch('select * from holdfast.matching_jobs(\'{"state": "queued"}\')')
    assert [row["matching_jobs"] for row in found] == [made.job_id]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "statement",
    [
        "update holdfast.pipeline_job set priority = 1",
        "delete from holdfast.document",
        "select * from holdfast.error_log",
        "select * from holdfast.audit_log",
        "select holdfast.settle_entry(1, 1, 0)",
        "create table holdfast.mine (id integer)",
    ],
)
async def test_what_is_not_allowed_is_refused_and_says_so(database: Database, role: str, statement: str) -> None:
    with pytest.raises(DatabaseUnusable, match="permission denied"):
        async with acting_as(role, database) as connection:
            await connection.execute(statement)
