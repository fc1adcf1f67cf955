"""Old databases that hold bytes which are no text: every row is accounted for."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from holdfast.db.connection import Database, connect
from holdfast.settings import Settings
from tests.cli.conftest import CommandLine
from tests.endpoint import with_database
from tests.takeover.conftest import Installation

pytestmark = pytest.mark.thorough

# A text of a byte that begins no character.
BROKEN = "convert_from('\\xe9'::bytea, 'SQL_ASCII')"


@pytest.fixture
async def url(old: Installation, dsn: str) -> AsyncIterator[str]:
    """An old database that takes any bytes for text."""
    name = f"{dsn.rpartition('/')[2].partition('?')[0]}_bytes"
    await old.database.execute(
        f"create database \"{name}\" encoding 'SQL_ASCII' template template0"
        " locale_provider libc lc_collate 'C' lc_ctype 'C'"
    )
    yield with_database(dsn, name)
    await old.database.execute(f'drop database "{name}" with (force)')


@pytest.fixture
async def source(url: str) -> AsyncIterator[Database]:
    async with connect(Settings(database_url=url)) as source:
        await source.execute(
            "create table public.documents (id text primary key, status text, state text, file_name text);"
            "insert into public.documents select 'k' || n, 'parsed', 'queued', 'ä' from generate_series(100, 139) n"
        )
        yield source


async def test_rows_that_are_no_text_are_left_and_the_others_taken(
    old: Installation, source: Database, url: str, desk: CommandLine
) -> None:
    await source.execute(
        f"update public.documents set file_name = {BROKEN} where id = 'k117';"
        f"update public.documents set status = 'par' || {BROKEN} where id in ('k100', 'k139')"
    )

    def walk() -> None:
        for option in ("--check", "--run", "--run"):
            told = desk.succeed("takeover", option, "--from", url, "--json").json
            assert (told["rows"], told["taken"], told["left"], told["verified"]) == (40, 37, 3, True)
            assert [row["key"] for row in told["left_rows"]] == ["k100", "k117", "k139"]
            reason = 'it cannot be read: invalid byte sequence for encoding "UTF8"'
            assert {row["reason"] for row in told["left_rows"]} == {reason}

    await asyncio.to_thread(walk)
    assert (await old.job("k118"))["state"] == "queued"
    backup = (
        "select original_status, row_before ->> 'file_name' from holdfast.taken_row where flow is null order by key"
    )
    assert [tuple(row) for row in await old.database.fetch(backup)] == [
        ("par\ufffd", "ä"),
        ("parsed", "\ufffd"),
        ("par\ufffd", "ä"),
    ]


async def test_row_that_was_mended_is_taken_by_the_next_run(
    old: Installation, source: Database, url: str, desk: CommandLine
) -> None:
    await source.execute(f"update public.documents set file_name = {BROKEN} where id = 'k117'")
    await asyncio.to_thread(desk.succeed, "takeover", "--run", "--from", url)
    await source.execute("update public.documents set file_name = 'e' where id = 'k117'")
    told = await asyncio.to_thread(desk.succeed, "takeover", "--run", "--from", url, "--json")

    assert (told.json["taken"], told.json["left"]) == (40, 0)


async def test_key_that_is_no_text_is_told_with_what_finds_it(
    old: Installation, source: Database, url: str, desk: CommandLine
) -> None:
    await source.execute(f"update public.documents set id = id || {BROKEN} where id = 'k117'")
    ended = await asyncio.to_thread(desk.run, "takeover", "--check", "--from", url)

    assert ended.code == 2
    condition = "convert_to(id::text, 'SQL_ASCII') = '\\x6b313137e9'"
    assert f"the key of a row of public.documents is no text: change it where {condition}" in ended.err
    assert await source.fetchval(f"select count(*) from public.documents where {condition}") == 1
