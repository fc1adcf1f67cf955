"""No statement of ours changes every row of a table: pg-safeupdate, which PostgREST's sessions load, refuses that."""

import re
from collections.abc import Iterator

import pytest

from holdfast.schema import FUNCTIONS

FILES = sorted(FUNCTIONS.rglob("*.sql"))
CHANGE = re.compile(
    r"\b(?:update\s+(?:only\s+)?(?!set\b)[\w.]+\s+(?:(?:as\s+)?\w+\s+)?set|delete\s+from)\b.*", re.DOTALL
)
INNERMOST = re.compile(r"\(([^()]*)\)")


def unsafe(sql: str) -> Iterator[str]:
    """Every update and delete without a condition of its own; one inside its brackets is another statement's."""
    sql = re.sub(r"'(?:[^']|'')*'", "''", re.sub(r"--[^\n]*", "", sql.lower()))
    parts = []
    while INNERMOST.search(sql):
        parts += [match[1] for match in INNERMOST.finditer(sql)]
        sql = INNERMOST.sub(" ", sql)
    for statement in (one for part in (*parts, sql) for one in part.split(";")):
        for change in CHANGE.findall(statement):
            if not re.search(r"\bwhere\b", change):
                yield " ".join(change.split())


def test_every_update_and_delete_has_a_condition() -> None:
    found = [(path.name, change) for path in FUNCTIONS.rglob("*.sql") for change in unsafe(path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "sql",
    [
        "update maintenance set cleaned_at = v_now;",
        "with gone as (delete from chunk returning id) select * from gone where true",
        "update a x set b = (select c from d where e);",
    ],
)
def test_one_without_is_found(sql: str) -> None:
    assert len(list(unsafe(sql))) == 1
