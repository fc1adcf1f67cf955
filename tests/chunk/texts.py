"""Texts to split, made by rule so that each test can have its own."""

import random
from collections.abc import Iterator

SUBJECTS = ["The harbour master", "A late ferry", "Our oldest lighthouse", "The rope maker", "Every second trawler"]
DEEDS = ["waits for", "writes down", "never forgets", "repairs", "pays for", "turns away from"]
OBJECTS = ["the spring tide", "a torn sail", "the price of diesel", "nine crates of herring", "the pilot's ladder"]

TABLE = """| berth | vessel | length in metres |
|---|---|---|
| 1 | Aurora | 24 |
| 2 | Borealis | 31 |
| 3 | Cormorant | 18 |
"""

CODE = """```python
def moor(vessel, berth):
    berth.lines = 4

    return vessel.rest(berth)
```
"""


def paragraph(seed: int) -> str:
    """Three to five sentences, the same for the same seed."""
    chance = random.Random(seed)
    return " ".join(
        f"{chance.choice(SUBJECTS)} {chance.choice(DEEDS)} {chance.choice(OBJECTS)} on day {chance.randint(1, 365)}."
        for _ in range(chance.randint(3, 5))
    )


def long_text(characters: int, *, seed: int) -> str:
    """Markdown of about that length: headings, paragraphs, tables, code, a long line."""
    chance = random.Random(seed)
    parts: list[str] = []
    length = 0
    while length < characters:
        kind = chance.random()
        if kind < 0.1:
            part = f"{'#' * chance.randint(1, 4)} Chapter {chance.randint(1, 99)}"
        elif kind < 0.15:
            part = TABLE if kind < 0.12 else CODE
        elif kind < 0.17:
            part = "x" * chance.randint(100, 5_000)
        else:
            part = paragraph(chance.randint(0, 10**9))
        parts.append(part)
        length += len(part) + 2
    return "\n\n".join(parts)


def in_blocks(text: str, size: int) -> Iterator[str]:
    """The text as it may be read from a file."""
    return (text[start : start + size] for start in range(0, len(text), size))
