"""Who is none of our roles gets nothing from functions with their owner's rights, even if someone lets it call them."""

import itertools
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.endpoint import with_user
from tests.planting import UNBIND, plant

WORD, NUMBER = "zanzibar", 777_077
# What a tenant may call answers for one organization. The rest is kept by grants alone, and so is not asked here.
CALLED = """
select p.proname as name, p.proargtypes::regtype[]::text[] as kinds, coalesce(p.proargnames[:p.pronargs], '{}') as names
from pg_proc p
where p.pronamespace = 'holdfast'::regnamespace and has_function_privilege('holdfast_tenant', p.oid, 'execute')
      and p.prorettype <> 'trigger'::regtype
order by p.proname
"""
ACCIDENT = """
grant usage on schema holdfast to {0};
grant execute on all functions in schema holdfast to {0};
"""
TABLES = "select oid::regclass::text from pg_class where relnamespace = 'holdfast'::regnamespace and relkind = 'r'"
# What these show is declared for all organizations: phases, policies, the model.
DECLARATIONS = {
    "answering_embedder",
    "overview_backlog",
    "overview_pipelines",
    "overview_policies",
    "overview_queues",
    "submit",
}
# A document that replaces itself, as planted, would be looked for without end.
UNTIE = "update holdfast.document set superseded_by = null, parent_id = null, duplicate_of = null where true"


@pytest.fixture
async def admin(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """A superuser, in an empty database that takes any row."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(UNBIND)
    yield connection
    await connection.close()


@pytest.fixture
async def stranger(admin: asyncpg.Connection, dsn: str, guest: str) -> AsyncIterator[asyncpg.Connection]:
    """A login that may call every function, and is a member of nothing."""
    await admin.execute(ACCIDENT.format(guest))
    connection = await asyncpg.connect(with_user(dsn, guest))
    yield connection
    await connection.close()
    await admin.execute(f"drop owned by {guest}")


async def test_stranger_gets_nothing_whatever_it_sets(admin: asyncpg.Connection, stranger: asyncpg.Connection) -> None:
    calls, echoed = await _planted(admin)
    assert len(await _seen_by_operator(admin, calls) - echoed) > 25  # or it were no wonder that nobody else sees any
    before = await _digests(admin)
    for setting in (None, "", "other", "acme"):
        if setting is not None:
            await stranger.execute("select set_config('holdfast.organisation', $1, false)", setting)
        seen = {name for name, call in calls if await _shows(stranger, call)}
        assert seen - echoed <= {"answering_embedder", "submit"}, setting
    assert await _digests(admin) == before


async def test_tenant_of_nobody_gets_nothing(admin: asyncpg.Connection) -> None:
    calls, echoed = await _planted(admin)
    before = await _digests(admin)
    await admin.execute("set role holdfast_tenant")
    for setting in (None, "", "acme"):
        if setting is not None:
            await admin.execute("select set_config('holdfast.organisation', $1, false)", setting)
        seen = {name for name, call in calls if await _shows(admin, call)}
        assert seen - echoed <= DECLARATIONS, setting
    await admin.execute("reset role")
    await admin.execute("reset holdfast.organisation")
    assert await _digests(admin) == before


async def _planted(admin: asyncpg.Connection) -> tuple[list[tuple[str, str]], set[str]]:
    """Plant another organization's rows. Every function, with arguments that aim at them; which only repeat these."""
    calls = []
    for name, kinds, names in await admin.fetch(CALLED):
        candidates = [_candidates(kind, argument) for kind, argument in zip(kinds, names, strict=True)]
        for arguments in itertools.islice(itertools.product(*candidates), 24):
            calls.append((name, f"select string_agg(x::text, ' ') from holdfast.{name}({', '.join(arguments)}) x"))
    echoed = await _seen_by_operator(admin, calls)
    await plant(admin, org="other", word=WORD, number=NUMBER)
    await admin.execute(UNTIE)
    return calls, echoed


def _candidates(kind: str, argument: str) -> list[str]:
    match kind:
        case "bigint":
            return [str(NUMBER), "null"]
        case "bigint[]":
            return [f"array[{NUMBER}]::bigint[]"]
        case "integer":
            return ["20"]
        case "smallint":
            return [f"{NUMBER % 100}::smallint"]
        case "jsonb":
            named = f'"organisation": "other", "source_name": "{WORD}", "document_id": {NUMBER}, "ids": [{NUMBER}]'
            words = f'[{{"words": ["{WORD}"], "word": "{WORD}"}}]'
            return ["'{}'", f"'[{{{named}}}]'", f"'{{{named}}}'", f"'[[{NUMBER}, {NUMBER % 100}]]'", f"'{words}'"]
        case "text" if argument == "p_organisation":
            return ["'other'", "null"]
        case "text" if argument == "p_mode":
            return ["'words'"]
        case "text" if argument == "p_group":
            return ["'organisation'", "'fingerprint'"]
        case "text":
            return [f"'{WORD}'", "null"]
        case "text[]":
            return [f"array['{WORD}']"]
        case "holdfast.pipeline_job":
            return [f"(select j from holdfast.pipeline_job j where id = {NUMBER})"]
    return ["now()"] if kind.startswith("timestamp") else [f"null::{kind}"]


async def _seen_by_operator(admin: asyncpg.Connection, calls: list[tuple[str, str]]) -> set[str]:
    seen = set()
    for name, call in calls:
        transaction = admin.transaction()
        await transaction.start()
        if await _shows(admin, call):
            seen.add(name)
        await transaction.rollback()
    return seen


async def _digests(admin: asyncpg.Connection) -> dict[str, str]:
    """What every table holds."""
    ask = "select md5(string_agg(t::text, ' ' order by t::text)) from {} t"
    return {table: await admin.fetchval(ask.format(table)) for (table,) in await admin.fetch(TABLES)}


async def _shows(connection: asyncpg.Connection, call: str) -> bool:
    """Whether it answers with something that was planted, be it in its complaint."""
    try:
        answer = str(await connection.fetchval(call))
    except asyncpg.PostgresError as error:
        answer = f"{error} {error.detail}".replace(f'"{WORD}"', "").replace(str(NUMBER), "")  # quoted from the call
    return WORD in answer or str(NUMBER) in answer
