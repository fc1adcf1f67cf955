"""How much each benchmark does: enough to trust, or enough to see that it runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Sizes of one run of all benchmarks."""

    jobs: int
    rounds: int
    finished_jobs: int
    backlog_jobs: int
    claims: int
    submissions: int
    submitted_jobs: int
    idle_seconds: float
    isolated_calls: int
    files: int
    books: int
    passages: int
    viewed_jobs: int
    configuration_files: int
    outage_seconds: float
    outage_jobs: int
    outage_pace: float


FULL = Scale(
    jobs=12_000,
    rounds=3,
    finished_jobs=1_000_000,
    backlog_jobs=1_000_000,
    claims=40,
    submissions=300,
    submitted_jobs=60_000,
    idle_seconds=20.0,
    isolated_calls=30,
    files=500,
    books=80,
    passages=100_000,
    viewed_jobs=10_000,
    configuration_files=10_000,
    outage_seconds=14.0,
    outage_jobs=40,
    outage_pace=1.0,
)

QUICK = Scale(
    jobs=4_000,
    rounds=1,
    finished_jobs=50_000,
    backlog_jobs=100_000,
    claims=15,
    submissions=40,
    submitted_jobs=10_000,
    idle_seconds=4.0,
    isolated_calls=8,
    files=110,
    books=12,
    passages=10_000,
    viewed_jobs=2_000,
    configuration_files=500,
    outage_seconds=5.0,
    outage_jobs=20,
    outage_pace=1.0,
)

# Every benchmark starts and ends; its figures mean nothing.
SMOKE = Scale(
    jobs=200,
    rounds=1,
    finished_jobs=1_000,
    backlog_jobs=2_000,
    claims=4,
    submissions=8,
    submitted_jobs=600,
    idle_seconds=0.5,
    isolated_calls=2,
    files=11,
    books=1,
    passages=2_000,
    viewed_jobs=200,
    configuration_files=20,
    outage_seconds=0.5,
    outage_jobs=4,
    outage_pace=0.2,
)
