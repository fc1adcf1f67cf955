"""The figures that Prometheus collects, read from the database when it asks.

All are gauges: what stands now, or what happened within a window that the name says. Counters of everything that ever
happened would cost a recount of history, or a row that every attempt writes.
"""

from collections import Counter
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from holdfast.engine.overview import Overview, Row

STATES = ("queued", "working", "failed", "held", "deadletter")
QUANTILES = {"0.5": "p50_seconds", "0.95": "p95_seconds", "1": "max_seconds"}
CONDITIONS = ("alive", "silent")
BUDGET_FIGURES = {
    "limit": "What a day allows.",
    "reserved": "Set aside for attempts under way.",
    "spent": "Spent today.",
    "left": "What today still allows.",
}


async def metrics_text(overview: Overview) -> str:
    """Everything, in the text format."""
    figures = _Figures()
    _queues(figures, await overview.queues())
    _attempts(figures, await overview.outcomes(1), await overview.durations(1))
    _costs(figures, await overview.costs(1))
    _budgets(figures, await overview.budgets())
    _workers(figures, await overview.workers())
    figures.gauge("holdfast_holds", "Holds in force.").set(len(await overview.holds()))
    figures.gauge("holdfast_stuck_jobs", "Jobs that work without progress.").set(len(await overview.stuck()))
    return figures.text()


class _Figures:
    """The gauges of one answer."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()

    def gauge(self, name: str, about: str, *labels: str) -> Gauge:
        return Gauge(name, about, labels, registry=self._registry)

    def text(self) -> str:
        return generate_latest(self._registry).decode()


def _queues(figures: _Figures, queues: Iterable[Row]) -> None:
    jobs = figures.gauge("holdfast_jobs", "Jobs by phase and state.", "pipeline", "phase", "state")
    age = figures.gauge("holdfast_oldest_queued_seconds", "Age of the oldest that waits.", "pipeline", "phase")
    serving = figures.gauge("holdfast_phase_workers", "Living workers that run the phase.", "pipeline", "phase")
    for row in queues:
        for state in STATES:
            jobs.labels(row["pipeline"], row["phase"], state).set(row[state])
        age.labels(row["pipeline"], row["phase"]).set(row["oldest_queued_seconds"] or 0)
        serving.labels(row["pipeline"], row["phase"]).set(row["workers"])


def _attempts(figures: _Figures, outcomes: Iterable[Row], durations: Iterable[Row]) -> None:
    labels = ("pipeline", "phase", "outcome", "category")
    ended = figures.gauge("holdfast_attempts_last_hour", "Attempts that ended.", *labels)
    for row in outcomes:
        ended.labels(row["pipeline"], row["phase"], row["outcome"], row["category"] or "").set(row["attempts"])
    seconds = figures.gauge(
        "holdfast_attempt_seconds_last_hour", "How long completed attempts took.", "pipeline", "phase", "quantile"
    )
    for row in durations:
        for quantile, column in QUANTILES.items():
            seconds.labels(row["pipeline"], row["phase"], quantile).set(row[column])


def _costs(figures: _Figures, costs: Iterable[Row]) -> None:
    spent = figures.gauge("holdfast_cost_last_day_usd", "Money spent.", "pipeline", "phase")
    wasted = figures.gauge("holdfast_wasted_last_day_usd", "Of it, on attempts that failed.", "pipeline", "phase")
    for row in costs:
        spent.labels(row["pipeline"], row["phase"]).inc(float(row["cost_usd"]))
        wasted.labels(row["pipeline"], row["phase"]).inc(float(row["wasted_usd"]))


def _budgets(figures: _Figures, budgets: Iterable[Row]) -> None:
    gauges = {
        figure: figures.gauge(f"holdfast_budget_{figure}_usd", about, "budget", "organisation")
        for figure, about in BUDGET_FIGURES.items()
    }
    for row in budgets:
        for figure, gauge in gauges.items():
            gauge.labels(row["name"], row["organisation"] or "").set(float(row[f"{figure}_usd"]))


def _workers(figures: _Figures, workers: Iterable[Row]) -> None:
    count = Counter(row["condition"] for row in workers)
    gauge = figures.gauge("holdfast_workers", "Workers that should be at work.", "condition")
    for condition in CONDITIONS:
        gauge.labels(condition).set(count[condition])
