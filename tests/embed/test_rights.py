"""Each role can do its part, with no right on the tables."""

from collections.abc import AsyncIterator

import pytest

from holdfast.db.connection import Database, connect
from holdfast.embed.phase import Embed
from holdfast.embed.reindex import reindex, remove_replaced
from holdfast.errors import DatabaseUnusable
from holdfast.providers.light import LightEmbedder
from holdfast.search.search import Search
from holdfast.settings import Settings
from tests.embed.desk import open_desk
from tests.endpoint import with_user
from tests.search.embedders import CountingEmbedder


@pytest.fixture
async def as_guest(dsn: str, guest: str) -> AsyncIterator[Database]:
    async with connect(Settings(database_url=with_user(dsn, guest))) as database:
        yield database


async def test_worker_embeds(database: Database, as_guest: Database, guest: str) -> None:
    await database.execute(f'grant holdfast_worker to "{guest}"')
    desk = await open_desk(database)
    attempt = await desk.take_in("one", "two", "three")
    done = await Embed(as_guest, LightEmbedder()).run(attempt)
    async with as_guest.transaction() as connection:
        assert done.save is not None
        await done.save(connection)
    assert len(await desk.hashes(attempt.document.id)) == 3
    with pytest.raises(DatabaseUnusable, match="permission denied"):
        await as_guest.execute("delete from holdfast.embedding")


async def test_operator_replaces_the_model(database: Database, as_guest: Database, guest: str) -> None:
    await database.execute(f'grant holdfast_api to "{guest}"')
    desk = await open_desk(database)
    await desk.library.add("one", "two")
    await reindex(database, LightEmbedder())
    assert (await reindex(as_guest, CountingEmbedder(name="other"))).active
    assert await remove_replaced(as_guest) == 2


@pytest.mark.parametrize("role", ["holdfast_worker", "holdfast_api", "holdfast_readonly"])
async def test_everyone_searches(database: Database, as_guest: Database, guest: str, role: str) -> None:
    await database.execute(f'grant {role} to "{guest}"')
    desk = await open_desk(database)
    await desk.library.add("The walrus sleeps.")
    await reindex(database, LightEmbedder())
    (hit,) = (await Search(as_guest, LightEmbedder()).find("sleeping walrus", organisation="acme")).hits
    assert (hit.why.words_rank, hit.why.vector_rank, len(hit.highlights)) == (1, 1, 2)
