"""What of a passage is shown, and where in it the answer stands."""

import pytest

from holdfast.search.excerpt import LONGEST, Stretch, choose

FILLER = "The keeper counts the boats and writes down their names. " * 15


def marks(text: str, *words: str) -> list[Stretch]:
    """Wherever these words stand; the first of them is the rarest."""
    places = [(n, word, at) for n, word in enumerate(words, 1) for at in range(len(text)) if text.startswith(word, at)]
    return sorted((Stretch(at, at + len(word), frozenset({n})) for n, word, at in places), key=lambda one: one.start)


def shown(text: str, *words: str) -> str:
    excerpt = choose(text, marks(text, *words))
    return text[excerpt.start : excerpt.end]


def found(text: str, *words: str, breaks: list[int] | None = None) -> list[str]:
    excerpt = choose(text, marks(text, *words), breaks or [])
    return [text[one.start : one.end] for one in excerpt.found]


def test_a_short_passage_is_shown_whole() -> None:
    assert shown("A heron nests here.", "heron") == "A heron nests here."


def test_a_long_passage_is_shown_from_its_beginning_where_no_word_was_found() -> None:
    assert FILLER.startswith(shown(FILLER))
    assert len(shown(FILLER)) <= LONGEST


def test_the_window_with_most_words_is_shown_and_not_the_first_word() -> None:
    text = f"The mate signs. {FILLER}The chief of halyards signs. {FILLER}"
    assert "The chief of halyards signs." in shown(text, "halyards", "signs")


def test_words_far_apart_count_together_when_one_window_shows_them() -> None:
    apart = FILLER[:400]
    text = f"rope tar {FILLER}{FILLER}rope {apart}tar oakum {FILLER}"
    window = shown(text, "oakum", "tar", "rope")
    assert "tar oakum" in window
    assert "rope" in window


def test_of_as_many_words_the_rarest_are_shown() -> None:
    text = f"The mate signs. {FILLER}All halyards are greased. {FILLER}"
    assert "halyards" in shown(text, "halyards", "signs")
    assert "halyards" not in shown(text, "signs", "halyards")


def test_of_the_same_words_the_first_are_shown() -> None:
    text = f"First the mate signs. {FILLER}Then the cook signs. {FILLER}"
    assert "the mate" in shown(text, "signs")


def test_only_whole_words_are_shown() -> None:
    text = f"{FILLER}A heron nests here. {FILLER}"
    window = shown(text, "heron")
    assert len(window) <= LONGEST
    assert f" {window} " in text


def test_a_word_longer_than_what_is_shown_is_cut() -> None:
    text = f"{FILLER}{'x' * 2000} {FILLER}"
    assert len(shown(text, "x" * 2000)) == LONGEST


def test_words_on_one_page_are_found_before_nearer_ones_on_two() -> None:
    text = "the mate signs. All halyards are greased by the cook, and the bosun signs."
    on_one_page = "halyards are greased by the cook, and the bosun signs"
    assert found(text, "halyards", "signs", breaks=[0, text.index("All")]) == [on_one_page]


def test_all_that_answer_alike_are_found() -> None:
    assert found("halyards here, ropes there, halyards again", "halyards") == ["halyards", "halyards"]


def test_nothing_is_found_without_words() -> None:
    assert found("A heron nests here.") == []


@pytest.mark.parametrize(
    "character",
    [
        "\u0915\u094d\u0937\u093f",  # Hindi: two consonants in one, and a vowel sign
        "e\u0302\u0323",  # Vietnamese, not composed
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
        "\U0001f44d\U0001f3fd",  # a thumb and its colour
        "\U0001f1ee\U0001f1f3",  # a flag
    ],
)
def test_no_character_is_cut_in_two(character: str) -> None:
    for shift in range(len(character)):
        text = "x" * shift + character * LONGEST
        window = shown(text)
        assert window.removeprefix("x" * shift) == character * ((len(window) - shift) // len(character))
