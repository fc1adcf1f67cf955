"""Formats events: for people on a terminal, as JSON lines for whoever collects logs."""

import logging
import sys
from typing import Literal

import structlog

from holdfast.cli.repeated import SaidSeldom
from holdfast.engine.redaction import clean_tail

# Libraries that say something of their own while they work for us.
OTHERS = ("uvicorn", "opentelemetry")
TRACEBACK_CHARACTERS = 8_000


def configure_logs(log_format: Literal["auto", "json", "console"], *, level: int = logging.INFO) -> None:
    """Write events to stderr, one line each, and in the same form what libraries warn of.

    That a library starts or stops, it says only to those who want to know every detail.
    """
    for_people = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.addFilter(SaidSeldom())
    handler.setFormatter(_formatter(for_people=for_people))
    _send("holdfast", handler, level)
    for name in OTHERS:
        _send(name, handler, logging.INFO if level == logging.DEBUG else max(level, logging.WARNING))


def _send(name: str, handler: logging.Handler, level: int) -> None:
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False


def _formatter(*, for_people: bool) -> logging.Formatter:
    arrival: list[structlog.typing.Processor] = [
        structlog.stdlib.ExtraAdder(),
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if for_people else "iso", utc=not for_people),
    ]
    rendering: list[structlog.typing.Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,
        _clean,
    ]
    if for_people:
        rendering.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    else:
        rendering.append(structlog.processors.JSONRenderer())
    return structlog.stdlib.ProcessorFormatter(processors=rendering, foreign_pre_chain=arrival)


def _clean(_: structlog.typing.WrappedLogger, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """A traceback ends with a message that may quote what nobody should read in a log."""
    event["event"] = str(event["event"]).strip()
    if "exception" in event:
        event["exception"] = clean_tail(event["exception"], limit=TRACEBACK_CHARACTERS)
    return event
