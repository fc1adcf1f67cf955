"""One name for one thing, however it is written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.graph.contribution import LONGEST_NAME, entity, normalise


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ACME Corp.", "Acme Corp"),
        ("Acme, Inc.", "ACME Inc"),
        ("Anna Berg's", "Anna Berg"),
        ("Anna Berg’s", "anna  berg"),  # noqa: RUF001
        ("“Kelp Point”", "Kelp\nPoint"),
        ("Ｋｅｌｐ Point", "Kelp Point"),  # noqa: RUF001
        ("Straße", "STRASSE"),
        ("cafe\u0301", "CAFÉ"),
        ("Kelp\u200bPoint", "Kelp Point"),
    ],
)
def test_two_ways_of_writing_a_name_are_one(one: str, other: str) -> None:
    assert normalise(one) == normalise(other) != ""


@pytest.mark.parametrize(("one", "other"), [("Acme Corp", "Acme Group"), ("1.5 EUR", "15 EUR"), ("KP-7", "KP-70")])
def test_two_names_stay_two(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@pytest.mark.parametrize("name", ["", "  ", "''", "\x00", "\u200b", "...", "(*)"])
def test_what_is_no_name_makes_no_entity(name: str) -> None:
    assert entity("name", name) is None


@settings(deadline=None)
@given(st.text(max_size=600))
def test_any_name_can_be_stored(name: str) -> None:
    normalised = normalise(name)
    assert len(normalised) <= LONGEST_NAME
    assert normalised.isprintable()
    assert normalised == normalised.strip()
