"""API keys: made once, shown once, kept only as a hash."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from holdfast.db.connection import Database

PREFIX = "hf_"
SECRET_BYTES = 32
HINT_CHARACTERS = 8


class Scope(StrEnum):
    """What a key is good for; each may do all that those before it may."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: "Scope") -> bool:
        """Whether whoever has this may do what `other` may."""
        order = list(Scope)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is calling, under which name in the audit log, and what it may do: in one organisation, or in all (None)."""

    name: str
    scope: Scope
    organisation: str | None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key on the only day its secret is known."""

    key_id: int
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key as it is listed. `hint` is how its secret begins."""

    key_id: int
    organisation: str | None
    name: str
    scope: Scope
    hint: str
    created_at: datetime
    created_by: str
    last_used_at: datetime | None
    revoked_at: datetime | None

    def to_json(self) -> dict[str, Any]:
        """As programs are answered."""
        return {name: getattr(self, name) for name in self.__slots__}


class Keys:
    """The keys of an installation."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, name: str, *, scope: Scope, organisation: str | None, actor: str) -> NewKey:
        """Make a key for one organisation, or for all. The secret is in the answer and nowhere else."""
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        key_id = await self._database.fetchval(
            "select holdfast.create_key($1, $2, $3, $4, $5, $6)",
            *(organisation, name, str(scope), secret[: len(PREFIX) + HINT_CHARACTERS], hashed(secret), actor),
        )
        return NewKey(int(key_id), secret)

    async def all(self) -> list[Key]:
        """Every key, revoked ones too, the newest first."""
        rows = await self._database.fetch("select * from holdfast.keys()")
        return [Key(**{**row, "scope": Scope(row["scope"])}) for row in rows]

    async def exist(self) -> bool:
        """Whether there is a key that opens something."""
        return bool(await self._database.fetchval("select holdfast.has_keys()"))

    async def revoke(self, key_id: int, *, actor: str) -> None:
        """End a key for good. Raises NotFound for one that never was."""
        await self._database.execute("select holdfast.revoke_key($1, $2)", key_id, actor)

    async def caller(self, secret: str) -> Caller | None:
        """Whose secret this is; None when it opens nothing."""
        row = await self._database.fetchrow("select * from holdfast.key_with($1)", hashed(secret))
        if row is None:
            return None
        return Caller(f"key {row['id']} ({row['name']})", Scope(row["scope"]), row["organisation"])


def hashed(secret: str) -> bytes:
    """What of a secret may be kept."""
    # Secrets are random and long: nobody finds one by trying, so that a slow hash would only slow every call.
    return hashlib.sha256(secret.encode()).digest()
