"""A stored input or output, named by what it holds."""

from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Artifact:
    """Bytes of an organisation in the store. The same bytes have the same SHA-256 `hash`, and are stored once."""

    hash: str
    size: int

    def to_json(self) -> dict[str, Any]:
        """As phases hand it on."""
        return {"hash": self.hash, "size": self.size}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(value["hash"], value["size"])
