"""What a takeover counted: every row of the old table is in it exactly once."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.takeover.old_table import OldTable
from holdfast.takeover.stages import MIXED

LEFT_SHOWN = 20
_MOST_GROUPS = 1_000
_REST = "…"
NO_STATE = (
    "no column for the state was found, so dead letters cannot be told from what may be retried, and all that failed is"
    " tried again: name it with --column state=COLUMN, or --column state= to take over without one"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows with the same old status and state that became the same. Without a flow they were left where they are."""

    status: str | None
    state: str | None
    flow: str | None
    becomes_status: str | None
    becomes_state: str | None
    reason: str | None
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`changed`: rows that the old installation changed since Holdfast carries them. `without_source`: jobs that will
    fail because nothing says where their document is. `warnings`: what was not found, and what that means.
    `staying`: rows chosen for the old flow that Holdfast keeps, and why. `beyond_share`: rows taken before the share
    was made smaller. `differences` is empty when every count agrees.
    """

    table: str
    source: str
    columns: Mapping[str, str]
    rows: int
    taken: int
    old_flow: int
    left: int
    changed: int
    without_source: int
    groups: list[Group]
    odd_errors: dict[str, int]
    left_rows: list[dict[str, str]]
    staying: list[dict[str, str]]
    beyond_share: int
    warnings: list[str]
    differences: list[str] = field(default_factory=list)

    @property
    def verified(self) -> bool:
        """Whether every count agrees."""
        return not self.differences


class Tally:
    """Counts what rows would become, while they pass by."""

    def __init__(self) -> None:
        self._groups: Counter[tuple[str | None, ...]] = Counter()
        self.odd_errors: Counter[str] = Counter()
        self.left_rows: list[dict[str, str]] = []
        self.staying: list[dict[str, str]] = []
        self.beyond_share = 0
        self.changed = 0
        self.without_source = 0

    def add(self, *place: str | None) -> None:
        """One row: status, state, flow, and the status, state and reason it has then."""
        if place not in self._groups and len(self._groups) >= _MOST_GROUPS:
            place = (_REST, _REST, place[2], _REST, _REST, _REST)
        self._groups[place] += 1

    def groups(self) -> list[Group]:
        """Largest first."""
        return sorted_groups(
            Group(
                status=status,
                state=state,
                flow=flow,
                becomes_status=becomes_status,
                becomes_state=becomes_state,
                reason=reason,
                rows=rows,
            )
            for (status, state, flow, becomes_status, becomes_state, reason), rows in self._groups.items()
        )


def sorted_groups(groups: Iterable[Group]) -> list[Group]:
    """Taken first, then those of the old flow, then those left; by what they were."""
    order = {"new": 0, "old": 1, None: 2}
    return sorted(groups, key=lambda one: (order[one.flow], one.status or "", one.state or "", one.becomes_state or ""))


def report_of(table: OldTable, groups: list[Group], **more: Any) -> Report:
    """The report whose totals are those of its groups."""
    totals = Counter[str | None]()
    for group in groups:
        totals[group.flow] += group.rows
    return Report(
        table=table.name,
        source=table.source,
        columns=table.columns,
        rows=totals.total(),
        taken=totals["new"],
        old_flow=totals["old"],
        left=totals[None],
        groups=groups,
        warnings=[] if table.has_state else [NO_STATE],
        **more,
    )


def compare(old: Counter[str | None], kept: Counter[str | None], counts: Iterable[Mapping[str, Any]]) -> list[str]:
    """In words, where old table, backup and jobs do not agree."""
    found = [
        f"status {status or 'NULL'}: {old[status]} rows in the old table, {kept[status]} in the backup"
        for status in sorted(old.keys() | kept.keys(), key=str)
        if old[status] != kept[status]
    ]
    for count in counts:
        if count["job_status"] in MIXED:
            found.append(f"{count['rows']} jobs still have the status {count['job_status']}")
        wanted = 0 if count["flow"] is None else count["rows"]
        if count["jobs"] != wanted:
            found.append(f"status {count['status']}, {count['state']}: {wanted} rows taken, but {count['jobs']} jobs")
    return found
