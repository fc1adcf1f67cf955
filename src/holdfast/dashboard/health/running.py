"""Who works, what stands still in their hands, and what waits before each phase: as tables."""

from markupsafe import Markup

from holdfast.dashboard.acts import act_button, unless
from holdfast.dashboard.markup import Content, link, tag
from holdfast.dashboard.tables import Column, folded, section, table
from holdfast.dashboard.words import NOTHING, badge, count, duration, moment, nothing_yet
from holdfast.engine.overview import STUCK_MINUTES, Row

MOST_WORKERS = 50


def workers(rows: list[Row]) -> Markup:
    """Those that should work first; of those that ended, the newest."""
    ordered = sorted(rows, key=lambda row: row["condition"] == "stopped")
    empty = nothing_yet("No worker has ever run.", "Start one: ", tag("code", "holdfast worker"))
    return section("Workers", table(WORKERS, ordered[:MOST_WORKERS], empty=empty))


def stuck(rows: list[Row], *, allowed: bool) -> Markup:
    """Jobs that work and make no progress, and the way to take them back."""
    note = f"Their worker lives, but they made no progress for {STUCK_MINUTES} minutes. Taking one back costs no retry."
    acts = tag("p", act_button("Take all of them back…", "requeue", disabled_because=unless(allowed))) if rows else None
    empty = nothing_yet("No job is stuck.")
    return section("Stuck jobs", table(STUCK, rows, empty=empty), acts, note=note)


def backlog(rows: list[Row]) -> Markup:
    """What waits, and whether it becomes more."""
    empty = nothing_yet("No pipeline is known yet.", "Start a worker: ", tag("code", "holdfast worker"))
    note = "Growth is what arrived less what was completed in the last hour."
    return section("Backlog", table(BACKLOG, rows, empty=empty), note=note)


def _lanes(row: Row) -> Content:
    lanes = [f"{lane['pipeline']} · {lane['phase']}, {lane['limit']} at once" for lane in row["lanes"] or []]
    if not lanes:
        return NOTHING
    return folded(row["worker_id"], f"{len(lanes)} lanes", [tag("div", lane) for lane in lanes])


def _growth(row: Row) -> Content:
    grown = row["growth_last_hour"]
    return tag("b", f"+{count(grown)}", class_="grows") if grown > 0 else count(grown)


WORKERS = (
    Column("Worker", lambda row: tag("span", row["worker_id"], class_="mono"), "name"),
    Column("Condition", lambda row: badge(row["condition"])),
    Column("Host", lambda row: f"{row['host']}, process {row['pid']}"),
    Column("In hand", lambda row: count(row["working"]), "number"),
    Column("Runs", _lanes),
    Column("Last heartbeat", lambda row: moment(row["seen_at"])),
    Column("Started", lambda row: moment(row["started_at"])),
    Column("Ended", lambda row: moment(row["ended_at"])),
)
STUCK = (
    Column("Job", lambda row: link(f"/jobs/{row['job_id']}", row["job_id"])),
    Column("Document", lambda row: row["source_name"], "wide"),
    Column("Organisation", lambda row: row["organisation"]),
    Column("Phase", lambda row: f"{row['pipeline']} · {row['phase']}", "name"),
    Column("Without progress", lambda row: duration(row["minutes"] * 60), "number"),
    Column("Worker", lambda row: tag("span", row["worker_id"], class_="mono")),
)
BACKLOG = (
    Column("Phase", lambda row: f"{row['pipeline']} · {row['phase']}", "name"),
    Column("Queued", lambda row: count(row["queued"]), "number"),
    Column("Oldest waits", lambda row: duration(row["oldest_queued_seconds"]), "number"),
    Column("Arrived", lambda row: count(row["arrived_last_hour"]), "number"),
    Column("Completed", lambda row: count(row["completed_last_hour"]), "number"),
    Column("Growth", _growth, "number"),
)
