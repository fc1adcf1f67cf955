"""Loads the pipelines that the settings name."""

import importlib
import sys
from collections.abc import Iterable

from holdfast.engine.pipeline import Pipeline
from holdfast.errors import InvalidInput


def load_pipelines(names: Iterable[str], app: object) -> tuple[Pipeline, ...]:
    """The pipelines named as module:attribute, each a Pipeline, several of them, or a function that makes them.

    A function is called with the open App, which has the settings, the database, the store and the models. Modules
    of the current directory can be named too.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")
    return unique(tuple(pipeline for name in names for pipeline in _named(name, app)))


def unique(pipelines: tuple[Pipeline, ...]) -> tuple[Pipeline, ...]:
    """The same, or InvalidInput when two have one name."""
    known = [pipeline.name for pipeline in pipelines]
    for name in known:
        if known.count(name) > 1:
            raise InvalidInput(f'two pipelines are named "{name}": rename one, or name it once in HOLDFAST_PIPELINES')
    return pipelines


def _named(name: str, app: object) -> list[Pipeline]:
    module, _, attribute = name.partition(":")
    try:
        value = getattr(importlib.import_module(module), attribute)
        if callable(value):
            value = value(app)
    except Exception as error:
        # Whatever a module does while it is imported, the operator must learn which setting named it.
        raise InvalidInput(
            f'HOLDFAST_PIPELINES names "{name}", which cannot be loaded ({type(error).__name__}: {error}): '
            "correct it or the module; the current directory and installed packages are searched"
        ) from error
    pipelines = [value] if isinstance(value, Pipeline) else value
    if not isinstance(pipelines, list | tuple) or not all(isinstance(p, Pipeline) for p in pipelines):
        raise InvalidInput(
            f'HOLDFAST_PIPELINES names "{name}", which is {type(value).__name__}: '
            "it must be a Pipeline, a list of them, or a function of the App that returns either"
        )
    return list(pipelines)
