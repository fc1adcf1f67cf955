"""A pooler in transaction mode before a database: PgBouncer where it is installed, else the proxy of these tests.

With HOLDFAST_TEST_PGBOUNCER=1, as in CI, it has to be PgBouncer.
"""

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from holdfast.db.account import Account, hand_over, server_account
from tests.endpoint import Endpoint
from tests.pooler import Pooler

MUST_RUN = "HOLDFAST_TEST_PGBOUNCER"
PATIENCE_SECONDS = 60.0
# As small as a free plan: whoever holds a connection longer than its transaction keeps the others waiting.
CONFIGURATION = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {free}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
server_tls_sslmode = disable
"""


def find_pgbouncer() -> str | None:
    """Where Debian and others put it."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")


@asynccontextmanager
async def pooling(dsn: str) -> AsyncIterator[str]:
    """The DSN that leads through the pooler, until the block ends."""
    program = find_pgbouncer()
    if program is None:
        assert not os.environ.get(MUST_RUN), (
            f"{MUST_RUN} is set and there is no PgBouncer: install the package pgbouncer"
        )
        async with Pooler(dsn) as pooler:
            yield pooler.dsn
        return
    upstream = Endpoint.of(dsn)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="pgbouncer-") as folder:
        file = Path(folder) / "pgbouncer.ini"
        file.write_text(CONFIGURATION.format(host=upstream.host, port=upstream.port, user=upstream.user, free=free))
        # It refuses root as PostgreSQL does, and the sockets are for the server's own account.
        account: Account | None = server_account(Path(upstream.host))
        hand_over(Path(folder), account)
        process = await asyncio.create_subprocess_exec(
            program,
            str(file),
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=(Path(folder) / "log").open("wb"),
        )
        try:
            await _listening(free, process, Path(folder) / "log")
            yield upstream.seen_through(free)
        finally:
            process.terminate()
            await process.wait()


async def _listening(port: int, process: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            assert process.returncode is None, f"PgBouncer ended: see {log}"
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            return
