"""The door: the first key closes it while the server runs, and who tries wrong keys is not listened to for a while."""

from pathlib import Path

import pytest

from holdfast.access.keys import Scope
from holdfast.api import buckets, callers
from holdfast.api.buckets import Buckets
from tests.api.serving import Served, bearer, problem, serving

TRIES = 3


@pytest.fixture
def _looks_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.api.door.LOOK_SECONDS", 0)


@pytest.fixture
def _few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "WRONG_KEYS_PER_MINUTE", TRIES)


@pytest.mark.usefixtures("_looks_always")
async def test_first_key_closes_the_open_door(api: Served) -> None:
    assert (await api.client.get("/v1/jobs")).status_code == 200
    headers = await api.key("acme")
    assert problem(await api.client.get("/v1/jobs"), 401) == "unauthorised"
    assert (await api.client.get("/v1/jobs", headers=headers)).status_code == 200


@pytest.mark.usefixtures("_looks_always")
async def test_door_that_was_closed_stays_closed(api: Served) -> None:
    made = await api.app.keys.create("crm", scope=Scope.READ, organisation=None, actor="test")
    assert problem(await api.client.get("/v1/jobs"), 401) == "unauthorised"
    await api.app.keys.revoke(made.key_id, actor="test")
    assert problem(await api.client.get("/v1/jobs"), 401) == "unauthorised"


async def test_keys_are_not_looked_for_at_every_call(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.api.door.LOOK_SECONDS", 3600)
    await api.key("acme")
    assert (await api.client.get("/v1/jobs")).status_code == 200


@pytest.mark.usefixtures("_looks_always")
async def test_once_there_is_a_key_other_names_may_be_called(api: Served) -> None:
    foreign = {"Host": "holdfast.example", "Origin": "https://holdfast.example"}
    assert problem(await api.client.get("/v1/jobs", headers=foreign), 403) == "foreign_page"
    headers = await api.key("acme")
    assert problem(await api.client.get("/v1/jobs", headers=foreign), 401) == "unauthorised"
    assert (await api.client.get("/v1/jobs", headers=headers | foreign)).status_code == 200


@pytest.mark.usefixtures("_looks_always")
async def test_strangers_page_is_refused_while_nobody_can_tell_whether_there_are_keys(api: Served) -> None:
    await api.app.database.execute("alter function holdfast.has_keys() rename to had_keys")
    assert problem(await api.client.get("/healthz", headers={"Host": "evil.example"}), 403) == "foreign_page"
    assert problem(await api.client.get("/v1/jobs"), 500) == "database_unusable"
    assert (await api.client.get("/healthz")).status_code == 200
    await api.app.database.execute("alter function holdfast.had_keys() rename to has_keys")


@pytest.mark.usefixtures("_few_tries")
async def test_address_that_tries_wrong_keys_is_told_to_wait(dsn: str, tmp_path: Path) -> None:
    async with serving(dsn, tmp_path, asks_for_keys=True) as served:
        used, unused = await served.key("acme"), await served.key("acme")
        assert (await served.client.get("/v1/jobs", headers=used)).status_code == 200
        for number in range(TRIES):
            wrong = await served.client.get("/v1/jobs", headers=bearer(f"hf_wrong{number}"))
            assert problem(wrong, 401) == "unauthorised"
        refused = await served.client.get("/v1/jobs", headers=bearer("hf_wrong"))
        assert problem(refused, 429) == "too_many_calls"
        assert 1 <= int(refused.headers["retry-after"]) <= 60 / TRIES
        assert problem(await served.client.get("/v1/jobs", headers=unused), 429) == "too_many_calls"
        assert (await served.client.get("/v1/jobs", headers=used)).status_code == 200
        assert (await served.client.get("/v1/jobs")).status_code == 401


@pytest.mark.usefixtures("_few_tries")
async def test_revoked_key_is_no_longer_one_that_was_right(dsn: str, tmp_path: Path) -> None:
    async with serving(dsn, tmp_path, asks_for_keys=True) as served:
        made = await served.app.keys.create("crm", scope=Scope.READ, organisation=None, actor="test")
        assert (await served.client.get("/v1/jobs", headers=bearer(made.secret))).status_code == 200
        await served.app.keys.revoke(made.key_id, actor="test")
        answers = [await served.client.get("/v1/jobs", headers=bearer(made.secret)) for _ in range(TRIES + 1)]
        assert [answer.status_code for answer in answers] == [401] * TRIES + [429]


def test_bucket_fills_by_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(buckets.time, "monotonic", lambda: now)
    calls = Buckets(2)
    assert [_take(calls, "crm") for _ in range(3)] == [0, 0, 30]
    now = 29
    assert calls.wait_seconds("crm") == pytest.approx(1)
    now = 30
    assert [_take(calls, "crm") for _ in range(2)] == [0, 30]
    assert calls.wait_seconds("shop") == 0


def test_buckets_keep_the_names_seen_last_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "MOST_NAMES", 3)
    calls = Buckets(1)
    for name in ("a", "b", "a", "c", "d"):
        calls.take(name)
    assert len(calls) == 3
    assert [name for name in "abcd" if calls.wait_seconds(name)] == ["a", "c", "d"]


def _take(calls: Buckets, name: str) -> float:
    wait = calls.wait_seconds(name)
    if not wait:
        calls.take(name)
    return wait
