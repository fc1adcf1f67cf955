"""Isolated children that stay warm over the tests of a module, as they do over a worker's documents."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import pytest_asyncio

from holdfast.engine.isolated_children import Children
from holdfast.engine.isolation import Limits
from tests.extract.extracting import Extracted, extract_in

Extracting: TypeAlias = Callable[..., Awaitable[Extracted]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def children() -> AsyncIterator[Children]:
    """One child at a time, within the limits of a worker's default."""
    async with Children(limits=Limits(), at_most=1) as children:
        yield children


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def extracted(children: Children) -> Extracting:
    """Extract these bytes of this media type in a leased child."""

    async def run(data: bytes, media_type: str, **options: Any) -> Extracted:
        async with children.child(key="acme") as child:
            return await extract_in(child, data, media_type, **options)

    return run
