"""Searches by vectors are tried where vectors are: the external server has no pgvector."""

import pytest

from holdfast.db.connection import Database
from holdfast.search.search import Search
from tests.search.library import Library

NEED_VECTORS = {"test_generations.py", "test_methods.py", "test_recall.py", "test_vectors.py"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    elsewhere = [
        item
        for item in items
        if item.path.parent.name == "search" and item.path.name in NEED_VECTORS and "[external" in item.name
    ]
    config.hook.pytest_deselected(items=elsewhere)
    items[:] = [item for item in items if item not in set(elsewhere)]


@pytest.fixture
def library(database: Database) -> Library:
    return Library(database)


@pytest.fixture
def by_words(database: Database) -> Search:
    """Without an embedder: what every PostgreSQL can do."""
    return Search(database, None)
