"""The words of one web page, for pipelines that take articles and not documents."""

import asyncio

from holdfast.artifacts.store import ArtifactStore
from holdfast.engine.attempt import Attempt
from holdfast.engine.isolated_children import Children
from holdfast.errors import CorruptInput
from holdfast.extract.child import extract, payload_of
from holdfast.extract.reading import TEXT_FILE
from holdfast.standard import Carried

_INPUT_FILE = "input"
_MOST_CHARACTERS = 1 << 20


class PageWords:
    """Reads a page in an isolated child, as extraction does, and keeps nothing."""

    def __init__(self, store: ArtifactStore, children: Children) -> None:
        self._store = store
        self._children = children

    async def read(self, attempt: Attempt, carried: Carried) -> dict[str, str]:
        """Its `text` and, if it has one, its `title`."""
        organisation = attempt.document.organisation
        async with self._children.child(key=organisation) as child:
            await asyncio.to_thread(self._store.fetch, organisation, carried.original, child.desk / _INPUT_FILE)
            path = child.hand_in(_INPUT_FILE)
            payload = payload_of(carried, path, most_characters=_MOST_CHARACTERS)
            match await child.run(extract, payload, wall_seconds=attempt.limit_seconds):
                case {"title": str() | None as title}:
                    text = await asyncio.to_thread(child.take_out(TEXT_FILE).read_text)
                    return {"text": text, **({"title": title} if title else {})}
        raise CorruptInput("the reader broke and answered nonsense", error_code="NONSENSE_ANSWER")
