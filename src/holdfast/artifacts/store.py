"""The artifact store: content by its hash, per organisation, on the file system or S3."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import assert_never

from holdfast.artifacts.address import Bucket, Folder, is_hash, key_of, parse_address, shelf_of
from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.bucket_shelf import open_bucket
from holdfast.artifacts.folder_shelf import open_folder
from holdfast.artifacts.shelf import Shelf
from holdfast.artifacts.spool import Spool
from holdfast.artifacts.translation import our_errors
from holdfast.errors import SourceGone, StorageUnavailable, TooLarge

READ_BYTES = 1024 * 1024
# What earlier versions left beside the objects: when they were put last, and who was removing them.
OLD_TOUCH = ".put"
OLD_MARKS = ".removing"


class ArtifactStore:
    """Bytes of organisations, each kept once under its hash.

    A put comes back only when the object is there, whole and durable; nobody ever sees a part of it. Content is
    never whole in memory, except for `read`. Every call blocks, so call it in a thread; calls may run side by side.

    It knows nothing of who needs what: whoever wants an object to stay puts it through an `Upload`.
    """

    def __init__(self, url: str) -> None:
        """`file:///folder` or `s3://bucket/prefix`; a bucket elsewhere as `s3://bucket?endpoint=https://host`."""
        self._shelf = _open(url)

    def put_file(self, organisation: str, path: Path) -> Artifact:
        """Keep a file's content as it is now. The file stays where it is."""
        return self._put(organisation, read_file(path))

    def put_bytes(self, organisation: str, data: bytes) -> Artifact:
        """Keep these bytes."""
        return self._put(organisation, (data,))

    def put_stream(self, organisation: str, chunks: Iterable[bytes], *, most_bytes: int) -> Artifact:
        """Keep what comes, or raise TooLarge as soon as it is more than `most_bytes`. Its own errors pass through."""
        return self._put(organisation, limited(chunks, most_bytes))

    def spool(self, organisation: str, chunks: Iterable[bytes]) -> Spool:
        """Gather content beside the store, so that it is known what it is before it is placed. Close it afterwards."""
        shelf_of(organisation)  # a name that cannot be is refused before anything is read
        spool = Spool(self._shelf.spool_folder, self._shelf.objects.place)
        try:
            for chunk in chunks:
                spool.add(chunk)
        except BaseException:
            spool.close()
            raise
        spool.finish()
        return spool

    def place(self, organisation: str, spool: Spool) -> None:
        """Keep what was gathered, in the place of whatever stands there: that may be damaged."""
        artifact = spool.artifact
        key = key_of(organisation, artifact.hash)
        self._shelf.place(spool.path, key)
        found = self._shelf.objects.look(key)
        if found is None or found.size != artifact.size:
            raise StorageUnavailable(
                f"{self._shelf.objects.place} took artifact {artifact.hash} and does not show it: check the storage",
                error_code="ARTIFACT_NOT_KEPT",
            )

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

    def list(self, organisation: str) -> Iterator[Artifact]:
        """Every object of an organisation as its name and size say, in no order."""
        return self.list_folder(shelf_of(organisation))

    def list_folder(self, folder: str) -> Iterator[Artifact]:
        """The same for one of `folders`."""
        for found in self._shelf.objects.list(folder):
            name = found.key.rpartition("/")[2]
            if is_hash(name):
                yield Artifact(name, found.size)

    def list_without_leftovers(self, organisation: str) -> Iterator[Artifact]:
        """The same as `list`, removing on the way what earlier versions kept beside the objects."""
        for found in self._shelf.objects.list(shelf_of(organisation)):
            name = found.key.rpartition("/")[2]
            if is_hash(name):
                yield Artifact(name, found.size)
            elif name.endswith(OLD_TOUCH):
                self._shelf.objects.remove(found.key)

    def folders(self) -> Sequence[str]:
        """The folders of all organisations that have objects. No organisation's name can be told from its folder's."""
        return [name for name in self._shelf.objects.folders() if not name.startswith(".")]

    def remove(self, organisation: str, content_hash: str) -> int | None:
        """Remove an object. Its size, or None when there was none. Only for who keeps others from putting it."""
        key = key_of(organisation, content_hash)
        found = self._shelf.objects.look(key)
        if found is not None:
            self._shelf.objects.remove(key)
        return None if found is None else found.size

    def remove_leftovers(self) -> None:
        """Remove what killed puts left half-done, and the marks of earlier versions."""
        self._shelf.remove_dead_spools()
        for found in self._shelf.objects.list(OLD_MARKS):
            self._shelf.objects.remove(found.key)

    def _put(self, organisation: str, chunks: Iterable[bytes]) -> Artifact:
        with self.spool(organisation, chunks) as spool:
            self.place(organisation, spool)
            return spool.artifact

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


def read_file(path: Path) -> Iterator[bytes]:
    """A file's content as it is now, in pieces."""
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


def limited(chunks: Iterable[bytes], most_bytes: int) -> Iterator[bytes]:
    """The same pieces; TooLarge as soon as they are more than `most_bytes`."""
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
