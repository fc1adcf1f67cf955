"""Redaction: what must not be shown is gone, what explains the failure stays."""

import pytest

from holdfast.engine.redaction import clean_details, clean_tail, clean_text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc.def-ghi", "abc.def"),
        ("{'Authorization': 'Basic dXNlcjpwYXNz'}", "dXNlcjpwYXNz"),
        ("sent bearer 0123456789abcdef to the server", "0123456789"),
        ("Incorrect API key provided: sk-proj-AbCdEf123456", "AbCdEf"),
        ("postgresql://holdfast:p@ss-word@db:5432/x", "ss-word"),
        ("GET https://api.example/v1?page=2&key=AIzaVerySecret&x=1", "VerySecret"),
        ("https://example/file?token=tok-12345", "tok-12345"),
        ('{"api_key": "hunter2secret"}', "hunter2"),
        ("password: hunter2secret", "hunter2"),
        ("access_token=abcdefg", "abcdefg"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "eyJzdWIi"),
        ("AWS AKIAIOSFODNN7EXAMPLE", "IOSFODNN"),
    ],
)
def test_secret_is_gone(text: str, secret: str) -> None:
    assert secret not in clean_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "maximum context length is 8192 tokens, you asked for total_tokens=9000",
        'duplicate key value violates unique constraint "document_pkey"',
        "cannot read https://example.org:8443/a/b@2x.png",
        "page 3 of 7: unexpected token '}' at 12:5",
    ],
)
def test_words_that_explain_stay(text: str) -> None:
    assert clean_text(text) == text


@pytest.mark.parametrize("text", ["password: hunter2", 'token="abc"', "key=sk-abcdefgh12", "Authorization: Basic abc="])
def test_redacting_again_changes_nothing(text: str) -> None:
    once = clean_text(text)
    assert once.count("]") == 1
    assert clean_text(once) == once


def test_rest_of_a_secret_is_gone_too() -> None:
    assert clean_text("key=sk-abcdefgh12+/rest, page 3") == "key=[redacted], page 3"


def test_beginning_is_kept_of_a_long_text() -> None:
    assert clean_text("a" + "b" * 5_000, limit=10) == "abbbbbbbb…"


def test_end_is_kept_of_a_long_tail() -> None:
    assert clean_tail("b" * 5_000 + "a", limit=10) == "…bbbbbbbba"


def test_secret_at_the_cut_leaves_no_half() -> None:
    assert "sk-" not in clean_text("x" * 5 + " sk-abcdefghijklmnop", limit=18)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["a-", "://a", "key ", "token=", "bearer ", "authorization: ", "sk-"])
def test_hostile_text_costs_little(piece: str) -> None:
    assert len(clean_text(piece * 1_000_000)) <= 1_000


def test_details_are_cut_to_what_fits() -> None:
    details = clean_details({str(number): "x" * 1_000 for number in range(50)})
    assert 0 < len(details) < 20


def test_details_keep_plain_values() -> None:
    plain = {"page": 3, "ratio": 0.5, "fine": True, "none": None, "list": ["a", {"b": 1}]}
    assert clean_details(plain) == plain
