"""Configuration archives over HTTP: sent in, shown page by page, compared."""

from pathlib import Path

import pytest

from holdfast.app import open_for_worker
from holdfast.settings import Settings
from tests.api.serving import Served, problem
from tests.conftest import Clock
from tests.extract.readers.archive_samples import zip_of

OLD = zip_of({"app.conf": b"[s]\na = 1\nb = 2\nnonsense\n"})
NEW = zip_of({"app.conf": b"[s]\na = 1\nb = 3\n"})


@pytest.fixture
async def runs(guarded: Served, dsn: str, tmp_path: Path) -> list[int]:
    """Two runs of acme that are complete."""
    headers = await guarded.key("acme")
    sent = [await guarded.upload(data, name="app.zip", pipeline="configs", headers=headers) for data in (OLD, NEW)]
    async with open_for_worker(Settings(database_url=dsn, home=tmp_path)) as app:
        await app.worker(only_pipelines=("configs",)).run(until_idle=True)
    return [answer.json()["document_id"] for answer in sent]


async def test_run_is_shown_page_by_page(guarded: Served, runs: list[int]) -> None:
    headers = await guarded.key("acme")
    first = (await guarded.client.get(f"/v1/configs/{runs[0]}?limit=1", headers=headers)).json()
    address = f"/v1/configs/{runs[0]}?limit=1&cursor={first['cursor']}"
    second = (await guarded.client.get(address, headers=headers)).json()
    assert first["status"] == "COMPLETE"
    assert first["metrics"]["stanzas_created"] == 1
    assert [one["line"] for one in first["errors"]] == [4]
    assert first["settings"] + second["settings"] == [
        {"source_path": "app.conf", "file": "app.conf", "line": 2, "stanza": "s", "key": "a", "value": "1"},
        {"source_path": "app.conf", "file": "app.conf", "line": 3, "stanza": "s", "key": "b", "value": "2"},
    ]
    assert second["cursor"] is None


async def test_status_of_a_run_tells_what_it_read_and_when(guarded: Served, runs: list[int]) -> None:
    headers = await guarded.key("acme")
    document = await guarded.upload(OLD, name="app.zip", pipeline="documents", headers=headers)
    assert document.json()["document_id"] == runs[0]
    address = f"/v1/worker/runs/{runs[0]}/status"
    assert (await guarded.client.get(address, headers=headers)).json()["pipeline"] == "documents"

    told = (await guarded.client.get(f"{address}?pipeline=configs", headers=headers)).json()

    assert (told["status"], told["percent"], told["error_message"]) == ("COMPLETE", 100, None)
    assert told["submitted_at"] <= told["started_at"] <= told["finished_at"]
    shown = (await guarded.client.get(f"/v1/configs/{runs[0]}", headers=headers)).json()["metrics"]
    assert told["metrics"] == {"cost_usd": 0.0, **shown}
    assert (told["metrics"]["files_parsed"], told["metrics"]["parse_errors"]) == (1, 1)
    assert problem(await guarded.client.get(f"{address}?pipeline=x", headers=headers), 404) == "not_found"


async def test_status_counts_the_retries_of_every_phase(api: Served, dsn: str, clock: Clock, tmp_path: Path) -> None:
    document = (await api.upload(OLD, name="app.zip", pipeline="configs")).json()["document_id"]
    address = f"/v1/worker/runs/{document}/status"
    artifacts, away = tmp_path / "artifacts", tmp_path / "away"
    async with open_for_worker(Settings(database_url=dsn, home=tmp_path)) as app:
        artifacts.rename(away)
        for _ in range(2):
            await app.worker(only_pipelines=("configs",)).run(until_idle=True)
            await clock.advance(seconds=601)
        failed = (await api.client.get(address)).json()
        away.rename(artifacts)
        await app.worker(only_pipelines=("configs",)).run(until_idle=True)
    done = (await api.client.get(address)).json()
    shown = (await api.client.get(f"/v1/configs/{document}")).json()
    assert (failed["retry_count"], failed["metrics"]["retry_count"]) == (1, 1)
    assert (done["state"], done["retry_count"], done["metrics"]["retry_count"]) == ("done", 2, 2)
    assert shown["metrics"]["retry_count"] == 2


async def test_runs_are_compared(guarded: Served, runs: list[int]) -> None:
    headers = await guarded.key("acme")
    answer = (await guarded.client.get(f"/v1/configs/{runs[0]}/diff/{runs[1]}", headers=headers)).json()
    assert (answer["added"], answer["removed"], answer["changed"]) == (0, 0, 1)
    assert (answer["changes"][0]["key"], answer["changes"][0]["new_value"]) == ("b", "3")


async def test_run_that_is_not_complete_is_not_compared(guarded: Served, runs: list[int]) -> None:
    headers = await guarded.key("acme")
    sent = await guarded.upload(zip_of({"b.conf": b"[s]\na = 1\n"}), name="b.zip", pipeline="configs", headers=headers)
    address = f"/v1/configs/{runs[0]}/diff/{sent.json()['document_id']}"
    assert problem(await guarded.client.get(address, headers=headers), 409) == "conflict"


async def test_another_organisations_run_is_not_there(guarded: Served, runs: list[int]) -> None:
    headers = await guarded.key("other")
    for address in (f"/v1/configs/{runs[0]}", f"/v1/configs/{runs[0]}/diff/{runs[1]}"):
        assert problem(await guarded.client.get(address, headers=headers), 404) == "not_found"


async def test_document_of_another_pipeline_is_no_run(api: Served) -> None:
    document = (await api.upload()).json()["document_id"]
    assert problem(await api.client.get(f"/v1/configs/{document}"), 404) == "not_found"


async def test_pipeline_that_is_not_there_is_told(api: Served) -> None:
    assert problem(await api.upload(pipeline="nobodys"), 404) == "not_found"
    assert problem(await api.upload(pipeline="no such name"), 422) == "invalid_input"


@pytest.mark.parametrize("query", ["cursor=1", "cursor=1-2-99999999999", "limit=0", "limit=1001", "file="])
async def test_bad_page_is_refused(api: Served, query: str) -> None:
    assert problem(await api.client.get(f"/v1/configs/1?{query}"), 422) == "invalid_input"
