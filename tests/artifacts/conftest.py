"""Stores of both kinds: a folder, and a bucket of a server on loopback."""

import logging
import uuid
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from holdfast.artifacts.store import ArtifactStore


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@pytest.fixture
def bucket(s3_endpoint: str, credentials: None) -> str:
    """The URL of a bucket of the test's own."""
    name = f"bucket-{uuid.uuid4().hex}"
    boto3.client("s3", endpoint_url=s3_endpoint, region_name="us-east-1").create_bucket(Bucket=name)
    return f"s3://{name}/some/prefix?endpoint={s3_endpoint}&region=us-east-1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture
def folder_store(folder: Path) -> ArtifactStore:
    return ArtifactStore(folder.as_uri())


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, folder: Path) -> ArtifactStore:
    """Each kind of store in turn."""
    if request.param == "bucket":
        return ArtifactStore(request.getfixturevalue("bucket"))
    return ArtifactStore(folder.as_uri())


@pytest.fixture
def folder_url(folder: Path) -> str:
    return folder.as_uri()
