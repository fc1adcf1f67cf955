"""The labelled set for retrieval quality: questions, and the words that only the passage answering them has."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from bench.manuals import manuals


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question; right is a passage of `source` that contains `answer`."""

    question: str
    source: str
    answer: str


LIBRARY = (
    Labelled("Which radio channel does the office monitor?", "harbour-handbook.pdf", "VHF channel 14"),
    Labelled("How long is one shift for the people on duty?", "harbour-handbook.pdf", "watch lasts six hours"),
    Labelled("At what water level does the tidal gate open?", "harbour-handbook.pdf", "2.4 metres above chart datum"),
    Labelled("What if the gate's pump breaks down?", "harbour-handbook.pdf", "crank kept in the gatehouse"),
    Labelled("Where do I find the oil barrier for a diesel leak?", "harbour-handbook.pdf", "yellow boom"),
    Labelled("how far from the pump is smoking forbidden", "harbour-handbook.pdf", "fifteen metres"),
    Labelled("Who may lower the ferry ramps after a gale?", "harbour-handbook.pdf", "harbour master alone"),
    Labelled("minimum thickness of mooring lines in a storm", "harbour-handbook.pdf", "sixteen millimetres"),
    Labelled("Somebody has a heart attack, where is the device?", "harbour-handbook.pdf", "defibrillator"),
    Labelled("How does an ambulance get to the quay at night?", "harbour-handbook.pdf", "west road"),
    Labelled("Which basin is meant for overnight guests?", "harbour-handbook.pdf", "one night"),
    Labelled("How often does the gauge take a reading?", "tide-gauge-manual.docx", "every six minutes"),
    Labelled("KP-7", "tide-gauge-manual.docx", "brass bolt"),
    Labelled("Why is the sensor put inside a pipe?", "tide-gauge-manual.docx", "damps waves"),
    Labelled("Which tool removes barnacles without damage?", "tide-gauge-manual.docx", "wooden scraper"),
    Labelled("When must a pressure cell be replaced after calibration?", "tide-gauge-manual.docx", "half a percent"),
    Labelled("how many months does the RB-12 last", "tide-gauge-manual.docx", "18 months"),
    Labelled("load capacity of the newly installed bollards", "storm-season-briefing.pptx", "40 tonnes"),
    Labelled("Which bollard must not be used?", "storm-season-briefing.pptx", "out of use until it has been tested"),
    Labelled("How many bags of sand do we have for flooding?", "storm-season-briefing.pptx", "900 sandbags"),
    Labelled("Why did the fish market flood twice?", "storm-season-briefing.pptx", "filled last"),
    Labelled("price per night for a twelve metre yacht", "mooring-fees.xlsx", "35"),
    Labelled("What does a permanent berth in the north basin cost?", "mooring-fees.xlsx", "1450"),
    Labelled("How long must I wait for a place in the inner basin?", "mooring-fees.xlsx", "seven years"),
    Labelled("Where can I empty my toilet tank?", "visitor-guide.html", "pump-out station"),
    Labelled("Are pets allowed on the beach in summer?", "visitor-guide.html", "terns are nesting"),
    Labelled("What should a skipper do before entering?", "visitor-guide.html", "half an hour before you arrive"),
    Labelled("Where is the code for the showers?", "visitor-guide.html", "berth card"),
    Labelled("WR-22", "maintenance-log.csv", "WR-22"),
    Labelled("When was the seal of the gate changed?", "maintenance-log.csv", "2026-03-11"),
    Labelled("who found the crack in bollard 19 and when", "maintenance-log.csv", "2026-09-16"),
    Labelled("What wind speed sets off the alarm?", "sensor-limits.json", "24.5"),
    Labelled("water level alarm threshold of the south mole station", "sensor-limits.json", "4.6"),
    Labelled("Why may nobody operate the winch on their own?", "safety-meeting.vtt", "jumped the drum"),
    Labelled("When will the winch protection arrive?", "safety-meeting.vtt", "first week of December"),
    Labelled("What happens to the stiff old life jackets?", "safety-meeting.vtt", "sailing school"),
    Labelled("Where is the key for rescue vehicles kept?", "safety-meeting.vtt", "behind the glass"),
    Labelled("What is chart datum?", "glossary.md", "lowest astronomical tide"),
    Labelled("How long is there no current at the gate?", "glossary.md", "twelve minutes"),
    Labelled("the thin rope you throw before the thick one", "glossary.md", "messenger"),
    Labelled("Where can I buy coffee in winter?", "notices.txt", "chandler"),
    Labelled("penalty for fishing eels out of season", "notices.txt", "250 per trap"),
    Labelled("Why should I take a flashlight to the north mole?", "notices.txt", "Carry a torch"),
    Labelled("What went wrong with ramp B while a van was waiting?", "near-miss.eml", "40 centimetres"),
    Labelled("tightening torque of the limit switch", "inspection-ramp-b.txt", "12 newton metres"),
    Labelled("What course do the leading lights give?", "lights/leading-lights.md", "074 degrees"),
    Labelled("How does the fog horn sound?", "lights/fog-signal.txt", "two blasts"),
    Labelled("Why did the wooden piles survive so long?", "history.epub", "shipworm"),
    Labelled("How much ice was produced each day for herring?", "history.epub", "forty tonnes"),
    Labelled("What kind of ship was the first ferry to the island?", "history.epub", "landing craft"),
    Labelled("When may the diver work at the ramp?", "diving-permit.png", "slack waters"),
    Labelled("Which spare part must be brought before dawn?", "night-watch.wav", "rubber belt"),
)

PLACES = ("Adder", "Birch", "Cinder", "Dunlin", "Ember", "Fulmar", "Garnet", "Heron", "Iris", "Jackdaw")
KINDS = ("Head", "Rock", "Sound", "Bank", "Narrows", "Ness")
COLOURS = ("white", "red", "green", "amber")
TOWERS = ("cast iron", "granite", "brick", "timber", "concrete")
DANGERS = (
    "a wreck lies close under the surface east of the tower",
    "the stream sets across the channel at half tide",
    "sand waves move after every westerly gale",
    "overfalls break when wind stands against the tide",
    "lobster pots are laid close to the fairway in spring",
    "the bottom is foul and anchors do not hold",
    "ice drifts down from the river in late winter",
)


@dataclass(frozen=True, slots=True)
class Light:
    """A light that exists on paper only: one generated document, like its neighbours in all but the facts."""

    number: int
    name: str

    @property
    def file_name(self) -> str:
        return f"light-{self.number:03}.md"

    @property
    def text(self) -> str:
        number = self.number
        return (
            f"# {self.name} Light\n\nStation {self.code}. The {TOWERS[number % 5]} tower of {self.name} is "
            f"{14 + number % 37} metres high and was lit in {1802 + number * 3 % 150}.\n\n## Character\n\n"
            f"It shows {COLOURS[number % 4]} and flashes every {3 + number % 13} seconds; its nominal range is "
            f"{8 + number % 17} miles.\n\n## Dangers\n\nWho passes {self.name} should know that {self.danger}.\n"
        )

    @property
    def code(self) -> str:
        return f"LT-{4000 + self.number * 7}"

    @property
    def danger(self) -> str:
        return DANGERS[self.number % 7]


def lights() -> Iterator[Light]:
    """Sixty generated documents that are hard to tell apart."""
    for number, (place, kind) in enumerate(product(PLACES, KINDS)):
        yield Light(number, f"{place} {kind}")


def generated_questions() -> Iterator[Labelled]:
    """Two questions on every fifth light: one by its code, one by its name in other words than the text has."""
    for light in list(lights())[::5]:
        yield Labelled(f"Which station is {light.code}?", light.file_name, light.code)
        yield Labelled(f"What must a ship watch out for near {light.name}?", light.file_name, light.danger)


def situated_questions() -> Iterator[Labelled]:
    """Two questions on every manual, whose answers stand where the machine is not named."""
    for manual in manuals():
        yield Labelled(f"How often is the oil of the {manual.name} changed?", manual.file_name, manual.hours)
        yield Labelled(f"pressure needed to start the {manual.name}", manual.file_name, manual.pressure)


def questions() -> tuple[Labelled, ...]:
    """The whole set."""
    return (*LIBRARY, *generated_questions(), *situated_questions())


def generated_texts() -> Iterator[tuple[str, str]]:
    """Every generated document: its file name and its text."""
    yield from ((light.file_name, light.text) for light in lights())
    yield from ((manual.file_name, manual.text) for manual in manuals())
