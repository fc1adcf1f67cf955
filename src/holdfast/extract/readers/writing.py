"""Many small pieces of text written as few large ones, which is what makes long tables and records fast."""

from collections.abc import Iterable

from holdfast.extract.reading import Reading

_BATCH_CHARACTERS = 64 << 10


def write_all(pieces: Iterable[str], reading: Reading) -> None:
    """Write the pieces one after the other, holding little of them at a time."""
    batch: list[str] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece)
        if size > _BATCH_CHARACTERS:
            reading.write("".join(batch))
            batch.clear()
            size = 0
    reading.write("".join(batch))
