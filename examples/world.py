"""Where the example happens: a home of its own, and worker processes in it that can be killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HOLDFAST = Path(sys.executable).with_name("holdfast")


@contextmanager
def own_world(**settings: str) -> Iterator[Path]:
    """A temporary home with a database of its own; nothing of the caller's Holdfast is read or touched."""
    home = Path(tempfile.mkdtemp(prefix="holdfast-example-"))
    for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        del os.environ[name]
    os.environ |= {
        "HOLDFAST_HOME": str(home),
        "PYTHONPATH": str(HERE),
        **settings,
    }
    os.chdir(home)  # away from any holdfast.toml
    try:
        yield home
    finally:
        os.chdir(HERE)
        shutil.rmtree(home, ignore_errors=True)


class WorkerProcess:
    """A `holdfast worker` of its own process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._log = Path(f"{name}.log").absolute()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen([HOLDFAST, "worker"], stdout=log, stderr=log)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def last_words(self) -> str:
        return self._log.read_text()[-2000:]

    def kill(self) -> None:
        """SIGKILL: no goodbye, nothing given back."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM, and wait; a worker that does not end is killed."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.kill()


@contextmanager
def worker_processes(*names: str) -> Iterator[list[WorkerProcess]]:
    """Workers that end with the block, whatever happens in it."""
    workers: list[WorkerProcess] = []
    try:
        for name in names:
            workers.append(WorkerProcess(name))
        yield workers
    finally:
        for worker in workers:
            worker.stop()


class Failed(Exception):
    """An example did not end as it should, and why."""


def ending(example: str, story: Callable[[], None]) -> int:
    """Play the story; gives back the exit code, and says in one line, the last, why it is not 0."""
    try:
        story()
    except KeyboardInterrupt:
        reason = "it was interrupted"
    except Failed as error:
        reason = str(error)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    else:
        return 0
    sys.stdout.flush()
    print(f"{example} failed: {' '.join(reason.split())}", file=sys.stderr)
    return 1


def asked(*arguments: str) -> dict[str, Any]:
    """What a command answers as JSON. Raises Failed with its last words if it ends badly."""
    done = subprocess.run([HOLDFAST, *arguments, "--json"], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"holdfast {' '.join(arguments)} ended with {done.returncode}: {done.stderr[-500:]}")
    return dict(json.loads(done.stdout))


def holdfast(*arguments: str) -> int:
    """Run a command as an operator would, on this terminal; gives back its exit code."""
    sys.stdout.flush()
    return subprocess.run([HOLDFAST, *arguments], check=False).returncode
