"""The page about dependencies tells the truth."""

import re
import tomllib
from pathlib import Path
from typing import get_args

from holdfast.extras import Extra

ROOT = Path(__file__).parent.parent


def test_page_names_exactly_the_declared_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"].get("optional-dependencies", {}).values()
    groups = [project["project"]["dependencies"], *extras, *project["dependency-groups"].values()]
    declared = {re.split(r"[\[<>=~! ]", line)[0] for group in groups for line in group}
    page = (ROOT / "docs" / "dependencies.md").read_text()
    assert set(re.findall(r"^\| ([a-z0-9-]+) \|", page, re.MULTILINE)) - {"package"} == declared


def test_every_extra_that_a_message_may_name_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(get_args(Extra)) == set(project["project"]["optional-dependencies"])
