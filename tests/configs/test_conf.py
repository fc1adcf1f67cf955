"""The syntax of .conf files, and that one bad line costs nothing but itself."""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.configs.conf import MOST_NAME_BYTES, MOST_VALUE_CHARACTERS, BadLine, Setting, Stanza, parse
from holdfast.configs.lines import MOST_LINE_BYTES, Lines, NotText


def read(data: bytes | str, size: int = 1 << 20) -> list[Stanza | Setting | BadLine]:
    """Everything a file says; its bytes come in pieces of this size."""
    return list(parse(Lines(_pieces(data, size))))


def _pieces(data: bytes | str, size: int) -> Iterator[bytes]:
    data = data.encode() if isinstance(data, str) else data
    yield from (data[start : start + size] for start in range(0, len(data), size))


def settings(data: bytes | str, size: int = 1 << 20) -> list[tuple[str, int, str, str]]:
    """Stanza, line, key and value of every setting."""
    items = read(data, size)
    names = {item.number: item.name for item in items if isinstance(item, Stanza)}
    return [(names[item.stanza], item.line, item.key, item.value) for item in items if isinstance(item, Setting)]


def bad_lines(data: bytes | str) -> dict[int, str]:
    """What is wrong with which line."""
    return {item.line: item.message for item in read(data) if isinstance(item, BadLine)}


def test_settings_belong_to_the_stanza_above_them() -> None:
    text = "[install]\nstate = enabled\n\n[ui]\nlabel=My app = yours\nempty =\n"
    assert settings(text) == [
        ("install", 2, "state", "enabled"),
        ("ui", 5, "label", "My app = yours"),
        ("ui", 6, "empty", ""),
    ]
    assert bad_lines(text) == {}


def test_settings_before_the_first_stanza_belong_to_default() -> None:
    assert settings("host = a\n[default]\nindex = main\n") == [
        ("default", 1, "host", "a"),
        ("default", 3, "index", "main"),
    ]


def test_stanza_opened_again_goes_on() -> None:
    items = read("[a]\nx = 1\n[b]\n[a]\nx = 2\n")
    assert [item for item in items if isinstance(item, Stanza)] == [Stanza(1, "a", 1), Stanza(2, "b", 3)]
    assert [item for item in items if isinstance(item, Setting)] == [Setting(1, 2, "x", "1"), Setting(1, 5, "x", "2")]


def test_comments_and_empty_lines_say_nothing() -> None:
    assert read("# a = 1\n  ; b = 2\n\n   \n#[c]\n") == []


def test_name_may_hold_brackets() -> None:
    assert settings("[monitor:///log/[ab]*]\nx = 1\n") == [("monitor:///log/[ab]*", 2, "x", "1")]


def test_backslash_continues_a_value_whatever_the_next_line_looks_like() -> None:
    text = "[s]\nsearch = index=main \\\n  # no comment\\\n[no stanza]\nnext = 1\n"
    assert settings(text) == [("s", 2, "search", "index=main \n  # no comment\n[no stanza]"), ("s", 5, "next", "1")]


def test_value_that_the_file_does_not_go_on_with_is_kept_and_told() -> None:
    assert settings("[s]\na = b\\") == [("s", 2, "a", "b")]
    assert bad_lines("[s]\na = b\\") == {2: "ends with a backslash, but no line follows"}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("only words", "neither a stanza, a setting nor a comment"),
        ("= value", "no key"),
        ("k" * (MOST_NAME_BYTES + 1) + " = v", "has a key of more than"),
        ("a = " + "v" * (MOST_LINE_BYTES + 1), "is longer than"),
        ("a = " + "v" * 600_000 + "\\\n" + "v" * 600_000, f"more than {MOST_VALUE_CHARACTERS:,} characters"),
    ],
)
def test_bad_line_is_told_and_loses_nothing_else(line: str, problem: str) -> None:
    text = f"[s]\na = 1\n{line}\nb = 2\n"
    assert [(stanza, key) for stanza, _, key, _ in settings(text)] == [("s", "a"), ("s", "b")]
    (found,) = bad_lines(text).items()
    assert found[0] == 3
    assert problem in found[1]


@pytest.mark.parametrize(
    ("header", "name"),
    [("[open", "open"), ("[name] behind", "name"), ("[]", "default"), ("[" + "n" * 2000 + "]", "n" * MOST_NAME_BYTES)],
)
def test_settings_under_a_bad_header_do_not_go_to_the_stanza_before(header: str, name: str) -> None:
    text = f"[before]\n{header}\na = 1\n"
    assert settings(text) == [(name, 3, "a", "1")]
    assert list(bad_lines(text)) == [2]


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        (b"k = caf\xe9\\", ("is not utf-8", "no line follows")),
        (b"k = caf\xe9\0", ("is not utf-8", "zero bytes")),
        (b"caf\xe9", ("is not utf-8", "key = value is expected")),
        (b"[caf\xe9", ("is not utf-8", "does not close the bracket")),
        (b"k = caf\xe9" + b"v" * 600_000 + b"\\\n" + b"v" * 600_000, ("is not utf-8", "more than 1,000,000 char")),
    ],
)
def test_line_with_two_faults_is_one_bad_line_that_names_both(line: bytes, problems: tuple[str, str]) -> None:
    (found,) = [item for item in read(b"[s]\nj = 1\n" + line) if isinstance(item, BadLine)]
    assert found.line == 3
    assert [problem for problem in problems if problem not in found.message] == []


def test_every_line_of_a_continued_value_is_told_by_itself() -> None:
    assert bad_lines(b"[s]\na = \xe9\\\n\xe9\\\n\xe9\\") == {
        2: "is not utf-8: it was read as cp1252",
        3: "is not utf-8: it was read as cp1252",
        4: "is not utf-8: it was read as cp1252; ends with a backslash, but no line follows",
    }


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_marked_encoding_and_any_line_end_is_read_however_it_is_cut(encoding: str, end: str, size: int) -> None:
    data = end.join(("[gr\u00fc\u00df]", "", "k\u00e9y = \U0001f600", "")).encode(encoding)
    assert settings(data, size) == [("gr\u00fc\u00df", 3, "k\u00e9y", "\U0001f600")]
    assert bad_lines(data) == {}


def test_encodings_without_a_signature_of_their_order_are_told_by_it() -> None:
    for mark, encoding in ((b"\xfe\xff", "utf-16-be"), (b"\x00\x00\xfe\xff", "utf-32-be")):
        assert settings(mark + "a = 1".encode(encoding)) == [("default", 1, "a", "1")]


def test_line_that_is_not_utf8_is_kept_and_told() -> None:
    data = b"[s]\na = caf\xe9\nb = 2\n"
    assert [value for *_, value in settings(data)] == ["caf\u00e9", "2"]
    assert bad_lines(data) == {2: "is not utf-8: it was read as cp1252"}


def test_what_no_database_can_hold_is_dropped_and_told() -> None:
    data = b"[s]\n" + b"#" * 3000 + b"\na = 1\0 2\n"
    pieces = iter([data[:3000], data[3000:]])
    items = list(parse(Lines(pieces)))
    assert Setting(1, 3, "a", "1 2") in items
    assert BadLine(3, "holds zero bytes, which were dropped", "a = 1 2") in items


@pytest.mark.parametrize(
    "damage",
    [b"\0", b"\0\1\2", bytes(5_000), b"".join(b"k%d = \0\n" % n for n in range(8))],
    ids=["one zero byte", "control characters", "a long run", "a few lines"],
)
def test_zero_bytes_in_a_few_places_cost_nothing_but_their_lines(damage: bytes) -> None:
    data = b"[s]\nk = 1\nbad = " + damage + b"\nj = 2\n"
    assert {key for _, _, key, _ in settings(data)} >= {"k", "bad", "j"}
    assert bad_lines(data)[3] == "holds zero bytes, which were dropped"


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_zero_byte_counts_the_same_however_the_file_is_cut(size: int) -> None:
    assert settings(b"\0\n[s]\nk = 1\n", size) == [("s", 3, "k", "1")]


@pytest.mark.parametrize(
    "data",
    [
        Path(sys.executable).read_bytes()[: 1 << 20],
        b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(5_000),
        "[s]\nk = 1\n".encode("utf-16-le"),
        bytes(4_096),
    ],
    ids=["executable", "picture", "utf-16 without a mark", "nothing but zero bytes"],
)
def test_binary_file_is_no_text(data: bytes) -> None:
    with pytest.raises(NotText):
        Lines(iter([data]))
