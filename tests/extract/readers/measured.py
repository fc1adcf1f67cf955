"""Extraction in a fresh child that tells how much memory it took."""

import os
import resource
from collections.abc import Callable
from typing import Any

from holdfast.engine.isolated_children import Children
from holdfast.engine.isolation import Limits
from holdfast.extract.child import extract, load_reader
from holdfast.extract.routes import find_reader


async def measure_extraction(data: bytes, media_type: str, *, size: int = 0) -> dict[str, Any]:
    """Return the summary of reading a file, with `growth_mb`: its peak of memory beyond that before it began.

    The file begins with the data, and is filled up to `size` with zeros.
    """
    async with Children(limits=Limits(), at_most=1) as children, children.child(key="acme") as child:
        path = child.folder / "input"
        path.write_bytes(data)
        os.truncate(path, max(size, len(data)))
        payload = {
            "path": str(path),
            "folder": str(child.folder),
            "name": "sample",
            "media_type": media_type,
            "charsets": [],
            "most_characters": 1 << 40,
            "languages": ["eng"],
            "most_scanned_pages": 20,
        }
        summary = await child.run(extract_and_measure, payload)
    assert isinstance(summary, dict)
    return summary


def extract_and_measure(payload: dict[str, Any], progress: Callable[[float], None]) -> dict[str, Any]:
    """The isolated side."""
    load_reader(find_reader(payload["media_type"], payload["name"]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    summary = extract(payload, progress)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**summary, "growth_mb": (after - before) / 1024}
