"""Logs: one form for everything that is said, whoever says it."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.cli.logs import OTHERS, configure_logs
from holdfast.cli.repeated import EVERY_SECONDS, SaidSeldom


@pytest.fixture(autouse=True)
def _loggers_as_before() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("holdfast", *OTHERS)]
    before = [(logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def _lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def _fail() -> None:
    raise ValueError("password=hunter22")


def test_what_the_server_fails_at_is_one_line_like_all_others(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json")
    try:
        _fail()
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
    (line,) = _lines(capsys)
    assert (line["event"], line["level"]) == ("Exception in ASGI application", "error")
    assert line["timestamp"]
    assert "in _fail" in line["exception"]


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_traceback_shows_no_secret_and_no_values(log_format: Any, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(log_format)
    hidden = "".join(("held ", "by ", "a ", "frame"))
    try:
        _fail()
    except ValueError:
        logging.getLogger("uvicorn.error").exception("failed")
    written = capsys.readouterr().err
    assert "ValueError" in written
    assert "hunter22" not in written
    assert hidden not in written


def test_libraries_say_that_they_start_only_to_those_who_want_every_detail(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json")
    logging.getLogger("uvicorn.error").info("Started server process")
    assert _lines(capsys) == []
    configure_logs("json", level=logging.DEBUG)
    logging.getLogger("uvicorn.error").info("Started server process")
    assert {line["event"] for line in _lines(capsys)} == {"Started server process"}


def test_collector_that_does_not_answer_is_told_in_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json")
    logging.getLogger("opentelemetry.sdk").warning("Queue full, dropping %s.", "Span")
    assert [line["event"] for line in _lines(capsys)] == ["Queue full, dropping Span."]


def test_what_is_said_again_and_again_is_said_at_once_then_seldom(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json")
    for _ in range(500):
        logging.getLogger("holdfast").warning("database.unavailable", extra={"error": "refused"})
    logging.getLogger("holdfast").warning("worker.lost")
    assert [line["event"] for line in _lines(capsys)] == ["database.unavailable", "worker.lost"]


def test_what_was_not_said_is_counted_and_its_jobs_are_named() -> None:
    now = 0.0
    seldom = SaidSeldom(clock=lambda: now)
    said = []
    for job in (1, 2, 3, 2):
        record = logging.makeLogRecord({"msg": "attempt.not_written_yet", "job": job})
        said.append(seldom.filter(record))
        now += EVERY_SECONDS / 3 + 0.1
    assert said == [True, False, False, True]
    assert (record.__dict__["times"], record.__dict__["jobs"]) == (3, [2, 3])
