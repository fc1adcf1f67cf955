"""Says what an act on jobs did, or would do."""

from typing import TYPE_CHECKING

from holdfast.cli.columns import count, dollars, plain
from holdfast.cli.formats import money, number, plural
from holdfast.cli.output import answer, print_table

if TYPE_CHECKING:
    from decimal import Decimal

    from holdfast.engine.control import Act, Group, Tally

DONE = {"queued": "queued again", "cancelled": "cancelled"}
WHY_NOT = {
    "not_found": "does not exist",
    "is_queued": "waits in the queue already",
    "is_working": "is being worked on",
    "is_done": "is done",
    "already_completed": "is complete already",
    "is_deadletter": "is in the dead letter",
    "is_cancelled": "is cancelled already",
    "document_has_another_live_job": "another job carries the same document",
    "no_such_phase": "its pipeline has no such phase",
    "phase_not_reached": "has not come to that phase yet",
    "old_flow": "the old installation carries it",
}


def print_tally(tally: "Tally", *, wanted: str, as_json: bool) -> None:
    """How many jobs the act changed, and why the others were left as they were."""

    def render() -> None:
        if not tally.counts:
            print("no job matches: nothing to do")
        for result, jobs in sorted(tally.counts.items(), key=lambda pair: pair[0] != wanted):
            what = DONE[wanted] if result == wanted else f"not changed ({WHY_NOT.get(result, result)})"
            print(f"{number(jobs)} {what}: {_ids(tally, result)}")

    answer(tally, as_json=as_json, render=render)


def print_preview(act: "Act", groups: "list[Group]", *, as_json: bool) -> None:
    """What the act would meet, and what doing it would cost if phases cost what they did lately."""
    touched = [group for group in groups if group.would_change]
    total, cost = sum(group.jobs for group in touched), _estimate(touched)

    def render() -> None:
        print_table(COLUMNS, [_row(group) for group in groups], empty="no job matches: nothing would be changed")
        if groups:
            about = f", about {money(cost)} for the phase each stands in" if cost else ""
            print(f"\n{act.name} would change {plural(total, 'job')}{about}; nothing was changed")

    body = {"dry_run": True, "would_change": total, "estimate_usd": cost, "groups": groups}
    answer(body, as_json=as_json, render=render)


def _estimate(groups: "list[Group]") -> "Decimal | None":
    known = [group.usual_cost_usd * group.jobs for group in groups if group.usual_cost_usd is not None]
    return sum(known[1:], known[0]) if known else None


def _row(group: "Group") -> dict[str, object]:
    cost = None if group.usual_cost_usd is None else group.usual_cost_usd * group.jobs
    return {
        "pipeline": group.pipeline,
        "phase": group.phase,
        "state": group.state,
        "category": group.category,
        "jobs": group.jobs,
        "cost": cost,
        "change": "yes" if group.would_change else "no",
    }


COLUMNS = (
    plain("PIPELINE", "pipeline"),
    plain("PHASE", "phase"),
    plain("STATE", "state"),
    plain("CATEGORY", "category"),
    count("JOBS", "jobs"),
    dollars("USUAL COST", "cost"),
    plain("WOULD CHANGE", "change"),
)


def _ids(tally: "Tally", result: str) -> str:
    ids = tally.ids[result]
    more = tally.counts[result] - len(ids)
    return f"{'job' if len(ids) == 1 else 'jobs'} {', '.join(map(str, ids))}" + (f" and {more} more" if more else "")
