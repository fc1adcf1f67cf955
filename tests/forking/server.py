"""Runs the command line in forks of a process that has imported it: each a process of its own, there at once.

A call brings its arguments, environment, folder and standard streams (see command.py); what comes after it are signals
to pass on, and the answer is an exit code. A caller that is gone takes its process along, and the end of standard
input ends the server.
"""

import atexit
import gc
import importlib
import marshal
import os
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

IMPORTED = (
    "holdfast.cli.main",
    "holdfast.app",
    "holdfast.assembly",
    "holdfast.api.server",
    "socketio",  # most of what NiceGUI takes; itself it must meet the environment of each process
    "rich.table",
)


@dataclass(frozen=True, slots=True)
class Call:
    """What to run, and how."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    streams: list[int]


class ForkServer:
    """Takes calls from a socket that listens already."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._selector = selectors.DefaultSelector()
        self._watch(sys.stdin.fileno(), lambda: os._exit(0))
        self._watch(listening, self._accept)

    def run(self) -> NoReturn:
        """Serve until told to end."""
        while True:
            for key, _ in self._selector.select():
                if self._selector.get_map().get(key.fd) is key:  # what came before it may have ended its source
                    key.data()

    def _watch(self, source: socket.socket | int, react: Callable[[], None]) -> None:
        self._selector.register(source, selectors.EVENT_READ, react)

    def _accept(self) -> None:
        caller, _ = self._listening.accept()
        call = _read_call(caller)
        ended, alive = os.pipe()  # the other end is with the new process alone, until it ends
        pid = os.fork()
        if pid == 0:
            caller.close()
            os.close(ended)
            self._forget_everything()
            _become(call)
        for stream in call.streams:
            os.close(stream)
        os.close(alive)
        self._watch(caller, partial(_pass_on, caller, pid))
        self._watch(ended, partial(self._answer, caller, ended, pid))

    def _answer(self, caller: socket.socket, ended: int, pid: int) -> None:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self._selector.unregister(caller)
        self._selector.unregister(ended)
        os.close(ended)
        with caller, suppress(BrokenPipeError):  # the caller may have been killed
            caller.sendall(code.to_bytes(4, "big", signed=True))

    def _forget_everything(self) -> None:
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
            elif key.fd > 2:
                os.close(key.fd)
        self._selector.close()


def _read_call(caller: socket.socket) -> Call:
    length, streams, _, _ = socket.recv_fds(caller, 4, 3)
    written = caller.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)
    return Call(*marshal.loads(written), streams)


def _pass_on(caller: socket.socket, pid: int) -> None:
    number = caller.recv(1)
    os.kill(pid, number[0] if number else signal.SIGKILL)  # nobody has waited for it: the id is its own


def _become(call: Call) -> NoReturn:
    for number, stream in enumerate(call.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(call.environment)
    os.chdir(call.folder)
    time.tzset()
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.argv = [str(Path(sys.executable).with_name("holdfast")), *call.arguments]
    _end(_exit_code(importlib.import_module("holdfast.cli.main").main))


def _exit_code(main: Callable[[], None]) -> int:
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> NoReturn:
    """As an interpreter ends, but for taking everything apart: that would copy the memory it was forked with."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    ForkServer(socket.socket(fileno=int(sys.argv[1]))).run()
