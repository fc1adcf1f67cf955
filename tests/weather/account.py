"""What the database says against what the provider has counted, when everything has ended."""

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal

from holdfast.db.connection import connect
from holdfast.engine.doctor import examine
from holdfast.settings import Settings
from tests.weather.fleet import Fleet

# Where an attempt says that nobody knows what it cost, its reservation counts as spent.
LEDGER = """
select coalesce(sum(case when a.error #>> '{details,cost_is_known}' = 'false'
                         then greatest(a.cost_usd, coalesce(e.spent_usd + e.overrun_usd, 0))
                         else a.cost_usd end), 0) as usd
from holdfast.pipeline_phase a
left join holdfast.budget_entry e on e.job_id = a.job_id and e.token = a.token
"""
UNKNOWN_COSTS = """
select count(*) as count from holdfast.pipeline_phase
where error #>> '{details,cost_is_known}' = 'false' and cost_usd = 0
"""
BUDGET = """
select coalesce(sum(spent_usd + overrun_usd), 0) as spent, coalesce(sum(reserved_usd), 0) as reserved
from holdfast.budget_day
"""
STATES = "select state, count(*) as count from holdfast.pipeline_job group by state"
# Settling a phase clears the count of its crashes, so what raised it is looked for. An attempt that was taken to be
# lost and went on when its worker was back is none.
CRASHES = """
select (select count(*) from holdfast.pipeline_phase
        where outcome = 'lost' and (error -> 'details' ? 'resumed_as') is not true)
       + (select coalesce(sum(crash_count), 0) from holdfast.pipeline_job) as count
"""
TWICE_SAVED = "select job_id from public.weather_answer group by job_id having count(*) > 1"
NOT_SAVED = """
select a.job_id from holdfast.pipeline_phase a
where a.phase = 'ask' and a.outcome = 'completed' and a.document_id % 2 = 0
  and not exists (select from public.weather_answer w where w.job_id = a.job_id)
"""


@dataclass(frozen=True, slots=True)
class Account:
    """Everything that the promise is about. `called` says how many documents were asked about how often."""

    states: dict[str, int]
    called: dict[int, int]
    billed_usd: Decimal
    recorded_usd: Decimal
    unknown_costs: int
    budget_spent_usd: Decimal
    budget_reserved_usd: Decimal
    crashes: int
    twice_saved: list[int]
    not_saved: list[int]
    findings: list[str]

    @classmethod
    async def taken(cls, fleet: Fleet) -> "Account":
        """Read the records as they stand."""
        (budget,) = await fleet.ask(BUDGET)
        async with connect(Settings(database_url=fleet.dsn)) as database:
            findings = [f"{found.check} {found.ids}" for found in await examine(database)]
        return cls(
            states={row["state"]: row["count"] for row in await fleet.ask(STATES)},
            called=dict(Counter(fleet.provider.calls.values())),
            billed_usd=fleet.provider.bill_usd,
            recorded_usd=(await fleet.ask(LEDGER))[0]["usd"],
            unknown_costs=(await fleet.ask(UNKNOWN_COSTS))[0]["count"],
            budget_spent_usd=budget["spent"],
            budget_reserved_usd=budget["reserved"],
            crashes=(await fleet.ask(CRASHES))[0]["count"],
            twice_saved=[row["job_id"] for row in await fleet.ask(TWICE_SAVED)],
            not_saved=[row["job_id"] for row in await fleet.ask(NOT_SAVED)],
            findings=findings,
        )

    @classmethod
    def perfect(cls, *, jobs: int, paid: int, bill_usd: Decimal) -> "Account":
        """What it must be when every job is done and every paid call was made once."""
        return cls(
            states={"done": jobs},
            called={1: paid},
            billed_usd=bill_usd,
            recorded_usd=bill_usd,
            unknown_costs=0,
            budget_spent_usd=bill_usd,
            budget_reserved_usd=Decimal(0),
            crashes=0,
            twice_saved=[],
            not_saved=[],
            findings=[],
        )
