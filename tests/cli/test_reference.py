"""docs/reference/cli.md is complete and true: no command or option is missing, and its examples run."""

import asyncio
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import typer.main

from holdfast.assembly import Assembly
from holdfast.cli.examples import EXAMPLES
from holdfast.cli.main import cli
from holdfast.db.connection import Database
from holdfast.engine.queue import Queue
from holdfast.settings import Settings
from tests.cli.conftest import HERE, CommandLine
from tests.extract.readers.archive_samples import tar_of

REFERENCE = (HERE.parents[1] / "docs" / "reference" / "cli.md").read_text()
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", REFERENCE, re.MULTILINE | re.DOTALL))
# Other tests run these: they run until they are stopped, reach the open network, ask someone, need a service or the
# failures that examples before them have retried.
ELSEWHERE = (
    "holdfast worker",
    "holdfast worker --pipeline documents --phase embed --concurrency 4",
    "holdfast serve",
    "holdfast up",
    "holdfast up --port 8080 --concurrency 4",
    "holdfast serve --host 0.0.0.0 --port 8080",
    "holdfast mcp --org acme",
    "holdfast ingest ./inbox --watch",
    "holdfast ingest report.pdf https://example.com/terms.html",
    "holdfast delete 42",
    "holdfast reindex --model openai",
    "holdfast retry --category corrupt_input --first 1",
    "holdfast webhooks test 1",
    "holdfast webhooks redeliver 12",
    "holdfast ingest article.json --pipeline stories",
    "holdfast stories show 42",
    "holdfast readings show 43",
    "holdfast takeover --check",
    "holdfast takeover --run --share 10 --flow 4711=new",
    "holdfast takeover --undo",
    "holdfast migrate --for supabase --claim org_id",
)


def _commands(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that can be called, by its full name; the root is none."""
    if name:
        yield name, command
    for own_name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{name} {own_name}".strip())


COMMANDS = dict(_commands(typer.main.get_command(cli)))


def _section(name: str) -> str:
    match = re.search(rf"^### `holdfast {name}`\n(.*?)(?=^##|\Z)", REFERENCE, re.MULTILINE | re.DOTALL)
    assert match is not None, f"docs/reference/cli.md has no section for `holdfast {name}`: add one"
    return match[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_reference_with_all_its_options(name: str) -> None:
    section = _section(name)

    options = [spelling for option in COMMANDS[name].params for spelling in (*option.opts, *option.secondary_opts)]
    missing = [spelling for spelling in options if spelling.startswith("-") and f"`{spelling}" not in section]
    assert missing == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_its_examples_in_the_reference(name: str) -> None:
    section = _section(name)

    assert [example for example in EXAMPLES[name] if f"$ {example}\n" not in section] == []


# Documents are embedded, and only this server has pgvector.
@pytest.mark.parametrize("server", ["embedded"], indirect=True)
@pytest.mark.parametrize("section", SECTIONS)
async def test_every_example_in_the_reference_runs(
    section: str, seeded: CommandLine, database: Database, tmp_path: Path, ready_holdfast: Path
) -> None:
    shutil.copy(HERE / "sample.py", tmp_path)
    (tmp_path / "library").mkdir()
    for name in ("library/gate.md", "minutes-1.md", "minutes-2.md"):
        (tmp_path / name).write_text(f"# {name}\n\nThe tidal gate opens at half tide; mooring fees are due in May.\n")
    (tmp_path / "documents.jsonl").write_text('{"source_name": "a.pdf"}\n{"source_name": "b.pdf"}\n')
    (tmp_path / "app.tgz").write_bytes(tar_of([("app.conf", b"[install]\nstate = enabled\n")], "w:gz"))
    async with AsyncExitStack() as resources:
        await Queue(database).register([Assembly(Settings(home=tmp_path), database, resources).documents()])
    environment = {**seeded.environment, "PATH": f"{ready_holdfast.parent}:/usr/bin:/bin"}
    lines = [line for line in re.findall(r"^\$ (.*)$", SECTIONS[section], re.MULTILINE) if line not in ELSEWHERE]
    await asyncio.to_thread(_try_all, lines, tmp_path, environment)


def _try_all(lines: list[str], folder: Path, environment: dict[str, str]) -> None:
    assert lines
    for line in lines:
        done = subprocess.run(
            line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}: {done.stderr or done.stdout}"
