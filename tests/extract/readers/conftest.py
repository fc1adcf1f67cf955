"""Archives and messages unpacked in a leased child, with the files they became."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest_asyncio

from holdfast.engine.isolated_children import Children
from tests.extract.extracting import Extracted, extract_in


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What a container became: its own standard form, and the content of its members by name."""

    document: Extracted
    members: dict[str, bytes]
    files: set[str]


Unpacking: TypeAlias = Callable[..., Awaitable[Unpacked]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def unpacked(children: Children) -> Unpacking:
    """Extract these bytes of this media type, and read the members before the lease ends."""

    async def run(data: bytes, media_type: str, **options: Any) -> Unpacked:
        async with children.child(key="acme") as child:
            document = await extract_in(child, data, media_type, **options)
            return look_at(document, child.folder)

    return run


def look_at(document: Extracted, folder: Path) -> Unpacked:
    """What the child left in its folder, besides what it was given."""
    members = {item["name"]: Path(item["path"]).read_bytes() for item in document.summary["members"]}
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return Unpacked(document, members, files - {"input", "text.md", "spans.json"})
