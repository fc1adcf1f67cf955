"""Artifacts in a bucket of S3 or of something that speaks like it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.store import S3Store

from holdfast.artifacts.address import Bucket
from holdfast.artifacts.shelf import Kept, Objects
from holdfast.artifacts.translation import our_errors
from holdfast.errors import StorageUnavailable

if TYPE_CHECKING:
    from obstore.store import BackoffConfig, S3Config

PART_BYTES = 8 * 1024 * 1024
PARTS_AT_ONCE = 3
# Long enough for a hiccup; a longer trouble is the retry policy's to wait out.
TRIES = 3
TRYING_SECONDS = 20
BACKOFF: "BackoffConfig" = {
    "init_backoff": timedelta(milliseconds=100),
    "max_backoff": timedelta(seconds=2),
    "base": 2,
}
TOUCH = ".put"


@dataclass(frozen=True, slots=True)
class BucketShelf:
    """Content that is there already is not sent again: an empty object beside it notes that it was put."""

    objects: Objects

    @property
    def spool_folder(self) -> None:
        """The system's own."""
        return

    def place(self, spool: Path, key: str) -> None:
        """Make the object whole, durable and put just now."""
        size = spool.stat().st_size
        found = self.objects.look(key)
        if found is not None and found.size == size:
            self.objects.write(key + TOUCH, b"")
            return
        with our_errors(self.objects.place):
            try:
                obstore.put(self.objects.store, key, spool, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE)
            except FileNotFoundError as error:
                raise StorageUnavailable(
                    f"{self.objects.place} does not exist: create it or correct HOLDFAST_STORAGE_URL",
                    error_code="BUCKET_MISSING",
                ) from error

    def look(self, key: str) -> Kept | None:
        """The object, or None when there is none."""
        found = self.objects.look(key)
        if found is None:
            return None
        touch = self.objects.look(key + TOUCH)
        return found if touch is None else _put_again(found, touch)

    def list(self, prefix: str) -> Iterator[Kept]:
        """Every object below `prefix`. They come in the order of their names, so what belongs together is adjacent."""
        last: Kept | None = None
        for found in self.objects.list(prefix):
            if last is not None and found.key == last.key + TOUCH:
                yield _put_again(last, found)
                last = None
            else:
                if last is not None:
                    yield last
                last = None if found.key.endswith(TOUCH) else found
        if last is not None:
            yield last

    def remove(self, key: str) -> None:
        """Remove the object, if it is there."""
        self.objects.remove(key)
        self.objects.remove(key + TOUCH)


def open_bucket(address: Bucket) -> BucketShelf:
    """The bucket as a shelf. Credentials come from the AWS_* variables of the environment."""
    place = f"the bucket {address.name}"
    config: S3Config = {"region": address.region}
    if address.endpoint:
        config["endpoint"] = address.endpoint
    with our_errors(place):
        store = S3Store(
            address.name,
            prefix=address.prefix or None,
            config=config,
            client_options={
                "allow_http": (address.endpoint or "").startswith("http://"),
                "connect_timeout": timedelta(seconds=5),
                "timeout": timedelta(seconds=60),
            },
            retry_config={
                "max_retries": TRIES,
                "retry_timeout": timedelta(seconds=TRYING_SECONDS),
                "backoff": BACKOFF,
            },
        )
    return BucketShelf(Objects(store, place))


def _put_again(found: Kept, touch: Kept) -> Kept:
    return replace(found, put_at=max(found.put_at, touch.put_at))
