"""Traces: one span for each attempt, all attempts of a job in one trace, and never a reason to fail or to wait."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.policy import Policy
from holdfast.engine.slots import Slots
from holdfast.engine.worker import Worker
from holdfast.errors import CorruptInput, NetworkTimeout
from holdfast.providers.http import Endpoint, HttpApi
from holdfast.testing import KEY, StandIn
from holdfast.tracing.collector import doubts, traced
from holdfast.tracing.ids import Ids
from tests.engine.working import QUICK, pipeline_of, take_in, work_off
from tests.tracing.collecting import Collector, collecting, read

SECRET_TEXT = "the patient's name is Ada"
ERROR = 2


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        monkeypatch.setattr("holdfast.tracing.collector.GOODBYE_SECONDS", 60.0)
        yield collector


async def test_attempt_becomes_a_span_that_says_what_it_was(database: Database, collector: Collector) -> None:
    async with traced(database):
        (job,) = await work_off(database, pipeline_of(lambda _: Done(cost_usd=Decimal("0.25"))))
    (span,) = collector.named("test.only")
    assert read(span.attributes) == {
        "holdfast.job": job["id"],
        "holdfast.document": job["document_id"],
        "holdfast.organisation": "acme",
        "holdfast.pipeline": "test",
        "holdfast.phase": "only",
        "holdfast.run": 1,
        "holdfast.attempt": 1,
        "holdfast.outcome": "completed",
        "holdfast.cost_usd": 0.25,
    }
    assert 0 <= span.end_time_unix_nano - span.start_time_unix_nano < 20e9
    assert collector.resource["service.name"] == "holdfast"


async def test_failure_is_a_span_with_its_category_and_never_its_message(
    database: Database, collector: Collector
) -> None:
    def fail(_: Attempt) -> Done:
        raise CorruptInput(SECRET_TEXT)

    async with traced(database):
        await work_off(database, pipeline_of(fail), source_name=SECRET_TEXT, metadata={"note": SECRET_TEXT})
    (span,) = collector.named("test.only")
    attributes = read(span.attributes)
    assert (attributes["holdfast.outcome"], attributes["holdfast.category"]) == ("failed", "corrupt_input")
    assert (span.status.code, span.status.message) == (ERROR, "corrupt_input")
    assert SECRET_TEXT not in str(collector.spans)


async def test_attempts_of_a_job_by_different_workers_are_one_trace(database: Database, collector: Collector) -> None:
    tries: list[int] = []

    def fail_once(attempt: Attempt) -> Done:
        tries.append(attempt.number)
        if len(tries) == 1:
            raise NetworkTimeout("not yet")
        return Done()

    phases = (
        Phase(name="first", handler=fail_once, done="begun", policy=Policy.retrying("soon", (0,))),
        Phase(name="second", handler=lambda _: Done(), done="complete"),
    )
    pipeline = Pipeline("test", phases=phases)
    await take_in(database, pipeline)
    for phase in ("first", "second"):
        async with traced(database):
            slots = Slots.serving([pipeline], only_phases=(phase,))
            await Worker(database, [pipeline], slots=slots, pace=QUICK).run(until_idle=True)
    (job,) = collector.named("test")
    attempts = [*collector.named("test.first"), *collector.named("test.second")]
    assert len(attempts) == 3
    assert {span.trace_id for span in attempts} == {job.trace_id}
    assert {span.parent_span_id for span in attempts} == {job.span_id}
    assert len({span.span_id for span in collector.spans}) == 4


async def test_every_job_has_a_trace_of_its_own(database: Database, collector: Collector) -> None:
    async with traced(database):
        await work_off(database, pipeline_of(lambda _: Done()), count=3)
    assert len({span.trace_id for span in collector.named("test.only")}) == 3


def test_installations_that_share_a_collector_do_not_share_traces() -> None:
    ours, theirs = Ids("2026-01-01"), Ids("2026-01-02")
    assert ours.trace(1) == Ids("2026-01-01").trace(1)
    assert ours.trace(1) != theirs.trace(1)
    assert ours.attempt(1, 1) != theirs.attempt(1, 1)


async def test_calls_to_providers_carry_the_trace(database: Database, collector: Collector) -> None:
    async with StandIn() as service, HttpApi(Endpoint("model", service.base_url, KEY)) as api:

        async def ask(_: Attempt) -> Done:
            await api.post("embeddings", json={"input": ["a"], "model": "m"})
            return Done()

        async with traced(database):
            await work_off(database, pipeline_of(ask))
        await api.post("embeddings", json={"input": ["a"], "model": "m"})
    (span,) = collector.named("test.only")
    traced_call, later_call = service.calls
    assert traced_call.headers["traceparent"] == f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01"
    assert "traceparent" not in later_call.headers


async def test_what_the_sampler_leaves_out_is_not_sent(
    database: Database, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    async with traced(database):
        await work_off(database, pipeline_of(lambda _: Done()), count=60)
    attempts, roots = collector.named("test.only"), collector.named("test")
    assert 5 < len(attempts) < 55
    assert {span.trace_id for span in attempts} == {span.trace_id for span in roots}


@pytest.mark.parametrize("silent", [False, True])
async def test_dead_collector_neither_fails_nor_slows_work(
    database: Database, monkeypatch: pytest.MonkeyPatch, silent: bool
) -> None:
    """One that refuses, and one that accepts and never answers."""
    monkeypatch.setattr("holdfast.tracing.collector.GOODBYE_SECONDS", 0.3)
    server = await asyncio.start_server(lambda *_: asyncio.sleep(60), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    if not silent:
        server.close()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    async with traced(database):
        jobs = await work_off(database, pipeline_of(lambda _: Done()), count=200)
        began = time.monotonic()
    assert time.monotonic() - began < 8  # for ten seconds whoever sends would try
    assert {job["state"] for job in jobs} == {"done"}
    server.close()


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_without_a_collector_nothing_is_imported(environment: dict[str, str]) -> None:
    code = (
        "import asyncio, sys\n"
        "from holdfast.tracing.collector import traced\n"
        "async def run():\n"
        "    async with traced(None): pass\n"
        "asyncio.run(run())\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def test_missing_package_is_told_and_work_goes_on(
    database: Database, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "holdfast.tracing.spans", None)
    async with traced(database):
        (job,) = await work_off(database, pipeline_of(lambda _: Done()))
    assert job["state"] == "done"
    assert collector.spans == []
    assert doubts() == [
        "OTEL_EXPORTER_OTLP_ENDPOINT names a collector, and no trace will reach it: run pip install 'holdfast[otel]'"
    ]
