"""Takes a table of the older kind over, batch by batch. The old table is read, everything is written here."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.db.connection import Database
from holdfast.engine.pipeline import Pipeline
from holdfast.engine.policy import DOUBLING
from holdfast.errors import InvalidInput, NotFound
from holdfast.takeover.converting import Becomes, Flow, Left, convert
from holdfast.takeover.items import item_of, left_item, odd_error
from holdfast.takeover.old_row import OldRow
from holdfast.takeover.old_table import COUNT_SECONDS, OldTable
from holdfast.takeover.originals import Files, has_source, original_of
from holdfast.takeover.plan import Plan
from holdfast.takeover.report import LEFT_SHOWN, NO_STATE, Group, Report, Tally, compare, report_of, sorted_groups
from holdfast.takeover.stages import Stages, stages_of

GONE_ROWS = 10_000
# Later on the database measures by itself.
MEASURED_AT = (1_000, 10_000)
TAKEN_BEFORE = "taken before"
NO_LONGER_KNOWN = "it stays as it was known"

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a row: the flow chosen for it (`is_named`: by its key) and, if it was read before, where it is
    and what was read.
    """

    chosen: Flow
    is_known: bool
    flow: Flow | None
    row_before: str | None
    is_changed: bool
    is_named: bool

    @property
    def is_called_back(self) -> bool:
        """Whether Holdfast carries it, and someone has chosen the old flow for it."""
        return self.flow == "new" and self.chosen == "old" and self.is_named


class Taking:
    """One table on its way into one pipeline."""

    def __init__(
        self,
        database: Database,
        table: OldTable,
        plan: Plan,
        *,
        files: Files | None,
        actor: str,
        declared: Sequence[Pipeline] = (),
    ) -> None:
        """`declared` are pipelines to look into before anybody has registered them."""
        self._database = database
        self._declared = declared
        self._table = table
        self._plan = plan
        self._files = files
        self._actor = actor

    async def check(self, on_progress: Progress) -> Report:
        """What a run would do. Writes nothing."""
        await self._find_chosen()
        stages = await stages_of(self._database, self._plan.pipeline, self._declared)
        sql = "select holdfast.takeover_of($1, $2)"
        takeover = await self._database.fetchval(sql, self._table.source, self._table.name)
        tally, passed = Tally(), 0
        async for batch in self._batches(None):
            known = await self._known(takeover, batch)
            staying = await self._staying(takeover, [row.key for row in batch if known[row.key].is_called_back])
            tally.staying += staying
            kept = {one["key"] for one in staying}
            for row in batch:
                self._count(tally, row, known[row.key], stages, stays=row.key in kept)
            passed += len(batch)
            on_progress(passed)
        return report_of(
            self._table,
            tally.groups(),
            changed=tally.changed,
            without_source=tally.without_source,
            odd_errors=dict(tally.odd_errors),
            left_rows=tally.left_rows,
            staying=tally.staying,
            beyond_share=tally.beyond_share,
        )

    async def run(self, on_progress: Progress) -> Report:
        """Take over what is not yet, bring up to date what the old flow changed, verify.

        Goes on where it was stopped: each batch is one transaction, and the cursor moves with it. A table without a
        state is refused, unless the plan says that it has none.
        """
        if not self._table.has_state and "state" not in self._plan.columns:
            raise InvalidInput(NO_STATE)
        await self._find_chosen()
        stages = await stages_of(self._database, self._plan.pipeline)
        takeover, after = await self._begin()
        passed, odd_errors = 0, Counter[str]()
        async for batch in self._batches(after):
            await self._take(takeover, batch, stages, after=after)
            after = batch[-1].key
            odd_errors.update(kind for row in batch if (kind := odd_error(row)))
            before, passed = passed, passed + len(batch)
            if any(before < rows <= passed for rows in MEASURED_AT):
                await self._database.execute("select holdfast.measure_takeover()")
            on_progress(passed)
        report = await self._verified(takeover, dict(odd_errors))
        counts = {name: value for name, value in asdict(report).items() if isinstance(value, int)}
        async with self._database.transaction() as connection:
            sql = "select holdfast.finish_takeover($1, $2, $3::text::jsonb)"
            await connection.execute(sql, takeover, self._actor, _json(counts), timeout=COUNT_SECONDS)
        return report

    async def _find_chosen(self) -> None:
        for key in self._plan.chosen:
            if not await self._table.has(key):
                raise NotFound(
                    f'no row of {self._table.name} has the key "{key}": choose the flow of one that is there'
                )

    async def _begin(self) -> tuple[int, str | None]:
        await self._database.execute("select holdfast.register_policy($1::text::jsonb)", _json(DOUBLING.declaration()))
        row = await self._database.fetchrow(
            "select id, cursor from holdfast.begin_takeover($1, $2, $3::text::jsonb, $4, $5, $6, $7::text::jsonb, $8)",
            self._table.source,
            self._table.name,
            _json(self._table.columns),
            self._plan.pipeline,
            self._plan.organisation,
            self._plan.share,
            _json(dict(self._plan.chosen)),
            self._actor,
        )
        assert row is not None
        return row["id"], row["cursor"]

    async def _batches(self, after: str | None) -> AsyncIterator[list[OldRow]]:
        while batch := await self._table.read(after):
            yield batch
            after = batch[-1].key

    async def _known(self, takeover: int | None, batch: Sequence[OldRow]) -> dict[str, Known]:
        rows = await self._database.fetch(
            "select * from holdfast.known_rows($1, $2, $3::text::jsonb, $4)",
            takeover,
            self._plan.share,
            _json(dict(self._plan.chosen)),
            [row.key for row in batch],
        )
        return {row["key"]: Known(*list(row)[1:]) for row in rows}

    async def _staying(self, takeover: int | None, called_back: list[str]) -> list[dict[str, str]]:
        if not called_back:
            return []
        sql = "select * from holdfast.carried_rows($1, $2) where reason is not null"
        return [dict(row) for row in await self._database.fetch(sql, takeover, called_back)]

    def _convert(self, row: OldRow, known: Known, stages: Stages) -> Becomes | Left:
        return convert(row, stages, flow=known.chosen, workers_stopped=self._plan.workers_stopped)

    def _count(self, tally: Tally, row: OldRow, known: Known, stages: Stages, *, stays: bool) -> None:
        status, state = row.text("status"), row.text("state")
        if kind := odd_error(row):
            tally.odd_errors[kind] += 1
        if known.flow == "new" and (stays or not known.is_called_back):
            tally.beyond_share += known.chosen == "old" and not known.is_named
            tally.changed += row.whole != known.row_before
            tally.add(status, state, "new", None, TAKEN_BEFORE, None)
            return
        match self._convert(row, known, stages):
            case Left(reason) if known.flow is not None:
                tally.add(status, state, known.flow, None, NO_LONGER_KNOWN, reason)
            case Left(reason):
                tally.add(status, state, None, None, None, reason)
                if len(tally.left_rows) < LEFT_SHOWN:
                    tally.left_rows.append({"key": row.key, "reason": reason})
            case Becomes() as becomes:
                tally.add(status, state, becomes.flow, becomes.status, becomes.state, becomes.reason)
                runs = becomes.flow == "new" and becomes.state in ("queued", "failed")
                tally.without_source += runs and not has_source(row, self._files)

    async def _take(self, takeover: int, batch: list[OldRow], stages: Stages, *, after: str | None) -> None:
        known = await self._known(takeover, batch)
        items = [one for row in batch if (one := await self._item(row, known[row.key], stages))]
        called_back = [item["key"] for item in items if known[item["key"]].is_called_back]
        try:
            await self._write(takeover, items, called_back=called_back, after=after, cursor=batch[-1].key)
        except InvalidInput as error:
            # Something in it cannot be stored. Halves are tried until the row is found, which is then left.
            if len(batch) > 1:
                half = len(batch) // 2
                await self._take(takeover, batch[:half], stages, after=after)
                await self._take(takeover, batch[half:], stages, after=batch[half - 1].key)
                return
            # One that was taken or shown before stays as it was known.
            is_taken = known[batch[0].key].flow is not None
            left = [] if is_taken else [left_item(batch[0], f"it cannot be stored: {error}")]
            await self._write(takeover, left, called_back=[], after=after, cursor=batch[0].key)
        await self._note_changes(takeover, batch, known)

    async def _write(
        self, takeover: int, items: list[dict[str, Any]], *, called_back: list[str], after: str | None, cursor: str
    ) -> None:
        async with self._database.transaction() as connection:
            if called_back:
                rows = await connection.fetch("select holdfast.give_back($1, $2) as key", takeover, called_back)
                staying = {row["key"] for row in rows}
                items = [item for item in items if item["key"] not in staying]
            sql = "select holdfast.take_rows($1, $2, $3, $4::text::jsonb)"
            await connection.execute(sql, takeover, after, cursor, _json(items))

    async def _item(self, row: OldRow, known: Known, stages: Stages) -> dict[str, Any] | None:
        """What is to be written; None where the row is what it was, or Holdfast carries it already."""
        if known.flow == "new" and not known.is_called_back:
            return None
        becomes = self._convert(row, known, stages)
        if isinstance(becomes, Left):
            known_so = known.flow is not None or row.whole == known.row_before
            return None if known_so else left_item(row, becomes.reason)
        if known.flow == becomes.flow and row.whole == known.row_before:
            return None
        organisation = row.short("organisation") or self._plan.organisation
        original = await original_of(row, becomes, self._files, organisation=organisation)
        return item_of(row, becomes, original, organisation=organisation, table=self._table.name)

    async def _note_changes(self, takeover: int, batch: list[OldRow], known: dict[str, Known]) -> None:
        items = [
            {"key": row.key, "changed": changed, "status": row.text("status")}
            for row in batch
            if known[row.key].flow == "new"
            and ((changed := row.whole != known[row.key].row_before) or known[row.key].is_changed)
        ]
        if items:
            await self._database.execute("select holdfast.note_changed($1, $2::text::jsonb)", takeover, _json(items))

    async def _verified(self, takeover: int, odd_errors: dict[str, int]) -> Report:
        counts = await self._counts(takeover)
        old = await self._table.count_by_status()
        if sum(old.values()) < sum(count["rows"] for count in counts):
            await self._note_gone(takeover)
            counts = await self._counts(takeover)
        kept = Counter[str | None]()
        for count in counts:
            kept[count["status"]] += count["rows"]
        left_rows = await self._database.fetch("select * from holdfast.left_rows($1, $2)", takeover, LEFT_SHOWN)
        staying = await self._database.fetch("select * from holdfast.staying_rows($1)", takeover)
        return report_of(
            self._table,
            sorted_groups(_group(count) for count in counts),
            changed=sum(count["changed"] for count in counts),
            without_source=sum(count["without_source"] for count in counts),
            odd_errors=odd_errors,
            left_rows=[dict(row) for row in left_rows],
            staying=[dict(row) for row in staying],
            beyond_share=await self._beyond_share(takeover),
            differences=compare(old, kept, counts),
        )

    async def _counts(self, takeover: int) -> list[dict[str, Any]]:
        async with self._database.transaction() as connection:
            sql = "select * from holdfast.takeover_counts($1)"
            return [dict(row) for row in await connection.fetch(sql, takeover, timeout=COUNT_SECONDS)]

    async def _beyond_share(self, takeover: int) -> int:
        async with self._database.transaction() as connection:
            sql = "select holdfast.rows_beyond_share($1)"
            return int(await connection.fetchval(sql, takeover, timeout=COUNT_SECONDS))

    async def _note_gone(self, takeover: int) -> None:
        after = ""
        sql = "select holdfast.taken_keys($1, $2, $3) as key"
        while keys := [row["key"] for row in await self._database.fetch(sql, takeover, after, GONE_ROWS)]:
            if gone := await self._table.missing(keys):
                await self._database.execute("select holdfast.note_gone($1, $2)", takeover, gone)
            after = keys[-1]


def _group(count: dict[str, Any]) -> Group:
    return Group(
        status=count["status"],
        state=count["state"],
        flow=count["flow"],
        becomes_status=count["job_status"],
        becomes_state=count["job_state"],
        reason=count["reason"],
        rows=count["rows"],
    )


def _json(value: object) -> str:
    # All that comes from outside was checked when it was read; to look through whole batches again takes seconds.
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
