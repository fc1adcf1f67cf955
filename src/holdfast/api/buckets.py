"""How often someone may do something."""

import time
from collections import OrderedDict

MOST_NAMES = 10_000


class Buckets:
    """A bucket for each name, which fills by the second and holds a minute's worth.

    The names seen last are kept. Who was forgotten has a full bucket again, as after a minute's silence.
    """

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._seen: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def wait_seconds(self, name: str) -> float:
        """How long until there is something to take; 0: now."""
        return max(0.0, (1 - self._left(name)) * 60 / self._per_minute)

    def take(self, name: str) -> None:
        """Take one, if there is one."""
        self._seen[name] = (max(0.0, self._left(name) - 1), time.monotonic())
        self._seen.move_to_end(name)
        if len(self._seen) > MOST_NAMES:
            self._seen.popitem(last=False)

    def _left(self, name: str) -> float:
        now = time.monotonic()
        left, since = self._seen.get(name, (float(self._per_minute), now))
        return min(self._per_minute, left + (now - since) * self._per_minute / 60)
