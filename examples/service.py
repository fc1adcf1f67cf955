"""The outside world of the example: a newspaper and a paid, flaky summary service, real HTTP on loopback.

It answers by a seeded script, bills every answer it worked for, and keeps a ledger of its own to compare with ours.
"""

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

PRICE_USD = Decimal("0.003")
SEED = 7
RETRY_AFTER_SECONDS = 1
WORST_CALLS = 2
FIRST_SUMMARIES = 6

RETRACTED, FORBIDDEN, HOPELESS = "retracted", "forbidden", "hopeless"
"""Articles with a fate: gone from the newspaper; refused by the service; never answered in JSON."""

Answer = Literal["good", "garbage", "truncated", "busy", "slow_down", "refused"]
BILLED: frozenset[Answer] = frozenset({"good", "garbage", "truncated"})


@dataclass(frozen=True, slots=True)
class Call:
    """One line of the service's ledger: which attempt called, and how it was answered."""

    job_id: int
    token: int
    answer: Answer

    @property
    def billed_usd(self) -> Decimal:
        return PRICE_USD if self.answer in BILLED else Decimal(0)


class Service(ThreadingHTTPServer):
    """Serves until closed; `calls` is its ledger.

    After the first summaries it keeps its callers waiting until told to go on: whoever is killed then has calls in
    hand, however fast or slow the machine is.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls: list[Call] = []
        self.go_on = threading.Event()
        self._calls_by_article: dict[str, int] = {}
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def hesitate(self) -> None:
        """Take the time that an answer takes."""
        time.sleep(0.25)
        if sum(call.answer == "good" for call in self.calls) >= FIRST_SUMMARIES:
            self.go_on.wait()

    def answer(self, article: str, job_id: int, token: int) -> Answer:
        """Decide how to answer, and bill it: from here on the money is gone, whoever still listens."""
        with self._lock:
            number = self._calls_by_article[article] = self._calls_by_article.get(article, 0) + 1
            answer = _scripted(article, number)
            self.calls.append(Call(job_id, token, answer))
            return answer

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that was killed hangs up; there is nothing to say about it."""


@contextmanager
def running_service() -> Iterator[Service]:
    """A service that answers while the block runs."""
    with Service() as service:
        thread = threading.Thread(target=service.serve_forever, daemon=True)
        thread.start()
        yield service
        service.shutdown()
        thread.join()


def _scripted(article: str, number: int) -> Answer:
    if article == FORBIDDEN:
        return "refused"
    if article == HOPELESS:
        return "garbage"
    if number > WORST_CALLS:
        return "good"
    kinds: tuple[Answer, ...] = ("good", "busy", "garbage", "truncated", "slow_down")
    # Seeded by article and call, so the script does not depend on which worker comes first.
    return random.Random(f"{SEED} {article} {number}").choices(kinds, (11, 3, 2, 2, 1))[0]


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        if name == RETRACTED:
            self._send(404, b"no such article")
        else:
            self._send(200, f"All that happened in {name}.".encode())

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.hesitate()
        job_id, token = int(self.headers["Job"]), int(self.headers["Token"])
        match self.server.answer(self.headers["Article"], job_id, token):
            case "good":
                self._send(200, json.dumps({"summary": text.upper()}).encode())
            case "garbage":
                self._send(200, b"<p>Sure! Here is your summary:</p>")
            case "truncated":
                self._send(200, b'{"summary": "All that hap', announced=4096)
            case "busy":
                self._send(503, b"overloaded")
            case "slow_down":
                self._send(429, b"slow down", retry_after=RETRY_AFTER_SECONDS)
            case "refused":
                self._send(400, b'{"error": {"code": "content_policy_violation"}}')

    def _send(self, status: int, body: bytes, *, announced: int | None = None, retry_after: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(announced or len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """The ledger says it all."""
