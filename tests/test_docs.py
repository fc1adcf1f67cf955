"""The documentation is true: its code runs, its output comes back, and nothing public is missing from it."""

import asyncio
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from holdfast.api.server import build
from holdfast.app import App, open_app
from holdfast.assembly import Assembly
from holdfast.db.connection import Database
from holdfast.engine import policy
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.queue import Queue, Submission, submit
from holdfast.engine.worker import Worker
from holdfast.errors import Category, DatabaseUnusable
from holdfast.settings import Settings
from holdfast.testing import KEY, StandIn
from tests.endpoint import with_user
from tests.markdown import PAGES, ROOT, Block, Command, anchors, blocks, commands, links, says

REFERENCE = ROOT / "docs" / "reference"
# What these show is checked by the tests of what they describe.
CHECKED_ELSEWHERE = {
    ROOT / "docs" / "guides" / "supabase.md",
    REFERENCE / "cli.md",
    ROOT / "docs" / "explanation" / "performance.md",
}
RUNNABLE = {"console", "python", "sql"}
LIVE_PAGES = [
    page for page in PAGES if page not in CHECKED_ELSEWHERE and any(b.language in RUNNABLE for b in blocks(page))
]
# What they do ends with vectors, and the external server has no pgvector.
DOCUMENT_PAGES = [page for page in LIVE_PAGES if re.search("holdfast (ingest|serve)", page.read_text())]
OTHER_PAGES = [page for page in LIVE_PAGES if page not in DOCUMENT_PAGES]
# As pages write them, for a service that cannot be shown.
SERVICE_URL, SERVICE_KEY = "https://models.example/v1", "your-key"
# Where pages serve the API. Here another port is free.
API_URL = "http://127.0.0.1:8000"
# Where a page listens itself. Here each test process has a port of its own, none that the system gives to clients.
RECEIVER_PORT, FREE_PORT = "8765", str(20_000 + os.getpid() % 10_000)
# What goes on while the reader types elsewhere.
STAYING = {"holdfast serve": "holdfast serve --port 0", "holdfast worker": "holdfast worker"}
# How long a page may take in all, and a part of it: much longer than on the slowest machine that was seen.
PAGE_SECONDS, START_SECONDS = 600, 180
ROLES = ("holdfast_worker", "holdfast_api", "holdfast_readonly", "holdfast_tenant")


class Reader:
    """Does what a page says, in a folder with nothing but the sample library and on a database of its own."""

    def __init__(self, folder: Path, dsn: str, program: Path, service_url: str = SERVICE_URL) -> None:
        self._folder = folder / "reader"
        shutil.copytree(ROOT / "examples" / "library", self._folder / "examples" / "library")
        self._dsn = dsn
        self._api_url = API_URL
        self._staying: list[subprocess.Popen[bytes]] = []
        self._meant = {"$HOLDFAST_DATABASE_URL": dsn, SERVICE_URL: service_url, SERVICE_KEY: KEY}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        path = os.pathsep.join([str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
        self._environment = kept | {
            "PATH": path,
            "HOLDFAST_DATABASE_URL": dsn,
            "HOLDFAST_HOME": str(folder / "home"),
            "HOLDFAST_LOG_FORMAT": "console",
            "COLUMNS": "200",
        }

    def follow(self, page: Path) -> None:
        """Run every block in order; the first that does not do what the page says fails the test."""
        try:
            self._follow(page)
        finally:
            for process in self._staying:
                process.terminate()
            codes = [process.wait(START_SECONDS) for process in self._staying]
        assert codes == [0] * len(codes)

    def _follow(self, page: Path) -> None:
        found = [replace(block, text=block.text.replace(RECEIVER_PORT, FREE_PORT)) for block in blocks(page)]
        for block, following in zip(found, [*found[1:], None], strict=True):
            match block.language:
                case "console":
                    self._type(page, block)
                case "python":
                    self._python(page, block)
                case "sql":
                    expected = following.text if following and following.language == "text" else None
                    self._ask(page, block, expected)

    def _type(self, page: Path, block: Block) -> None:
        for command in commands(block):
            if command.text.startswith("export "):
                name, _, value = command.text.removeprefix("export ").partition("=")
                for written, meant in self._meant.items():
                    value = value.replace(written, meant)
                (self._environment[name],) = shlex.split(value)
                continue
            if command.text in STAYING:
                self._start(command)
                continue
            printed, code = self._run(command.text)
            where = f"{page.name}:{block.line}: $ {command.text}\n{printed}"
            assert code == 0 or _shows_a_failure(command.output or ""), where
            assert command.output is None or says(command.output, printed), where

    def _python(self, page: Path, block: Block) -> None:
        name = re.match(r"# (\w+\.py)\n", block.text)
        if name:
            (self._folder / name[1]).write_text(block.text)
            return
        (self._folder / "snippet.py").write_text(block.text)
        printed, code = self._run("python snippet.py")
        assert code == 0, f"{page.name}:{block.line}:\n{printed}"

    def _start(self, command: Command) -> None:
        """Have it run until the page ends; go on once it has printed what the page says."""
        log = self._folder / f"{len(self._staying)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {STAYING[command.text]}"],
                cwd=self._folder,
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._staying.append(process)
        deadline = time.monotonic() + START_SECONDS
        while not says(command.output or "…", re.sub(r"http://127\.0\.0\.1:\d+", API_URL, log.read_text())):
            running = process.poll() is None and time.monotonic() < deadline
            assert running, f"$ {command.text}\n{log.read_text()}"
            time.sleep(0.1)
        if served := re.search(r"http://127\.0\.0\.1:\d+", log.read_text()):
            self._api_url = served[0]

    def _run(self, command: str) -> tuple[str, int]:
        done = subprocess.run(
            ["bash", "-c", command.replace(API_URL, self._api_url)],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        # How far it is, a slow machine says and a fast one does not.
        said = re.sub(r"^[\d,]+ taken in, .*\n", "", done.stdout, flags=re.MULTILINE)
        return _without_gaps(said), done.returncode

    def _ask(self, page: Path, block: Block, expected: str | None) -> None:
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            result = connection.pgconn.exec_(block.text.encode())  # the driver's own types would not look like psql's
        where = f"{page.name}:{block.line}:\n"
        assert result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK), where + result.error_message.decode()
        assert expected is None or says(expected, _as_psql(result)), where + _as_psql(result)


def _without_gaps(printed: str) -> str:
    """What is printed everywhere: not every machine lacks protection."""
    gaps = r"^(Settings\n +|settings: )the sandbox of file readers has gaps.*\n"
    return re.sub(gaps, "", printed, flags=re.MULTILINE)


def _shows_a_failure(output: str) -> bool:
    return output.startswith("error:") or "Failed\n" in output or "since they failed\n" in output


def _as_psql(result: PGresult) -> str:
    columns = range(result.nfields)
    names = [(result.fname(column) or b"").decode() for column in columns]
    rows = [[(result.get_value(row, column) or b"").decode() for column in columns] for row in range(result.ntuples)]
    lines = [" | ".join(names), "-----", *(" | ".join(row) for row in rows)]
    return "\n".join([*lines, f"({len(rows)} row{'s' * (len(rows) != 1)})"])


@pytest.mark.timeout(PAGE_SECONDS)
@pytest.mark.parametrize("page", OTHER_PAGES, ids=lambda page: page.stem)
def test_page_does_what_it_says(page: Path, dsn: str, tmp_path: Path, ready_holdfast: Path) -> None:
    Reader(tmp_path, dsn, ready_holdfast).follow(page)


@pytest.mark.timeout(PAGE_SECONDS)
@pytest.mark.parametrize("server", ["embedded"], indirect=True)
@pytest.mark.parametrize("page", DOCUMENT_PAGES, ids=lambda page: page.stem)
async def test_page_about_documents_does_what_it_says(
    page: Path, dsn: str, tmp_path: Path, ready_holdfast: Path
) -> None:
    async with StandIn() as service:
        await asyncio.to_thread(Reader(tmp_path, dsn, ready_holdfast, service.base_url).follow, page)


@pytest.mark.timeout(PAGE_SECONDS)
def test_the_tour_in_the_readme_is_what_the_example_prints() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "tour.py"],
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=PAGE_SECONDS - 10,
        check=False,
    )
    (tour,) = [block.text for block in blocks(ROOT / "README.md") if block.language == "text"]
    assert done.returncode == 0, done.stdout + done.stderr
    assert says(tour, _without_gaps(done.stdout)), done.stdout


def test_no_link_is_dead() -> None:
    dead = [
        f"{page.relative_to(ROOT)} → {path}{f'#{anchor}' if anchor else ''}"
        for page in PAGES
        for path, anchor in links(page)
        if not _exists((page.parent / path) if path else page, anchor)
    ]
    assert dead == []


def _exists(target: Path, anchor: str | None) -> bool:
    return target.exists() and (anchor is None or anchor in anchors(target))


async def test_every_function_a_role_may_call_is_in_the_reference(database: Database) -> None:
    text = (REFERENCE / "sql.md").read_text()
    rows = await database.fetch(
        """
        select distinct p.proname as name, coalesce(p.proargnames[:p.pronargs], '{}') as arguments
        from pg_proc p, unnest($1::text[]) role
        where p.pronamespace = 'holdfast'::regnamespace and has_function_privilege(role, p.oid, 'execute')
        order by 1
        """,
        list(ROLES),
    )
    signatures = {row["name"]: f"{row['name']}({', '.join(row['arguments'])})" for row in rows}
    # Parts of other functions are named without their arguments.
    assert [sig for name, sig in signatures.items() if sig not in text and f"`{name}`" not in text] == []


async def test_every_endpoint_is_in_the_reference(dsn: str) -> None:
    text = (REFERENCE / "http.md").read_text()
    async with open_app(Settings(database_url=dsn)) as app:
        paths = build(app, asks_for_keys=True).openapi()["paths"]
    endpoints = [f"`{method.upper()} {path}`" for path, methods in paths.items() for method in methods]
    assert [endpoint for endpoint in endpoints if endpoint not in text] == []


def test_every_setting_is_in_the_reference_with_its_default() -> None:
    lines = (REFERENCE / "settings.md").read_text().splitlines()
    rows = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in lines if line.startswith("| `HOLDFAST_")}
    expected = {f"`HOLDFAST_{name.upper()}`": _shown(field.default) for name, field in Settings.model_fields.items()}
    assert rows == expected


def _shown(default: object) -> str:
    match default:
        case None | ():
            return "-"
        case tuple():
            return f"`{','.join(default)}`"
        case bool():
            return f"`{str(default).lower()}`"
    return f"`{default}`"


async def test_every_status_of_documents_is_in_the_reference_with_its_percentage(database: Database) -> None:
    async with AsyncExitStack() as resources:
        documents = Assembly(Settings(), database, resources).documents()
    lines = (REFERENCE / "states.md").read_text().splitlines()
    rows = {line.split(" ")[1]: line for line in lines if line.startswith("| ")}
    wrong = {
        (phase.name, status)
        for phase in documents.phases
        for status in (phase.queued, phase.working or phase.name, phase.done)
        if status and f"`{status}` ({documents.progress[status]} %)" not in rows[phase.name]
    }
    assert wrong == set()


async def test_every_status_of_configs_is_in_the_reference_with_its_percentage(database: Database) -> None:
    async with AsyncExitStack() as resources:
        configs = Assembly(Settings(), database, resources).configs()
    text = (REFERENCE / "states.md").read_text()
    assert [status for status, percent in configs.progress.items() if f"| `{status}` ({percent} %) |" not in text] == []


def test_every_category_is_in_the_reference_with_its_fate() -> None:
    text = (REFERENCE / "failures.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (permanent|passes|waits|nobody's) \|", text, flags=re.MULTILINE))
    assert set(rows) == {category.value for category in Category}
    assert {name for name, fate in rows.items() if fate == "permanent"} == set(policy.PERMANENT)


def test_every_policy_is_in_the_reference_with_its_patience() -> None:
    text = (REFERENCE / "failures.md").read_text()
    declared = [value for value in vars(policy).values() if isinstance(value, policy.Policy)]
    assert [one.name for one in declared if _policy_row(one) not in text] == []


def _policy_row(declared: policy.Policy) -> str:
    usual = declared.rules[Category.UNKNOWN]
    waits = ", ".join(f"{seconds:g}" for seconds in usual.wait_seconds) or "-"
    return f"| `{declared.name}` | {waits} | {usual.max_retries} |"


PIPELINE = Pipeline("noted", phases=(Phase(name="note", handler=lambda _: Done(), done="noted"),))
ACTS: dict[str, Callable[[App], Awaitable[object]]] = {
    "register": lambda app: app.register(),
    "work": lambda app: Worker(app.database, [PIPELINE]).run(until_idle=True),
    "submit": lambda app: submit(app.database, PIPELINE.name, [Submission(organisation="acme")]),
    "ask": lambda app: app.overview.jobs(),
    "act": lambda app: app.control("tester").set_budget("notes", Decimal(1)),
    "examine": lambda app: app.examine(),
}


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("holdfast_worker", {"register", "work", "submit"}),
        ("holdfast_api", {"submit", "ask", "act"}),
        ("holdfast_readonly", {"ask"}),
        ("holdfast_owner", set(ACTS)),
    ],
)
async def test_role_may_do_what_the_page_about_roles_says(
    role: str, allowed: set[str], database: Database, dsn: str, guest: str
) -> None:
    await Queue(database).register([PIPELINE])
    await database.execute(f'grant {role} to "{guest}"')
    async with open_app(Settings(database_url=with_user(dsn, guest))) as app:
        done = {name for name, act in ACTS.items() if await _permitted(act(app))}
    assert done == allowed


async def _permitted(act: Awaitable[object]) -> bool:
    try:
        await act
    except DatabaseUnusable:
        return False
    return True
