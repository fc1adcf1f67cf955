"""A pipeline whose only phase starts others, in every way that could make them outlive it, and never ends."""

import ctypes
import subprocess
import sys
from collections.abc import Callable

from holdfast.engine.isolation import Limits
from holdfast.engine.pipeline import Phase, Pipeline

SLEEPER = "import time; time.sleep(600)"
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"


def gather(payload: dict[str, str], progress: Callable[[float], None]) -> None:
    """Start a child, a child's child, a daemon and an orphan, then keep the interpreter's lock in native code."""
    mark = str(payload["input"])
    subprocess.Popen([sys.executable, "-c", SLEEPER, f"{mark}-child"])
    subprocess.Popen([sys.executable, "-c", PARENT, SLEEPER, f"{mark}-grandchild"])
    subprocess.Popen([sys.executable, "-c", SLEEPER, f"{mark}-daemon"], start_new_session=True)
    leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPER!r}, '{mark}-orphan'])"
    subprocess.run([sys.executable, "-c", leave], start_new_session=True, check=True)
    ctypes.PyDLL(None).sleep(600)


PIPELINE = Pipeline(
    "crowd", phases=(Phase(name="gather", handler=gather, done="gathered", isolated=Limits(wall_seconds=600)),)
)
