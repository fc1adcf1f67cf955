"""The pipelines that workers serve in every weather: HOLDFAST_PIPELINES=tests.weather.pipelines:make."""

import asyncio
import json
import os
import urllib.request
from decimal import Decimal

from holdfast.app import App
from holdfast.db.connection import Connection
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.policy import Policy
from tests.weather.provider import PRICE

PROVIDER_URL = "WEATHER_PROVIDER_URL"
SLOTS = "WEATHER_SLOTS"
# Whoever may have one of these locks at all has it only when the weather is over.
HOGGED_LOCK = 4711
HOGS = 12
FILERS = 40
LIMIT_SECONDS = 600.0
# What waits for the object store, or is in the way, is to go on soon after: only what is paid is looked at.
SOON = Policy.retrying("soon", (1.0,) * 50)


def ask(attempt: Attempt) -> Done:
    """Make the paid call, in a thread as plain handlers run; every other document writes its result with `save`."""
    asked = json.dumps({"document": attempt.document.id}).encode()
    with urllib.request.urlopen(os.environ[PROVIDER_URL], asked, timeout=LIMIT_SECONDS) as response:
        answer = json.load(response)

    async def save(connection: Connection) -> None:
        await connection.execute("insert into public.weather_answer values ($1)", attempt.job_id)

    saves = attempt.document.id % 2 == 0
    return Done({"answered": True}, save=save if saves else None, cost_usd=Decimal(answer["usd"]))


async def note(attempt: Attempt) -> Done:
    """A cheap phase behind the paid one: its job goes on after the weather."""
    return Done({"noted": attempt.document.id})


def make(app: App) -> list[Pipeline]:
    """The paid pipeline, one that takes every connection, and one that needs the object store."""

    async def hog(attempt: Attempt) -> Done:
        async with app.database.transaction() as connection:
            while not await connection.fetchval("select pg_try_advisory_xact_lock_shared($1)", HOGGED_LOCK):
                await asyncio.sleep(0.1)
        return Done()

    async def file(attempt: Attempt) -> Done:
        # In the event loop's own threads, as the built-in phases do it, and more at once than there are of those.
        body = f"document {attempt.document.id}".encode()
        stored = await asyncio.to_thread(app.assembly.store.put_bytes, attempt.document.organisation, body)
        return Done({"hash": stored.hash})

    return [paid_pipeline(), _single("hogging", hog, HOGS), _single("filing", file, FILERS)]


def paid_pipeline() -> Pipeline:
    """Reserves exactly what a call costs: so what counts as spent because nobody knows equals the bill as well."""
    return Pipeline(
        "weather",
        (
            Phase(
                name="ask",
                handler=ask,
                done="asked",
                provider="oracle",
                budget="weather",
                estimate_usd=PRICE,
                daily_limit_usd=Decimal(1000),
                limit_seconds=LIMIT_SECONDS,
                concurrency=int(os.environ.get(SLOTS, "1")),
            ),
            Phase(name="note", handler=note, done="noted"),
        ),
    )


def _single(name: str, handler: object, concurrency: int) -> Pipeline:
    phase = Phase(
        name=name.removesuffix("ing"),
        handler=handler,  # type: ignore[arg-type]
        done="complete",
        policy=SOON,
        limit_seconds=LIMIT_SECONDS,
        concurrency=concurrency,
    )
    return Pipeline(name, (phase,))
