"""Takes a takeover back: what it made is removed here, and the old table was never touched."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from holdfast.db.connection import Database
from holdfast.engine.strict_json import dump
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.takeover.old_table import COUNT_SECONDS, parted

BATCH_ROWS = 2_000

Discard = Callable[[int], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Undone:
    """How many rows were let go. `discarded` had been worked on; `kept` are documents that others refer to."""

    table: str
    removed: int
    discarded: int
    kept: int


async def undo(
    database: Database,
    table: str,
    *,
    source: str | None,
    actor: str,
    discard: Discard | None,
    on_progress: Callable[[int], None],
) -> Undone:
    """Remove what the takeover of a table made, in batches; stopped and called again it goes on.

    The old database need not be there any more: `source`, its URL or what was recorded of it, only tells tables of the
    same name apart. Raises Conflict when
    documents were worked on since, unless `discard` says how to remove one of those.
    """
    takeover, name = await _in_force(database, table, source)
    worked = [row["id"] for row in await database.fetch("select holdfast.worked_rows($1, null) as id", takeover)]
    if worked and discard is None:
        raise Conflict(
            f"{len(worked)} of the documents of {name} had work done since they were taken over, and what was made of"
            " them would be lost: undo with --discard-work if that is meant"
        )
    async with database.transaction() as connection:
        await connection.execute("select holdfast.begin_undo($1, $2)", takeover, actor, timeout=COUNT_SECONDS)
    for document_id in worked:
        assert discard is not None
        with suppress(NotFound):  # it was removed before, and only its row is left
            await discard(document_id)
        await database.execute("select holdfast.let_go($1, $2)", takeover, [document_id])
    removed, kept = 0, 0
    while True:
        row = await database.fetchrow("select removed, kept from holdfast.undo_rows($1, $2)", takeover, BATCH_ROWS)
        assert row is not None
        if not row["removed"] and not row["kept"]:
            break
        removed, kept = removed + row["removed"], kept + row["kept"]
        on_progress(removed + kept)
    undone = Undone(name, removed, len(worked), kept)
    counts = dump({name: value for name, value in asdict(undone).items() if name != "table"}).decode()
    await database.execute("select holdfast.finish_undo($1, $2, $3::text::jsonb)", takeover, actor, counts)
    return undone


async def _in_force(database: Database, table: str, source: str | None) -> tuple[int, str]:
    rows = await database.fetch("select * from holdfast.takeovers_named($1, $2)", *parted(table))
    if source is None:
        found, named = rows, table
    else:
        name = _database_name(source)
        found = [row for row in rows if source == row["source"]] or [
            row for row in rows if name == row["source"].rpartition("@")[0]
        ]
        named = f'{table} of database "{name}"'
    if not found:
        raise NotFound(f"{named} was not taken over, or that was undone already: there is nothing to undo")
    if len(found) > 1:
        sources = ", ".join(row["source"] for row in found)
        raise Conflict(f"tables named {table} were taken over from {sources}: name one of these with --from")
    return found[0]["takeover_id"], found[0]["table_name"]


def _database_name(source: str) -> str:
    """The database that a URL names: by its path or an option, else it is called as who logs in."""
    if "://" not in source:
        return source.rpartition("@")[0] or source
    try:
        url = urlsplit(source)
    except ValueError as error:
        raise InvalidInput(f"--from is invalid: {error}") from error
    options = parse_qs(url.query)
    named = unquote(url.path.removeprefix("/")) or options.get("dbname", options.get("database", [""]))[0]
    return named or unquote(url.username or "")
