"""Receivers on loopback, and an installation that tells them."""

from collections.abc import AsyncIterator

import pytest

from holdfast.db.connection import Database
from tests.engine.scenario import Scenario, begin, plain
from tests.notices.hook import Hook
from tests.notices.telling import Telling


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    async with Hook() as hook:
        yield hook


@pytest.fixture
async def other_hook() -> AsyncIterator[Hook]:
    async with Hook() as hook:
        yield hook


@pytest.fixture
def telling(database: Database) -> Telling:
    return Telling(database)


@pytest.fixture
async def scenario(database: Database) -> Scenario:
    """An engine with a pipeline of one phase."""
    return await begin(database, plain("extract"))
