"""Keeps a removal and a put of the same content from missing each other, on storage that knows no locks.

Whoever removes leaves a mark, looks, removes, and takes the mark away. Whoever puts places the object, sees no mark,
and then sees the object. If the mark came later, the removal's look sees a fresh object and lets it be; if the mark was
gone before, the removal is over, and the put would not have seen the object.
"""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from holdfast.artifacts.shelf import Shelf

MARKS = ".removing"
REMOVING_SECONDS = 5.0  # between the mark and the removal; a process that was stopped in between gives up
WAITING_SECONDS = 60.0  # more than that and one slow request: the mark's owner is dead
PAUSE_SECONDS = 0.05


def remove_unless_put_since(shelf: Shelf, key: str, moment: datetime) -> int | None:
    """Remove the object if nobody put it after `moment`, by the storage's clock. Its size, or None: nothing removed."""
    with _marked(shelf, key) as began:
        found = shelf.look(key)
        if found is None or found.put_at > moment or time.monotonic() - began > REMOVING_SECONDS:
            return None
        shelf.remove(key)
        return found.size


def await_removal(shelf: Shelf, key: str) -> None:
    """Come back when whoever was removing the object is done with it. A mark that a dead process left is dropped."""
    deadline = time.monotonic() + WAITING_SECONDS
    awaited = _marks(shelf, key)
    while awaited:
        if time.monotonic() > deadline:
            for mark in awaited:
                shelf.objects.remove(mark)
        time.sleep(PAUSE_SECONDS)
        awaited &= _marks(shelf, key)


@contextmanager
def _marked(shelf: Shelf, key: str) -> Iterator[float]:
    mark = f"{MARKS}/{uuid.uuid4().hex}{_ending(key)}"
    shelf.objects.write(mark, b"")
    try:
        yield time.monotonic()
    finally:
        shelf.objects.remove(mark)


def _marks(shelf: Shelf, key: str) -> set[str]:
    return {mark.key for mark in shelf.objects.list(MARKS) if mark.key.endswith(_ending(key))}


def _ending(key: str) -> str:
    """All marks lie side by side: there are few at a time, and no folders of theirs stay behind."""
    return "." + key.replace("/", ".")
