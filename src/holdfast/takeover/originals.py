"""What a job can go on with: the row's own input, the link it names, or the file it names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from holdfast.engine.attempt import Json
from holdfast.takeover.converting import Becomes
from holdfast.takeover.old_row import OldRow, cleaned

PLATFORM = "takeover"
LINK_PLATFORM = "url"
FILE_PLATFORM = "file"
_LONGEST_LINK = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """Where a document came from and what its first phase gets; `artifact` is set once its bytes are in the store."""

    platform: str
    location: str | None
    input: Json = None
    artifact: Mapping[str, Json] | None = None


class Files(Protocol):
    """The files of the old installation, as far as they may be read."""

    def find(self, location: str) -> object | None:
        """The file of this name; None where there is none."""
        ...

    async def store(self, organisation: str, location: str) -> tuple[str, dict[str, Any], str] | None:
        """Bring a file into the store: its location, what the first phase gets, and who leases it until its row is
        taken over; None where it cannot be read.
        """
        ...


async def original_of(row: OldRow, becomes: Becomes, files: Files | None, *, organisation: str) -> Original:
    """What this row's job goes on with. Stores the file it names, if its job will want it."""
    location = row.text("location")
    known = Original(platform=PLATFORM, location=cleaned(location) if location else None)
    if location and is_link(location):
        known = Original(platform=LINK_PLATFORM, location=location, input={"url": location})
    if becomes.state == "done" or becomes.flow == "old":
        return Original(platform=known.platform, location=known.location)
    if (own := row.json("input")) is not None:
        return Original(platform=known.platform, location=known.location, input=own)
    if location and files is not None and known.input is None:
        stored = await files.store(organisation, location)
        if stored is not None:
            place, carried, holder = stored
            artifact = {**carried["original"], "holder": holder}
            return Original(platform=FILE_PLATFORM, location=place, input=carried, artifact=artifact)
    return known


def has_source(row: OldRow, files: Files | None) -> bool:
    """Whether a job has something to go on with."""
    location = row.text("location") or ""
    return (
        row.json("input") is not None or is_link(location) or (files is not None and files.find(location) is not None)
    )


def is_link(location: str) -> bool:
    """Whether it is a link that can be followed."""
    try:
        parts = urlsplit(location)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and len(location) <= _LONGEST_LINK
    except ValueError:
        return False
