"""Artifacts in a bucket of S3 or of something that speaks like it."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.store import S3Store

from holdfast.artifacts.address import Bucket
from holdfast.artifacts.shelf import Objects
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


@dataclass(frozen=True, slots=True)
class BucketShelf:
    """Content is sent although the same stands there: only reading all of it would tell that it is not damaged."""

    objects: Objects

    @property
    def spool_folder(self) -> None:
        """The system's own."""
        return

    def place(self, spool: Path, key: str) -> None:
        """Make the object whole and durable."""
        with our_errors(self.objects.place):
            try:
                obstore.put(self.objects.store, key, spool, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE)
            except FileNotFoundError as error:
                raise StorageUnavailable(
                    f"{self.objects.place} does not exist: create it or correct HOLDFAST_STORAGE_URL",
                    error_code="BUCKET_MISSING",
                ) from error

    def remove_dead_spools(self) -> None:
        """Nothing: the system cleans its temporary folder."""


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
