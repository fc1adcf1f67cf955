"""Formats the engine's events: for people on a terminal, as JSON lines for whoever collects logs."""

import logging
import sys
from typing import Literal

import structlog


def configure_logs(log_format: Literal["auto", "json", "console"], *, level: int = logging.INFO) -> None:
    """Write the events of logger "holdfast" to stderr, one line each."""
    for_people = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.setFormatter(_formatter(for_people=for_people))
    logger = logging.getLogger("holdfast")
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False


def _formatter(*, for_people: bool) -> logging.Formatter:
    arrival: list[structlog.typing.Processor] = [
        structlog.stdlib.ExtraAdder(),
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if for_people else "iso", utc=not for_people),
    ]
    rendering: list[structlog.typing.Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if for_people:
        rendering.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    else:
        rendering += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    return structlog.stdlib.ProcessorFormatter(processors=rendering, foreign_pre_chain=arrival)
