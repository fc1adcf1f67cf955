"""Migrations: forward only, applied once, refused when they do not fit the database."""

import asyncio
import hashlib
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from holdfast.db.connection import Database, connect
from holdfast.db.migrations import Applied, migrate, pending
from holdfast.db.schema_files import MIGRATIONS, read_migrations
from holdfast.errors import DatabaseUnusable
from holdfast.settings import Settings
from tests.conftest import FUNCTIONS
from tests.db.earlier_migrations import TAKEN_OUT
from tests.endpoint import with_option, with_user

MIGRATE_PROGRAM = """
import asyncio, sys
from pathlib import Path
from holdfast.db.connection import connect
from holdfast.db.migrations import migrate
from holdfast.settings import Settings

async def main():
    async with connect(Settings(database_url=sys.argv[1], pool_size=1)) as database:
        print(len(await migrate(database, directory=Path(sys.argv[2]))))

asyncio.run(main())
"""


@pytest.fixture
async def empty(empty_dsn: str) -> AsyncIterator[Database]:
    async with connect(Settings(database_url=empty_dsn)) as database:
        yield database


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two small migrations."""
    (tmp_path / "0001_first.sql").write_text("create table holdfast.one (value integer); select 1;")
    (tmp_path / "0002_second.sql").write_text("insert into holdfast.one values (1);")
    return tmp_path


async def test_applies_the_numbered_files_in_order(empty: Database, directory: Path) -> None:
    applied = await migrate(empty, directory=directory)
    assert applied == [Applied(1, "first"), Applied(2, "second")]


async def test_migration_takes_longer_than_the_server_allows_a_statement(empty_dsn: str, directory: Path) -> None:
    (directory / "0003_long.sql").write_text("select pg_sleep(1.2);")
    async with connect(Settings(database_url=with_option(empty_dsn, "statement_timeout", "1s"))) as limited:
        assert Applied(3, "long") in await migrate(limited, directory=directory)


async def test_second_run_finds_nothing_to_do(empty: Database, directory: Path) -> None:
    await migrate(empty, directory=directory)
    assert await migrate(empty, directory=directory) == []


async def test_pending_names_what_is_missing(empty: Database, directory: Path) -> None:
    await migrate(empty, directory=directory)
    (directory / "0003_third.sql").write_text("select 3;")
    assert await pending(empty, directory=directory) == [Applied(3, "third")]


async def test_failing_file_leaves_nothing_behind(empty: Database, directory: Path) -> None:
    (directory / "0003_broken.sql").write_text("select no_such_column;")
    with pytest.raises(asyncpg.UndefinedColumnError):
        await migrate(empty, directory=directory)
    assert await empty.fetchval("select to_regnamespace('holdfast')") is None


async def test_ten_processes_apply_each_file_once(empty: Database, empty_dsn: str, directory: Path) -> None:
    command = [sys.executable, "-c", MIGRATE_PROGRAM, empty_dsn, str(directory)]
    runs = [await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE) for _ in range(10)]
    counts = [(await run.communicate())[0].decode().strip() for run in runs]
    assert sorted(counts) == ["0"] * 9 + ["2"]
    assert await empty.fetchval("select count(*) from holdfast.one") == 1


async def test_changed_file_is_refused(empty: Database, directory: Path) -> None:
    await migrate(empty, directory=directory)
    (directory / "0001_first.sql").write_text("create table holdfast.other ();")
    with pytest.raises(DatabaseUnusable, match="0001_first was changed after it was applied"):
        await migrate(empty, directory=directory)


@pytest.mark.parametrize("name", TAKEN_OUT)
async def test_database_migrated_by_an_earlier_text_of_a_file_is_up_to_date(name: str, database: Database) -> None:
    first, *lines = (MIGRATIONS / name).read_text().splitlines(keepends=True)
    after, block = TAKEN_OUT[name]
    earlier = hashlib.sha256("".join([*lines[:after], block, *lines[after:]]).encode()).hexdigest()
    assert first == f"-- replaces {earlier}\n"
    (migration,) = (one for one in read_migrations(MIGRATIONS) if one.number == int(name[:4]))
    assert migration.is_recorded_as(earlier)
    assert not migration.is_recorded_as(earlier[::-1])
    record = "update holdfast.migration set checksum = $1 where number = $2"
    await database.execute(record, earlier, migration.number)
    assert await pending(database, functions=FUNCTIONS) == []
    await database.execute(record, migration.checksum, migration.number)  # the next test has this database too


async def test_database_newer_than_the_code_is_refused(empty: Database, directory: Path) -> None:
    await migrate(empty, directory=directory)
    (directory / "0002_second.sql").unlink()
    with pytest.raises(DatabaseUnusable, match="0002_second, which this version of Holdfast does not know"):
        await pending(empty, directory=directory)


async def test_function_that_answers_otherwise_is_replaced_with_its_rights(empty: Database, tmp_path: Path) -> None:
    room = tmp_path / "room" / "sql"
    room.mkdir(parents=True)
    declaration = "create or replace function holdfast.answer({}) returns {} language sql as $$ select {} $$;"
    (room / "answer.sql").write_text(declaration.format("", "int", "1"))
    (room / "another.sql").write_text(declaration.format("int", "int", "2"))
    (room / "zz_grants.sql").write_text("grant execute on function holdfast.answer(), holdfast.answer(int) to public;")
    await migrate(empty, functions=tmp_path)
    (room / "answer.sql").write_text(declaration.format("", "table (one int, two text)", "1, 'two'"))
    assert await migrate(empty, functions=tmp_path) == [Applied(None, "functions")]
    assert await empty.fetchrow("select * from holdfast.answer()") == (1, "two")
    assert await empty.fetchval("select holdfast.answer(5)") == 2


async def test_changed_function_replaces_all_functions(empty: Database, tmp_path: Path) -> None:
    declaration = "create or replace function holdfast.answer() returns int language sql as"
    file = tmp_path / "room" / "sql" / "answer.sql"
    file.parent.mkdir(parents=True)
    file.write_text(f"{declaration} 'select 1'")
    await migrate(empty, functions=tmp_path)
    file.write_text(f"{declaration} 'select 2'")
    assert await migrate(empty, functions=tmp_path) == [Applied(None, "functions")]
    assert await empty.fetchval("select holdfast.answer()") == 2


async def test_two_files_with_one_number_are_refused(empty: Database, directory: Path) -> None:
    (directory / "0002_again.sql").write_text("select 1;")
    with pytest.raises(DatabaseUnusable, match="have the number 0002: renumber one"):
        await migrate(empty, directory=directory)


async def test_shipped_schema_is_up_to_date_once_applied(database: Database) -> None:
    assert await pending(database, functions=FUNCTIONS, directory=MIGRATIONS) == []


async def test_role_without_rights_is_told_what_to_run(guest: str, empty_dsn: str, directory: Path) -> None:
    async with connect(Settings(database_url=with_user(empty_dsn, guest))) as database:
        with pytest.raises(DatabaseUnusable, match=f'grant create on database .* to "{guest}"'):
            await migrate(database, directory=directory)


async def test_role_that_may_not_act_as_owner_is_told_what_to_run(guest: str, dsn: str, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    shutil.copytree(MIGRATIONS, newer)
    (newer / "9999_last.sql").write_text("select 1;")
    async with connect(Settings(database_url=dsn)) as database:
        await database.execute(f'grant holdfast_readonly to "{guest}"')
    async with connect(Settings(database_url=with_user(dsn, guest))) as database:
        with pytest.raises(DatabaseUnusable, match=f'act as holdfast_owner.*grant holdfast_owner to "{guest}"'):
            await migrate(database, directory=newer)


async def test_role_that_may_not_see_the_schema_is_told_what_to_run(guest: str, dsn: str) -> None:
    async with connect(Settings(database_url=with_user(dsn, guest))) as database:
        with pytest.raises(
            DatabaseUnusable, match=f'see the schema.*`grant ROLE to "{guest}".*holdfast_owner to migrate'
        ):
            await pending(database)
