"""One event for each call: who, what, how it ended, how long; never what was asked or answered."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.access.keys import Scope
from tests.api.serving import Served

Told = Callable[[], Any]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    """The event of the only call that was made."""
    caplog.set_level(logging.DEBUG, logger="holdfast")

    def only() -> Any:
        (record,) = [record for record in caplog.records if record.message == "call.answered"]
        return record

    return only


async def test_call_is_told_with_its_caller_and_its_route(guarded: Served, told: Told) -> None:
    headers = await guarded.key("acme", Scope.READ)
    await guarded.client.get("/v1/documents/17?note=secret", headers=headers)
    await guarded.calm()
    event = told()
    assert (event.method, event.route, event.status) == ("GET", "/v1/documents/{document_id}", 404)
    assert event.caller == "key 1 (test)"
    assert 0 < event.milliseconds < 60_000
    assert "secret" not in str(vars(event))
    assert "17" not in str(event.route)


async def test_stranger_has_no_name(guarded: Served, told: Told) -> None:
    await guarded.client.get("/v1/jobs", headers={"Authorization": "Bearer hf_wrong"})
    await guarded.calm()
    assert (told().status, told().caller) == (401, None)


async def test_address_that_leads_nowhere_is_not_repeated(api: Served, told: Told) -> None:
    await api.client.get("/nowhere/at-all")
    await api.calm()
    assert (told().status, told().route) == (404, None)


@pytest.mark.parametrize(
    ("method", "address", "level"),
    [
        ("GET", "/v1/jobs", logging.DEBUG),
        ("GET", "/healthz", logging.DEBUG),
        ("GET", "/v1/jobs/999", logging.INFO),
        ("POST", "/v1/jobs/bulk", logging.INFO),
    ],
)
async def test_reading_is_told_only_to_those_who_want_it_all(
    api: Served, told: Told, method: str, address: str, level: int
) -> None:
    await api.client.request(method, address)
    await api.calm()
    assert told().levelno == level


async def test_failure_of_ours_is_a_warning(api: Served, told: Told) -> None:
    await api.app.database.execute("alter table holdfast.hold rename column reason to because")
    await api.client.get("/v1/holds")
    await api.calm()
    assert (told().status, told().levelno) == (500, logging.WARNING)
    await api.app.database.execute("alter table holdfast.hold rename column because to reason")
