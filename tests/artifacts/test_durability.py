"""A put that came back survives a power cut: its content and its name were brought to the disk, in the right order."""

import os
from pathlib import Path

import pytest

from holdfast.artifacts.store import ArtifactStore


class Disk:
    """Notes what is brought to the disk, by inode, and which inode stands under the object's name at that moment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[int] = []
        self.visible: list[set[int]] = []
        self._sync = os.fsync
        self.folder: Path | None = None
        monkeypatch.setattr(os, "fsync", self._note)

    def _note(self, descriptor: int) -> None:
        self._sync(descriptor)
        self.synced.append(os.fstat(descriptor).st_ino)
        paths = self.folder.rglob("*") if self.folder else ()
        self.visible.append({path.stat().st_ino for path in paths if ".spool" not in path.parts and path.is_file()})


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Disk:
    disk = Disk(monkeypatch)
    disk.folder = folder
    return disk


def object_of(folder: Path, content_hash: str) -> Path:
    (path,) = folder.rglob(content_hash)
    return path


def test_content_and_every_new_folder_above_it_are_on_the_disk(
    disk: Disk, folder_store: ArtifactStore, folder: Path
) -> None:
    path = object_of(folder, folder_store.put_bytes("acme", b"content").hash)
    above = [parent for parent in path.parents if parent.is_relative_to(folder)]
    assert {path.stat().st_ino, *(parent.stat().st_ino for parent in above)} <= set(disk.synced)


def test_name_is_on_the_disk_after_it_was_given(disk: Disk, folder_store: ArtifactStore, folder: Path) -> None:
    path = object_of(folder, folder_store.put_bytes("acme", b"content").hash)
    named = disk.synced.index(path.parent.stat().st_ino)
    assert path.stat().st_ino in disk.visible[named]


def test_what_stands_there_is_replaced_only_by_what_is_on_the_disk(
    disk: Disk, folder_store: ArtifactStore, folder: Path
) -> None:
    path = object_of(folder, folder_store.put_bytes("acme", b"content").hash)
    before = path.stat().st_ino
    disk.synced.clear()
    disk.visible.clear()
    folder_store.put_bytes("acme", b"content")
    after = path.stat().st_ino
    assert after != before
    assert disk.visible[disk.synced.index(after)] == {before}
