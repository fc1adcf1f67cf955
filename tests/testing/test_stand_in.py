"""The stand-in as users of Holdfast have it: a provider that fails as it is told to."""

import asyncio
import sys
from collections.abc import AsyncIterator

import httpx2
import pytest

from holdfast.testing import FAULTS, KEY, StandIn, rate_limited

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


async def chat(base_url: str, key: str = KEY) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(timeout=0.5, headers=headers, trust_env=False) as client:
        return await client.post(f"{base_url}/chat/completions", json=CHAT)


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


@pytest.mark.parametrize("name", FAULTS)
async def test_each_fault_is_what_its_name_says(provider: StandIn, name: str) -> None:
    provider.script(FAULTS[name])
    try:
        answer = await chat(provider.base_url)
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
