"""One measured figure: what was seen, what it is compared with, and whether the ratio is good enough."""

from dataclasses import dataclass
from typing import Literal

Demand = Literal["at least", "at most"]
SIGNS: dict[Demand, str] = {"at least": "≥", "at most": "≤"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A measurement against another one of the same run, or against a fixed goal. The ratio is what counts.

    Without a demand it is there to be looked at.
    """

    name: str
    measured: float
    against: float
    unit: str
    baseline: str
    demand: Demand | None
    bound: float = 1.0

    @property
    def ratio(self) -> float:
        return self.measured / self.against

    @property
    def passes(self) -> bool:
        match self.demand:
            case "at least":
                return self.ratio >= self.bound
            case "at most":
                return self.ratio <= self.bound
            case None:
                return True

    def cells(self) -> tuple[str, ...]:
        """The figure as one row of the report."""
        demanded = f"{SIGNS[self.demand]} {self.bound:.2f}" if self.demand else ""
        return (
            self.name,
            f"{_readable(self.measured)} {self.unit}",
            f"{_readable(self.against)} ({self.baseline})",
            f"{self.ratio:.2f}",
            demanded,
            ("pass" if self.passes else "MISS") if self.demand else "",
        )

    def as_json(self) -> dict[str, str | float | bool | None]:
        return {
            "name": self.name,
            "measured": self.measured,
            "against": self.against,
            "unit": self.unit,
            "baseline": self.baseline,
            "ratio": self.ratio,
            "demand": self.demand,
            "bound": self.bound,
            "passes": self.passes,
        }


def _readable(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
