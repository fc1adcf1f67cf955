"""docs/guides/supabase.md does what it says, on a stand-in."""

import asyncio
from pathlib import Path

import pytest

from tests.conftest import RUN_HOME
from tests.endpoint import with_database
from tests.markdown import ROOT
from tests.supabase.project import supabase
from tests.test_docs import PAGE_SECONDS, Reader


@pytest.mark.thorough
@pytest.mark.timeout(PAGE_SECONDS)
def test_guide_does_what_it_says(request: pytest.FixtureRequest, tmp_path: Path, ready_holdfast: Path) -> None:
    # On a server of its own: in the end it takes away what roles have, which others would miss.
    with supabase(request.config.stash[RUN_HOME] / "guide", newer=True) as server:
        asyncio.run(server.create("guided"))
        Reader(tmp_path, with_database(server.dsn, "guided"), ready_holdfast).follow(
            ROOT / "docs" / "guides" / "supabase.md"
        )
