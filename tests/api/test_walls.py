"""The wall between organisations, tried at every door that the API's own description names."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import httpx2
import pytest

from holdfast.engine.queue import Submission, submit
from holdfast.errors import CorruptInput
from tests.api.serving import Served, keep
from tests.search.library import Library

TELLTALE = "zanzibar"
EVENT_STREAM = "text/event-stream"
ROWS = """
select md5(string_agg(row::text, ' ' order by row::text)) from (
    select to_jsonb(d) from holdfast.document d where organisation = 'other'
    union all select to_jsonb(j) from holdfast.pipeline_job j where organisation = 'other'
    union all select to_jsonb(c) from holdfast.chunk c where organisation = 'other'
    union all select to_jsonb(s) from holdfast.story s where organisation = 'other'
    union all select to_jsonb(r) from holdfast.reading r where organisation = 'other'
    union all select to_jsonb(a) from holdfast.artifact a where organisation = 'other'
    union all select to_jsonb(t) from holdfast.trial t where organisation is distinct from 'acme'
    union all select to_jsonb(r) from holdfast.receiver r where organisation = 'other'
    union all select to_jsonb(v) from holdfast.delivery v
    where receiver_id in (select id from holdfast.receiver where organisation = 'other')
) as rows(row)
"""


@dataclass(frozen=True, slots=True)
class Theirs:
    """What the other organisation has."""

    document_id: int
    job_id: int
    webhook_id: int
    delivery_id: int

    def value(self, name: str) -> Any:
        """What a caller would write to get at it."""
        named = {
            "document_id": self.document_id,
            "job_id": self.job_id,
            "ids": [self.job_id],
            "organisation": "other",
            "platform": "secret",
            "location": f"shelf/{TELLTALE}",
            "name": f"{TELLTALE}.txt",
            "q": "ferry",
            "metadata": "colour=" + TELLTALE,
            "graph": True,
            "everything": True,
            "state": "failed",
            "component": "storage",
            "category": "corrupt_input",
            "cursor": f"{self.document_id + 1}-{self.job_id + 1}",
            "url": "https://example.org/a.pdf",
            "act": "cancel",
            "text": TELLTALE,
            "first": 1,
            "times": 1,
            "pipeline": "documents",
            "daily_limit_usd": 1,
            "events": ["job.failed"],
            "reference": "order-1",
            "outcome": "completed",
        }
        return named.get(name)


@dataclass(frozen=True, slots=True)
class Ask:
    """One call."""

    method: str
    address: str
    query: dict[str, Any]
    body: dict[str, Any] | None = None
    form: dict[str, Any] | None = None


@pytest.fixture
async def theirs(guarded: Served) -> Theirs:
    """A document with a telltale word everywhere, a failed job of it, and passages."""
    database = guarded.app.database
    item = Submission(
        organisation="other",
        source_name=f"{TELLTALE}.txt",
        source_platform="secret",
        source_location=f"shelf/{TELLTALE}",
        metadata={"colour": TELLTALE},
    )
    webhook = await guarded.app.webhooks.add(f"https://example.org/{TELLTALE}", organisation="other", actor="test")
    (submitted,) = await submit(database, "documents", [item])
    worker = await guarded.worker()
    await worker.fail_once("store", CorruptInput(f"{TELLTALE} is torn"))
    await Library(database).put(submitted.document_id, 0, f"The ferry to {TELLTALE} leaves at noon.")
    await database.execute("select holdfast.publish_document($1, $2)", submitted.document_id, submitted.job_id)
    await database.execute("select holdfast.store_story($1, $2::text::jsonb)", submitted.document_id, _story())
    await database.execute("select holdfast.store_reading($1, $2, 'model')", submitted.document_id, TELLTALE)
    await keep(guarded, submitted.document_id, "original", b"bytes of " + TELLTALE.encode(), organisation="other")
    await keep(guarded, submitted.document_id, "text", b"text of " + TELLTALE.encode(), organisation="other")
    (delivery,) = await guarded.app.webhooks.deliveries()
    await database.execute("update holdfast.delivery set last_answer = $1", TELLTALE)
    await database.execute(
        "insert into holdfast.incident (kind, scope, organisation, opened_at, message, figures)"
        " values ('budget_spent', $1, 'other', now(), $1, '{}')",
        TELLTALE,
    )
    return Theirs(submitted.document_id, submitted.job_id, webhook.receiver_id, delivery.delivery_id)


def _story() -> str:
    said = {"summary_neutral": TELLTALE, "summary_spicy": TELLTALE, "category": "other", "severity": 1}
    return json.dumps({**said, "top_entities": [TELLTALE], "entity_counter": {TELLTALE: 1}, "model": "model"})


async def test_no_door_leads_to_another_organisation(guarded: Served, theirs: Theirs) -> None:
    own = await guarded.upload(headers=await guarded.key("acme"))
    assert own.status_code == 202
    headers = await guarded.key("acme")
    before, files = await guarded.app.database.fetchval(ROWS), set(guarded.stored_files())
    asks = list(_asks(await _description(guarded), theirs))
    assert len(asks) > 60
    for ask in asks:
        status, text = await _answer(guarded, ask, headers)
        assert status < 500, ask
        assert TELLTALE not in text.lower(), ask
        assert await guarded.app.database.fetchval(ROWS) == before, ask
    assert set(guarded.stored_files()) >= files


async def test_same_doors_show_it_to_its_owner(guarded: Served, theirs: Theirs) -> None:
    """Otherwise the wall would be proven by doors that lead nowhere."""
    headers = await guarded.key("other")
    told = set()
    for ask in _asks(await _description(guarded), theirs):
        if ask.method == "GET" and TELLTALE in (await _answer(guarded, ask, headers))[1].lower():
            told.add(ask.address)
    document, job = theirs.document_id, theirs.job_id
    assert told == {
        f"/v1/documents/{document}",
        f"/v1/documents/{document}/original",
        f"/v1/documents/{document}/text",
        "/v1/jobs",
        f"/v1/jobs/{job}",
        f"/v1/jobs/{job}/events",
        "/v1/search",
        "/v1/events",
        "/v1/alerts",
        "/v1/webhooks",
        f"/v1/webhooks/{theirs.webhook_id}/deliveries",
        "/v1/worker/metrics",
        f"/v1/worker/runs/{document}/status",
        "/v1/admin/processing-status",
        "/v1/admin/errors",
        "/v1/admin/failure-groups",
        "/v1/admin/top-failing",
        "/v1/admin/repeat-offenders",
        f"/v1/stories/{document}",
        "/v1/stories/entities",
        f"/v1/readings/{document}",
    }


async def _description(guarded: Served) -> dict[str, Any]:
    described: dict[str, Any] = (await guarded.client.get("/v1/openapi.json")).json()
    return described


def _asks(description: dict[str, Any], theirs: Theirs) -> Iterator[Ask]:
    """Every operation, bare, with each way to name what is theirs, and with all of them."""
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            parameters = operation.get("parameters", [])
            names = [one["name"] for one in parameters if one["in"] == "query"]
            needed = {one["name"] for one in parameters if one["in"] == "query" and one["required"]}
            run = theirs.document_id
            places = {"hold_id": 1, "name": "stories", "provider": "parser", "run": run, "other": run}
            address = path.format(**places, **asdict(theirs))
            queries = list(_choices(names, needed, theirs))
            bodies: list[tuple[Any, Any]] = list(_bodies(description, operation, theirs)) or [(None, None)]
            for query, (body, form) in itertools.product(queries, bodies):
                yield Ask(method.upper(), address, query, body, form)


def _choices(names: list[str], needed: set[str], theirs: Theirs) -> Iterator[dict[str, Any]]:
    named = {name: theirs.value(name) for name in names if theirs.value(name) is not None}
    must = {name: value for name, value in named.items() if name in needed}
    assert needed <= set(named), f"say what a caller would write for {needed - set(named)}"
    yield must
    for name, value in named.items():
        if name not in needed:
            yield {**must, name: value}
    yield named


def _bodies(description: dict[str, Any], operation: dict[str, Any], theirs: Theirs) -> Iterator[tuple[Any, Any]]:
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = _resolved(description, content["schema"])
        names = [name for name in schema.get("properties", {}) if name not in ("file", "metadata")]
        needed = set(schema.get("required", [])) - {"file"}
        for choice in _choices(names, needed, theirs):
            if kind == "multipart/form-data":
                yield None, choice
            else:
                acts = ("retry", "reset", "cancel") if "act" in choice else (None,)
                for act in acts:
                    yield {**choice, **({"act": act} if act else {})}, None
                    yield {**choice, **({"act": act, "dry_run": True} if act else {})}, None


def _resolved(description: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    for option in schema.get("anyOf", []):
        if "$ref" in option:
            schema = option
    if "$ref" in schema:
        found: dict[str, Any] = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return found
    return schema


async def _answer(guarded: Served, ask: Ask, headers: dict[str, str]) -> tuple[int, str]:
    """What is told; of a stream without end, its first event."""
    files = {"file": ("a.txt", b"ours")} if ask.form is not None else None
    async with guarded.client.stream(
        ask.method,
        ask.address,
        params=ask.query,
        json=ask.body,
        data=ask.form,
        files=files,
        headers=headers,
    ) as response:
        if response.headers.get("content-type", "").startswith(EVENT_STREAM):
            return response.status_code, await _first_event(response)
        return response.status_code, json.dumps(dict(response.headers)) + (await response.aread()).decode()


async def _first_event(response: httpx2.Response) -> str:
    text = ""
    async for piece in response.aiter_text():
        text += piece
        if "\n\n" in text:
            break
    return text
