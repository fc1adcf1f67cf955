"""What every kind of store promises."""

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.errors import InvalidInput, SourceGone, StorageUnavailable, TooLarge

LARGE = 20 * 1024 * 1024 + 1

STRANGE_NAMES = [
    "acme",
    "Acme",
    "acme ",
    "..",
    "../acme",
    "/",
    "a/b",
    "a-b",
    "a\\b",
    "名前",
    "😀" * 255,
    "é",
    "e\u0301",
    "CON",
    "*",
    "a" * 255,
    "%2e%2e",
    ".spool",
    ".removing",
]


def artifact_of(data: bytes) -> Artifact:
    return Artifact(hashlib.sha256(data).hexdigest(), len(data))


@pytest.mark.parametrize("data", [b"", b"some content", os.urandom(LARGE)], ids=["empty", "small", "large"])
def test_what_was_put_comes_back(store: ArtifactStore, tmp_path: Path, data: bytes) -> None:
    artifact = store.put_bytes("acme", data)
    store.fetch("acme", artifact, tmp_path / "copy")
    assert artifact == artifact_of(data)
    assert (tmp_path / "copy").read_bytes() == data
    assert store.read("acme", artifact) == data
    assert b"".join(store.stream("acme", artifact)) == data
    assert store.exists("acme", artifact)


def test_a_file_is_kept_and_stays(store: ArtifactStore, tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_bytes(b"a report")
    artifact = store.put_file("acme", tmp_path / "report.txt")
    assert store.read("acme", artifact) == b"a report"
    assert (tmp_path / "report.txt").read_bytes() == b"a report"


def test_a_stream_within_its_limit_is_kept(store: ArtifactStore) -> None:
    artifact = store.put_stream("acme", iter([b"one ", b"two"]), most_bytes=7)
    assert store.read("acme", artifact) == b"one two"


def test_a_stream_is_not_read_on_beyond_its_limit(store: ArtifactStore) -> None:
    read = []

    def endless() -> Iterator[bytes]:
        while True:
            read.append(1000)
            yield b"x" * 1000

    with pytest.raises(TooLarge, match="limit of 2500 bytes"):
        store.put_stream("acme", endless(), most_bytes=2500)
    assert sum(read) == 3000
    assert list(store.list("acme")) == []


def test_a_stream_that_breaks_off_leaves_nothing_and_says_why(store: ArtifactStore) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half of it"
        raise ConnectionResetError("the other side hung up")

    with pytest.raises(ConnectionResetError, match="hung up"):
        store.put_stream("acme", broken(), most_bytes=1000)
    assert list(store.list("acme")) == []


def test_the_same_content_is_kept_once(store: ArtifactStore) -> None:
    assert store.put_bytes("acme", b"same") == store.put_bytes("acme", b"same")
    assert list(store.list("acme")) == [artifact_of(b"same")]


def test_the_same_content_put_by_many_at_once_is_kept_once(store: ArtifactStore) -> None:
    with ThreadPoolExecutor(8) as threads:
        put = list(threads.map(lambda _: store.put_bytes("acme", b"same"), range(40)))
    assert set(put) == {artifact_of(b"same")}
    assert list(store.list("acme")) == put[:1]
    assert store.read("acme", put[0]) == b"same"


def test_organisations_never_meet_whatever_they_are_called(store: ArtifactStore) -> None:
    for name in STRANGE_NAMES:
        store.put_bytes(name, name.encode())
    for name in STRANGE_NAMES:
        assert list(store.list(name)) == [artifact_of(name.encode())]


def test_another_organisations_artifact_is_missing(store: ArtifactStore) -> None:
    artifact = store.put_bytes("acme", b"theirs")
    with pytest.raises(StorageUnavailable, match="is not in") as raised:
        store.read("other", artifact)
    assert raised.value.error_code == "ARTIFACT_MISSING"
    assert not store.exists("other", artifact)


@pytest.mark.parametrize("name", ["", "a\ud800"], ids=["empty", "lone surrogate"])
def test_a_name_that_cannot_be_is_refused(store: ArtifactStore, name: str) -> None:
    with pytest.raises(InvalidInput):
        store.put_bytes(name, b"content")


@pytest.mark.parametrize("content_hash", ["../../etc/passwd", "A" * 64, "", "0" * 63])
def test_a_hash_that_is_none_is_refused(store: ArtifactStore, content_hash: str) -> None:
    with pytest.raises(InvalidInput, match="SHA-256"):
        store.read("acme", Artifact(content_hash, 1))


def test_fetching_what_is_missing_leaves_no_file(store: ArtifactStore, tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable) as raised:
        store.fetch("acme", artifact_of(b"never put"), tmp_path / "copy")
    assert raised.value.error_code == "ARTIFACT_MISSING"
    assert not (tmp_path / "copy").exists()


def test_a_file_that_is_gone_says_so(store: ArtifactStore, tmp_path: Path) -> None:
    with pytest.raises(SourceGone, match=r"nowhere\.txt"):
        store.put_file("acme", tmp_path / "nowhere.txt")


def test_an_object_is_removed_once(store: ArtifactStore) -> None:
    artifact = store.put_bytes("acme", b"content")
    assert store.remove("acme", artifact.hash) == 7
    assert store.remove("acme", artifact.hash) is None
    assert list(store.list("acme")) == []


def test_folders_are_those_of_organisations_with_objects(store: ArtifactStore) -> None:
    assert list(store.folders()) == []
    kept = {store.put_bytes(name, name.encode()) for name in ("acme", "other")}
    assert {one for folder in store.folders() for one in store.list_folder(folder)} == kept


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/artifacts",
        "file://relative/path",
        "http://host/bucket",
        "s3://",
        "s3://user:secret@bucket",
        "s3://bucket?colour=blue",
        "file:///folder?region=x",
    ],
)
def test_a_url_that_names_no_store_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(InvalidInput, match="HOLDFAST_STORAGE_URL is invalid") as raised:
        ArtifactStore(url)
    assert "secret" not in str(raised.value)
