"""What a run holds, and what differs between two of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

from holdfast.db.connection import Database
from holdfast.errors import Conflict, InvalidInput

MOST_SETTINGS = 1_000
SHOWN_ERRORS = 100

# As people ask for them; JSON in the database keeps no order.
METRICS = (
    "files_parsed",
    "stanzas_created",
    "settings_created",
    "parse_errors",
    "duration_seconds",
    "error_type",
    "retry_count",
)

Change: TypeAlias = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a page of settings goes on: behind this line of this stanza of this file."""

    file: int = 0
    stanza: int = 0
    line: int = 0

    @classmethod
    def read(cls, cursor: str | None) -> Self:
        """From the cursor that a page ended with; InvalidInput if it is none."""
        if cursor is None:
            return cls()
        numbers = cursor.split("-")
        if len(numbers) != 3 or not all(number.isascii() and number.isdecimal() for number in numbers):
            raise InvalidInput(f'"{cursor[:50]}" is no cursor: send the one that the page before ended with')
        file, stanza, line = (min(int(number[:10]), 2**31 - 1) for number in numbers)
        return cls(file=file, stanza=stanza, line=line)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Where this row stands."""
        return cls(file=row["file_number"], stanza=row["stanza_number"], line=row["line"])

    def __str__(self) -> str:
        return f"{self.file}-{self.stanza}-{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetting:
    """A setting with its file and line; a stanza without any has one whose key and value are None."""

    source_path: str
    file: str
    line: int
    stanza: str
    key: str | None
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseError:
    """A line that could not be read, or not as it stands."""

    source_path: str
    line: int
    message: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run and a page of its settings. `metrics` are None until the run is complete or has failed once.

    `percent` is -1 where nothing goes on without help; `error_message` is of the last failure, None once it is done.
    """

    run: int
    source_name: str
    job_id: int
    status: str
    state: str
    percent: int
    metrics: dict[str, Any] | None
    error_message: str | None
    next: str
    settings: list[RunSetting]
    errors: list[ParseError]
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A setting that is not the same on both sides."""

    change: Change
    source_path: str
    stanza: str
    key: str
    old_value: str | None
    old_line: int | None
    new_value: str | None
    new_line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How many settings are not the same in two runs, and a page of them."""

    run: int
    other: int
    added: int
    removed: int
    changed: int
    changes: list[Changed]


class Configs:
    """Questions about runs of the pipeline for configuration archives. Reads only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def show(
        self,
        run: int,
        *,
        file: str | None = None,
        stanza: str | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> Run:
        """A run and a page of its settings, in the order of its files. NotFound for what is no run."""
        _check(limit)
        head = await self._head(run)
        after = Place.read(cursor)
        rows = await self._database.fetch(
            "select * from holdfast.settings_of($1, $2, $3, $4, $5)",
            head["run"],
            file,
            stanza,
            [after.file, after.stanza, after.line],
            limit + 1,
        )
        errors = await self._database.fetch(
            "select * from holdfast.parse_errors_of($1, $2, $3)", head["run"], file, SHOWN_ERRORS
        )
        page = [dict(row) for row in rows[:limit]]
        return Run(
            **head,
            settings=[RunSetting(**{name: row[name] for name in RunSetting.__slots__}) for row in page],
            errors=[ParseError(**error) for error in errors],
            cursor=str(Place.of(page[-1])) if len(rows) > limit else None,
        )

    async def diff(self, run: int, other: int, *, first: int = 0, limit: int = 100) -> Difference:
        """Which settings the other run has otherwise than this one.

        NotFound for what is no run; Conflict while one of them is not complete: what it lacks would seem removed.
        """
        _check(limit)
        runs = [_complete(await self._head(one)) for one in (run, other)]
        row = await self._database.fetchrow(
            "select * from holdfast.diff_configs($1, $2, $3, $4)", *runs, max(0, first), limit
        )
        assert row is not None
        return Difference(
            run=runs[0],
            other=runs[1],
            **{**row, "changes": [Changed(**change) for change in row["changes"]]},
        )

    async def _head(self, run: int) -> dict[str, Any]:
        row = await self._database.fetchrow("select * from holdfast.configs_run($1)", run)
        assert row is not None
        return {**row, "metrics": _in_order(row["metrics"])}


def _complete(head: dict[str, Any]) -> int:
    run: int = head["run"]
    if head["state"] != "done":
        error = f" ({head['error_message']})" if head["error_message"] else ""
        raise Conflict(
            f"run {run}, {head['source_name']}, cannot be compared: it is not complete but {head['status']}, "
            f"{head['state']}{error}. Next: {head['next']}; see `holdfast configs show {run}`"
        )
    return run


def _in_order(metrics: dict[str, Any] | None) -> dict[str, Any] | None:
    return metrics and {name: metrics[name] for name in METRICS if name in metrics}


def _check(limit: int) -> None:
    if not 1 <= limit <= MOST_SETTINGS:
        raise InvalidInput(f"ask for 1 to {MOST_SETTINGS:,} settings at a time, not {limit}")
