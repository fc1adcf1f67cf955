"""Classification: every kind of error gets its category, and none gets through raw."""

import errno
import json
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.message import Message
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from holdfast.engine import strict_json
from holdfast.engine.classify import Failure, classify, restore
from holdfast.errors import (
    BudgetExceeded,
    Category,
    CorruptInput,
    DatabaseUnavailable,
    InvalidInput,
    PhaseError,
    RateLimited,
)


class Response:
    """The shape that httpx and requests give to an answer."""

    def __init__(self, status_code: int, body: str = "<html>", headers: Mapping[str, str] | None = None) -> None:
        self.status_code = status_code
        self.headers = headers or {}
        self._body = body

    def json(self) -> object:
        return json.loads(self._body)


class StatusError(Exception):
    """The shape that httpx and the SDKs give to an error."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"answered {response.status_code}")
        self.response = response


class CodedError(Exception):
    def __init__(self, code: object, body: object = None) -> None:
        super().__init__(str(code))
        self.code = code
        self.body = body


ReadTimeout = type("ReadTimeout", (type("TimeoutException", (Exception,), {}),), {})
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "category"),
    [
        (429, Category.RATE_LIMIT),
        (401, Category.AUTH),
        (403, Category.AUTH),
        (404, Category.SOURCE_GONE),
        (410, Category.SOURCE_GONE),
        (413, Category.TOO_LARGE),
        (402, Category.BUDGET_EXCEEDED),
        (408, Category.NETWORK_TIMEOUT),
        (500, Category.NETWORK_TIMEOUT),
        (503, Category.NETWORK_TIMEOUT),
        (529, Category.NETWORK_TIMEOUT),
        (400, Category.UNKNOWN),
        (422, Category.UNKNOWN),
    ],
)
def test_http_status_decides(status: int, category: Category) -> None:
    failure = classify(StatusError(Response(status)))
    assert (failure.category, failure.error_code) == (category, f"HTTP_{status}")


@pytest.mark.parametrize(
    ("code", "category"),
    [
        ("rate_limit_exceeded", Category.RATE_LIMIT),
        ("budget_exceeded", Category.BUDGET_EXCEEDED),
        ("insufficient_quota", Category.BUDGET_EXCEEDED),
        ("content_policy_violation", Category.CONTENT_POLICY),
        ("context_length_exceeded", Category.TOKEN_LIMIT),
    ],
)
@pytest.mark.parametrize("place", ["code", "body", "response"])
def test_provider_code_decides_wherever_it_stands(code: str, category: Category, place: str) -> None:
    body = {"error": {"code": code}}
    error = {
        "code": CodedError(code),
        "body": CodedError(None, body),
        "response": StatusError(Response(429, json.dumps(body))),
    }[place]
    failure = classify(error)
    assert (failure.category, failure.error_code) == (category, code)


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (TimeoutError(), Category.NETWORK_TIMEOUT),
        (ConnectionResetError(errno.ECONNRESET, "reset"), Category.NETWORK_TIMEOUT),
        (socket.gaierror(-2, "Name or service not known"), Category.NETWORK_TIMEOUT),
        (ssl.SSLEOFError(8, "EOF occurred"), Category.NETWORK_TIMEOUT),
        (OSError(errno.EHOSTUNREACH, "no route"), Category.NETWORK_TIMEOUT),
        (ReadTimeout("slow"), Category.NETWORK_TIMEOUT),
        (urllib.error.URLError(ConnectionRefusedError()), Category.NETWORK_TIMEOUT),
        (json.JSONDecodeError("bad", "{", 1), Category.JSON_PARSE),
        (MemoryError(), Category.RESOURCE_EXHAUSTED),
        (RuntimeError("can't start new thread"), Category.RESOURCE_EXHAUSTED),
        (OSError(errno.EMFILE, "too many open files"), Category.RESOURCE_EXHAUSTED),
        (OSError(errno.ENOSPC, "no space"), Category.STORAGE_UNAVAILABLE),
        (OSError(errno.EROFS, "read-only"), Category.STORAGE_UNAVAILABLE),
        (OSError(errno.EFBIG, "too big"), Category.TOO_LARGE),
        (DatabaseUnavailable("restarting"), Category.STORAGE_UNAVAILABLE),
        (FileNotFoundError(errno.ENOENT, "no such file"), Category.UNKNOWN),
        (InvalidInput("a handler called us wrongly"), Category.UNKNOWN),
        (ValueError("?"), Category.UNKNOWN),
        (SystemExit(429), Category.UNKNOWN),
        (KeyboardInterrupt(), Category.UNKNOWN),
    ],
    ids=repr,
)
def test_type_decides(error: BaseException, category: Category) -> None:
    assert classify(error).category is category


def test_phase_error_speaks_for_itself() -> None:
    error = BudgetExceeded(
        "spent", error_code="B1", details={"limit": 5}, retry_after_seconds=9, cost_usd=Decimal("0.003")
    )
    assert classify(error) == Failure(
        category=Category.BUDGET_EXCEEDED,
        error="spent",
        error_type="BudgetExceeded",
        error_code="B1",
        details={"limit": 5},
        retry_after_seconds=9,
        cost_usd=Decimal("0.003"),
        traceback="holdfast.errors.BudgetExceeded: spent\n",
    )


def test_phase_error_raised_from_a_foreign_one_decides() -> None:
    error = CorruptInput("not a PDF")
    error.__cause__ = TimeoutError()
    assert classify(error).category is Category.CORRUPT_INPUT


def test_cause_decides_where_the_error_itself_does_not_tell() -> None:
    error = ValueError("cannot fetch")
    error.__cause__ = ConnectionResetError("reset by peer")
    failure = classify(error)
    assert failure.category is Category.NETWORK_TIMEOUT
    assert failure.error == "cannot fetch (caused by ConnectionResetError: reset by peer)"


def test_what_was_merely_being_handled_does_not_decide() -> None:
    error = ValueError("a bug in the except block")
    error.__context__ = ConnectionResetError()
    assert classify(error).category is Category.UNKNOWN


def test_causes_in_a_circle_end() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert classify(first).category is Category.UNKNOWN


def test_group_is_what_its_first_recognised_member_is() -> None:
    group = ExceptionGroup("several", [ValueError("?"), ExceptionGroup("inner", [RateLimited("slow down")])])
    failure = classify(group)
    assert (failure.category, failure.error) == (Category.RATE_LIMIT, "slow down")


def test_group_costs_what_its_members_cost_together() -> None:
    spent = [RateLimited("a", cost_usd=Decimal("0.1")), CorruptInput("b", cost_usd=Decimal("0.2"))]
    assert classify(ExceptionGroup("several", spent)).cost_usd == Decimal("0.3")


def test_cost_of_a_cause_is_counted_once() -> None:
    error = CorruptInput("outer", cost_usd=Decimal("0.1"))
    error.__cause__ = RateLimited("inner", cost_usd=Decimal("0.1"))
    assert classify(error).cost_usd == Decimal("0.1")


@pytest.mark.parametrize("cost", ["NaN", "Infinity", "-1", "1e30"])
def test_absurd_cost_is_no_cost(cost: str) -> None:
    assert classify(RateLimited("x", cost_usd=Decimal(cost))).cost_usd == 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "17"}, 17),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After": format_datetime(NOON + timedelta(minutes=2)), "Date": format_datetime(NOON)}, 120),
        ({"Retry-After": format_datetime(NOON - timedelta(minutes=2)), "Date": format_datetime(NOON)}, 0),
        ({"Retry-After": "99999999999"}, 7 * 86_400),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read(headers: Mapping[str, str], seconds: float | None) -> None:
    assert classify(StatusError(Response(429, headers=headers))).retry_after_seconds == seconds


def test_retry_after_date_without_server_clock_counts_from_now() -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(hours=1))
    seconds = classify(StatusError(Response(429, headers={"Retry-After": until}))).retry_after_seconds
    assert seconds is not None
    assert 3_500 < seconds <= 3_600


class TooManyRequests(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(429)
        self.send_header("Retry-After", "42")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def busy_server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), TooManyRequests) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_real_answer_of_a_busy_server_is_a_rate_limit(busy_server: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(busy_server)
    with caught.value:
        failure = classify(caught.value)
    assert (failure.category, failure.retry_after_seconds) == (Category.RATE_LIMIT, 42)


class Spiteful(Exception):
    """Fails whatever is asked of it."""

    def __str__(self) -> str:
        raise SystemExit("no")

    def __getattribute__(self, name: str) -> object:
        raise RecursionError(name)


def test_error_that_cannot_be_read_is_unknown() -> None:
    failure = classify(Spiteful())
    assert (failure.category, failure.error_type) == (Category.UNKNOWN, "Spiteful")


def test_response_that_cannot_be_decoded_still_has_its_status() -> None:
    assert classify(StatusError(Response(503, "<html>busy"))).category is Category.NETWORK_TIMEOUT


def test_headers_of_an_email_message_are_read() -> None:
    headers = Message()
    headers["Retry-After"] = "3"
    assert classify(urllib.error.HTTPError("http://x", 503, "busy", headers, None)).retry_after_seconds == 3


def test_error_without_words_says_its_type() -> None:
    assert classify(TimeoutError()).error == "TimeoutError without a message"


def test_failure_can_be_stored_whatever_the_error_holds() -> None:
    nasty = "a\0b\ud800c" * 5_000
    details = {
        "nasty": nasty,
        nasty: float("nan"),
        "huge": 10**5_000,
        "object": object(),
        "deep": [[[[[[1]]]]]],
    }
    failure = classify(PhaseError(nasty, error_code=nasty, details=details))
    strict_json.dump(failure.to_json())
    assert len(failure.error) == 1_000


def test_secret_reaches_neither_text_nor_traceback_nor_details() -> None:
    secret = "sk-abcdefghijklmnop"
    failure = classify(PhaseError(f"key {secret} refused", details={"api_key": "hunter2", "sent": secret}))
    assert secret not in json.dumps(failure.to_json())
    assert "hunter2" not in json.dumps(failure.to_json())


def test_traceback_names_the_line_and_no_local_value() -> None:
    def fail() -> None:
        local = "".join(["local", "-", "value"])
        raise ValueError("broken" if local else "")

    with pytest.raises(ValueError, match="broken") as caught:
        fail()
    traceback = classify(caught.value).traceback
    assert "in fail" in traceback
    assert "local-value" not in traceback


def test_long_traceback_keeps_its_end() -> None:
    traceback = classify(ValueError("x" * 50_000 + "the end")).traceback
    assert len(traceback) == 8_000
    assert traceback.endswith("the end\n")


def test_restored_failure_is_classified_as_it_was() -> None:
    failure = classify(StatusError(Response(429, headers={"Retry-After": "5"})))
    error = restore(Failure.from_json(failure.to_json()))
    assert isinstance(error, RateLimited)
    assert classify(error) == failure


@pytest.mark.parametrize("category", [category for category in Category if category != Category.WORKER_LOST])
def test_every_category_that_a_handler_can_raise_is_restored(category: Category) -> None:
    assert restore(Failure(category, error="x", error_type="X")).category is category


def test_lost_worker_cannot_be_claimed_by_a_handler() -> None:
    with pytest.raises(InvalidInput, match="worker_lost"):
        restore(Failure(Category.WORKER_LOST, error="x", error_type="X"))
