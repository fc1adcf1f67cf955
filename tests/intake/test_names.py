"""Names from outside become harmless, and stay recognisable."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.intake.names import extension_of, safe_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("report.pdf", "report.pdf"),
        ("Ärger im Büro.txt", "Ärger im Büro.txt"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("C:\\Users\\ann\\a.doc", "a.doc"),
        ("/absolute/path/", "path"),
        ("C:evil.txt", "C_evil.txt"),
        ("..", "unnamed"),
        ("", "unnamed"),
        (" . ", "unnamed"),
        ("a\x00b\r\n.txt", "ab.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("zero\u200bwidth.md", "zerowidth.md"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("console.txt", "console.txt"),
        ('a<b>:"|?*.txt', "a_b______.txt"),
        ("lone\ud800.txt", "lone\ufffd\ufffd\ufffd.txt"),
        ("e\u0301te\u0301.md", "été.md"),
    ],
)
def test_name_is_made_harmless(name: str, expected: str) -> None:
    assert safe_name(name) == expected


@pytest.mark.parametrize("letter", ["x", "ö", "潮", "🌊"])
def test_long_name_is_cut_and_keeps_its_extension(letter: str) -> None:
    name = safe_name(letter * 300 + ".pdf")
    assert len(name.encode()) <= 200
    assert name.startswith(letter * 30)
    assert name.endswith(".pdf")


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_any_name_becomes_storable_short_and_stays_as_it_is_then(name: str) -> None:
    safe = safe_name(name)
    assert 0 < len(safe.encode()) <= 200
    assert not set(safe) & set("/\\\x00\r\n\u202e")
    assert safe not in (".", "..")
    assert safe_name(safe) == safe


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.PDF", ".pdf"), ("a.tar.gz", ".gz"), ("README", ""), (".hidden", ""), ("a." + "x" * 40, ""), ("end.", ".")],
)
def test_extension_is_what_follows_the_last_dot(name: str, expected: str) -> None:
    assert extension_of(name) == expected
