"""The main job, end to end: a library of files and a link, carried through every phase, then searched."""

import json
import os
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from timetable import busy_at_first
from world import HERE, HOLDFAST, holdfast, own_world

LIBRARY = HERE / "library"
QUESTIONS = (
    "At what water level does the tidal gate open?",
    "Why may nobody operate the winch alone?",
    "What should be brought for the broken compressor?",
)


def main() -> int:
    """Exit code 0 if everything ended as it should: one document fails for good, one recovers, all others are found."""
    console = Console(highlight=False)
    with busy_at_first() as link, own_world() as home:
        os.environ["HOLDFAST_ALLOWED_HOSTS"] = urlsplit(link).netloc  # inner addresses are never fetched otherwise
        console.print(f"[bold]Holdfast[/]: {_count()} files and a link, from nothing to knowledge that can be searched")
        _say(console, "ingest", str(LIBRARY.relative_to(HERE.parent)), link)
        ended = [holdfast("ingest", str(LIBRARY), link)]
        recovered = _recover(console)
        for question in QUESTIONS:
            _say(console, "search", question, "--limit", "1")
            ended.append(holdfast("search", question, "--limit", "1"))
        _say(console, "doctor")
        ended.append(holdfast("doctor"))
        console.print(f"\n[dim]{home} is removed now; yours would be ~/.holdfast, or a PostgreSQL of yours[/]")
    return 0 if ended == [1, 0, 0, 0, 0] and recovered else 1


def _count() -> int:
    return sum(path.is_file() for path in LIBRARY.iterdir())


def _recover(console: Console) -> bool:
    """The link's server is back: its job goes on where it failed."""
    (job,) = [job["job_id"] for job in _asked("jobs", "--state", "failed", "--retryable")["jobs"]]
    _say(console, "retry", str(job), "--reason", "the server is back")
    holdfast("retry", str(job), "--reason", "the server is back")
    subprocess.run([HOLDFAST, "worker", "--drain"], check=True, stderr=subprocess.DEVNULL)
    _say(console, "show", str(job))
    holdfast("show", str(job))
    return bool(_asked("show", str(job))["state"] == "done")


def _asked(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([HOLDFAST, *arguments, "--json"], check=True, capture_output=True)
    return dict(json.loads(done.stdout))


def _say(console: Console, *arguments: str) -> None:
    shown = " ".join(f'"{argument}"' if " " in argument else argument for argument in arguments)
    console.print(f"\n[bold green]$[/] [bold]holdfast {shown}[/]")


if __name__ == "__main__":
    sys.exit(main())
