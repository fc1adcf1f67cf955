"""Keys: shown once, known by their hash, good until revoked."""

import pytest

from holdfast.access.keys import Caller, Keys, Scope
from holdfast.db.connection import Database
from holdfast.engine.overview import Overview
from holdfast.errors import InvalidInput, NotFound


@pytest.fixture
def keys(database: Database) -> Keys:
    return Keys(database)


async def test_secret_opens_what_its_key_was_made_for(keys: Keys) -> None:
    made = await keys.create("crm", scope=Scope.WRITE, organisation="acme", actor="operator")
    assert await keys.caller(made.secret) == Caller(f"key {made.key_id} (crm)", Scope.WRITE, "acme")
    assert await keys.caller(made.secret + "x") is None
    assert await keys.caller("") is None


async def test_secret_is_stored_nowhere(keys: Keys, database: Database) -> None:
    made = await keys.create("crm", scope=Scope.READ, organisation=None, actor="operator")
    stored = str([dict(row) for row in await database.fetch("select * from holdfast.api_key")])
    assert made.secret not in stored
    assert made.secret[:11] in stored
    (listed,) = await keys.all()
    assert (listed.name, listed.hint, listed.last_used_at) == ("crm", made.secret[:11], None)


async def test_use_is_noted(keys: Keys) -> None:
    made = await keys.create("crm", scope=Scope.READ, organisation="acme", actor="operator")
    await keys.caller(made.secret)
    (listed,) = await keys.all()
    assert listed.last_used_at is not None


async def test_revoked_key_opens_nothing(keys: Keys, database: Database) -> None:
    made = await keys.create("crm", scope=Scope.ADMIN, organisation=None, actor="operator")
    await keys.revoke(made.key_id, actor="operator")
    await keys.revoke(made.key_id, actor="operator")
    assert await keys.caller(made.secret) is None
    acts = [(row["actor"], row["action"]) for row in await Overview(database).audit()]
    assert acts == [("operator", "revoke key"), ("operator", "create key")]
    with pytest.raises(NotFound):
        await keys.revoke(999, actor="operator")


async def test_key_without_a_name_is_refused(keys: Keys) -> None:
    with pytest.raises(InvalidInput, match="name"):
        await keys.create("", scope=Scope.READ, organisation="acme", actor="operator")


@pytest.mark.parametrize(
    ("has", "wants", "enough"), [("admin", "write", True), ("read", "write", False), ("read", "read", True)]
)
def test_scopes_include_lesser_ones(has: str, wants: str, enough: bool) -> None:
    assert Scope(has).includes(Scope(wants)) is enough
