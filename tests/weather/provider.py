"""A provider that is paid per call: a real server on loopback, which keeps its own count and its own bill."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PRICE = Decimal("0.02")


class Provider(ThreadingHTTPServer):
    """Charges a call when it comes, and answers none before it is told to."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.calls: Counter[int] = Counter()
        self.answered = 0
        self._counting = threading.Lock()
        self._answering = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def asked(self) -> int:
        return self.calls.total()

    @property
    def bill_usd(self) -> Decimal:
        """What it demands, whether or not anybody got the answer."""
        return self.calls.total() * PRICE

    def answer(self) -> None:
        """Answer whoever waits, and from now on everybody at once."""
        self._answering.set()

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing of callers who did not wait for their answer: they pay all the same."""

    def charge(self, document: int) -> None:
        with self._counting:
            self.calls[document] += 1
        self._answering.wait()

    def note_answer(self) -> None:
        with self._counting:
            self.answered += 1


class _Call(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.charge(asked["document"])
        body = json.dumps({"usd": str(PRICE)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.note_answer()

    def log_message(self, *_: object) -> None:
        """Says nothing: a test reads the counts."""


@contextmanager
def providing() -> Iterator[Provider]:
    """A provider that listens while the block runs."""
    with Provider() as provider:
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        try:
            yield provider
        finally:
            provider.answer()
            provider.shutdown()
