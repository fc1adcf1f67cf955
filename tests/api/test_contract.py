"""The API keeps what its own description promises, whatever is sent."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance

from holdfast.errors import CorruptInput
from tests.api.serving import PATIENCE_SECONDS, Served

EXAMPLES = 15
# Questions take a number or two, and there are many of them.
EXAMPLES_OF_A_QUESTION = 3
CHECKS = [not_a_server_error, response_schema_conformance]
ENDLESS = "text/event-stream"


@pytest.mark.timeout(600)
async def test_every_answer_is_one_that_is_described(api: Served) -> None:
    for number in range(3):
        await api.upload(b"ferry %d" % number, metadata='{"ward": "7"}')
    worker = await api.worker()
    await worker.fail_once("store", CorruptInput("torn"))
    url = f"http://127.0.0.1:{api.port}/v1/openapi.json"
    assert await asyncio.to_thread(_call_everything, url) > 12


async def test_every_reference_of_the_description_leads_somewhere(api: Served) -> None:
    description = (await api.client.get("/v1/openapi.json")).json()
    references = list(_references(description))
    assert references
    for reference in references:
        found = description
        for name in reference.removeprefix("#/").split("/"):
            assert name in found, reference
            found = found[name]


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)


def _call_everything(url: str) -> int:
    """Call every operation but streams that never end; says how many there were."""
    schema = schemathesis.openapi.from_url(url)
    operations = [found.ok() for found in schema.get_all_operations()]
    called = [one for one in operations if ENDLESS not in str(one.definition.raw["responses"])]
    # What removes comes last: others want to find something.
    for operation in sorted(called, key=lambda one: one.method == "delete"):
        _call(operation, GenerationMode.POSITIVE)
        with suppress(Unsatisfiable):  # who asks for nothing cannot be answered wrongly
            _call(operation, GenerationMode.NEGATIVE)
    return len(called)


def _call(operation: Any, mode: GenerationMode) -> None:
    """Call it with what it says it takes, or with what it does not."""

    @settings(
        max_examples=EXAMPLES_OF_A_QUESTION if operation.path.startswith("/v1/admin/") else EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), known=st.one_of(st.none(), st.integers(1, 3)))
    def call(case: Any, known: int | None) -> None:
        case.headers.pop("Authorization", None)  # one that is made up is refused before anything else is looked at
        if known is not None:
            case.path_parameters = dict.fromkeys(case.path_parameters or {}, known)
        case.call_and_validate(checks=CHECKS, timeout=PATIENCE_SECONDS)

    call()
