"""The artifact store: content by its hash, per organisation, on the file system or S3."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import assert_never

from holdfast.artifacts.address import Bucket, Folder, key_of, parse_address, shelf_of
from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.bucket_shelf import open_bucket
from holdfast.artifacts.folder_shelf import SPOOL, open_folder
from holdfast.artifacts.removing import MARKS, await_removal, remove_unless_put_since
from holdfast.artifacts.shelf import Kept, Shelf
from holdfast.artifacts.spool import Spool, spooling
from holdfast.artifacts.translation import our_errors
from holdfast.errors import SourceGone, StorageUnavailable, TooLarge

READ_BYTES = 1024 * 1024
PLACINGS = 3


class ArtifactStore:
    """Bytes of organisations, each kept once under its hash.

    A put comes back only when the object is there, whole and durable; nobody ever sees a part of it. Content is
    never whole in memory, except for `read`. Every call blocks, so call it in a thread; calls may run side by side.
    """

    def __init__(self, url: str) -> None:
        """`file:///folder` or `s3://bucket/prefix`; a bucket elsewhere as `s3://bucket?endpoint=https://host`."""
        self._shelf = _open(url)

    def put_file(self, organisation: str, path: Path) -> Artifact:
        """Keep a file's content as it is now. The file stays where it is."""
        return self._put(organisation, _read(path))

    def put_bytes(self, organisation: str, data: bytes) -> Artifact:
        """Keep these bytes."""
        return self._put(organisation, (data,))

    def put_stream(self, organisation: str, chunks: Iterable[bytes], *, most_bytes: int) -> Artifact:
        """Keep what comes, or raise TooLarge as soon as it is more than `most_bytes`. Its own errors pass through."""
        return self._put(organisation, _limited(chunks, most_bytes))

    def stream(self, organisation: str, artifact: Artifact) -> Iterator[bytes]:
        """The content in pieces. After the last one, StorageUnavailable says if the whole is not what was put."""
        key = key_of(organisation, artifact.hash)
        found = self._shelf.objects.look(key)
        if found is None:
            raise self._missing(artifact)
        if found.size != artifact.size:
            raise self._torn(artifact, f"it has {found.size} bytes of {artifact.size}")
        digest = hashlib.sha256()
        for window in self._shelf.objects.windows(key, artifact.size):
            digest.update(window)
            yield window
        if digest.hexdigest() != artifact.hash:
            raise self._torn(artifact, "its content was changed")

    def read(self, organisation: str, artifact: Artifact) -> bytes:
        """The whole content, verified. For small artifacts."""
        return b"".join(self.stream(organisation, artifact))

    def fetch(self, organisation: str, artifact: Artifact, to: Path) -> None:
        """Copy the content, verified, into a file of its own. A copy that failed is removed."""
        try:
            with our_errors(f"the folder {to.parent}"), to.open("wb") as file:
                for window in self.stream(organisation, artifact):
                    file.write(window)
        except BaseException:
            with suppress(OSError):
                if to.is_file():  # never a device, should someone name one
                    to.unlink()
            raise

    def exists(self, organisation: str, artifact: Artifact) -> bool:
        """Whether it is there, with its size."""
        return self.size_of(organisation, artifact.hash) == artifact.size

    def size_of(self, organisation: str, content_hash: str) -> int | None:
        """How many bytes are kept under this hash; None: nothing is."""
        found = self._shelf.objects.look(key_of(organisation, content_hash))
        return None if found is None else found.size

    def list(self, organisation: str) -> Iterator[tuple[str, Kept]]:
        """Every object of an organisation with its hash, in no order."""
        for found in self._shelf.list(shelf_of(organisation)):
            yield found.key.rpartition("/")[2], found

    def remove(self, organisation: str, content_hash: str, *, unless_put_since: datetime) -> int | None:
        """Remove an object that nobody put after that moment. Its size, or None when nothing was removed.

        A put that comes at the same time either keeps the object or puts it again.
        """
        return remove_unless_put_since(self._shelf, key_of(organisation, content_hash), unless_put_since)

    def remove_leftovers(self, *, unless_put_since: datetime) -> None:
        """Remove what puts and removals left half-done because their process was killed."""
        for folder in (SPOOL, MARKS):
            for found in self._shelf.objects.list(folder):
                if found.put_at <= unless_put_since:
                    self._shelf.objects.remove(found.key)

    def _put(self, organisation: str, chunks: Iterable[bytes]) -> Artifact:
        shelf_of(organisation)  # a name that cannot be is refused before anything is read
        with spooling(self._shelf.spool_folder, self._shelf.objects.place) as spool:
            for chunk in chunks:
                spool.add(chunk)
            return self._place(organisation, spool)

    def _place(self, organisation: str, spool: Spool) -> Artifact:
        artifact = spool.finish()
        key = key_of(organisation, artifact.hash)
        for _ in range(PLACINGS):
            self._shelf.place(spool.path, key)
            await_removal(self._shelf, key)
            found = self._shelf.objects.look(key)
            if found is not None and found.size == artifact.size:
                return artifact
        raise StorageUnavailable(
            f"{self._shelf.objects.place} took artifact {artifact.hash} and does not show it: check the storage",
            error_code="ARTIFACT_NOT_KEPT",
        )

    def _missing(self, artifact: Artifact) -> StorageUnavailable:
        return StorageUnavailable(
            f"artifact {artifact.hash} is not in {self._shelf.objects.place}: restore it from a backup, "
            "or delete the document and take it in again",
            error_code="ARTIFACT_MISSING",
        )

    def _torn(self, artifact: Artifact, what: str) -> StorageUnavailable:
        return StorageUnavailable(
            f"artifact {artifact.hash} in {self._shelf.objects.place} is damaged ({what}): restore it from a backup, "
            "or delete the document and take it in again",
            error_code="ARTIFACT_TORN",
        )


def _open(url: str) -> Shelf:
    address = parse_address(url)
    match address:
        case Folder():
            return open_folder(address)
        case Bucket():
            return open_bucket(address)
        case _:
            assert_never(address)


def _read(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while chunk := file.read(READ_BYTES):
                yield chunk
    except FileNotFoundError as error:
        raise SourceGone(f"{path} is not there any more: put it back or leave it out") from error
    except OSError as error:
        raise StorageUnavailable(
            f"{path} cannot be read ({error.strerror}): give this process the right to", error_code="SOURCE_UNREADABLE"
        ) from error


def _limited(chunks: Iterable[bytes], most_bytes: int) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most_bytes:
            raise TooLarge(
                f"the content is larger than the limit of {most_bytes} bytes: raise the limit or split it",
                error_code="TOO_LARGE",
                details={"most_bytes": most_bytes},
            )
        yield chunk
