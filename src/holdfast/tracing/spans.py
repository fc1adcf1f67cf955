"""Attempts as spans of OpenTelemetry. Imported only where a collector is named: it takes time, and may not be there."""

import threading
from importlib.metadata import version
from typing import assert_never

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags, set_span_in_context
from opentelemetry.util.types import AttributeValue

from holdfast.engine.attempt import Attempt
from holdfast.engine.classify import Failure
from holdfast.engine.pipeline import Awaits, Done, Ending, GiveBack
from holdfast.providers.http import TRACEPARENT
from holdfast.tracing.ids import Ids

FIRST_TOKEN = 1


class Spans:
    """Makes a span of every attempt that ends. Telling it costs microseconds: a thread of its own sends them, and drops
    what it cannot send. No span holds a document's text, or a message that may quote it.
    """

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._given = _GivenIds()
        ours = Resource({"service.name": "holdfast", "service.version": version("holdfast")})
        self._provider = TracerProvider(
            resource=ours.merge(OTELResourceDetector().detect()), id_generator=self._given, shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("holdfast")

    def attempt_started(self, attempt: Attempt) -> None:
        """Let the calls that this attempt makes be joined to its trace, if that is kept at all."""
        if self._is_sampled(attempt):
            TRACEPARENT.set(self._ids.traceparent(attempt.job_id, attempt.token))

    def attempt_ended(self, attempt: Attempt, ending: Ending | None) -> None:
        """Take the span of an attempt, and with a job's first one the span of the job."""
        if attempt.token == FIRST_TOKEN:
            self._take_job(attempt)
        self._given.span = self._ids.attempt(attempt.job_id, attempt.token)
        began = _nanoseconds(attempt)
        span = self._tracer.start_span(
            f"{attempt.pipeline}.{attempt.phase}",
            context=self._below_job(attempt),
            attributes={**_about(attempt), **_outcome(ending)},
            start_time=began,
        )
        if isinstance(ending, Failure):
            span.set_status(Status(StatusCode.ERROR, str(ending.category)))
        span.end(began + int(attempt.seconds * 1e9))

    def close(self, seconds: float) -> None:
        """Send what is left. A collector that does not answer is waited for so long, and no longer."""
        closing = threading.Thread(target=self._provider.shutdown, name="last-spans", daemon=True)
        closing.start()
        closing.join(seconds)

    def _take_job(self, attempt: Attempt) -> None:
        """The job as a moment: when it was first taken up. Nobody knows yet when it will end."""
        self._given.trace, self._given.span = self._ids.trace(attempt.job_id), self._ids.job(attempt.job_id)
        began = _nanoseconds(attempt)
        about = {name: value for name, value in _about(attempt).items() if name in _JOB_ATTRIBUTES}
        span = self._tracer.start_span(attempt.pipeline, context=Context(), attributes=about, start_time=began)
        span.end(began)

    def _below_job(self, attempt: Attempt) -> Context:
        flags = TraceFlags(TraceFlags.SAMPLED if self._is_sampled(attempt) else TraceFlags.DEFAULT)
        ids = self._ids
        job = SpanContext(ids.trace(attempt.job_id), ids.job(attempt.job_id), is_remote=True, trace_flags=flags)
        return set_span_in_context(NonRecordingSpan(job), Context())

    def _is_sampled(self, attempt: Attempt) -> bool:
        """What OTEL_TRACES_SAMPLER decides about the job: by its trace's id, so that all workers decide the same."""
        answer = self._provider.sampler.should_sample(None, self._ids.trace(attempt.job_id), attempt.pipeline)
        return answer.decision is Decision.RECORD_AND_SAMPLE


class _GivenIds(IdGenerator):
    """Hands out the ids that were put here before."""

    def __init__(self) -> None:
        self.trace = self.span = 0

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


_JOB_ATTRIBUTES = ("holdfast.job", "holdfast.document", "holdfast.organisation", "holdfast.pipeline")


def _about(attempt: Attempt) -> dict[str, AttributeValue]:
    return {
        "holdfast.job": attempt.job_id,
        "holdfast.document": attempt.document.id,
        "holdfast.organisation": attempt.document.organisation,
        "holdfast.pipeline": attempt.pipeline,
        "holdfast.phase": attempt.phase,
        "holdfast.run": attempt.run,
        "holdfast.attempt": attempt.number,
    }


def _outcome(ending: Ending | None) -> dict[str, AttributeValue]:
    match ending:
        case Done():
            return {"holdfast.outcome": "completed", "holdfast.cost_usd": float(ending.cost_usd or 0)}
        case Failure():
            category = str(ending.category)
            return {
                "holdfast.outcome": "failed",
                "holdfast.category": category,
                "holdfast.cost_usd": float(ending.cost_usd),
                "error.type": category,
            }
        case Awaits():
            return {
                "holdfast.outcome": "released",
                "holdfast.awaits": ending.provider,
                "holdfast.cost_usd": float(ending.cost_usd),
            }
        case GiveBack():
            return {"holdfast.outcome": "released", "holdfast.cost_usd": float(ending.cost_usd or 0)}
        case None:
            return {"holdfast.outcome": "dropped"}
    assert_never(ending)


def _nanoseconds(attempt: Attempt) -> int:
    return int(attempt.started_at.timestamp() * 1e9)
