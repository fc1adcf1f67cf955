"""How much of each phase a worker may run at once, and how much of that is free."""

from collections import Counter
from collections.abc import Iterable

from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Phase, Pipeline
from holdfast.engine.queue import Lane, ServedLane
from holdfast.errors import NotFound

LaneKey = tuple[str, str]


class Slots:
    """The lanes a worker serves. A slot is taken while a handler runs."""

    def __init__(self, phases: dict[LaneKey, Phase]) -> None:
        self._phases = phases
        self._taken: Counter[LaneKey] = Counter()

    @classmethod
    def serving(
        cls,
        pipelines: Iterable[Pipeline],
        *,
        only_pipelines: Iterable[str] = (),
        only_phases: Iterable[str] = (),
    ) -> "Slots":
        """All phases of these pipelines, or only those named; a name that fits nothing raises NotFound."""
        known = {(pipeline.name, phase.name): phase for pipeline in pipelines for phase in pipeline.phases}
        for kind, names, position in (("pipeline", only_pipelines, 0), ("phase", only_phases, 1)):
            for name in names:
                if all(key[position] != name for key in known):
                    choice = ", ".join(sorted({key[position] for key in known})) or "none"
                    raise NotFound(f'there is no {kind} "{name}": name one of {choice}')
            known = {key: phase for key, phase in known.items() if not names or key[position] in set(names)}
        return cls(known)

    def phase(self, attempt: Attempt) -> Phase:
        return self._phases[attempt.pipeline, attempt.phase]

    def take(self, attempt: Attempt) -> None:
        self._taken[attempt.pipeline, attempt.phase] += 1

    def free(self, attempt: Attempt) -> None:
        self._taken[attempt.pipeline, attempt.phase] -= 1

    @property
    def total(self) -> int:
        return sum(phase.concurrency for phase in self._phases.values())

    def all_lanes(self) -> list[ServedLane]:
        return [
            ServedLane(*key, phase.concurrency, phase.provider, phase.budget) for key, phase in self._phases.items()
        ]

    def free_lanes(self) -> list[Lane]:
        lanes = [Lane(*key, phase.concurrency - self._taken[key]) for key, phase in self._phases.items()]
        return [lane for lane in lanes if lane.limit > 0]
