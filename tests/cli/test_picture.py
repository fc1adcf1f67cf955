"""How far an ingestion is, as its caller sees it: also while one long job is all there is."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live

from holdfast.cli import picture

NOBODY = {"passed": 0, "queued": 0, "working": 0, "waiting": 0, "failed": 0, "cancelled": 0, "progress": None}
RECEIVED = {**NOBODY, "phase": "receive", "passed": 1}


def parsing(**counts: Any) -> list[dict[str, Any]]:
    """What the phases of a configuration archive show while it is parsed."""
    return [RECEIVED, {**NOBODY, "phase": "parse", **counts}]


@pytest.mark.parametrize(
    ("phases", "told"),
    [
        (parsing(working=1, progress=0.18), "parse 1 (18%)"),
        (parsing(working=1), "parse 1"),
        (parsing(working=2, progress=0.18), "parse 2"),
        (parsing(working=1, queued=4, progress=0.18), "parse 5"),
    ],
)
def test_plain_line_says_how_far_the_only_job_is(
    phases: list[dict[str, Any]], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(picture, "PLAIN_SECONDS", 0.0)
    with picture.shown(quiet=False) as seen:
        seen.taken_in(1)
        seen.show(phases)
    assert capsys.readouterr().err == f"1 taken in, 0 complete; {told}\n"


def test_bar_moves_while_the_only_job_runs() -> None:
    at_first, later = (_drawn(parsing(working=1, progress=progress)) for progress in (0.0, 0.5))
    assert "1 working (0%)" in at_first
    assert "1 working (50%)" in later
    assert _bar(later) == "━" * (picture.LONGEST_BAR // 2)
    assert _bar(at_first) == ""


def _drawn(phases: list[dict[str, Any]]) -> str:
    """The last line of the picture, without colours: what is not reached of a bar is then blank."""
    console = Console(file=StringIO(), width=120, no_color=True, force_terminal=False)
    live = Live(console=console, auto_refresh=False)
    bars = picture.Bars(live)
    bars.taken_in(1)
    bars.show(phases)
    with console.capture() as captured:
        console.print(live.renderable)
    return captured.get().rstrip("\n").splitlines()[-1]


def _bar(line: str) -> str:
    return line.removeprefix("parse").split("0")[0].strip()
