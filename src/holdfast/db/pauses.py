"""How long to wait between tries: longer each time, and never in step with others who wait for the same."""

import random

FIRST_SECONDS = 0.05
LONGEST_SECONDS = 2.0


class Pauses:
    """The pauses of one wait, none longer than `longest` but for the jitter."""

    def __init__(self, first: float = FIRST_SECONDS, longest: float = LONGEST_SECONDS) -> None:
        self._seconds = first
        self._longest = longest

    def next(self) -> float:
        """The next one, in seconds."""
        seconds, self._seconds = self._seconds, min(self._seconds * 2, self._longest)
        return seconds * random.uniform(0.5, 1.5)
