"""Whether someone collects traces, as OpenTelemetry's own variables say; if so, they are sent there."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.db.connection import Database
from holdfast.engine import events
from holdfast.extras import install
from holdfast.tracing.ids import Ids

if TYPE_CHECKING:
    from holdfast.tracing.spans import Spans

ADDRESSES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
GOODBYE_SECONDS = 3.0


@asynccontextmanager
async def traced(database: Database) -> AsyncIterator[None]:
    """Send a span for every attempt that ends while the block runs, if a collector is named; otherwise do nothing.

    Without the extra `otel` nothing is sent either: `doubts` says so.
    """
    spans_of = _spans_of() if is_wanted() else None
    if spans_of is None:
        # Where it runs, someone may name a collector for all programs: that is no reason not to work.
        yield
        return
    installed_at: datetime = await database.fetchval("select min(applied_at) from holdfast.migration")
    spans = spans_of(Ids(installed_at.isoformat()))
    try:
        with events.heard_by(spans):
            yield
    finally:
        await asyncio.to_thread(spans.close, GOODBYE_SECONDS)


def is_wanted() -> bool:
    """Whether a collector is named and tracing is not switched off."""
    is_off = (
        os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or os.environ.get("OTEL_TRACES_EXPORTER") == "none"
    )
    return not is_off and any(os.environ.get(name) for name in ADDRESSES)


def doubts() -> list[str]:
    """What an operator should know: a collector is named, and nothing will reach it."""
    if not is_wanted() or _spans_of() is not None:
        return []
    named = next(name for name in ADDRESSES if os.environ.get(name))
    return [f"{named} names a collector, and no trace will reach it: run {install('otel')}"]


def _spans_of() -> "type[Spans] | None":
    """What makes spans, where the extra `otel` is installed."""
    try:
        from holdfast.tracing.spans import Spans
    except ImportError:
        return None
    return Spans
