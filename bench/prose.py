"""Made-up prose for generated documents: ordinary sentences of ordinary lengths, the same ones for the same seed."""

import random

SUBJECTS = (
    "The harbour office",
    "A visiting skipper",
    "The tide gauge on the south mole",
    "The night watch",
    "Every berth holder",
    "The crane at the fish quay",
    "The pilot boat",
    "The inspector",
    "The lock keeper",
    "The chandler on the corner",
    "The survey team",
    "The dredger",
    "The ferry company",
    "The sailing school",
    "The keeper of the leading lights",
)
VERBS = (
    "records",
    "must report",
    "has replaced",
    "checks",
    "will repair",
    "keeps a list of",
    "may refuse",
    "has to pay for",
    "asks for",
    "paints",
    "counts",
    "has ordered",
    "returned",
    "is waiting for",
    "no longer needs",
    "has measured",
)
OBJECTS = (
    "the mooring lines of the outer basin",
    "the depth at the entrance",
    "three new fenders",
    "the spare pump",
    "the wooden ramp",
    "the fuel hoses",
    "a permit for diving",
    "the keys of the gatehouse",
    "the fire extinguishers",
    "the buoys of the regatta",
    "the timetable of the winter ferry",
    "the rubber seals",
    "the sandbags behind the shed",
    "the invoice for ice",
    "the chain of the drawbridge",
    "the log of the last storm",
)
CIRCUMSTANCES = (
    "before the spring tide",
    "after every gale",
    "on the first Monday of the month",
    "without further notice",
    "as soon as the wind drops",
    "together with the coast guard",
    "at slack water",
    "until the end of the season",
    "for the third time this year",
    "because the old one leaks",
    "under the eyes of the harbour master",
    "at night only",
    "in the presence of a witness",
    "when the signal is red",
    "although the budget is spent",
    "by hand",
)


class Prose:
    """Writes sentences, paragraphs and headings. Documents of length 10 have ten times as many parts as those of 1."""

    def __init__(self, seed: int, length: int = 1) -> None:
        self._random = random.Random(seed)
        self._length = length

    def between(self, least: int, most: int) -> int:
        """A number from `least` to `most`."""
        return self._random.randint(least, most)

    def parts(self, least: int, most: int) -> int:
        """How many pages, sections or rows a document has."""
        return self.between(least, most) * self._length

    def sentence(self) -> str:
        """One sentence, now and then with a date and a sum."""
        pick = self._random.choice
        words = f"{pick(SUBJECTS)} {pick(VERBS)} {pick(OBJECTS)} {pick(CIRCUMSTANCES)}"
        if self._random.random() < 0.3:
            words += f", for {self.between(20, 9000)} euros on {self.between(1, 28)} March {self.between(2001, 2026)}"
        return f"{words}."

    def paragraph(self) -> str:
        """Three to seven sentences."""
        return " ".join(self.sentence() for _ in range(self.between(3, 7)))

    def paragraphs(self, least: int, most: int) -> list[str]:
        """So many of them."""
        return [self.paragraph() for _ in range(self.between(least, most))]

    def heading(self) -> str:
        """A few words."""
        return f"{self._random.choice(OBJECTS).capitalize()}, part {self.between(1, 99)}"
