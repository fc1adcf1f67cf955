"""Strict JSON: only what jsonb stores goes out, and only that comes in."""

import pytest

from holdfast.engine import strict_json
from holdfast.errors import InvalidInput

CIRCLE: list[object] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize("value", [None, "ä\u2028😀", "\\u0000", "\x1b[0m", [1, 2.5, {"a": [True]}], 10**300])
def test_storable_value_survives_the_round_trip(value: object) -> None:
    assert strict_json.load(strict_json.dump(value)) == value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a\0", "NUL"),
        ({"a\0": 1}, "NUL"),
        ("\\\0", "NUL"),
        ("\udfff", "surrogate"),
        (float("inf"), "not plain JSON"),
        (b"bytes", "not plain JSON"),
        (CIRCLE, "not plain JSON"),
        (10**5_000, "not plain JSON"),
    ],
    ids=lambda value: repr(value)[:20] if not isinstance(value, int) else "large",
)
def test_value_that_cannot_be_stored_is_refused(value: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        strict_json.dump(value)


def test_value_nested_too_deeply_is_refused() -> None:
    value: object = None
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InvalidInput, match="nested"):
        strict_json.dump(value)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"NaN", b"1e400", b'"\\u0000"', b'"\\ud800"', b'"\xff"', b"[" * 100_000, b"1" * 5_000],
    ids=lambda body: repr(body)[:20],
)
def test_body_that_holds_no_storable_value_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        strict_json.load(body)


def test_escaped_pair_of_surrogates_is_one_character() -> None:
    assert strict_json.load(b'"\\ud83d\\ude00"') == "😀"
