"""What dead workers left on disk is offered to the database, and what nobody can read stops nobody."""

from pathlib import Path

from holdfast.db.connection import Database
from holdfast.engine.journal import INSTALLATION, Journal


async def test_what_cannot_be_read_is_set_aside_and_the_rest_is_offered(database: Database, tmp_path: Path) -> None:
    folder = tmp_path / str(await database.fetchval(INSTALLATION)) / "1-dead"
    folder.mkdir(parents=True)
    (folder / "verb_of_a_newer_version-1.json").write_text("[]")
    (folder / "settle-2.json").write_bytes(b"\xff\xfe")
    (folder / "settle-3.json").write_text("[]")
    await Journal(tmp_path).replay(database)
    assert sorted(path.name for path in folder.iterdir() if path.name != "lock") == [
        "settle-2.refused",
        "verb_of_a_newer_version-1.refused",
    ]
