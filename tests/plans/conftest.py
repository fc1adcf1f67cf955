"""A database with a million finished jobs and three million attempts, made once per run."""

import asyncpg
import pytest
import pytest_asyncio

from tests.conftest import RUN_HOME, Server
from tests.endpoint import with_database
from tests.million import fill
from tests.once import once

FINISHED_JOBS = 1_000_000
QUEUED_JOBS = 2_000


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def million(server: Server, template: str, request: pytest.FixtureRequest) -> str:
    """Its address. Nothing that a test does to it may stay."""
    run_home = request.config.stash[RUN_HOME]
    dsn = with_database(server.dsn, f"{template}_million")
    with once(run_home / "million") as first:
        if first:
            await _make(server.dsn, dsn, template)
    return dsn


async def _make(server_dsn: str, dsn: str, template: str) -> None:
    server = await asyncpg.connect(server_dsn)
    try:
        await server.execute(f'drop database if exists "{template}_million"')
        await server.execute(f'create database "{template}_million" template "{template}"')
    finally:
        await server.close()
    connection = await asyncpg.connect(dsn)
    try:
        await fill(connection, finished_jobs=FINISHED_JOBS, queued_jobs=QUEUED_JOBS)
        await connection.execute("select holdfast.register_worker('planner', 'test', 1)")
    finally:
        await connection.close()
