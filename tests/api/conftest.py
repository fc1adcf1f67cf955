"""The API, served to whoever comes and served to holders of keys."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.serving import Served, serving


@pytest.fixture
async def api(dsn: str, tmp_path: Path) -> AsyncIterator[Served]:
    """As it is on loopback while there is no key: whoever calls is the operator."""
    async with serving(dsn, tmp_path, asks_for_keys=False, api_calls_per_minute=100_000) as served:
        yield served


@pytest.fixture
async def guarded(dsn: str, tmp_path: Path) -> AsyncIterator[Served]:
    """As it is once there are keys."""
    async with serving(dsn, tmp_path, asks_for_keys=True, api_calls_per_minute=100_000) as served:
        yield served
