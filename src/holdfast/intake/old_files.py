"""Files of an installation that is taken over: found below one folder, never outside of it."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from holdfast.artifacts.store import ArtifactStore
from holdfast.artifacts.upload import Upload
from holdfast.db.connection import Database
from holdfast.errors import NotFound, TooLarge
from holdfast.intake.contents import Unreadable, spool_content
from holdfast.intake.sources.files import found_file
from holdfast.standard import Carried


class OldFiles:
    """The files below a folder. What a row of an old table names is somebody's word: nothing else is ever read."""

    def __init__(self, database: Database, store: ArtifactStore, folder: Path, *, most_bytes: int) -> None:
        """NotFound when there is no such folder."""
        if not folder.is_dir():
            raise NotFound(f"there is no folder {folder}: name the one that holds the old files with --files")
        self._database = database
        self._store = store
        self._folder = folder.resolve()
        self._most_bytes = most_bytes

    def find(self, location: str) -> Path | None:
        """The file that a path or a file: URL means, as it is or below the folder; None where there is none."""
        parts = urlsplit(location) if location.startswith("file:") else None
        path = Path(unquote(parts.path) if parts else location)
        try:
            found = (self._folder / path).resolve()
            inside = found.is_relative_to(self._folder) and found.is_file()
        except (OSError, RuntimeError, ValueError):  # a loop of links, or no path at all
            return None
        return found if inside else None

    async def store(self, organisation: str, location: str) -> tuple[str, dict[str, Any], str] | None:
        """Bring a file into the store: its location, what the first phase gets, and who leases it until its row is
        taken over; None where it cannot be read.
        """
        path = self.find(location)
        if path is None:
            return None
        found = found_file(path)
        async with Upload(self._database, self._store, organisation) as upload:
            try:
                content = await asyncio.to_thread(
                    spool_content, upload, found, standing=None, most_bytes=self._most_bytes
                )
            except (Unreadable, TooLarge):
                return None
            assert content is not None
            await upload.keep(content.spool)
        assert found.location is not None
        carried = Carried(original=content.spool.artifact, media_type=content.media_type, name=found.name)
        return found.location, carried.to_json(), upload.holder
