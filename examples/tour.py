"""The main job, end to end: a library of files and a link, carried through every phase, then searched."""

import os
import subprocess
import sys
from urllib.parse import urlsplit

from rich.console import Console
from timetable import busy_at_first
from world import HERE, HOLDFAST, Failed, asked, ending, holdfast, own_world

LIBRARY = HERE / "library"
QUESTIONS = (
    "At what water level does the tidal gate open?",
    "Why may nobody operate the winch alone?",
    "What should be brought for the broken compressor?",
)


def tour() -> None:
    """One document fails for good, one recovers, all others are found. Raises Failed where it goes otherwise."""
    console = Console(highlight=False)
    with busy_at_first() as link, own_world() as home:
        os.environ["HOLDFAST_ALLOWED_HOSTS"] = urlsplit(link).netloc  # inner addresses are never fetched otherwise
        console.print(f"[bold]Holdfast[/]: {_count()} files and a link, from nothing to knowledge that can be searched")
        _say(console, "ingest", str(LIBRARY.relative_to(HERE.parent)), link)
        _do("ingest", str(LIBRARY), link, code=1)  # two of them fail at first
        _recover(console)
        for question in QUESTIONS:
            _say(console, "search", question, "--limit", "1")
            _do("search", question, "--limit", "1")
        _say(console, "doctor")
        _do("doctor")
        console.print(f"\n[dim]{home} is removed now; yours would be ~/.holdfast, or a PostgreSQL of yours[/]")


def _count() -> int:
    return sum(path.is_file() for path in LIBRARY.iterdir())


def _recover(console: Console) -> None:
    """The link's server is back: its job goes on where it failed."""
    retryable = asked("jobs", "--state", "failed", "--retryable")["jobs"]
    if len(retryable) != 1:
        told = "; ".join(f"{job['source_name']}: {(job['last_error'] or {}).get('error')}" for job in retryable)
        raise Failed(f"the link alone should wait for a retry, not {len(retryable)} documents ({told})")
    job = str(retryable[0]["job_id"])
    _say(console, "retry", job, "--reason", "the server is back")
    _do("retry", job, "--reason", "the server is back")
    worked = subprocess.run([HOLDFAST, "worker", "--drain"], check=False, capture_output=True, text=True)
    if worked.returncode != 0:
        raise Failed(f"holdfast worker --drain ended with {worked.returncode}: {worked.stderr[-500:]}")
    _say(console, "show", job)
    _do("show", job)
    if (state := asked("show", job)["state"]) != "done":
        raise Failed(f"job {job} should be done after its retry, not {state}")


def _do(*arguments: str, code: int = 0) -> None:
    """Run a command as an operator would. Raises Failed if it ends with another code."""
    if (ended := holdfast(*arguments)) != code:
        raise Failed(f"holdfast {arguments[0]} ended with {ended} instead of {code}: see what it says above")


def _say(console: Console, *arguments: str) -> None:
    shown = " ".join(f'"{argument}"' if " " in argument else argument for argument in arguments)
    console.print(f"\n[bold green]$[/] [bold]holdfast {shown}[/]")


if __name__ == "__main__":
    sys.exit(ending("examples/tour.py", tour))
