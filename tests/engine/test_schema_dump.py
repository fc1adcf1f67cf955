"""The schema that migrations and functions make is the one that was reviewed."""

import os
from pathlib import Path

import pytest

from holdfast.db.connection import Database
from tests.engine.schema_dump import dump

REVIEWED = Path(__file__).parent.parent / "schema.sql"


# Where pgvector is not, neither is the table of vectors.
@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_schema_is_the_one_in_the_repository(database: Database) -> None:
    found = await dump(database)
    if os.environ.get("HOLDFAST_WRITE_SCHEMA"):
        REVIEWED.write_text(found, encoding="utf-8")
    assert found == REVIEWED.read_text(encoding="utf-8"), (
        "run `make schema` and review what it changes in tests/schema.sql"
    )
