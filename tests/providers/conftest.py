"""A stand-in for the providers' servers, and connections to it."""

from collections.abc import AsyncIterator

import pytest

from holdfast.providers.http import Endpoint, HttpApi
from holdfast.testing import KEY, StandIn


@pytest.fixture
async def stand_in() -> AsyncIterator[StandIn]:
    async with StandIn() as server:
        yield server


@pytest.fixture
async def api(stand_in: StandIn) -> AsyncIterator[HttpApi]:
    async with HttpApi(Endpoint("openai", stand_in.base_url, KEY)) as api:
        yield api
