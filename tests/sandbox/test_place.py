"""The sandbox holds wherever Holdfast is started, and harms no volume: in its home, below it, or above it."""

import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

from holdfast.engine.isolated_children import Children
from holdfast.engine.isolation import Limits
from holdfast.sandbox.protection import GAPS
from tests.engine import isolated_handlers as handlers
from tests.engine.isolated_traces import expect
from tests.sandbox.stripped import MOUNTING, may_mount

SMALL = Limits(memory_mb=256, cpu_seconds=1, wall_seconds=60, output_mb=1, file_mb=1)
SECONDS = 300
# In a volume of its own: take a document in from the home, ask the doctor, then see whether the volume is writable.
STEPS = """
mount -t tmpfs holdfast-volume "$1" && cd "$1" && echo "The gate opens at noon." > gate.md || exit 9
export HOLDFAST_HOME="$1"
"$2" -m holdfast.cli ingest gate.md --json > "$3/ingest"; "$2" -m holdfast.cli doctor --json > "$3/doctor"
touch after && grep "^holdfast-volume " /proc/mounts | cut -d " " -f 4 | cut -d , -f 1
"""


@pytest.mark.parametrize("spelling", ["", "absolute"])
@pytest.mark.parametrize("place", ["home", "home/inbox", "."])
async def test_home_is_hidden_wherever_the_current_directory_is(
    place: str, spelling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await expect("files")
    home, here = tmp_path / "home", tmp_path / place
    for name in ("secret", "artifacts/secret", "inbox/secret"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("of another organisation")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(str(here) if spelling else "")
    hidden = (home, home / "artifacts")
    async with Children(limits=SMALL, at_most=1, hidden=hidden) as children:
        async with children.child("acme") as child:
            assert await child.run(handlers.list_folder, str(home)) == []
        assert children.granted is not None
        assert {"files", "read_only"} <= {*children.granted}
        assert await children.describe_isolation() == children.granted
    (home / "secret").write_text("still writable")


async def test_home_that_holds_the_interpreter_shows_no_more_than_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await expect("files")
    (tmp_path / "bin").mkdir()
    (tmp_path / "secret").write_text("of another organisation")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    async with Children(limits=SMALL, at_most=1, hidden=(tmp_path,)) as children, children.child("acme") as child:
        assert await child.run(handlers.list_folder, str(tmp_path)) == ["bin"]


@pytest.mark.timeout(SECONDS + 100)
@pytest.mark.parametrize("server", ["embedded"], indirect=True)
def test_volume_of_the_home_stays_writable_and_the_doctor_sees_what_readers_see(dsn: str, tmp_path: Path) -> None:
    if not may_mount():
        warnings.warn(
            "NOT SHOWN: a home on a volume of its own, because only root may mount; run as root", stacklevel=1
        )
        return
    volume = tmp_path / "volume"
    volume.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "PYTHON"))}
    done = subprocess.run(
        [*MOUNTING, "sh", "-c", STEPS, "sh", str(volume), sys.executable, str(tmp_path)],
        env=environment | {"HOLDFAST_DATABASE_URL": dsn},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ingested, examined = (json.loads((tmp_path / name).read_text()) for name in ("ingest", "doctor"))
    assert done.stdout == "rw\n"
    assert ingested["failures"] == []
    assert ingested["doubts"] == examined["doubts"]
    assert not any(GAPS[grant] in doubt for grant in ("files", "read_only") for doubt in examined["doubts"])
