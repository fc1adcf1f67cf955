"""Links and pipes are written down as they will be found again."""

import io

import pytest

from holdfast.errors import InvalidInput
from holdfast.intake.sources.links import is_link, linked
from holdfast.intake.sources.stdin import piped


@pytest.mark.parametrize(
    ("url", "location", "name"),
    [
        ("https://example.org/tides.pdf", "https://example.org/tides.pdf", "tides.pdf"),
        ("HTTPS://Example.ORG/Tides.pdf#page=3", "https://example.org/Tides.pdf", "Tides.pdf"),
        ("http://example.org/a%20b?x=1", "http://example.org/a%20b?x=1", "a b"),
        ("http://example.org", "http://example.org", "example.org"),
    ],
)
def test_link_is_located_without_its_fragment_and_named_by_its_end(url: str, location: str, name: str) -> None:
    found = linked(url)
    assert (found.platform, found.location, found.name, found.content) == ("url", location, name, None)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "gopher://example.org/",
        "javascript://example.org/%0aalert(1)",
        "http:///path",
        "http://ann:secret@example.org/",
        "http://ann@example.org/",
        "http://[::1/",
        "http://example.org:port/",
        "http://example.org/\x00",
        "http://example.org/\ud800",
        "http://example.org/" + "a" * 5_000,
    ],
)
def test_link_that_is_never_followed_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidInput):
        linked(url)


def test_link_is_told_from_a_path() -> None:
    assert is_link("https://example.org/")
    assert not is_link("C:/notes.txt")
    assert not is_link("./https.txt")


def test_what_is_piped_has_a_harmless_name_and_no_location() -> None:
    stream = io.BytesIO(b"x")
    found = piped(stream, name="../notes.md")
    assert (found.platform, found.name, found.location, found.content) == ("stdin", "notes.md", None, stream)
