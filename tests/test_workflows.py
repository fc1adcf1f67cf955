"""The workflows call what the Makefile offers, on every Python that the package claims."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_every_target_that_a_workflow_calls_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {name for workflow in WORKFLOWS for name in re.findall(r"run: make (\w+)", workflow.read_text())}
    assert {"run", "test"} <= called <= targets


def test_a_workflow_runs_the_oldest_python_that_is_claimed() -> None:
    claimed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    pythons = re.findall(r'"(3\.\d+)"', (ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert f">={pythons[0]}" == claimed
