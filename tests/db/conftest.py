"""Servers with the rights that managed ones give, one of each PostgreSQL that is tried."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.throwaway import Throwaway, installations, throwaway


@pytest.fixture(scope="module", params=installations(), ids=lambda folder: folder.parent.name)
def installation(request: pytest.FixtureRequest) -> Iterator[Throwaway]:
    with throwaway(request.param) as server:
        yield server


@pytest.fixture
async def fresh(installation: Throwaway) -> AsyncIterator[Throwaway]:
    """A server without any database or role of ours."""
    yield installation
    await installation.clear()
