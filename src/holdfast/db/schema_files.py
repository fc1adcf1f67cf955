"""Reads the SQL files that make the schema: numbered migrations and functions."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import DatabaseUnusable

MIGRATIONS = Path(__file__).parent / "migrations"

_NAMED = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_REPLACES = re.compile(r"(?:-- replaces [0-9a-f]{64}\n)*")


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file. Once applied anywhere, it never changes what it makes.

    A file whose text had to change begins with `-- replaces` and the checksum of the earlier text, which made the same.
    """

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return _checksum(self.sql)

    def is_recorded_as(self, checksum: str) -> bool:
        """Whether this is what was applied under that checksum."""
        head = _REPLACES.match(self.sql)
        return checksum == self.checksum or (head is not None and checksum in head[0].split())


@dataclass(frozen=True, slots=True)
class Functions:
    """Every function of the schema. They are replaced as a whole whenever one of them changes."""

    sources: tuple[str, ...]

    @property
    def checksum(self) -> str:
        return _checksum("\0".join(self.sources))


def read_migrations(directory: Path) -> tuple[Migration, ...]:
    """The files in order of their numbers, which must be unique."""
    migrations = tuple(_read_migration(path) for path in sorted(directory.glob("*.sql")))
    numbers = [migration.number for migration in migrations]
    for number in numbers:
        if numbers.count(number) > 1:
            raise DatabaseUnusable(f"two migrations in {directory} have the number {number:04}: renumber one")
    return migrations


def read_functions(package: Path | None) -> Functions:
    """The files in the `sql` folder of every room; those named zz_ come last, by name: they grant rights on others."""
    paths = package.glob("*/sql/*.sql") if package else ()
    ordered = sorted(paths, key=lambda path: (path.name if path.name.startswith("zz_") else "", path))
    return Functions(tuple(path.read_text(encoding="utf-8") for path in ordered))


def _read_migration(path: Path) -> Migration:
    match = _NAMED.fullmatch(path.name)
    if match is None:
        raise DatabaseUnusable(f"{path} is no migration: name it NNNN_what_it_does.sql")
    return Migration(int(match[1]), match[2], path.read_text(encoding="utf-8"))


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
