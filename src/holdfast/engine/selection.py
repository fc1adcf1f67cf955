"""Which jobs an operator means: named by id, by a filter, or all of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from holdfast.engine.attempt import Json
from holdfast.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Jobs by their ids or by what they have in common. Nothing named means no job unless `everything` is set.

    Without a state it means every state the act applies to.
    """

    ids: tuple[int, ...] = ()
    state: str | None = None
    status: str | None = None
    pipeline: str | None = None
    phase: str | None = None
    component: str | None = None
    category: str | None = None
    organisation: str | None = None
    platform: str | None = None
    metadata: Mapping[str, Json] | None = None
    text: str | None = None
    retryable: bool | None = None
    fingerprint: str | None = None
    everything: bool = False

    def __post_init__(self) -> None:
        if self.ids and (self.conditions() or self.everything):
            raise InvalidInput("name jobs by id or by a filter, not both")
        if not (self.ids or self.conditions() or self.everything):
            raise InvalidInput("this would touch every job: name job ids or a filter, or say that all are meant")

    def conditions(self) -> dict[str, object]:
        """What the jobs have in common, as the database's filters name it."""
        named = {
            "state": self.state,
            "status": self.status,
            "pipeline": self.pipeline,
            "phase": self.phase,
            "component": self.component,
            "category": self.category,
            "organisation": self.organisation,
            "platform": self.platform,
            "metadata": self.metadata,
            "text": self.text,
            "retryable": self.retryable,
            "fingerprint": self.fingerprint,
        }
        return {name: value for name, value in named.items() if value is not None}

    def filters(self, states: Iterable[str]) -> list[dict[str, object]]:
        """One filter per state, because each state has an index of its own; one for all ids."""
        if self.ids:
            return [{"ids": list(self.ids)}]
        if self.state is not None:
            return [self.conditions()]
        return [{**self.conditions(), "state": state} for state in states]
