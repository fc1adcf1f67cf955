"""A child process in a scratch directory: started, spoken to, and ended with all that it started."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from holdfast.engine import isolated_scratch
from holdfast.engine.isolated_child import frame
from holdfast.engine.isolated_scratch import Scratch
from holdfast.sandbox import platform

_BOOTSTRAP = (
    "import json, sys; arguments = json.loads(sys.argv[1]); sys.path[:] = arguments.pop('search_path');"
    "from holdfast.engine.isolated_child import main; main(**arguments)"
)
_INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
_TAIL_BYTES = 8_192
# For the kernel to finish killing; only a process that escaped its group can outlast it.
_GRACE_SECONDS = 2.0


class Tail(asyncio.Protocol):
    """Reads a stream to its end and keeps only the last 8 kB."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._kept = bytearray()

    def data_received(self, data: bytes) -> None:
        self._kept += data
        del self._kept[:-_TAIL_BYTES]

    def connection_lost(self, _: Exception | None) -> None:
        self.ended.set()

    def forget(self) -> None:
        """Drop what was kept so far."""
        self._kept.clear()

    def text(self) -> str:
        return self._kept.decode(errors="replace").strip()


@dataclass(frozen=True, slots=True)
class Cell:
    """What a child is shut into. The limits are for its life and hold for each of its processes."""

    memory_mb: int
    cpu_seconds: int
    file_mb: int
    hidden: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class IsolatedProcess:
    """A running child. `exited` is set when it ended but still holds its process id.

    `granted` names what the system granted beyond limits, or is None until the child has said so; `calls` counts
    what it was asked to do.
    """

    process: "subprocess.Popen[bytes]"
    exited: asyncio.Event
    answers: asyncio.StreamReader
    errors: Tail
    requests: asyncio.WriteTransport
    granted: tuple[str, ...] | None = None
    calls: int = 0
    belongings: AsyncExitStack = field(default_factory=AsyncExitStack)

    def ask(self, request: bytes) -> None:
        """Send a request, without waiting until the child has read it."""
        self.calls += 1
        self.errors.forget()
        self.requests.write(frame(request))

    async def close(self) -> None:
        """Kill it with all that it started and wait until that is done, even if cancelled. Safe to repeat."""
        await self.belongings.aclose()

    def kill(self) -> None:
        """Kill the child and its process group. Safe to repeat."""
        _kill_group(self.process)

    async def reap(self) -> None:
        """End the child and its group and wait until all of it is gone and its last words are read."""
        try:
            await self._dismiss()
            self.kill()
            await self.exited.wait()
            with suppress(TimeoutError):
                # Whoever holds the error stream is still alive.
                await asyncio.wait_for(self.errors.ended.wait(), _GRACE_SECONDS)
        finally:
            _put_down(self.process)

    async def _dismiss(self) -> None:
        """Have the child's warden kill it: only the warden can wait for everything in its namespace."""
        if self.process.returncode is None:
            os.kill(self.process.pid, signal.SIGTERM)  # Popen.terminate() may free the id that kill() needs
            with suppress(TimeoutError):
                await asyncio.wait_for(self.exited.wait(), _GRACE_SECONDS)

    async def exit_code(self) -> int:
        """Wait for the end by itself and return the exit code; a death by signal is negative."""
        await self.exited.wait()
        await self.reap()
        code = self.process.wait()
        return code if code <= 128 else 128 - code


@asynccontextmanager
async def start_alone(cell: Cell) -> AsyncIterator[IsolatedProcess]:
    """A child in a scratch directory of its own, of both of which nothing is left when the block ends."""
    async with AsyncExitStack() as stack:
        scratch = Scratch.create()
        stack.push_async_callback(asyncio.to_thread, scratch.remove)
        process = await start(scratch.cell, cell)
        stack.push_async_callback(process.close)
        yield process


async def start(scratch: Path, cell: Cell) -> IsolatedProcess:
    """Start a child in this directory, which must be empty of what it may not see. The caller closes it."""
    async with AsyncExitStack() as stack:
        answers, writer = map(stack.enter_context, _open_pipe())
        lifeline, far_end = map(stack.enter_context, socket.socketpair())
        with writer, far_end:
            process = _spawn(cell, scratch=scratch, answers_fd=writer.fileno(), lifeline_fd=far_end.fileno())
        requests = stack.enter_context(cast(BinaryIO, process.stdin))
        errors = stack.enter_context(cast(BinaryIO, process.stderr))
        stack.callback(_put_down, process)
        reader, tail, exited = asyncio.StreamReader(), Tail(), _watch(process.pid, lifeline, stack)
        await _connect(stack, answers, lambda: asyncio.StreamReaderProtocol(reader))
        await _connect(stack, errors, lambda: tail)
        transport, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.BaseProtocol, requests)
        stack.callback(_hang_up, transport)
        child = IsolatedProcess(process, exited, reader, tail, transport)
        stack.push_async_callback(child.reap)
        child.belongings = stack.pop_all()
        return child


def _open_pipe() -> tuple[BinaryIO, BinaryIO]:
    read_end, write_end = os.pipe()
    return os.fdopen(read_end, "rb"), os.fdopen(write_end, "wb")


def _spawn(cell: Cell, *, scratch: Path, answers_fd: int, lifeline_fd: int) -> "subprocess.Popen[bytes]":
    search_path = [os.path.abspath(entry) for entry in sys.path]
    arguments = {
        "search_path": search_path,
        "parent_pid": os.getpid(),
        "answers_fd": answers_fd,
        "lifeline_fd": lifeline_fd,
        "scratch": str(scratch),
        "limits": {"memory_mb": cell.memory_mb, "cpu_seconds": cell.cpu_seconds, "file_mb": cell.file_mb},
        "hidden": [*map(str, cell.hidden), str(isolated_scratch.shared_parent())],
        "kept": _package_folders(search_path),
    }
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _BOOTSTRAP, json.dumps(arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(answers_fd, lifeline_fd),
        cwd=scratch,
        env=_minimal_environment(str(scratch)) | dict(cell.environment),
        start_new_session=True,
    )


def _package_folders(search_path: Sequence[str]) -> list[str]:
    """Where Python and its packages lie. The current directory is searched too, but often holds only documents.

    An interpreter's parts are named beside its prefix, for one whose prefix is a hidden folder itself.
    """
    prefixes = {sys.prefix, sys.base_prefix}
    parts = [os.path.join(prefix, name) for prefix in prefixes for name in ("bin", "lib", "lib64", "share")]
    here = os.path.realpath(os.curdir)
    searched = [entry for entry in search_path if os.path.realpath(entry) != here or _is_loaded_from(entry)]
    return [*searched, *prefixes, *parts]


def _is_loaded_from(folder: str) -> bool:
    """Say whether this process has a module or package that lies directly in this folder."""
    for name, module in [*sys.modules.items()]:
        file, top = getattr(module, "__file__", None) or "", name.partition(".")[0]
        if file.startswith(os.path.join(folder, top, "")) or os.path.dirname(file) == folder:
            return True
    return False


def _minimal_environment(scratch: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return kept | {"HOME": scratch, "TMPDIR": scratch}


def _watch(pid: int, lifeline: socket.socket, stack: AsyncExitStack) -> asyncio.Event:
    """Return an event that is set when the process ends; it stays unreaped, so its id cannot be reused.

    The kernel tells of the end; where it has no call for that, the life line does: its far end is with the process
    alone, as this end is with the worker, whose death the process learns of in the same way.
    """
    exited, loop = asyncio.Event(), asyncio.get_running_loop()
    descriptor = platform.open_exit_descriptor(pid)
    if descriptor is None:
        descriptor = lifeline.fileno()
    else:
        stack.callback(os.close, descriptor)

    def note_exit() -> None:
        loop.remove_reader(descriptor)
        exited.set()

    loop.add_reader(descriptor, note_exit)
    stack.callback(loop.remove_reader, descriptor)
    return exited


async def _connect(stack: AsyncExitStack, pipe: BinaryIO, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(protocol, pipe)
    stack.callback(transport.close)


def _hang_up(requests: asyncio.WriteTransport) -> None:
    if not requests.is_closing():
        requests.abort()  # what nobody will read need not be sent


def _put_down(process: "subprocess.Popen[bytes]") -> None:
    """Make sure of the end, also when the way to `reap` was cut short."""
    _kill_group(process)
    process.wait()


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    if process.returncode is None:  # until then its id cannot belong to anybody else
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
