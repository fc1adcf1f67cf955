"""What a passage mentions, told without a model: names, forms and phrases, always the same and never too many."""

import asyncio
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engine.strict_json import dump
from holdfast.graph.contribution import LONGEST_NAME, Passage
from holdfast.graph.mentions import MOST_ENTITIES, MOST_PAIRED, MOST_PHRASES, MentionExtractor, read
from tests.graph.passages import ATTEMPT

SIZE = 400_000
REPEATED = {
    "one letter": "a",
    "one capital": "A",
    "capitals apart": "A ",
    "a name without end": "Kelp ",
    "initials": "J. ",
    "connectors": "Bank of the ",
    "digits": "1",
    "dates": "2026-01-",
    "amounts": "1,1.1,1.",
    "codes": "A-1-B-2-",
    "calls": "+1 (2) 3/4-",
    "half addresses": "a@",
    "dotted addresses": "a.b",
    "half links": "https://",
    "marks": "#*_|>-",
    "lines": "\n",
    "quotes": "'",
    "headings": "# Kelp Point\n",
    "marks that hide": "Kelp\u200b\u202ePoint\x07 ",
    "other scripts": "東京タワー",
}
HOSTILE = {name: text * (SIZE // len(text)) + "@x" for name, text in REPEATED.items()} | {
    "openings": "".join(f"Fog{n} Kelp{n}. " for n in range(SIZE // 14)),
    "names": "".join(f"at Fog{n} Kelp{n}, " for n in range(SIZE // 16)),
    "phrases": "".join(f"the fog{n} kelp{n}, " for n in range(SIZE // 16)),
}


def mentions(text: str) -> dict[str, set[str]]:
    """Names by kind."""
    found: dict[str, set[str]] = {}
    for entity in read(Passage(0, text)).entities:
        found.setdefault(entity.kind, set()).add(entity.name)
    return found


def names(text: str) -> set[str]:
    found = mentions(text)
    return found.get("name", set()) | found.get("organisation", set())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We sailed from Kelp Point to Gull Island.", {"Kelp Point", "Gull Island"}),
        ("The keys are with Anna Berg and Otto Klein.", {"Anna Berg", "Otto Klein"}),
        ("It was signed by Dr. Berg and by J. R. Hartley.", {"Dr. Berg", "J. R. Hartley"}),
        ("He met Ludwig van der Rohe near the Gulf of Riga.", {"Ludwig van der Rohe", "Gulf of Riga"}),
        ("The boats of Smith & Sons are painted in Łódź and Ålesund.", {"Smith & Sons", "Łódź", "Ålesund"}),
        ("They asked Дмитрий Иванов about it.", {"Дмитрий Иванов"}),
        ("Kelp Point's harbour is open.", {"Kelp Point"}),
    ],
)
def test_capitals_inside_a_sentence_make_names(text: str, expected: set[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Barnacles close the inlet. Nobody likes that.",
        "The tide turned. Then it was still.",
        "- Bring rope\n- Bring tar\n\n**Gear:** Fenders.",
        "| Length | Basin |\n| Berth | Fee |",
        "It is open on Monday and in March.",
        "The fee is in EUR.",
        "DO NOT OPEN THE GATE\n\nthe gate stays shut",
        "# Opening The Tidal Gate\n\nthe gate opens by itself",
    ],
)
def test_capitals_that_are_there_for_another_reason_make_none(text: str) -> None:
    assert names(text) == set()


def test_a_word_that_opens_a_sentence_is_a_name_if_it_has_its_capital_elsewhere_too() -> None:
    assert names("Acme builds boats. Nobody doubts Acme.") == {"Acme"}
    assert names("Acme builds boats. Nobody doubts it.") == set()


@pytest.mark.parametrize(
    "text",
    [
        "Call Kelp Point Harbour before you come.",
        "The Kelp Point Harbour is shut.",
        "Fog hid it. Near Kelp Point Harbour the fog was thick.",
        "Fog is common here. Fog Kelp Point Harbour cannot see fog in.",
    ],
)
def test_a_word_that_only_opens_the_sentence_is_no_part_of_the_name_behind_it(text: str) -> None:
    assert names(text) == {"Kelp Point Harbour"}


def test_a_name_ends_where_another_sentence_begins() -> None:
    assert names("We chose Plan B. The gate is shut.") == {"Plan B"}


def test_a_heading_in_capitals_throughout_still_makes_a_phrase() -> None:
    assert mentions("# Tide Gauge Manual\n\nit sends what it sees") == {"phrase": {"tide gauge manual"}}


def test_where_many_words_have_capitals_one_alone_is_no_name() -> None:
    german = "wir sahen die Katze auf dem Tisch und den Hund unter der Bank, dann kam Otto Klein mit dem Boot ans Ufer"
    assert names(german) == {"Otto Klein"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a letter to Kelp Shipping GmbH came", "Kelp Shipping GmbH"),
        ("a letter to Kelp Shipping, Inc. came", "Kelp Shipping, Inc"),
        ("a letter to the University of Tromsø came", "University of Tromsø"),
        ("a letter to the Harbour Trust came", "Harbour Trust"),
    ],
)
def test_organisations_are_told_by_how_they_end_or_begin(text: str, expected: str) -> None:
    assert mentions(text)["organisation"] == {expected}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("date", "2026-03-11"),
        ("date", "11.3.2026"),
        ("date", "3 March 2026"),
        ("date", "March 3, 2026"),
        ("date", "Sept 2026"),
        ("money", "€250"),
        ("money", "$1,450.50"),
        ("money", "EUR 12"),
        ("money", "3 million euros"),
        ("code", "KP-7"),
        ("code", "WR22-B"),
        ("email", "duty@kelp-point.example"),
        ("url", "https://kelp-point.example/tides?day=3"),
        ("phone", "+47 (55) 123-456"),
    ],
)
def test_forms_are_told_wherever_they_stand(kind: str, text: str) -> None:
    for sentence in (f"it says {text}.", f"({text}), they say", text, f"| {text} |"):
        assert mentions(sentence).get(kind) == {text}


@pytest.mark.parametrize("text", ["3.2.2 of 12", "x2026-03-11x", "a@b", "page 14", "14:30", "http:/x", "-7"])
def test_what_only_looks_like_a_form_is_none(text: str) -> None:
    assert mentions(text) == {}


def test_phrases_are_what_is_spoken_of_and_not_what_it_does() -> None:
    text = "The crank kept in the gatehouse opens the tidal gate. The wire rope rejected by us is gone."
    assert mentions(text) == {"phrase": {"tidal gate", "wire rope"}}


def test_the_most_frequent_phrases_are_taken() -> None:
    text = " ".join(f"a {letter}ed {letter}ing, " for letter in ("plain", "blend", "scent", "faint", "grand", "crust"))
    found = mentions(f"{text} of the slack water, in slack water, by slack water")["phrase"]
    assert len(found) == MOST_PHRASES
    assert "slack water" in found


def test_one_spelt_in_two_ways_is_one_and_counted_together() -> None:
    [corp] = [
        entity
        for entity in read(Passage(0, "we asked ACME Corp. about it, and Acme Corp told us")).entities
        if entity.kind == "organisation"
    ]
    assert (corp.name, corp.normalised_name, corp.count) == ("ACME Corp", "acme corp", 2)


def test_pairs_stand_in_one_order_whichever_comes_first() -> None:
    def pairs(text: str) -> set[tuple[str, str]]:
        found = read(Passage(0, text))
        return {(found.entities[one.subject].name, found.entities[one.object].name) for one in found.relations}

    assert pairs("from Kelp Point to Gull Island") == pairs("from Gull Island to Kelp Point") != set()


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("the tidal gate, the inner basin, the north mole", 3),
        ("at Kelp Point the tidal gate, the inner basin, the north mole", 3),
        ("2026-01-14, 2026-01-15, €250 for the tidal gate", 6),
        ("2026-01-14, 2026-01-15, €250 for KP-7 and the tidal gate", 4),
    ],
)
def test_phrases_dates_and_amounts_are_paired_with_names_and_among_each_other_only_without(
    text: str, pairs: int
) -> None:
    assert len(read(Passage(0, text)).relations) == pairs


def test_names_are_paired_before_what_has_none_however_often_that_is_mentioned() -> None:
    text = " and ".join(["2026-01-14", "2026-01-15"] * 3 + [f"Boat{n} Island" for n in range(MOST_PAIRED)])
    found = read(Passage(0, f"seen on {text}"))
    paired = {found.entities[place].kind for one in found.relations for place in (one.subject, one.object)}
    assert paired == {"name"}


def test_no_relation_is_called_anything_but_mentioned_with() -> None:
    found = read(Passage(3, "Kelp Shipping GmbH owns Gull Island since 2026-03-11."))
    assert {one.predicate for one in found.relations} == {"mentioned_with"}
    assert (found.ordinal, found.maker) == (3, "mentions")


def check_bounded(text: str) -> None:
    found = read(Passage(0, text))
    assert len(found.entities) <= MOST_ENTITIES + MOST_PHRASES
    assert len(found.relations) <= MOST_PAIRED * (MOST_PAIRED - 1) // 2
    assert len({one.key for one in found.entities}) == len(found.entities)
    assert all(0 < len(one.normalised_name) <= LONGEST_NAME and one.count > 0 for one in found.entities)
    assert all(one.name and one.name.isprintable() and len(one.name) <= LONGEST_NAME for one in found.entities)
    assert all(0 <= one.subject < len(found.entities) for one in found.relations)
    dump(found.to_json())


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_gives_a_bounded_answer(text: str) -> None:
    check_bounded(text)


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["Kelp", "Point", "of the", ". ", "# ", "\n", "Dr.", "J.", "+1", "€", "2026-", "March", "-"]
            ),
            st.text(max_size=12),
        ),
        max_size=30,
    ).map(" ".join)
)
def test_any_text_gives_a_bounded_answer_and_twice_the_same(text: str) -> None:
    check_bounded(text)
    assert read(Passage(0, text)) == read(Passage(0, text))


def test_another_process_finds_the_same_in_the_same_order() -> None:
    text = "Anna Berg, Otto Klein and Kelp Point: the tidal gate, the inner basin, 2026-03-11, KP-7 and WR-22."
    code = f"from holdfast.graph.mentions import read, Passage; print(read(Passage(0, {text!r})))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert runs == {f"{read(Passage(0, text))}\n"}


def test_an_extractor_reads_each_passage_by_itself() -> None:
    passages = [Passage(7, "from Kelp Point"), Passage(9, "to Gull Island")]
    findings = asyncio.run(MentionExtractor().find(ATTEMPT, passages))
    assert findings.contributions == tuple(map(read, passages))
    assert (findings.cost_usd, MentionExtractor().estimate_usd(2, 30)) == (0, 0)
