"""Files and folders: everything that is meant, in order, and nothing from outside."""

import os
from pathlib import Path

import pytest

from holdfast.errors import NotFound
from holdfast.intake.sources.files import Files


def paths(files: Files) -> list[str]:
    return [str(found.content) for found in files]


def make(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_folder_gives_all_files_below_it_in_the_same_order(tmp_path: Path) -> None:
    make(tmp_path, "b.txt", "a/z.txt", "a/b/c.txt", "a.txt", "Z.txt")
    expected = ["Z.txt", "a/b/c.txt", "a/z.txt", "a.txt", "b.txt"]
    assert paths(Files(tmp_path)) == [str(tmp_path / name) for name in expected]
    files = Files(tmp_path)
    assert paths(files) == paths(files)


def test_file_has_the_same_location_in_its_folder_and_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "library", "a.txt")
    (tmp_path / "shortcut").symlink_to(tmp_path / "library")
    monkeypatch.chdir(tmp_path)
    ways = ["library", "library/a.txt", "./library/../library/a.txt", "shortcut", "shortcut/a.txt"]
    found = [item for way in ways for item in Files(Path(way))]
    assert {(item.platform, item.location) for item in found} == {
        ("file", (tmp_path / "library/a.txt").resolve().as_uri())
    }
    assert {item.name for item in found} == {"a.txt"}


def test_hidden_files_and_folders_are_left_out_and_counted(tmp_path: Path) -> None:
    files = Files(make(tmp_path, ".secret", ".git/config", ".git/index", "a.txt"))
    assert paths(files) == [str(tmp_path / "a.txt")]
    assert files.left_out.hidden == 2


def test_hidden_file_that_is_named_is_taken(tmp_path: Path) -> None:
    assert paths(Files(make(tmp_path, ".notes") / ".notes")) == [str(tmp_path / ".notes")]


def test_links_that_lead_out_are_left_out_and_counted(tmp_path: Path) -> None:
    make(tmp_path, "outside/secret.txt", "library/a.txt")
    library = tmp_path / "library"
    (library / "file").symlink_to(tmp_path / "outside/secret.txt")
    (library / "folder").symlink_to(tmp_path / "outside")
    (library / "circle").symlink_to(library / "circle")
    (library / "parent").symlink_to("..")
    (library / "inner").symlink_to("a.txt")
    (library / "same").symlink_to(library)
    files = Files(library)
    assert paths(files) == [str(library / "a.txt")]
    assert files.left_out.links == 4


def test_folders_of_our_own_are_left_out_and_counted_however_they_are_written(tmp_path: Path) -> None:
    library = make(tmp_path / "library", "a.txt", "b/state/server.log", "b/c.txt")
    (tmp_path / "way").symlink_to(library)
    files = Files(library, own=(tmp_path / "way" / "b" / "state", tmp_path / "elsewhere"))
    assert paths(files) == [str(library / "a.txt"), str(library / "b" / "c.txt")]
    assert files.left_out.own == 1


def test_pipes_and_sockets_are_left_out_and_counted(tmp_path: Path) -> None:
    make(tmp_path, "a.txt")
    os.mkfifo(tmp_path / "pipe")
    files = Files(tmp_path)
    assert paths(files) == [str(tmp_path / "a.txt")]
    assert files.left_out.special == 1


def test_folder_that_goes_away_meanwhile_is_told_and_the_rest_is_found(tmp_path: Path) -> None:
    files = Files(make(tmp_path, "a/x.txt", "b/y.txt", "c.txt"))
    walk = iter(files)
    assert next(walk).name == "x.txt"
    (tmp_path / "b/y.txt").unlink()
    (tmp_path / "b").rmdir()
    assert [found.name for found in walk] == ["c.txt"]
    assert len(files.left_out.unreadable) == 1
    assert str(tmp_path / "b") in files.left_out.unreadable[0]


def test_folder_that_becomes_a_link_meanwhile_is_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "library/a/x.txt", "library/b/y.txt", "outside/secret.txt")
    files = Files(tmp_path / "library")
    walk = iter(files)
    assert next(walk).name == "x.txt"
    (tmp_path / "library/b/y.txt").unlink()
    (tmp_path / "library/b").rmdir()
    (tmp_path / "library/b").symlink_to(tmp_path / "outside")
    assert list(walk) == []
    assert files.left_out.links == 1


@pytest.mark.parametrize("name", ["nothing", "pipe"])
def test_what_is_no_file_or_folder_is_refused(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotFound, match=name):
        Files(tmp_path / name)


def test_name_that_is_no_text_is_found_with_a_storable_name_and_location(tmp_path: Path) -> None:
    raw = os.path.join(os.fsencode(tmp_path), b"caf\xe9\n.txt")
    with open(raw, "wb") as file:
        file.write(b"x")
    (found,) = Files(tmp_path)
    assert found.name == "caf\ufffd.txt"
    assert found.location is not None
    assert found.location.endswith("caf%E9%0A.txt")
    assert isinstance(found.content, Path)
    assert found.content.read_bytes() == b"x"
