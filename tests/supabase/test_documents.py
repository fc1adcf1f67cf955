"""The main job on a stand-in of Supabase: directly, through a pooler in transaction mode, and mixed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.api.serving import serving
from tests.cli.conftest import CommandLine
from tests.pgbouncer import pooling
from tests.supabase.project import Supabase

FERRY = "The ferry to the island leaves the northern quay at noon, every day but Sunday."
STORM = "In a storm the tidal gate stays shut and every boat is moored twice."


@asynccontextmanager
async def routed(route: str, dsn: str) -> AsyncIterator[dict[str, str]]:
    """The settings that lead to a database on this route."""
    if route == "direct":
        yield {"HOLDFAST_DATABASE_URL": dsn}
        return
    async with pooling(dsn) as pooled:
        direct = {"HOLDFAST_DATABASE_DIRECT_URL": dsn} if route == "mixed" else {}
        yield {"HOLDFAST_DATABASE_URL": pooled, **direct}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "route", ["mixed", *(pytest.param(one, marks=pytest.mark.thorough) for one in ("direct", "pooler"))]
)
async def test_documents_are_taken_in_found_and_removed(
    route: str, newer_supabase: Supabase, tmp_path: Path, ready_holdfast: Path
) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "ferry.txt").write_text(FERRY)
    (tmp_path / "papers" / "storm.txt").write_text(STORM)
    async with newer_supabase.project() as dsn, routed(route, dsn) as settings:
        settings |= {"HOLDFAST_HOME": str(tmp_path / "home"), "HOLDFAST_PIPELINES": "", "HOLDFAST_POOL_SIZE": "4"}
        holdfast = CommandLine(settings, tmp_path, (ready_holdfast,), seconds=180)

        async def succeed(*arguments: str):
            return (await asyncio.to_thread(holdfast.succeed, *arguments, "--json")).json

        migrated = await succeed("migrate", "--for", "supabase")
        assert migrated["notes"] == []
        assert migrated["front_end"]["claims"] == ["o.id", "org_id"]
        assert (await succeed("ingest", "papers", "--org", "acme"))["failures"] == []
        by_meaning = await succeed("search", "departure of the ferry", "--org", "acme", "--by", "vectors")
        assert [hit["text"] for hit in by_meaning["hits"]][:1] == [FERRY]
        await _serve_an_organization(settings, tmp_path)
        await succeed("reindex")
        again = await succeed("search", "ferry", "--org", "acme")
        assert again["hits"][0]["text"] == FERRY
        assert again["hits"][0]["why"]["similarity"] is not None
        assert (await succeed("doctor"))["findings"] == []
        await succeed("delete", str(again["hits"][0]["document_id"]), "--yes")
        assert FERRY not in str(await succeed("search", "ferry", "--org", "acme"))
        assert (await succeed("doctor"))["findings"] == []


async def _serve_an_organization(settings: dict[str, str], folder: Path) -> None:
    """Its key opens what is its own, over HTTP."""
    fields = {
        name.removeprefix("HOLDFAST_").lower(): value for name, value in settings.items() if "PIPELINES" not in name
    }
    dsn = fields.pop("database_url")
    async with serving(dsn, Path(fields.pop("home")), asks_for_keys=True, **fields) as api:
        ours, theirs = await api.key("acme"), await api.key("other")
        assert (await api.upload(b"A letter.", headers=ours, organisation="acme")).status_code in (201, 202)
        jobs = await api.client.get("/v1/jobs", headers=ours)
        assert jobs.status_code == 200
        assert len(jobs.json()["jobs"]) == 3
        found = await api.client.get("/v1/search", params={"q": "ferry"}, headers=ours)
        assert FERRY in found.text
        assert FERRY not in (await api.client.get("/v1/search", params={"q": "ferry"}, headers=theirs)).text
        (job,) = [job for job in jobs.json()["jobs"] if job["state"] == "queued"]
        cancelled = await api.client.post(f"/v1/jobs/{job['job_id']}/cancel", headers=ours)
        assert cancelled.status_code == 200
