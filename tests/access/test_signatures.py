"""Signed messages: what was signed is taken, whatever else is not."""

import pytest

from holdfast.access.signatures import check_secret, is_genuine, new_secret, sign
from holdfast.errors import InvalidInput

NOW = 1_700_000_000
BODY = b'{"job": 7}'


@pytest.fixture
def secret() -> str:
    return new_secret()


def test_a_known_message_has_the_signature_that_others_compute() -> None:
    headers = sign(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1_614_265_330,
        b'{"test": 2432232314}',
        secrets=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_what_was_signed_is_genuine(secret: str) -> None:
    assert is_genuine(sign("a", NOW, BODY, secrets=[secret]), BODY, secrets=[secret], now=NOW)


@pytest.mark.parametrize("seconds", [-301, 301])
def test_stale_and_early_messages_are_not(secret: str, seconds: int) -> None:
    assert not is_genuine(sign("a", NOW, BODY, secrets=[secret]), BODY, secrets=[secret], now=NOW + seconds)


def test_while_a_secret_is_replaced_both_are_good(secret: str) -> None:
    headers = sign("a", NOW, BODY, secrets=[secret, new_secret()])
    assert is_genuine(headers, BODY, secrets=[new_secret(), secret], now=NOW)


@pytest.mark.parametrize(
    "changed",
    [
        {"webhook-id": "b"},
        {"webhook-id": ""},
        {"webhook-timestamp": str(NOW + 1)},
        {"webhook-timestamp": "soon"},
        {"webhook-timestamp": "9" * 400},
        {"webhook-timestamp": "²"},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,é"},
        {"webhook-signature": "v1a,abc v1,"},
    ],
)
def test_forged_headers_are_not(secret: str, changed: dict[str, str]) -> None:
    headers = sign("a", NOW, BODY, secrets=[secret]) | changed
    assert not is_genuine(headers, BODY, secrets=[secret], now=NOW)


def test_neither_another_body_nor_another_secret_is(secret: str) -> None:
    headers = sign("a", NOW, BODY, secrets=[secret])
    assert not is_genuine(headers, b"{}", secrets=[secret], now=NOW)
    assert not is_genuine(headers, BODY, secrets=[new_secret()], now=NOW)
    assert not is_genuine(headers, BODY, secrets=[], now=NOW)


@pytest.mark.parametrize("wrong", ["", "whsec_", "whsec_c2hvcnQ=", "whsec_***", "guessable"])
def test_what_cannot_be_a_secret_is_refused_without_showing_it(wrong: str) -> None:
    with pytest.raises(InvalidInput, match=r"base64$") as refused:
        check_secret(wrong)
    assert wrong in ("", "whsec_") or wrong not in str(refused.value)
