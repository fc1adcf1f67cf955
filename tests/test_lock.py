"""The lock names every version that is installed here, for every Python and platform, and no place to get it from."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.bare import asked_by, needed

ROOT = Path(__file__).parent.parent
LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DECLARED = [
    *PROJECT["project"]["dependencies"],
    *(line for lines in PROJECT["project"]["optional-dependencies"].values() for line in lines),
    *PROJECT["dependency-groups"]["dev"],
    *PROJECT["build-system"]["requires"],
]
_PIN = re.compile(r"^([a-z0-9.-]+)(?:\[[a-z,-]+\])?==([0-9a-z.]+)(?: ; (.+))? \\$")
_HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")
_REASON = re.compile(r"^    # (?: +|via )?[A-Za-z0-9.\[\],_:() -]+$|^    # via$")
_PLATFORMS = {"Linux x86-64": ("linux", "x86_64"), "Linux aarch64": ("linux", "aarch64"), "macOS": ("darwin", "arm64")}


@dataclass(frozen=True, slots=True)
class Pin:
    """One locked version, and where it applies."""

    name: str
    version: Version
    marker: Marker | None


def _pins() -> Iterator[Pin]:
    for line in LOCK.splitlines():
        if found := _PIN.match(line):
            yield Pin(canonicalize_name(found[1]), Version(found[2]), Marker(found[3]) if found[3] else None)


def _environment(python: str, platform: str) -> dict[str, str]:
    system, machine = _PLATFORMS[platform]
    return {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": system,
        "platform_machine": machine,
        "platform_system": system.capitalize(),
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
    }


@pytest.mark.parametrize(("python", "platform"), list(product(["3.11", "3.12", "3.13"], _PLATFORMS)))
def test_lock_has_one_version_of_every_declared_dependency_and_it_is_in_the_range(python: str, platform: str) -> None:
    environment = _environment(python, platform)
    chosen = [pin for pin in _pins() if pin.marker is None or pin.marker.evaluate(environment)]
    versions = {pin.name: pin.version for pin in chosen}
    assert len(versions) == len(chosen)
    wanted = [Requirement(line) for line in DECLARED]
    outside = [
        str(one) for one in wanted if versions.get(canonicalize_name(one.name), Version("0")) not in one.specifier
    ]
    assert outside == []


def test_lock_holds_versions_hashes_and_reasons_and_no_address() -> None:
    strange = [line for line in LOCK.splitlines() if not any(known.match(line) for known in (_PIN, _HASH, _REASON))]
    assert strange == []


def test_every_version_has_a_hash() -> None:
    lines = LOCK.splitlines()
    without = [line for line, follows in pairwise(lines) if _PIN.match(line) and not _HASH.match(follows)]
    assert without == []


def test_what_is_installed_here_asks_for_nothing_that_is_not_locked() -> None:
    locked = {pin.name for pin in _pins()}
    installed = needed(DECLARED)
    assert {name for name, _ in installed} <= locked
    asked = [one for (_, extras), found in installed.items() for one in asked_by(found, extras)]
    versions = {pin.name: pin.version for pin in _pins() if pin.marker is None or pin.marker.evaluate()}
    assert [str(one) for one in asked if versions[canonicalize_name(one.name)] not in one.specifier] == []
