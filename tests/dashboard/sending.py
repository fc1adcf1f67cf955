"""Documents sent in from outside while someone looks at the dashboard."""

import asyncio

import httpx2

from tests.dashboard.conftest import Dashboard

PATIENCE_SECONDS = 60.0


async def upload(dashboard: Dashboard, name: str, text: str, **form: str) -> int:
    """Send a file in and answer its job. `key` is shown at the door; the rest are fields of the form."""
    key = form.pop("key", None)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(base_url=dashboard.url, headers=headers, timeout=PATIENCE_SECONDS) as client:
        answer = await client.post("/v1/documents", files={"file": (name, text.encode())}, data=form)
        assert answer.status_code == 202, answer.text
        job: int = answer.json()["job_id"]
        return job


async def finished(dashboard: Dashboard, job_id: int) -> None:
    """Come back when a job is done."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await dashboard.app.overview.job(job_id))["state"] != "done":
            await asyncio.sleep(0.1)
