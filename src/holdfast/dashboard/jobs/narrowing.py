"""Which jobs a viewer looks at, as the address of the page says it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Self
from urllib.parse import urlencode

from holdfast.api.jobs import pairs
from holdfast.engine.overview import JobFilter
from holdfast.engine.selection import Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """Every filter, None where it narrows nothing, and where the page begins."""

    text: str | None = None
    state: str | None = None
    status: str | None = None
    pipeline: str | None = None
    phase: str | None = None
    component: str | None = None
    category: str | None = None
    fingerprint: str | None = None
    organisation: str | None = None
    platform: str | None = None
    metadata: str | None = None
    cursor: str | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """The inverse of `address`; what it does not know it leaves out."""
        return cls(**{field.name: query.get(field.name, "").strip() or None for field in fields(cls)})

    def given(self) -> dict[str, str]:
        """The filters that narrow something, without the place in the list."""
        return {name: value for name, value in asdict(self).items() if value is not None and name != "cursor"}

    def address(self) -> str:
        """Where the same can be seen again."""
        said = {**self.given(), **({"cursor": self.cursor} if self.cursor else {})}
        return "/jobs" + (f"?{urlencode(said)}" if said else "")

    def changed(self, name: str, value: str | None) -> Self:
        """Another filter; the list begins anew."""
        return replace(self, **{name: (value or "").strip() or None, "cursor": None})

    def at(self, cursor: str | None) -> Self:
        """The same jobs, from another place in the list; None: from its beginning."""
        return replace(self, cursor=cursor)

    def filter(self) -> JobFilter:
        """As the list is asked for. Metadata that is not written key=value raises InvalidInput."""
        return {
            "text": self.text,
            "state": self.state,
            "status": self.status,
            "pipeline": self.pipeline,
            "phase": self.phase,
            "component": self.component,
            "category": self.category,
            "fingerprint": self.fingerprint,
            "organisation": self.organisation,
            "platform": self.platform,
            "metadata": pairs([self.metadata]) if self.metadata else None,
        }

    def selection(self) -> Selection:
        """As an act on all of them is asked for."""
        asked = self.filter()
        return Selection(
            text=self.text,
            state=self.state,
            status=self.status,
            pipeline=self.pipeline,
            phase=self.phase,
            component=self.component,
            category=self.category,
            fingerprint=self.fingerprint,
            organisation=self.organisation,
            platform=self.platform,
            metadata=asked["metadata"],
            everything=not self.given(),
        )
