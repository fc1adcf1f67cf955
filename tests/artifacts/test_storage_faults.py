"""Torn objects, full disks, refusing and failing services: each its error, nothing left behind, and it recovers."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from holdfast.artifacts.address import key_of
from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.errors import AuthenticationFailed, StorageUnavailable, TooLarge

# Its own process, because the limit can never be raised again. The system refuses to write beyond it as it
# refuses to write to a full disk: in the middle.
WRITE_WITH_LITTLE_ROOM = """
import resource, sys
from holdfast.artifacts.store import ArtifactStore
from holdfast.errors import StorageUnavailable
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
store = ArtifactStore(sys.argv[1])
try:
    store.put_stream("acme", (b"x" * 1_000_000 for _ in range(5)), most_bytes=10_000_000)
except StorageUnavailable as error:
    print(error.error_code, error)
print(len(store.put_bytes("acme", b"something smaller").hash))
"""

FETCH_WITH_LITTLE_ROOM = """
import resource, sys
from pathlib import Path
from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.errors import StorageUnavailable
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
try:
    ArtifactStore(sys.argv[1]).fetch("acme", Artifact(sys.argv[2], 5_000_000), Path(sys.argv[3]))
except StorageUnavailable as error:
    print(error.error_code, error)
"""


def run_python(program: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def only_file(folder: Path) -> Path:
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    return path


def damage_by_truncating(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def damage_by_changing(path: Path) -> None:
    path.write_bytes(b"X" * path.stat().st_size)


@pytest.mark.parametrize("damage", [damage_by_truncating, damage_by_changing])
class TestDamaged:
    """An object that is not what was put."""

    @pytest.fixture
    def artifact(self, folder_store: ArtifactStore, folder: Path, damage: Callable[[Path], None]) -> Artifact:
        artifact = folder_store.put_bytes("acme", b"the whole content")
        damage(only_file(folder))
        return artifact

    def test_is_not_handed_out(self, folder_store: ArtifactStore, artifact: Artifact, tmp_path: Path) -> None:
        for use in (
            lambda: folder_store.read("acme", artifact),
            lambda: folder_store.fetch("acme", artifact, tmp_path / "copy"),
            lambda: list(folder_store.stream("acme", artifact)),
        ):
            with pytest.raises(StorageUnavailable, match=artifact.hash) as raised:
                use()
            assert raised.value.error_code == "ARTIFACT_TORN"
        assert not (tmp_path / "copy").exists()

    def test_is_mended_by_the_next_put(self, folder_store: ArtifactStore, artifact: Artifact) -> None:
        folder_store.put_bytes("acme", b"the whole content")
        assert folder_store.read("acme", artifact) == b"the whole content"


@pytest.mark.parametrize(("damaged", "what"), [(b"the who", "7 bytes of 17"), (b"X" * 17, "was changed")])
def test_damaged_object_in_a_bucket_is_mended_by_the_next_put(bucket: str, damaged: bytes, what: str) -> None:
    store = ArtifactStore(bucket)
    artifact = store.put_bytes("acme", b"the whole content")
    store._shelf.objects.write(key_of("acme", artifact.hash), damaged)
    with pytest.raises(StorageUnavailable, match=what):
        store.read("acme", artifact)
    store.put_bytes("acme", b"the whole content")
    assert store.read("acme", artifact) == b"the whole content"


def test_a_full_disk_leaves_nothing_behind_and_recovers_with_room(folder: Path) -> None:
    told = run_python(WRITE_WITH_LITTLE_ROOM, folder.as_uri())
    assert told[0].startswith("STORAGE_FULL the artifact folder")
    assert "make room" in told[0]
    assert told[1] == "64"
    assert only_file(folder).read_bytes() == b"something smaller"


def test_a_full_scratch_disk_is_named_and_keeps_no_partial_copy(
    folder_store: ArtifactStore, folder: Path, tmp_path: Path
) -> None:
    artifact = folder_store.put_bytes("acme", b"x" * 5_000_000)
    copy = tmp_path / "copy"
    told = run_python(FETCH_WITH_LITTLE_ROOM, folder.as_uri(), artifact.hash, str(copy))
    assert told[0] == f"STORAGE_FULL the folder {tmp_path} is full: make room"
    assert not copy.exists()


def test_a_folder_that_cannot_be_is_transient(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageUnavailable, match="check that it exists"):
        ArtifactStore((tmp_path / "file" / "below").as_uri())


def test_a_store_whose_folder_vanished_goes_on_when_it_can(folder: Path, tmp_path: Path) -> None:
    store = ArtifactStore(folder.as_uri())
    folder.rename(tmp_path / "away")
    folder.write_text("in the way")
    with pytest.raises(StorageUnavailable, match=r"Not a directory|File exists"):
        store.put_bytes("acme", b"content")
    folder.unlink()
    (tmp_path / "away").rename(folder)
    assert store.read("acme", store.put_bytes("acme", b"content")) == b"content"


def test_what_a_killed_put_left_is_removed_when_it_is_old(folder_store: ArtifactStore, folder: Path) -> None:
    folder_store.put_bytes("acme", b"content")
    (folder / ".spool" / "holdfast-killed").write_bytes(b"half")
    folder_store.remove_leftovers()
    assert (folder / ".spool" / "holdfast-killed").exists()
    os.utime(folder / ".spool" / "holdfast-killed", (time.time() - 25 * 3600,) * 2)
    folder_store.remove_leftovers()
    assert list((folder / ".spool").iterdir()) == []


class Faulty(BaseHTTPRequestHandler):
    """Answers every request with the status that its server was told to."""

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline()
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        self.rfile.read(int(self.headers.get("content-length") or 0))
        status = self.server.status
        # So that what was refused is the content itself, not the question whether it is there.
        if status in (400, 413) and self.command in ("GET", "HEAD"):
            status = 404
        self.send_response(status)
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


class FaultyServer(ThreadingHTTPServer):
    status = 503
    body = b""

    @property
    def url(self) -> str:
        return f"s3://bucket?endpoint=http://127.0.0.1:{self.server_port}"


@pytest.fixture
def faulty(credentials: None) -> Iterator[FaultyServer]:
    with FaultyServer(("127.0.0.1", 0), Faulty) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_failing_service_is_transient(faulty: FaultyServer, status: int) -> None:
    faulty.status = status
    store = ArtifactStore(faulty.url)
    with pytest.raises(StorageUnavailable, match="check that it is up"):
        store.put_bytes("acme", b"content")
    with pytest.raises(StorageUnavailable, match="check that it is up"):
        store.read("acme", Artifact("0" * 64, 1))


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusing_service_needs_other_credentials(faulty: FaultyServer, status: int) -> None:
    faulty.status = status
    with pytest.raises(AuthenticationFailed, match="AWS_ACCESS_KEY_ID") as raised:
        ArtifactStore(faulty.url).put_bytes("acme", b"content")
    assert raised.value.error_code == "STORAGE_REFUSED"


@pytest.mark.parametrize(("status", "body"), [(413, b""), (400, b"<Error><Code>EntityTooLarge</Code></Error>")])
@pytest.mark.parametrize("size", [7, 9_000_000])
def test_content_larger_than_the_service_takes_is_too_large(
    faulty: FaultyServer, status: int, body: bytes, size: int
) -> None:
    faulty.status, faulty.body = status, body
    with pytest.raises(TooLarge, match="raise the limit of the bucket, or split the file") as raised:
        ArtifactStore(faulty.url).put_bytes("acme", b"x" * size)
    assert raised.value.error_code == "STORAGE_TOO_LARGE"


def test_a_service_that_is_down_is_transient(faulty: FaultyServer) -> None:
    url = faulty.url
    faulty.shutdown()
    faulty.server_close()
    with pytest.raises(StorageUnavailable, match="check that it is up"):
        ArtifactStore(url).put_bytes("acme", b"content")


def test_a_bucket_that_is_not_there_is_named(s3_endpoint: str, credentials: None) -> None:
    with pytest.raises(StorageUnavailable, match="nosuchbucket does not exist: create it"):
        ArtifactStore(f"s3://nosuchbucket?endpoint={s3_endpoint}").put_bytes("acme", b"content")


def test_a_failed_put_leaves_no_spool_file(
    faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(StorageUnavailable):
        ArtifactStore(faulty.url).put_bytes("acme", b"content")
    assert list(tmp_path.iterdir()) == []
