"""Every way in which a provider fails is one of our categories, and no message tells a secret."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime

import pytest

from holdfast.engine.classify import classify
from holdfast.errors import (
    AnswerNotJson,
    AuthenticationFailed,
    BudgetExceeded,
    ContentPolicyViolation,
    InvalidInput,
    NetworkTimeout,
    PhaseError,
    RateLimited,
    TokenLimitExceeded,
    TooLarge,
)
from holdfast.providers.http import Endpoint, HttpApi
from holdfast.testing import HANG, KEY, PAGE, RESET, TRUNCATED, Reply, StandIn, refusal

FAULTS = [
    (refusal(429), RateLimited),
    (refusal(429, "rate_limit_exceeded"), RateLimited),
    (refusal(429, "insufficient_quota"), BudgetExceeded),
    (refusal(400, "budget_exceeded"), BudgetExceeded),
    (refusal(402), BudgetExceeded),
    (refusal(401, "invalid_api_key"), AuthenticationFailed),
    (refusal(403), AuthenticationFailed),
    (refusal(404, "model_not_found"), AuthenticationFailed),
    (Reply(302, headers={"location": "http://127.0.0.1:9/"}), AuthenticationFailed),
    (refusal(400, "context_length_exceeded"), TokenLimitExceeded),
    (refusal(400, None, "This model's maximum context length is 8192 tokens"), TokenLimitExceeded),
    (refusal(400, "content_policy_violation"), ContentPolicyViolation),
    (refusal(400, "content_filter"), ContentPolicyViolation),
    (refusal(413), TooLarge),
    (refusal(500), NetworkTimeout),
    (Reply(503, b"<html>busy</html>", media_type="text/html"), NetworkTimeout),
    (RESET, NetworkTimeout),
    (PAGE, AnswerNotJson),
    (TRUNCATED, AnswerNotJson),
    (Reply(body=b"[1, 2]"), AnswerNotJson),
    (Reply(body=b"[" * 100_000), AnswerNotJson),
    (Reply(body=b"not gzip", headers={"content-encoding": "gzip"}), AnswerNotJson),
    (Reply(body=b'{"error": {"code": 429, "message": "slow down"}}'), RateLimited),
    (refusal(400, "something_else"), PhaseError),
]


@pytest.mark.parametrize(("fault", "kind"), FAULTS, ids=[f"{f.status}-{i}" for i, (f, _) in enumerate(FAULTS)])
async def test_fault_becomes_its_category(
    stand_in: StandIn, api: HttpApi, fault: Reply, kind: type[PhaseError]
) -> None:
    stand_in.script(fault)
    with pytest.raises(PhaseError) as caught:
        await api.post("embeddings", json={})
    assert type(caught.value) is kind
    assert classify(caught.value).category is kind.category
    assert len(stand_in.calls) == 1


async def test_api_goes_on_after_a_fault(stand_in: StandIn, api: HttpApi) -> None:
    stand_in.script(RESET)
    with pytest.raises(NetworkTimeout):
        await api.post("embeddings", json={"input": ["a"]})
    assert (await api.post("embeddings", json={"input": ["a"]}))["data"]


async def test_silence_ends_with_the_time_limit(stand_in: StandIn) -> None:
    stand_in.script(HANG)
    async with HttpApi(Endpoint("openai", stand_in.base_url, KEY, seconds=0.2)) as api:
        with pytest.raises(NetworkTimeout, match="openai did not answer in time"):
            await api.post("embeddings", json={})


async def test_unreachable_server_is_a_network_fault() -> None:
    async with HttpApi(Endpoint("openai", "http://127.0.0.1:9/v1", KEY)) as api:
        with pytest.raises(NetworkTimeout, match="could not be reached"):
            await api.post("embeddings", json={})


async def test_answer_beyond_the_cap_is_broken_off(stand_in: StandIn) -> None:
    stand_in.script(Reply(body=b" " * 5000))
    async with HttpApi(Endpoint("openai", stand_in.base_url, KEY, most_bytes=1000)) as api:
        with pytest.raises(AnswerNotJson, match="more than 1,000 bytes"):
            await api.post("embeddings", json={})


async def test_retry_after_in_seconds_is_kept(stand_in: StandIn, api: HttpApi) -> None:
    stand_in.script(refusal(429, retry_after="17"))
    with pytest.raises(RateLimited) as caught:
        await api.post("embeddings", json={})
    assert caught.value.retry_after_seconds == 17


async def test_retry_after_as_a_date_is_kept(stand_in: StandIn, api: HttpApi) -> None:
    sent = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    until = format_datetime(sent + timedelta(seconds=90), usegmt=True)
    stand_in.script(refusal(429, retry_after=until, date=format_datetime(sent, usegmt=True)))
    with pytest.raises(RateLimited) as caught:
        await api.post("embeddings", json={})
    assert caught.value.retry_after_seconds == 90


async def test_rate_limit_without_retry_after_names_none(stand_in: StandIn, api: HttpApi) -> None:
    stand_in.script(refusal(429))
    with pytest.raises(RateLimited) as caught:
        await api.post("embeddings", json={})
    assert caught.value.retry_after_seconds is None


async def test_key_that_the_provider_repeats_is_never_shown(stand_in: StandIn) -> None:
    async with HttpApi(Endpoint("openai", stand_in.base_url, "another-key-99")) as api:
        with pytest.raises(AuthenticationFailed) as caught:
            await api.post("embeddings", json={})
    account = json.dumps(classify(caught.value).to_json())
    assert stand_in.calls[0].headers["authorization"] == "Bearer another-key-99"
    assert "Incorrect API key provided" in account
    assert "another-key-99" not in account


async def test_error_names_provider_status_and_code(stand_in: StandIn, api: HttpApi) -> None:
    stand_in.script(refusal(400, "odd_code", "The input is odd."))
    with pytest.raises(PhaseError, match=r"openai answered 400 \(odd_code\): The input is odd") as caught:
        await api.post("embeddings", json={})
    assert caught.value.details["status"] == 400
    assert caught.value.error_code == "odd_code"


async def test_unreadable_json_may_have_been_billed_and_a_page_not(stand_in: StandIn, api: HttpApi) -> None:
    stand_in.script(TRUNCATED, PAGE)
    costs = []
    for _ in range(2):
        with pytest.raises(AnswerNotJson) as caught:
            await api.post("embeddings", json={}, assumed_usd=Decimal("0.5"))
        costs.append(caught.value.cost_usd)
    assert costs == [Decimal("0.5"), Decimal(0)]


async def test_environment_names_no_proxy(stand_in: StandIn, api: HttpApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert (await api.post("embeddings", json={"input": ["a"]}))["data"]


@pytest.mark.parametrize("address", ["", "ftp://host/v1", "http://", "https://name:secret@host/v1", "host/v1"])
def test_address_that_is_none_is_refused_without_telling_it(address: str) -> None:
    with pytest.raises(InvalidInput, match="openai") as caught:
        Endpoint("openai", address)
    assert "secret" not in str(caught.value)


def test_key_is_not_in_the_endpoints_text() -> None:
    assert KEY not in repr(Endpoint("openai", "https://host/v1", KEY))


def test_key_with_a_line_break_is_refused() -> None:
    with pytest.raises(InvalidInput, match="copy it again"):
        Endpoint("openai", "https://host/v1", "half\nkey")
