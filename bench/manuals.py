"""Generated manuals that name their machine in the title alone: only its context tells which one a passage is about."""

from collections.abc import Iterator
from dataclasses import dataclass

MACHINES = (
    "Osprey dredge pump",
    "Kittiwake dredge pump",
    "Gannet harbour crane",
    "Shearwater harbour crane",
    "Turnstone ice machine",
    "Sanderling ice machine",
    "Plover drawbridge drive",
    "Curlew drawbridge drive",
    "Skua standby generator",
    "Petrel standby generator",
    "Avocet slipway winch",
    "Whimbrel slipway winch",
)
OILS = ("mineral oil of grade 46", "vegetable oil of grade 68", "synthetic oil of grade 32", "mineral oil of grade 100")
KEEPERS = ("the workshop on the east pier", "the night watch", "the ferry crew", "the boatyard", "the lock keeper")
SIGNS = ("a red lamp", "a yellow lamp", "three short tones", "one long tone", "a bell")


@dataclass(frozen=True, slots=True)
class Manual:
    """One generated document of several sections, each too long to share a passage with the next."""

    number: int
    name: str

    @property
    def file_name(self) -> str:
        return f"manual-{self.number:02}.md"

    @property
    def hours(self) -> str:
        return f"after {40 + 15 * self.number} hours of running"

    @property
    def pressure(self) -> str:
        return f"{round(3.2 + 0.7 * self.number, 1)} bar"

    @property
    def text(self) -> str:
        return f"# {self.name}\n\n{self._oil}\n\n{self._start}\n\n{self._faults}\n"

    @property
    def _oil(self) -> str:
        return (
            f"## Oil\n\nThe oil is changed {self.hours}, and once more before it is laid up for the winter. Only "
            f"{OILS[self.number % 4]} may be used; what is drained is taken back by {KEEPERS[self.number % 5]}. "
            "Warm oil drains better than cold, so let the machine run for ten minutes first. Put the tray under the "
            "plug before you loosen it, and count the washers: there are two. Wipe the plug and look at what sticks to "
            "its magnet. Fine grey paste is ordinary wear, but chips that can be felt between two fingers are not, and "
            "then the machine stays out of service until somebody has looked at the bearings. Fill slowly through the "
            "sieve, wait until the foam is gone, and read the level on both sides of the glass. Write the date and the "
            "counter into the book that hangs beside it, with your name."
        )

    @property
    def _start(self) -> str:
        return (
            f"## Starting\n\nOpen the valve by half a turn and wait until the gauge shows {self.pressure}. Below that "
            "the safety switch does not let it start; do not bridge the switch. Look around before you press the "
            "button: nobody stands on the grating, no rope lies over the rail, and the cover of the coupling is closed "
            "with all four screws. In frost the heater has to be on for an hour. The first minute is the loudest, "
            "because air is still in the lines, and a slow knocking then means nothing. If it goes on for longer, stop "
            "and bleed the lines at the highest point. Never start it twice "
            "within five minutes: the windings need that time to cool, and the fuse behind the second door is the only "
            "one of its kind in the building. The key goes back to its hook at the end of the shift."
        )

    @property
    def _faults(self) -> str:
        return (
            f"## Faults\n\nA fault is shown by {SIGNS[self.number % 5]}. Press the green key once to see its number. "
            "Most faults are harmless and go away when the filter has been cleaned; the filter sits behind the round "
            "lid, which opens to the left. If the same number comes back on the same day, write it down and call the "
            "office, also at night. Do not open the cabinet yourself, for it stays live for two minutes after the main "
            "switch was turned. Water under the frame is not a fault as long as it is clear; oil on the water is, and "
            "then the drain has to be closed with the rubber plate before anything else is done. Spare filters are in "
            "the dry store, in the second drawer from above, and the list beside them says who took the last one."
        )


def manuals() -> Iterator[Manual]:
    """Twelve manuals, two of each kind of machine."""
    for number, name in enumerate(MACHINES):
        yield Manual(number, name)
