"""What a run holds is shown page by page, and two runs are compared setting by setting."""

from io import BytesIO
from typing import Any

import pytest

from holdfast.configs.questions import Place
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.intake.found import Found
from tests.configs.conftest import Desk
from tests.extract.readers.archive_samples import zip_of

OLD = {
    "default/app.conf": b"[ui]\nlabel = old\nlabel = same\nsize = 1\n[gone]\na = 1\n",
    "local/app.conf": b"[ui]\nlabel = local\n[empty]\n",
}
NEW = {
    "default/app.conf": b"# moved down\n[ui]\nlabel = same\nsize = 2\n[ui]\nwidth = 3\n",
    "local/app.conf": b"[ui]\nlabel = local\n[empty]\n[fresh]\nb = 1\n",
}


async def pages(desk: Desk, run: int, limit: int, **narrowed: Any) -> list[tuple[str, int, str | None]]:
    """Everything, page after page."""
    seen: list[tuple[str, int, str | None]] = []
    cursor = None
    while True:
        page = await desk.app.configs.show(run, limit=limit, cursor=cursor, **narrowed)
        assert len(page.settings) <= limit
        seen += [(one.source_path, one.line, one.key) for one in page.settings]
        cursor = page.cursor
        if cursor is None:
            return seen


async def test_pages_of_any_size_show_every_setting_once(desk: Desk) -> None:
    run = (await desk.run(zip_of(OLD))).run
    everything = await pages(desk, run, 1000)
    assert everything == [
        ("default/app.conf", 2, "label"),
        ("default/app.conf", 3, "label"),
        ("default/app.conf", 4, "size"),
        ("default/app.conf", 6, "a"),
        ("local/app.conf", 2, "label"),
        ("local/app.conf", 3, None),
    ]
    for limit in (1, 2, 5, 6):
        assert await pages(desk, run, limit) == everything


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        ({"file": "app.conf", "stanza": "gone"}, [("default/app.conf", 6, "a")]),
        ({"file": "local/app.conf"}, [("local/app.conf", 2, "label"), ("local/app.conf", 3, None)]),
        ({"stanza": "nobody"}, []),
    ],
)
async def test_run_is_narrowed_to_a_file_or_stanza(
    desk: Desk, narrowed: dict[str, str], found: list[tuple[str, int, str | None]]
) -> None:
    run = (await desk.run(zip_of(OLD))).run
    assert await pages(desk, run, 1, **narrowed) == found


async def test_difference_names_what_was_added_removed_and_changed(desk: Desk) -> None:
    old, new = (await desk.run(zip_of(OLD))).run, (await desk.run(zip_of(NEW))).run
    difference = await desk.app.configs.diff(old, new)
    assert (difference.added, difference.removed, difference.changed) == (2, 1, 1)
    assert [
        (one.change, one.source_path, one.stanza, one.key, one.old_value, one.old_line, one.new_value, one.new_line)
        for one in difference.changes
    ] == [
        ("removed", "default/app.conf", "gone", "a", "1", 6, None, None),
        ("changed", "default/app.conf", "ui", "size", "1", 4, "2", 4),
        ("added", "default/app.conf", "ui", "width", None, None, "3", 6),
        ("added", "local/app.conf", "fresh", "b", None, None, "1", 5),
    ]


async def test_page_of_a_difference_still_counts_all_of_it(desk: Desk) -> None:
    old, new = (await desk.run(zip_of(OLD))).run, (await desk.run(zip_of(NEW))).run
    page = await desk.app.configs.diff(old, new, first=3, limit=1)
    assert (page.added, page.removed, page.changed) == (2, 1, 1)
    assert [one.stanza for one in page.changes] == ["fresh"]


async def test_run_does_not_differ_from_itself(desk: Desk) -> None:
    run = (await desk.run(zip_of(OLD))).run
    difference = await desk.app.configs.diff(run, run)
    assert (difference.added, difference.removed, difference.changed, difference.changes) == (0, 0, 0, [])


async def test_run_that_is_not_complete_is_not_compared(desk: Desk) -> None:
    whole = (await desk.run(zip_of(OLD))).run
    torn = (await desk.run(zip_of(NEW)[:50], "torn.zip")).run
    waiting = (await desk.take_in(zip_of(NEW), "new.zip")).document_id
    assert waiting is not None
    for runs in ((whole, torn), (torn, whole)):
        with pytest.raises(
            Conflict, match=f"run {torn}, torn.zip, .* PARSING, failed .torn.zip is damaged.*ingest it again"
        ):
            await desk.app.configs.diff(*runs)
    with pytest.raises(Conflict, match=f"run {waiting}, new.zip, .* PENDING, queued.*configs show {waiting}"):
        await desk.app.configs.diff(whole, waiting)


async def test_document_of_another_pipeline_is_no_run(desk: Desk) -> None:
    found = Found(name="a.txt", platform="upload", location=None, content=BytesIO(b"hello"))
    (taken,) = [one async for one in desk.app.intake("documents").take_in([found], organisation="acme")]
    assert taken.document_id is not None
    with pytest.raises(NotFound, match="there is no configs run"):
        await desk.app.configs.show(taken.document_id)


@pytest.mark.parametrize("cursor", ["", "1", "1-2", "1-2-x", "1-2-3-4", "-1-2-3"])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput, match="is no cursor"):
        Place.read(cursor)
