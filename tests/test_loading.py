"""Pipelines that the settings name: data, or made by a function that is given the open Holdfast."""

import sys
from pathlib import Path

import pytest

from holdfast.app import open_app
from holdfast.errors import InvalidInput
from holdfast.settings import Settings

MODULE = """
from holdfast.engine.pipeline import Done, Phase, Pipeline


def noting(name):
    return Pipeline(name, phases=(Phase(name="note", handler=lambda _: Done(), done="noted"),))


plain = noting("plain")
made = []


def one(app):
    made.append(app)
    return noting(f"for_{app.settings.organisation}")


def several(app):
    return [noting("first"), noting("second")]


def nothing(app):
    return None


def broken(app):
    raise RuntimeError("no connection to the moon")
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_pipelines.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_pipelines", raising=False)


async def names(dsn: str, *attributes: str) -> list[str]:
    pipelines = tuple(f"own_pipelines:{attribute}" for attribute in attributes)
    async with open_app(Settings(database_url=dsn, organisation="acme", pipelines=pipelines)) as app:
        await app.register()
        return [pipeline.name for pipeline in app.pipelines if pipeline.name not in ("documents", "configs")]


async def test_pipelines_may_be_data_or_made_by_functions(dsn: str) -> None:
    assert await names(dsn, "plain", "one", "several") == ["plain", "for_acme", "first", "second"]


async def test_function_is_called_once_however_often_pipelines_are_asked_for(dsn: str) -> None:
    await names(dsn, "one")
    assert len(sys.modules["own_pipelines"].made) == 1


@pytest.mark.parametrize(
    ("attribute", "complaint"),
    [("nothing", r"which is NoneType: it must be a Pipeline"), ("broken", r"RuntimeError: no connection to the moon")],
)
async def test_function_that_makes_none_is_named_with_what_it_did(dsn: str, attribute: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=f'names "own_pipelines:{attribute}".*{complaint}'):
        await names(dsn, attribute)
