"""The stand-in as users of Holdfast have it: a provider that fails as it is told to."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any, Literal

import httpx2
import pytest
from pydantic import BaseModel

from holdfast.testing import FAULTS, KEY, CannotListen, StandIn, rate_limited, wrong_json

PATIENCE_SECONDS = 60.0
CHAT = {"model": "any", "messages": [{"role": "user", "content": "Hello"}]}
CODES = {
    "rate_limit_exceeded": "rate_limited",
    "content_policy_violation": "content_policy",
    "context_length_exceeded": "context_length",
    "budget_exceeded": "budget_exceeded",
    None: "server_error",
}


@pytest.fixture
async def provider() -> AsyncIterator[StandIn]:
    async with StandIn() as started:
        yield started


async def chat(base_url: str, key: str = KEY, *, seconds: float = PATIENCE_SECONDS) -> httpx2.Response:
    return await post(f"{base_url}/chat/completions", key, seconds=seconds, json=CHAT)


async def post(url: str, key: str = KEY, *, seconds: float = PATIENCE_SECONDS, **body: Any) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(timeout=seconds, headers=headers, trust_env=False) as client:
        return await client.post(url, **body)


async def said_to(provider: StandIn, form: object) -> Any:
    answer = await post(f"{provider.base_url}/chat/completions", json={**CHAT, "response_format": form})
    assert answer.status_code == 200, answer.text
    return json.loads(answer.json()["choices"][0]["message"]["content"])


def form_of(schema: object) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


async def test_call_without_a_turn_is_answered(provider: StandIn) -> None:
    answer = (await chat(provider.base_url)).json()
    assert answer["choices"][0]["message"]["content"] == "An answer."
    assert [call.json for call in provider.calls] == [CHAT]


async def test_turns_are_taken_in_order_and_then_it_answers_again(provider: StandIn) -> None:
    provider.script(rate_limited(retry_after=2), rate_limited())
    answers = [await chat(provider.base_url) for _ in range(3)]
    assert [(one.status_code, one.headers.get("retry-after")) for one in answers] == [
        (429, "2"),
        (429, None),
        (200, None),
    ]


async def test_another_key_is_refused(provider: StandIn) -> None:
    assert (await chat(provider.base_url, "another")).status_code == 401


@pytest.mark.parametrize(("given", "vectors"), [("hi there", 1), (["hi", "there"], 2)])
async def test_a_string_is_one_text_to_embed(provider: StandIn, given: object, vectors: int) -> None:
    answer = await post(f"{provider.base_url}/embeddings", json={"model": "any", "input": given})
    assert len(answer.json()["data"]) == vectors
    assert answer.json()["usage"]["prompt_tokens"] == 2


async def test_json_object_is_answered_with_an_object(provider: StandIn) -> None:
    assert await said_to(provider, {"type": "json_object"}) == {"answer": "An answer."}


class Branch(BaseModel):
    name: str
    kind: Literal["thick"]
    parent: "Branch | None"
    twigs: list["Branch"]
    weight: int | None = None


class Tree(BaseModel):
    trunk: Branch
    spot: tuple[float, float]


async def test_schema_that_pydantic_writes_is_answered_with_what_fits_it(provider: StandIn) -> None:
    Tree.model_validate(await said_to(provider, form_of(Tree.model_json_schema())))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"oneOf": [{"const": 7}, {"type": "null"}]}, 7),
        ({"allOf": [{"properties": {"a": {"type": "null"}}}, {"properties": {"b": {}}}]}, {"a": None, "b": "text"}),
        ({"type": ["boolean", "null"]}, True),
        ({"type": "array"}, []),
    ],
)
async def test_other_schemas_are_answered_too(provider: StandIn, schema: object, value: object) -> None:
    assert await said_to(provider, form_of(schema)) == value


async def _chunks() -> AsyncIterator[bytes]:
    body = json.dumps(CHAT).encode()
    yield body[:7]
    yield body[7:]


async def test_body_in_chunks_is_read(provider: StandIn) -> None:
    answer = await post(f"{provider.base_url}/chat/completions", content=_chunks())
    assert (answer.status_code, [call.json for call in provider.calls]) == (200, [CHAT])


def _chat(form: object) -> dict[str, object]:
    return {"json": {**CHAT, "response_format": form}}


ITSELF = {"$ref": "#/$defs/it", "$defs": {"it": {"properties": {"it": {"$ref": "#/$defs/it"}}, "required": ["it"]}}}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("chat/completions", {"content": b'{"messages": '}),
        ("chat/completions", {"json": [CHAT]}),
        ("chat/completions", _chat({"type": "json_schema"})),
        ("chat/completions", _chat("json")),
        ("chat/completions", _chat(form_of({"$ref": "#/$defs/nobody"}))),
        ("chat/completions", _chat(form_of(ITSELF))),
        ("chat/completions", _chat(form_of({"type": "colour"}))),
        ("embeddings", {"json": {"input": 5}}),
        ("embeddings", {"json": {"input": "hi", "dimensions": "many"}}),
        ("embeddings", {"json": {}}),
    ],
)
async def test_call_that_makes_no_sense_is_refused(provider: StandIn, path: str, body: dict[str, Any]) -> None:
    answer = await post(f"{provider.base_url}/{path}", **body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


async def test_what_is_no_http_is_refused(provider: StandIn) -> None:
    host, _, port = provider.base_url.removeprefix("http://").removesuffix("/v1").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"Hello\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
    writer.close()


async def test_fault_of_a_chat_is_refused_where_it_meets_another_call(provider: StandIn) -> None:
    provider.script(wrong_json())
    answer = await post(f"{provider.base_url}/embeddings", json={"input": ["hi"]})
    assert answer.status_code == 400
    assert "wrong_json" in answer.json()["error"]["message"]


async def test_wrong_key_is_refused_whatever_is_scripted(provider: StandIn) -> None:
    provider.script(wrong_json())
    assert (await chat(provider.base_url, "another")).status_code == 401


async def test_port_that_is_taken_is_named(provider: StandIn) -> None:
    port = int(provider.base_url.removesuffix("/v1").rpartition(":")[2])
    with pytest.raises(CannotListen, match=f"port {port}, it is taken: choose another"):
        async with StandIn(port=port):
            pass
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast.testing", "--port", str(port)), stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    assert process.returncode == 2
    assert f"error: cannot listen on port {port}, it is taken" in said.decode()
    assert "Traceback" not in said.decode()


@pytest.mark.parametrize("name", FAULTS)
async def test_each_fault_is_what_its_name_says(provider: StandIn, name: str) -> None:
    provider.script(FAULTS[name])
    try:
        answer = await chat(provider.base_url, seconds=0.5 if name == "hang" else PATIENCE_SECONDS)
    except httpx2.TimeoutException:
        seen = "hang"
    except httpx2.TransportError:
        seen = "reset"
    else:
        seen = _kind(answer)
    assert seen == {"rate_limited_for_2_seconds": "rate_limited"}.get(name, name)


def _kind(answer: httpx2.Response) -> str:
    if answer.status_code != 200:
        return CODES[answer.json()["error"]["code"]]
    if "html" in answer.headers["content-type"]:
        return "page"
    try:
        body = answer.json()
    except ValueError:
        return "truncated"
    return "wrong_json" if "unasked" in body["choices"][0]["message"]["content"] else "absurd_usage"


async def test_it_runs_as_a_process_with_faults_of_its_own() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast.testing", "--fault", "server_error"), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        _, _, base_url, *_, key = line.split()
        answers = [(await chat(base_url, key)).status_code for _ in range(2)]
    finally:
        process.kill()
        await process.wait()
    assert answers == [500, 200]
