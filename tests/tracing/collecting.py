"""A collector of traces on loopback, as OTLP over HTTP has it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """What arrived, in any order: `resource` is what the last sender says of itself."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.spans: list[Span] = []
        self.resource: dict[str, Any] = {}

    def take(self, body: bytes) -> None:
        for part in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resource = read(part.resource.attributes)
            self.spans += [span for scope in part.scope_spans for span in scope.spans]

    def named(self, name: str) -> list[Span]:
        """The spans of that name, the earliest first."""
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.start_time_unix_nano)


@contextmanager
def collecting() -> Iterator[Collector]:
    """Collect until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            collector.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_address[1]}")
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        try:
            yield collector
        finally:
            server.shutdown()
            serving.join()


def read(attributes: Any) -> dict[str, Any]:
    """Attributes as plain values."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
