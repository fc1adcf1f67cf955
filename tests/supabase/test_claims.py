"""What a token lets its holder see: every claim there could be, on every table, column, function and sequence."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio

from tests.conftest import RUN_HOME
from tests.endpoint import with_database, with_user
from tests.once import once
from tests.planting import UNBIND, plant
from tests.supabase.conftest import OPENED
from tests.supabase.project import Supabase

OUR_WORD, OUR_NUMBER = "harbour", 111_011
THEIR_WORD, THEIR_NUMBER = "zanzibar", 777_077

ACME = [
    {"o": {"id": "acme"}},
    {"org_id": "acme"},
    {"o": {"id": "acme"}, "org_id": "other"},
    {"o": ["other"], "org_id": "acme"},
]
NOBODY = [
    None,
    "",
    "{}",
    "null",
    "7",
    "[]",
    '"other"',
    '{"o": {"id": "other"',
    "other",
    '{"o": {"id": "oth\\u0000er"}}',
    "[" * 50_000,
    '{"o":' * 50_000,
    json.dumps({"o": {"id": "other" + "r" * 1_000_000}}),
    *map(
        json.dumps,
        [
            ["other"],
            [{"id": "other"}],
            {"id": "other"},
            {"org": "other"},
            {"organisation": "other"},
            {"o": "other"},
            {"o": None},
            {"o": 7},
            {"o": True},
            {"o": {}},
            {"o": []},
            {"o": ["other"]},
            {"o": {"id": None}},
            {"o": {"id": ""}},
            {"o": {"id": 7}},
            {"o": {"id": True}},
            {"o": {"id": ["other"]}},
            {"o": {"id": {"id": "other"}}},
            {"o": {"ID": "other"}},
            {"o": {"id": "OTHER"}},
            {"o": {"id": "other "}},
            {"o": {"id": "%"}},
            {"o": {"id": "' or true --"}},
            {"o": {"id": "third"}},
            {"o.id": "other"},
            {"org_id": ["other"]},
            {"org_id": {"id": "other"}},
            {"user_metadata": {"org_id": "other"}},
            {"app_metadata": {"o": {"id": "other"}}},
        ],
    ),
]

PROBE = Path(__file__).with_name("probe.sql")
READABLE = {
    "holdfast.document": "id organisation source_name source_platform parent_id root_id duplicate_of failure_state"
    " searchable_at superseded_at deleted_at created_at",
    "holdfast.pipeline_job": "id document_id organisation pipeline phase run status state progress retry_count"
    " error_code submitted_at queued_at started_at ready_at finished_at",
    "holdfast.job_progress": "job_id percent",
    "holdfast.pipeline_status": "pipeline status progress",
    "holdfast.phase": "pipeline name done_status",
    "holdfast_documents": "document_id org name platform parent_id duplicate_of created_at searchable_at superseded_at"
    " job_id pipeline phase run status state percent error_code retry_count retry_at submitted_at started_at"
    " finished_at",
}
# What every organization's jobs go through says nothing of any of them.
DECLARATIONS = {"holdfast.pipeline_status", "holdfast.phase"}


@dataclass(frozen=True, slots=True)
class Visitor:
    """PostgREST's connection: a request takes a role and brings its claims, for the length of a transaction."""

    connection: asyncpg.Connection

    @asynccontextmanager
    async def request(self, role: str, claims: str | None) -> AsyncIterator[asyncpg.Connection]:
        transaction = self.connection.transaction()
        await transaction.start()
        try:
            await self.connection.execute(f"set local role {role}; set local statement_timeout = '8s'")
            if claims is not None:
                await self.connection.execute("select set_config('request.jwt.claims', $1, true)", claims)
            yield self.connection
        finally:
            await transaction.rollback()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def planted(newer_supabase: Supabase, templates: None, request: pytest.FixtureRequest) -> str:
    """A project in which two organizations have a row in every table; made once, for nobody here changes anything."""
    with once(request.config.stash[RUN_HOME] / "supabase" / "planted") as first:
        if first:
            await newer_supabase.create("planted", OPENED)
            admin = await asyncpg.connect(newer_supabase.as_admin("planted"))
            await admin.execute(UNBIND)
            ours = await plant(admin, org="acme", word=OUR_WORD, number=OUR_NUMBER)
            assert ours == await plant(admin, org="other", word=THEIR_WORD, number=THEIR_NUMBER) > 30
            await admin.execute(PROBE.read_text())
            await admin.close()
    return with_database(newer_supabase.dsn, "planted")


@pytest.fixture
async def visitor(planted: str) -> AsyncIterator[Visitor]:
    """Who comes through PostgREST."""
    connection = await asyncpg.connect(with_user(planted, "authenticator"))
    yield Visitor(connection)
    await connection.close()


async def test_right_claim_shows_own_rows_in_these_columns_only(visitor: Visitor) -> None:
    for claims in ACME:
        async with visitor.request("authenticated", json.dumps(claims)) as connection:
            rows = await connection.fetch("select * from probe.columns() where attribute !~ 'min|max|ctid|tableoid'")
        readable: dict[str, set[str]] = {}
        for relation, attribute, held in rows:
            readable.setdefault(relation, set()).add(attribute)
            if relation not in DECLARATIONS:
                assert THEIR_WORD not in held, (relation, attribute)
                assert str(THEIR_NUMBER) not in held, (relation, attribute)
                assert attribute not in ("id", "job_id", "document_id") or held == str(OUR_NUMBER)
        assert readable == {relation: set(columns.split()) for relation, columns in READABLE.items()}


async def test_any_other_claim_shows_nothing(visitor: Visitor) -> None:
    for setting in ("", "other"):  # which a caller may set, and which frees nobody
        for claims in NOBODY:
            async with visitor.request("authenticated", claims) as connection:
                await connection.execute("select set_config('holdfast.organisation', $1, true)", setting)
                rows = await connection.fetch("select * from probe.columns() where held <> ''")
            assert {row["relation"] for row in rows} == DECLARATIONS, (claims or "")[:80]


async def test_whoever_has_no_token_sees_nothing_at_all(visitor: Visitor) -> None:
    for claims in [*map(json.dumps, ACME), json.dumps({"o": {"id": "other"}}), *NOBODY]:
        async with visitor.request("anon", claims) as connection:
            assert await connection.fetch("select * from probe.columns()") == [], (claims or "")[:80]


@pytest.mark.parametrize("role", ["authenticated", "anon"])
async def test_nothing_can_be_written(visitor: Visitor, role: str) -> None:
    for claims in (json.dumps(ACME[0]), json.dumps({"o": {"id": "other"}}), "{}"):
        async with visitor.request(role, claims) as connection:
            assert await connection.fetch("select * from probe.rights_to_write()") == []
            assert await connection.fetch("select * from probe.writes()") == []


@pytest.mark.parametrize(("role", "allowed"), [("authenticated", {"holdfast.claimed_org()"}), ("anon", set())])
async def test_no_other_function_can_be_called(visitor: Visitor, role: str, allowed: set[str]) -> None:
    for claims in (json.dumps(ACME[0]), json.dumps({"o": {"id": "other"}}), None):
        async with visitor.request(role, claims) as connection:
            rows = await connection.fetch("select function::text, allowed, failure from probe.calls()")
        assert len(rows) > 100
        assert {row["function"] for row in rows if row["allowed"] or row["failure"] != "42501"} == allowed
