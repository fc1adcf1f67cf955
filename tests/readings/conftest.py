"""A newsroom that writes texts, for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.stories.newsroom import Newsroom, newsroom


@pytest.fixture
async def room(dsn: str, tmp_path: Path) -> AsyncIterator[Newsroom]:
    async with newsroom(dsn, tmp_path, "readings") as opened:
        yield opened
