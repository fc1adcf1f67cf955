"""What a text must be like to be worth the phases that follow, and what its owner is told when it is borderline."""

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.errors import OPERATOR_MENDS, CorruptInput, EmptyText, InvalidInput, TooLarge, UnsupportedFormat
from holdfast.standard import Warning
from holdfast.validate.measures import Measures

# From here on a text is refused, and from here on its owner is told.
GARBLED_SHARE = 0.1
DAMAGED_SHARE = 0.005
UNBROKEN_SHARE = 0.9
# A run of writing has letters, and marks between them; digits in a row or a coded file lack the one or the other.
FEWEST_LETTERS_SHARE = 0.4
FEWEST_MARKS_SHARE = 0.03
SHORT_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Rules:
    """`least_characters` counts letters and figures, `most_characters` everything. No `languages`: any will do."""

    least_characters: int = 3
    most_characters: int = 2_000_000_000
    languages: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not 1 <= self.least_characters <= self.most_characters:
            raise InvalidInput(
                f"a text cannot have at least {self.least_characters} and at most {self.most_characters} characters"
            )

    def check_length(self, measures: Measures) -> None:
        """Refuse as soon as there is too much; safe to ask while a text is still being read."""
        if measures.characters > self.most_characters:
            raise TooLarge(
                f"the text has more than {self.most_characters:,} characters: split the document or raise the limit",
                error_code="TEXT_TOO_LONG",
                details={"most_characters": self.most_characters},
            )

    def check_content(self, measures: Measures) -> list[Warning]:
        """Refuse a text that is empty or garbled, and warn of one that is nearly so."""
        _check_emptiness(measures, self.least_characters)
        _check_damage(measures)
        return list(_warnings(measures))

    def check_language(self, language: str | None) -> list[Warning]:
        """Refuse a language that is not wanted. One that cannot be told is let through, and said."""
        if not self.languages or language in self.languages:
            return []
        wanted = ", ".join(sorted(self.languages))
        if language is None:
            return [Warning("LANGUAGE_UNKNOWN", f"it cannot be told whether the text is in {wanted}")]
        raise UnsupportedFormat(
            f'the text is in "{language}", wanted is {wanted}: translate it, or allow its language',
            error_code="WRONG_LANGUAGE",
            details={"language": language, "wanted": wanted, **OPERATOR_MENDS},
        )


def _check_emptiness(measures: Measures, least: int) -> None:
    if not measures.visible:
        raise EmptyText(
            "the text is empty: check that the document is not blank, or a scan without text recognition",
            error_code="EMPTY",
            details={"characters": measures.characters},
        )
    if measures.wordly < least and not measures.damaged:
        raise EmptyText(
            f"the text has {measures.wordly} letters and figures, at least {least} are needed: check the document",
            error_code="TOO_SHORT",
            details={"characters": measures.characters, "letters_and_figures": measures.wordly},
        )


def _check_damage(measures: Measures) -> None:
    if measures.damaged_share >= GARBLED_SHARE:
        raise CorruptInput(
            f"{measures.damaged_share:.0%} of the text are broken or misread characters: save the document again as "
            "UTF-8 or PDF, or take it in from its source",
            error_code="GARBLED",
            details={"damaged_share": round(measures.damaged_share, 4), "damaged": measures.damaged},
        )
    if measures.unbroken_share >= UNBROKEN_SHARE and not _reads_as_writing(measures):
        raise CorruptInput(
            f"{measures.unbroken_share:.0%} of the text stand in runs without spaces that are no writing: it looks "
            "like data or a coded file; take in what it was made from",
            error_code="GARBLED",
            details={"unbroken_share": round(measures.unbroken_share, 4), "unbroken": measures.unbroken},
        )


def _reads_as_writing(measures: Measures) -> bool:
    letters = measures.unbroken_letters / measures.unbroken
    marks = measures.unbroken_marks / measures.unbroken
    return letters >= FEWEST_LETTERS_SHARE and marks >= FEWEST_MARKS_SHARE


def _warnings(measures: Measures) -> Iterator[Warning]:
    if measures.damaged_share >= DAMAGED_SHARE:
        yield Warning("DAMAGED_TEXT", f"{measures.damaged_share:.1%} of the text are broken or misread characters")
    if measures.unbroken:
        yield Warning("UNBROKEN_TEXT", f"{measures.unbroken_share:.0%} of the text stand in long runs without spaces")
    if measures.wordly < SHORT_CHARACTERS:
        yield Warning("SHORT_TEXT", f"the text has only {measures.wordly} letters and figures")
