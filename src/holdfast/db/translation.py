"""Turns the driver's errors into ours, at the one edge where they appear."""

import asyncpg

from holdfast.errors import (
    Conflict,
    DatabaseUnavailable,
    DatabaseUnusable,
    HoldfastError,
    InvalidInput,
    NotFound,
    StorageUnavailable,
)
from holdfast.json_codec import TooDeep

# What our SQL functions raise on purpose; their text is written for people.
RAISED_BY_US: dict[str, type[HoldfastError]] = {
    "HF400": InvalidInput,
    "HF404": NotFound,
    "HF409": Conflict,
    "HF410": StorageUnavailable,
}

# Connection lost; rolled back for others; disk, memory or connections used up; its disk fails; a fault of its
# own, such as a damaged page.
UNAVAILABLE_CLASSES = ("08", "40", "53", "58", "XX")
SHUT = {"57P01", "57P02", "57P03", "57P05"}  # shutting down, crashed, starting, idled out
READ_ONLY = {"25006"}  # a standby, or a primary that was demoted or whose disk is full
IN_THE_WAY = {
    "25P03",
    "25P04",
    "55P03",
    "57014",
}  # a time-out: idle in a transaction, of a transaction, lock, statement
UNAVAILABLE = frozenset(SHUT | READ_ONLY | IN_THE_WAY)
UNUSABLE_CLASSES = ("28",)  # who we say we are
VIOLATED_CLASS = "23"  # a constraint
UNUSABLE = {
    "3D000": "correct the database's name in HOLDFAST_DATABASE_URL or create it",
    "42501": "grant it, or connect as a role that has it",
    "57P04": "the database was dropped while in use",
}
ABSENT = frozenset({"3F000", "42P01", "42883"})  # schema, table, function

# Values no column can hold: of a wrong type (the driver says 22000) or shape, with NUL, broken encoding or JSON, too
# long, too large, too deep.
UNSTORABLE = frozenset(
    {"22000", "22001", "22003", "22007", "22008", "22021", "22023", "22030", "22032", "22P02", "22P05", "54001"}
)


def translate(error: Exception) -> HoldfastError | None:
    """Our error for one raised while using a connection, or None when it is not for us to explain."""
    if isinstance(error, asyncpg.PostgresError):
        return _from_server(error)
    if isinstance(error, TimeoutError):
        return DatabaseUnavailable(
            "the database did not answer in time: check that it is reachable and has connections left"
        )
    # The driver shows a value that was refused, which on Python 3.11 no deep one survives.
    if isinstance(error, (TooDeep, RecursionError)):
        return InvalidInput(f"a value is {TooDeep()}")
    # The driver has no type of its own for a connection that went away between two calls, or within one.
    if isinstance(error, asyncpg.InternalClientError) or (
        isinstance(error, asyncpg.InterfaceError) and ("closed" in str(error) or "closing" in str(error))
    ):
        return DatabaseUnavailable(f"the connection to the database is gone: {error}")
    return None


def _from_server(error: asyncpg.PostgresError) -> HoldfastError | None:
    state = error.sqlstate or ""
    if state in RAISED_BY_US:
        return RAISED_BY_US[state](_whole_text(error))
    if state in READ_ONLY:
        return DatabaseUnavailable(
            f"the database lets nobody write now: {error}; if this is a standby or a failover, wait for it, or point "
            "HOLDFAST_DATABASE_URL at the primary; if its disk is full, ask who runs it for room"
        )
    if state in UNAVAILABLE or state.startswith(UNAVAILABLE_CLASSES):
        return DatabaseUnavailable(f"the database cannot answer now: {error}")
    if state.startswith(UNUSABLE_CLASSES):
        return DatabaseUnusable(f"the database refuses the login: {error}; correct HOLDFAST_DATABASE_URL")
    if state in UNUSABLE:
        return DatabaseUnusable(f"{_whole_text(error)}; {UNUSABLE[state]}")
    if state in ABSENT and "holdfast" in str(error):
        return DatabaseUnusable(f"the database is not migrated: {error}; run `holdfast migrate`")
    if state in UNSTORABLE:
        return InvalidInput(f"a value cannot be stored: {_whole_text(error)}")
    if state.startswith(VIOLATED_CLASS):
        error.detail = None  # it quotes the row, perhaps somebody's document, and errors are kept and shown
    return None


def _whole_text(error: asyncpg.PostgresError) -> str:
    # Errors that the driver makes itself have no `message`.
    parts = (str(error.args[0]), error.detail, error.hint)
    return "; ".join(part for part in parts if part)
