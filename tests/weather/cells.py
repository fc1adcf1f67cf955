"""Which weathers are tried for how long, with how many workers, and when the results come."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tests.weather.conditions import CONDITIONS
from tests.weather.fleet import LEASE_SECONDS

Results: TypeAlias = Literal["during", "after"]

SECONDS = (1, 14, 60)
RESULTS: tuple[Results, ...] = ("during", "after")
WORKERS = (1, 3)
# All of a worker's pace and all of the weather, faster by this: a lease is then 4 s, which a busy machine can keep.
QUICK = 0.4


@dataclass(frozen=True, slots=True)
class Cell:
    """One weather for so many seconds, told at the default pace; `scale` makes both faster."""

    weather: str
    seconds: int
    results: Results
    workers: int
    scale: float = 1.0

    def __str__(self) -> str:
        return f"{self.weather}-{self.seconds}s-{self.results}-{self.workers}"

    @property
    def may_be_taken_over(self) -> bool:
        """Whether a worker was cut off alone for longer than its lease, while others were not (F8).

        Then nobody can tell it from a dead one: its jobs go on elsewhere, and their calls are made again. That is
        the one exception to "paid once", and even then what was wasted is on record.
        """
        return self.weather == "cut_for_one" and self.workers > 1 and self.seconds > LEASE_SECONDS


def covering() -> Iterator[Cell]:
    """Every pair of values, in 24 cells instead of 96: each weather for each time, and when results come and how many
    workers there are turn in different steps, so that they meet each other and both of them everything else. Two more
    for the exception, which takes three values to occur.
    """
    for n, weather in enumerate(CONDITIONS):
        for step, seconds in enumerate(SECONDS):
            results = RESULTS[(n + step) % 2]
            workers = WORKERS[(n + (step + 1) // 2) % 2]
            yield Cell(weather, seconds, results, workers)
    yield Cell("cut_for_one", 14, "during", 3)
    yield Cell("cut_for_one", 60, "after", 3)


def quick() -> Iterator[Cell]:
    """Every weather for longer than a lease, once for less, and the exception."""
    yield Cell("cut_for_all", 14, "during", 3, QUICK)
    yield Cell("cut_for_all", 1, "after", 3, QUICK)
    yield Cell("cut_for_one", 14, "after", 1, QUICK)
    yield Cell("cut_for_one", 14, "during", 3, QUICK)
    yield Cell("restarted", 14, "after", 3, QUICK)
    yield Cell("read_only", 14, "during", 1, QUICK)
    # Alone: who was refused a connection waits up to 3 s at any scale, and of several workers one may be back for a
    # whole quick lease before another.
    yield Cell("out_of_connections", 14, "after", 1, QUICK)
    yield Cell("slow", 14, "after", 1, QUICK)
    yield Cell("store_hung", 14, "after", 3, QUICK)
    yield Cell("connections_hogged", 14, "during", 1, QUICK)
