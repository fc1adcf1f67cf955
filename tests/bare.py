"""An environment that holds what the base install brings and nothing else, linked from the one that runs the tests."""

import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def make_bare(folder: Path) -> Path:
    """Make it in this folder, without a network, and give its Python. Holdfast is imported from where it is written."""
    venv.create(folder, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(folder)}))
    for one in needed(PROJECT["dependencies"]).values():
        _link(one, _files(one), packages)
    holdfast = distribution("holdfast")
    _link(holdfast, (file for file in _files(holdfast) if file.parts[0].endswith(".dist-info")), packages)
    (packages / "holdfast.pth").write_text(f"{ROOT / 'src'}\n")
    return folder / "bin" / Path(sys.executable).name


def needed(requirements: Iterable[str]) -> dict[tuple[str, frozenset[str]], Distribution]:
    """What these ask for here, and what that asks for in turn; by name and the extras that are asked for with it."""
    needed: dict[tuple[str, frozenset[str]], Distribution] = {}
    wanted = [Requirement(line) for line in requirements]
    while wanted:
        one = wanted.pop()
        key = canonicalize_name(one.name), frozenset(one.extras)
        if key not in needed:
            needed[key] = distribution(one.name)
            wanted += asked_by(needed[key], one.extras)
    return needed


def asked_by(one: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    for line in one.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": name}) for name in ("", *extras)):
            yield requirement


def _files(one: Distribution) -> Iterator[Path]:
    """What it put among the packages; programs go elsewhere."""
    return (Path(file) for file in one.files or () if ".." not in file.parts)


def _link(one: Distribution, files: Iterable[Path], packages: Path) -> None:
    """A package as a whole; file by file where other distributions put theirs into the same folder."""
    installed = Path(str(one.locate_file("")))
    for file in files:
        top = file.parts[0]
        linked = Path(top) if (installed / top / "__init__.py").exists() else file
        link = packages / linked
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(installed / linked)
