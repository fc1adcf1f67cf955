"""The base install alone does the main job, and says which extra a file or a command would need."""

import ast
import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from PIL import Image

from holdfast.db.cluster import Cluster
from tests.bare import PROJECT, ROOT, make_bare
from tests.cli.conftest import SECONDS, STARTED, CommandLine, Result

LIBRARY = ROOT / "examples" / "library"
SCAN = "scanned-permit.pdf"
EXTRA_OF = {"diving-permit.png": "ocr", SCAN: "ocr", "night-watch.wav": "audio"}
SEALED = "sealed-contract.pdf"
# What only an extra can run; nothing else imports it before it has looked whether the extra is there.
ROOMS = ("holdfast.agents", "holdfast.dashboard", "holdfast.providers.whisper_child", "holdfast.tracing.spans")
IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What `holdfast ingest` said of the library, and what then became of each document."""

    result: Result
    jobs: dict[str, dict[str, Any]]

    def named(self, state: str) -> set[str]:
        return {name for name, job in self.jobs.items() if job["state"] == state}


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder that the embedded server can enter, which does not run as root."""
    home = Path(tempfile.mkdtemp(prefix="holdfast-base-"))
    yield home
    Cluster(home / "postgres").stop("immediate")
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def python() -> Iterator[Path]:
    """The Python of an environment that holds the base install alone."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-bare-"))
    yield make_bare(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def holdfast(python: Path, home: Path) -> CommandLine:
    """The command line of the base install, with a PostgreSQL of its own."""
    settings = {"HOLDFAST_HOME": str(home), "HOLDFAST_PIPELINES": "", "COLUMNS": "200", "PYTHONPATH": ""}
    program = (python, "-m", "holdfast.cli")
    return CommandLine(settings, home, program, starts=program)


@pytest.fixture(scope="module")
def ingested(holdfast: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Ingested:
    """The sample library, and a scan in it."""
    library = tmp_path_factory.mktemp("library")
    shutil.copytree(LIBRARY, library, dirs_exist_ok=True)
    Image.open(library / "diving-permit.png").convert("RGB").save(library / SCAN)
    result = holdfast.run("ingest", str(library))
    jobs = holdfast.succeed("jobs", "--limit", "100", "--json").json["jobs"]
    return Ingested(result, {job["source_name"]: job for job in jobs})


def test_environment_holds_nothing_of_any_extra(python: Path) -> None:
    code = (
        "import importlib.metadata, json; print(json.dumps([one.name for one in importlib.metadata.distributions()]))"
    )
    told = subprocess.run([python, "-c", code], env={}, capture_output=True, text=True, check=True)
    extras = {line.partition(">")[0] for lines in PROJECT["optional-dependencies"].values() for line in lines}
    held = set(json.loads(told.stdout))
    assert extras.isdisjoint(held)
    assert {"holdfast", "asyncpg", "xberg"} < held
    assert "pytest" not in held


def test_modules_of_the_base_install_import_nothing_that_it_does_not_bring(python: Path) -> None:
    own = {name: file for name, file in _modules() if not name.startswith(ROOMS) and file.name != "__main__.py"}
    named = {name for file in own.values() for name in _imports(file) if not name.startswith(ROOMS)}
    done = subprocess.run([python, "-c", IMPORT_ALL, *sorted({*own, *named})], env={}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_file_that_needs_no_extra_is_taken_in(ingested: Ingested) -> None:
    files = {file.name for file in LIBRARY.iterdir()} - {SEALED, *EXTRA_OF}
    assert ingested.named("done") >= files
    assert ingested.named("failed") == ingested.jobs.keys() - ingested.named("done") == {SEALED, *EXTRA_OF}


@pytest.mark.parametrize("name", EXTRA_OF)
def test_file_that_needs_an_extra_is_told_with_the_command_that_installs_it(ingested: Ingested, name: str) -> None:
    _, _, told = ingested.result.out.partition(f"  {name} · job ")
    _, says, comes_next, *_ = told.splitlines()
    assert f"run pip install 'holdfast[{EXTRA_OF[name]}]'" in says
    assert "next: an operator must retry it" in comes_next
    assert ingested.result.code == 1


def test_files_that_lacked_an_extra_are_done_by_a_retry_where_it_is_installed(
    holdfast: CommandLine, ingested: Ingested
) -> None:
    everything = replace(holdfast, program=STARTED).with_settings(PYTHONPATH=str(ROOT / "src"))
    jobs = [str(ingested.jobs[name]["job_id"]) for name in EXTRA_OF]
    everything.succeed("retry", *jobs)
    everything.succeed("worker", "--drain")
    assert {holdfast.succeed("show", job, "--json").json["state"] for job in jobs} == {"done"}


@pytest.mark.usefixtures("ingested")
def test_passage_is_found(holdfast: CommandLine) -> None:
    (first, *_) = holdfast.succeed("search", "how to calibrate the tide gauge", "--json").json["hits"]
    assert first["source_name"] == "tide-gauge-manual.docx"
    assert "dip tape" in first["text"]


@pytest.mark.usefixtures("ingested")
def test_every_invariant_holds(holdfast: CommandLine) -> None:
    assert holdfast.succeed("doctor").out == "every invariant holds\n"


@pytest.mark.parametrize("command", [(), ("ingest",), ("serve",), ("up",), ("mcp",)])
def test_help_needs_no_extra(holdfast: CommandLine, command: tuple[str, ...]) -> None:
    assert holdfast.succeed(*command, "--help").out.startswith("Usage: ")


def test_mcp_names_its_extra(holdfast: CommandLine) -> None:
    told = holdfast.run("mcp")
    assert (told.code, told.out) == (2, "")
    assert told.err == "error: the extra mcp is not installed: run pip install 'holdfast[mcp]'\n"


@pytest.mark.parametrize("command", ["serve", "up"])
def test_api_is_served_without_the_dashboard_and_its_extra_is_named(holdfast: CommandLine, command: str) -> None:
    with holdfast.started(command, "--port", "0") as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("serving on "):
                break
        with urlopen(said[-1].removeprefix("serving on ").strip() + "/readyz", timeout=SECONDS) as answer:
            assert json.load(answer) == {"status": "ok"}
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert "without a dashboard: run pip install 'holdfast[dashboard]' to have one\n" in said
    assert "Traceback" not in "".join([*said, rest])


def test_collector_without_the_extra_is_told_and_work_goes_on(holdfast: CommandLine) -> None:
    named = holdfast.with_settings(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    doubt = (
        "OTEL_EXPORTER_OTLP_ENDPOINT names a collector, and no trace will reach it: run pip install 'holdfast[otel]'"
    )
    assert f"settings: {doubt}\n" in named.succeed("doctor").out
    logged = [json.loads(line) for line in named.succeed("worker", "--drain").err.splitlines()]
    assert [line["doubt"] for line in logged if line["event"] == "settings.doubtful"] == [doubt]


def _modules() -> Iterator[tuple[str, Path]]:
    for file in (ROOT / "src" / "holdfast").rglob("*.py"):
        yield ".".join(file.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"), file


def _imports(file: Path) -> Iterator[str]:
    """What it imports anywhere, also where a function does so when it runs."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            yield node.module
