"""Columns of the tables: what each kind of value looks like and on which side it stands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.cli import formats

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table. Only a `flexible` one gives way when the terminal is narrow."""

    title: str
    cell: Callable[[Row], str]
    right: bool = False
    flexible: bool = False


def plain(title: str, key: str, *, flexible: bool = False, absent: str = formats.NOTHING) -> Column:
    """Text as it is, or `absent` when there is none."""
    return Column(title=title, cell=lambda row: formats.text(row[key] or absent), flexible=flexible)


def count(title: str, key: str) -> Column:
    """How many."""
    return Column(title=title, cell=lambda row: formats.number(row[key]), right=True)


def identity(title: str, key: str) -> Column:
    """An id, as other commands take it."""
    return Column(title=title, cell=lambda row: str(row[key]), right=True)


def dollars(title: str, key: str) -> Column:
    """Money."""
    return Column(title=title, cell=lambda row: formats.money(row[key]), right=True)


def lasting(title: str, key: str) -> Column:
    """Seconds, as a duration."""
    return Column(title=title, cell=lambda row: formats.duration(row[key]), right=True)


def rate(title: str, key: str) -> Column:
    """A fraction, in per cent."""
    return Column(title=title, cell=lambda row: formats.share(row[key]), right=True)


def since(title: str, key: str) -> Column:
    """How long ago."""
    return Column(title=title, cell=lambda row: formats.ago(row[key]))
