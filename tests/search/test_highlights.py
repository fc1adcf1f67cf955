"""Where the words of a question stand in a passage."""

from holdfast.search.highlights import ranges_of, words_of


def marked(text: str, *wanted: str) -> list[str]:
    return [text[start:end] for start, end in ranges_of(text, set(wanted))]


def test_words_are_marked_wherever_they_stand() -> None:
    assert ranges_of("Ferry, ferries: ferry.", {"Ferry", "ferry"}) == ((0, 5), (16, 21))


def test_part_of_a_longer_word_is_not_marked() -> None:
    assert marked("car cart scar car", "car") == ["car", "car"]


def test_part_of_a_joined_word_is_marked_alone() -> None:
    assert marked("a well-known captain", "well-known", "known") == ["known"]


def test_joined_word_is_marked_whole_when_no_part_is_wanted() -> None:
    assert marked("write to ann@example.org today", "ann@example.org") == ["ann@example.org"]


def test_signs_in_words_mean_themselves() -> None:
    assert marked("version 3x5 and 3.5", "3.5") == ["3.5"]


def test_vowel_signs_belong_to_their_word() -> None:
    text = "\u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e"  # Hindi language
    hindi, language = text.split()
    assert words_of(text) == {hindi, language}
    assert marked(text, hindi) == [hindi]
    assert marked(text, "\u0939") == []


def test_marks_that_are_not_composed_belong_to_their_word() -> None:
    text = "Tie\u0302\u0301ng Vie\u0323\u0302t"
    assert words_of(text) == set(text.split())
    assert marked(text, "Vie") == []


def test_emoji_beside_a_word_is_not_part_of_it() -> None:
    text = "\U0001f468\u200d\U0001f469\u200d\U0001f467 family \u2764\ufe0f"
    assert words_of(text) == {"family"}
    assert marked(text, "family") == ["family"]


def test_nothing_wanted_marks_nothing() -> None:
    assert marked("anything", *()) == []


def test_joined_words_are_also_asked_for_in_parts() -> None:
    assert words_of("Ann's well-known e-mail") == {
        "Ann's",
        "Ann",
        "s",
        "well-known",
        "well",
        "known",
        "e-mail",
        "e",
        "mail",
    }
