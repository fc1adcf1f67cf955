"""Vectors are tried where they are: the external server has no pgvector."""

import pytest

from holdfast.db.connection import Database
from tests.search.library import Library


@pytest.fixture
def library(database: Database) -> Library:
    return Library(database)
