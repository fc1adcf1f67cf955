"""What tells of trouble before it comes: the database's figures and the doctor's verdict; rules and acts behind it."""

from collections.abc import Iterable
from datetime import datetime

from markupsafe import Markup

from holdfast.dashboard.acts import act_button, unless
from holdfast.dashboard.markup import Content, join, link, tag
from holdfast.dashboard.tables import Column, folded, section, table
from holdfast.dashboard.words import NOTHING, badge, count, duration, figure, moment, nothing_yet, share, size
from holdfast.engine.doctor import Finding
from holdfast.engine.overview import Row

LONG_TRANSACTION_SECONDS = 300.0
CROWDED = 0.8
WRAPAROUND_XIDS = 2_000_000_000


def database(row: Row) -> Markup:
    """Each figure turns red where it begins to hurt."""
    oldest, used = row["oldest_transaction_seconds"], row["connections_used"] / row["connections_max"]
    wrapped = (row["oldest_xid_age"] or 0) / WRAPAROUND_XIDS
    figures = tag(
        "div",
        figure(duration(oldest), "oldest transaction", kind=_bad((oldest or 0) > LONG_TRANSACTION_SECONDS)),
        figure(
            f"{count(row['connections_used'])} of {count(row['connections_max'])}",
            "connections",
            kind=_bad(used > CROWDED),
        ),
        figure(size(row["database_bytes"]), "stored"),
        figure(share(wrapped), "of transaction numbers used", kind=_bad(wrapped > CROWDED)),
        class_="figures",
    )
    hidden = row["hidden_sessions"]
    note = f"{count(hidden)} sessions of other roles are hidden from this one." if hidden else None
    return section("Database", figures, table(TABLES, row["tables"] or [], empty=join(None)), note=note)


def verdict(findings: list[Finding], *, allowed: bool) -> Markup:
    """What the doctor found, and how each is mended."""
    if not findings:
        return tag("p", badge("sound", kind="good"), " Every invariant holds.", class_="verdict", role="status")
    mendable = any(finding.repairable for finding in findings)
    acts = (
        tag("p", act_button("Repair what can be repaired…", "repair", disabled_because=unless(allowed)))
        if mendable
        else None
    )
    return join([tag("ul", [_finding(one) for one in findings], class_="findings", role="alert"), acts])


def policies(rows: list[Row]) -> Markup:
    """The patience in force, policy by policy."""
    names = dict.fromkeys(row["policy"] for row in rows)
    empty = nothing_yet("No policy is known yet.", "Start a worker: ", tag("code", "holdfast worker"))
    rules = [folded(f"policy {name}", name, table(RULES, _of(rows, name), empty=empty)) for name in names]
    return section("Policies in force", rules or empty)


def audit(rows: list[Row]) -> Markup:
    """What operators did last."""
    empty = nothing_yet("Nobody has acted yet.", "Every retry, hold, budget and repair will stand here.")
    return section("Audit log", table(AUDIT, rows, empty=empty))


def _bad(condition: bool) -> str:
    return "failed" if condition else ""


def _of(rows: Iterable[Row], policy: str) -> list[Row]:
    return [row for row in rows if row["policy"] == policy]


def _finding(one: Finding) -> Markup:
    ids = ", ".join(str(subject) for subject in one.ids) + (" …" if one.count > len(one.ids) else "")
    return tag(
        "li",
        tag("h3", f"{one.title} ", badge(one.invariant, kind="bad")),
        tag("p", f"{one.subject.replace('_', ' ')} {ids} ({count(one.count)} in all)"),
        tag("p", one.explanation, class_="faint"),
        tag("p", tag("b", "To mend it: "), "the repair below does." if one.repairable else one.mend),
        class_="card",
    )


def _autovacuumed(row: Row) -> Markup | str:
    at = row["autovacuumed_at"]
    return moment(datetime.fromisoformat(at) if at else None, otherwise="not yet")


def _waits(row: Row) -> str:
    return ", ".join(duration(seconds) for seconds in row["wait_seconds"]) or NOTHING


def _retries(row: Row) -> str:
    if not row["charged"]:
        return "not charged"
    return NOTHING if row["max_retries"] is None else count(row["max_retries"])


def _held(row: Row) -> str:
    if row["holds"] is None:
        return NOTHING
    if row["hold_seconds"] is not None:
        return f"for {duration(row['hold_seconds'])}"
    return f"until {row['holds'].replace('_', ' ')}"


def _subject(row: Row) -> Content:
    return link(f"/jobs/{row['job_id']}", f"job {row['job_id']}") if row["job_id"] else NOTHING


TABLES = (
    Column("Table", lambda row: tag("span", row["name"], class_="mono")),
    Column("Live rows", lambda row: count(row["live_rows"]), "number"),
    Column("Dead rows", lambda row: count(row["dead_rows"]), "number"),
    Column("Vacuumed by itself", _autovacuumed),
)
RULES = (
    Column("Category", lambda row: badge(row["category"])),
    Column("Retries", _retries, "number"),
    Column("Waits", _waits),
    Column("Per document", lambda row: count(row["document_limit"]), "number"),
    Column("Holds its scope", _held),
)
AUDIT = (
    Column("When", lambda row: moment(row["at"])),
    Column("Who", lambda row: row["actor"]),
    Column("What", lambda row: row["action"].replace("_", " ")),
    Column("To", _subject),
    Column("Why", lambda row: row["reason"] or NOTHING, "wide"),
)
