"""Who fails most: categories, platforms and documents, as tables."""

from markupsafe import Markup

from holdfast.dashboard.acts import act_button, unless
from holdfast.dashboard.markup import Content, link, tag
from holdfast.dashboard.tables import Column, section, table
from holdfast.dashboard.words import badge, count, moment, nothing_yet, share
from holdfast.engine.overview import Row

PERMANENT = "permanent_failure"


def recovery(rows: list[Row]) -> Markup:
    """Whether waiting and trying again helps."""
    empty = nothing_yet("Nothing was retried in this time.")
    return section("Recovered by retries", table(RECOVERY, rows, empty=empty), note="The most hopeless first.")


def platforms(rows: list[Row]) -> Markup:
    """Where failing documents come from."""
    empty = nothing_yet("No attempt ended in this time.")
    return section("Failures by platform", table(PLATFORMS, rows, empty=empty), note="Of all attempts that ended.")


def documents(rows: list[Row], *, allowed: bool) -> Markup:
    """Those with the most errors. One that failed for good can be tried again."""
    again = Column("", lambda row: _again(row, allowed=allowed))
    empty = nothing_yet("No document had an error that counts.")
    return section("Documents that fail most", table((*DOCUMENTS, again), rows, empty=empty))


def repeaters(rows: list[Row]) -> Markup:
    """Documents that fail again and again in the same way."""
    empty = nothing_yet("No document failed three times with one cause.")
    note = "The same cause three times or more: most likely a bug, not bad luck."
    return section("Repeat offenders", table(REPEATERS, rows, empty=empty), note=note)


def _again(row: Row, *, allowed: bool) -> Content:
    if row["failure_state"] != PERMANENT:
        return None
    acts = [
        act_button("Retry…", "retry", disabled_because=unless(allowed), document=row["document_id"]),
        act_button("Start over…", "reset", disabled_because=unless(allowed), document=row["document_id"]),
    ]
    return tag("div", acts, class_="acts")


def _named(row: Row) -> Markup:
    return link(f"/documents/{row['document_id']}", row["source_name"])


RECOVERY = (
    Column("Category", lambda row: badge(row["category"])),
    Column("Retries", lambda row: count(row["retries"]), "number"),
    Column("Recovered", lambda row: count(row["recovered"]), "number"),
    Column("Rate", lambda row: share(row["recovery_rate"]), "number"),
)
PLATFORMS = (
    Column("Platform", lambda row: row["platform"]),
    Column("Attempts", lambda row: count(row["attempts"]), "number"),
    Column("Failed", lambda row: count(row["failed"]), "number"),
    Column("Rate", lambda row: share(row["failure_rate"]), "number"),
)
DOCUMENTS = (
    Column("Document", _named, "wide"),
    Column("Organisation", lambda row: row["organisation"]),
    Column("Errors", lambda row: count(row["errors"]), "number"),
    Column("Last", lambda row: moment(row["last_at"])),
    Column("Category", lambda row: badge(row["category"])),
    Column("What it says", lambda row: row["error"], "wide"),
)
REPEATERS = (
    Column("Document", _named, "wide"),
    Column("Component", lambda row: row["component"]),
    Column("Category", lambda row: badge(row["category"])),
    Column("Times", lambda row: count(row["times"]), "number"),
    Column("Last", lambda row: moment(row["last_at"])),
    Column("What it says", lambda row: row["error"], "wide"),
)
