"""The figures that Prometheus collects, read from the database when it asks."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from holdfast.engine.overview import Overview, Row

STATES = ("queued", "working", "failed", "held", "deadletter")


async def metrics_text(overview: Overview) -> str:
    """Everything, in the text format."""
    registry = CollectorRegistry()
    _phases(registry, await overview.queues())
    _attempts(registry, await overview.throughput(1))
    _durations(registry, await overview.durations(1))
    _money(registry, await overview.budgets(), await overview.costs(1))
    workers = Gauge("holdfast_workers", "Workers that are alive.", registry=registry)
    workers.set(sum(row["condition"] == "alive" for row in await overview.workers()))
    holds = Gauge("holdfast_holds", "Holds in force.", registry=registry)
    holds.set(len(await overview.holds()))
    return generate_latest(registry).decode()


def _phases(registry: CollectorRegistry, queues: Iterable[Row]) -> None:
    jobs = Gauge("holdfast_jobs", "Jobs by phase and state.", ["pipeline", "phase", "state"], registry=registry)
    age = Gauge(
        "holdfast_oldest_queued_seconds", "Age of the oldest that waits.", ["pipeline", "phase"], registry=registry
    )
    for row in queues:
        for state in STATES:
            if row.get(state) is not None:
                jobs.labels(row["pipeline"], row["phase"], state).set(row[state])
        age.labels(row["pipeline"], row["phase"]).set(row["oldest_queued_seconds"] or 0)


def _attempts(registry: CollectorRegistry, throughput: Iterable[Row]) -> None:
    ended = Gauge(
        "holdfast_attempts_last_hour", "Attempts that ended.", ["pipeline", "phase", "outcome"], registry=registry
    )
    for row in throughput:
        for outcome in ("completed", "failed"):
            if row.get(outcome) is not None:
                ended.labels(row["pipeline"], row["phase"], outcome).inc(row[outcome])


def _durations(registry: CollectorRegistry, durations: Iterable[Row]) -> None:
    median = Gauge("holdfast_attempt_median_seconds", "Over the last hour.", ["pipeline", "phase"], registry=registry)
    for row in durations:
        median.labels(row["pipeline"], row["phase"]).set(row["p50_seconds"])


def _money(registry: CollectorRegistry, budgets: Iterable[Row], costs: Iterable[Row]) -> None:
    left = Gauge("holdfast_budget_left_usd", "What today still allows.", ["budget", "organisation"], registry=registry)
    for row in budgets:
        left.labels(row["name"], row["organisation"] or "").set(float(row["left_usd"]))
    spent = Gauge("holdfast_cost_last_day_usd", "Money spent.", ["pipeline", "phase"], registry=registry)
    for row in costs:
        spent.labels(row["pipeline"], row["phase"]).inc(float(row["cost_usd"]))
