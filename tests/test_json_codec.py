"""How deep JSON may be is counted in one place, and every door leads through it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from holdfast.json_codec import MAX_DEPTH, TooDeep, dumps, loads

SOURCES = Path(__file__).parent.parent / "src" / "holdfast"
# They read what we have written ourselves, what a library of ours has written, or one token.
OWN_JSON = {
    "engine/isolated_child.py",
    "engine/isolated_process.py",
    "extract/office.py",
    "extract/readers/json_tokens.py",
    "extract/recognition.py",
    "json_codec.py",
    "notices/mail.py",
    "testing/stand_in.py",
}


def nested(levels: int) -> Any:
    value: Any = "[{" * MAX_DEPTH
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def test_value_at_the_limit_goes_both_ways() -> None:
    value = [nested(MAX_DEPTH - 1)] * 3
    assert loads(dumps(value)) == value


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 900, 5_000, 200_000])
def test_deeper_value_is_refused(levels: int) -> None:
    text = '{"a":[' * (levels // 2) + "[" * (levels % 2) + "1" + "]" * (levels % 2) + "]}" * (levels // 2)
    for written in (
        text,
        text.encode(),
        text.encode("utf-16"),
        f'["\\"[\\\\", {text}]',
        f'["{"x" * (1 << 20)}",{text}]',
    ):
        with pytest.raises(TooDeep, match=f"nested more than {MAX_DEPTH} deep"):
            loads(written)
    with pytest.raises(TooDeep):
        dumps(nested(levels))


@pytest.mark.parametrize("text", ["[" * 500, "[" * 10_000_000, '{"a":' * 500, "[[]" * 500])
def test_deep_json_that_breaks_off_is_refused_by_its_depth(text: str) -> None:
    with pytest.raises(TooDeep):
        loads(text)


@pytest.mark.parametrize("text", ["]" * 500, '["' + "[" * 500, "[1,2", "[[],]" * 500, '"\\'])
def test_malformed_json_that_is_not_deep_is_refused_by_the_parser(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        loads(text)


@pytest.mark.parametrize("length", range((1 << 20) - 8, (1 << 20) + 1))
def test_brackets_in_strings_do_not_count_wherever_the_text_is_cut(length: int) -> None:
    value = ["x" * length, "[" * 500, '"[\\' * 300, [1], "]" * 500, '"']
    assert loads(dumps(value)) == value


def test_only_own_json_is_read_elsewhere() -> None:
    readers = {
        file.relative_to(SOURCES).as_posix()
        for file in SOURCES.rglob("*.py")
        if re.search(r"\bjson\.loads?\(|decoder=json\.", file.read_text())
    }
    assert readers == OWN_JSON
