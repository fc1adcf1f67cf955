"""Rows as the database takes them over: document, job and backup in one."""

from typing import Any

from holdfast.engine.attempt import Json
from holdfast.takeover.converting import Becomes, retries_before
from holdfast.takeover.old_row import OldRow
from holdfast.takeover.originals import Original
from holdfast.takeover.stages import DUPLICATE, MIXED

# An index holds locations; what is longer is no place that anyone would look for.
_LONGEST_LOCATION = 2_000


def item_of(row: OldRow, becomes: Becomes, original: Original, *, organisation: str, table: str) -> dict[str, Any]:
    """A row that is taken over, or shown as one of the old flow."""
    return {
        **_backup(row),
        "flow": becomes.flow,
        "reason": becomes.reason,
        "retry_count": retries_before(row) if becomes.state in ("queued", "failed") else 0,
        "document": {
            "organisation": organisation,
            "source_name": _name(row, original, table),
            "source_platform": original.platform,
            "source_location": _stored_location(original.location),
            "content_hash": _content_hash(row, original),
            "metadata": _metadata(row, original, table),
            "created_at": row.moment("created_at"),
            "repeats": becomes.status == DUPLICATE,
        },
        "job": {
            "phase": becomes.phase,
            "status": becomes.status,
            "state": becomes.state,
            "input": original.input,
            "last_error": becomes.last_error,
            "retries": becomes.retries,
            "finished_at": row.moment("updated_at"),
        },
        "artifact": original.artifact,
    }


def left_item(row: OldRow, reason: str) -> dict[str, Any]:
    """A row that is left where it is."""
    return {**_backup(row), "flow": None, "reason": reason}


def odd_error(row: OldRow) -> str | None:
    """What is odd about a row's error; None where nothing is, as in a row that did not fail and has none."""
    if row.text("last_error") is None:
        failed = row.text("status") in MIXED or row.text("state") in ("retryable", "deadletter")
        return "missing" if failed and "last_error" in row.texts else None
    error = row.json("last_error")
    if not isinstance(error, dict):
        return "not an object"
    return None if error.get("error") and error.get("component") else "without message or component"


def _backup(row: OldRow) -> dict[str, Any]:
    return {"key": row.key, "row": row.whole, "status": row.text("status"), "state": row.text("state")}


def _name(row: OldRow, original: Original, table: str) -> str:
    last_part = (original.location or "").rstrip("/").rpartition("/")[2].partition("?")[0]
    return row.short("name") or last_part[:255] or f"{table} {row.key}"[:255]


def _stored_location(location: str | None) -> str | None:
    return location if location and len(location.encode()) <= _LONGEST_LOCATION else None


def _content_hash(row: OldRow, original: Original) -> Json:
    return original.artifact["hash"] if original.artifact else row.short("content_hash")


def _metadata(row: OldRow, original: Original, table: str) -> dict[str, Json]:
    old = row.json("metadata")
    kept: dict[str, Json] = dict(old) if isinstance(old, dict) else {} if old is None else {"metadata": old}
    origin: dict[str, Json] = {"table": table, "key": row.key}
    if (content_hash := row.short("content_hash")) is not None:
        origin["content_hash"] = content_hash
    if original.location and _stored_location(original.location) is None:
        origin["location"] = original.location
    return {**kept, "takeover": origin}
