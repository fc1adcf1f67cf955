"""The command line as a program that starts fast, for tests that start it hundreds of times."""

import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent


@contextmanager
def ready_command(folder: Path) -> Iterator[Path]:
    """Put a program `holdfast` into an empty folder and have it work until the block ends."""
    address, program = folder / "calls", folder / "holdfast"
    command = shlex.join([sys.executable, "-IS", str(HERE / "command.py"), str(address)])
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        listening.listen(64)
        number = listening.fileno()
        server = subprocess.Popen(
            [sys.executable, "-P", HERE / "server.py", str(number)],
            pass_fds=[number],
            stdin=subprocess.PIPE,
            cwd=folder,
        )
    with server:
        yield program
