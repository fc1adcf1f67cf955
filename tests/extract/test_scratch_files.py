"""What a child leaves in its folder is opened only if it is a plain file of that folder."""

import os
from pathlib import Path

import pytest

from holdfast.errors import CorruptInput
from holdfast.extract.scratch_files import open_inside


@pytest.mark.parametrize("trick", ["symlink", "symlinked folder", "outside", "upwards", "fifo", "folder", "missing"])
def test_what_is_no_plain_file_of_the_folder_is_not_opened(tmp_path: Path, trick: str) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (folder / "link").symlink_to(secret)
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    path = {
        "symlink": folder / "link",
        "symlinked folder": folder / "up" / "secret",
        "outside": secret,
        "upwards": folder / ".." / "secret",
        "fifo": folder / "pipe",
        "folder": folder,
        "missing": folder / "nothing",
    }[trick]

    with pytest.raises(CorruptInput, match="no plain file"):
        open_inside(folder, str(path))


def test_plain_file_of_the_folder_is_opened(tmp_path: Path) -> None:
    (tmp_path / "members").mkdir()
    (tmp_path / "members" / "1").write_bytes(b"data")

    with open_inside(tmp_path, str(tmp_path / "members" / "1")) as file:
        assert file.read() == b"data"
