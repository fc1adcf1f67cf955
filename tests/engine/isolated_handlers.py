"""Functions that behave and misbehave, run in child processes by the tests of isolation."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

from holdfast.errors import EncryptedInput, RateLimited

Progress = Callable[[float], None]


class PasswordMissing(EncryptedInput):
    """An error of a handler's own module."""


def double(payload: Any, progress: Progress) -> Any:
    return payload * 2


def report_halves(payload: Any, progress: Progress) -> Any:
    for fraction in (0.0, 0.5, 0.5000001, 7.0):
        progress(fraction)


def tell_surroundings(payload: Any, progress: Progress) -> Any:
    return {"environment": dict(os.environ), "directory": os.getcwd(), "files": os.listdir()}


def read_all_environments(payload: Any, progress: Progress) -> Any:
    environments = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(PermissionError):
            environments.append(path.read_text(errors="replace"))
    return " ".join(environments).replace("\0", " ")


def raise_rate_limited(payload: Any, progress: Progress) -> Any:
    raise RateLimited(
        "slow down",
        error_code="E7",
        details={"plan": "free"},
        retry_after_seconds=30,
        cost_usd=Decimal("0.25"),
    )


def raise_own_subclass(payload: Any, progress: Progress) -> Any:
    raise PasswordMissing("no password")


def raise_value_error(payload: Any, progress: Progress) -> Any:
    raise ValueError("nobody expects this")


def raise_connection_error(payload: Any, progress: Progress) -> Any:
    raise ConnectionResetError("reset by peer")


def leave_by_sys_exit(payload: Any, progress: Progress) -> Any:
    sys.exit("I would rather not")


def abort(payload: Any, progress: Progress) -> Any:
    os.write(2, b"assertion failed in page tree\n")
    os.abort()


def abort_for_memory(payload: Any, progress: Progress) -> Any:
    os.write(2, b"memory allocation of 4294967296 bytes failed\n")
    os.abort()


def read_null(payload: Any, progress: Progress) -> Any:
    ctypes.string_at(0)


def exit_silently(payload: Any, progress: Progress) -> Any:
    os._exit(3)


def kill_itself(payload: Any, progress: Progress) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def loop_forever(payload: Any, progress: Progress) -> Any:
    while True:
        pass


def start_endless_loop(payload: Any, progress: Progress) -> Any:
    return subprocess.run([sys.executable, "-c", "while True: pass"], check=False).returncode


def sleep_long(payload: Any, progress: Progress) -> Any:
    if payload:
        Path(payload).write_text("asleep")
    progress(0.1)
    time.sleep(300)


def allocate_ten_gigabytes(payload: Any, progress: Progress) -> Any:
    return len(bytearray(10 << 30))


def allocate_in_small_pieces(payload: Any, progress: Progress) -> Any:
    pieces = []
    while True:
        pieces.append(str(len(pieces)) * 100)


def print_fifty_megabytes(payload: Any, progress: Progress) -> Any:
    for _ in range(50):
        print("x" * (1 << 20))
        print("y" * (1 << 20), file=sys.stderr)
    return "done"


def return_megabytes(payload: Any, progress: Progress) -> Any:
    return "x" * (payload << 20)


def write_megabytes(payload: Any, progress: Progress) -> Any:
    Path("big").write_bytes(bytes(payload << 20))


def return_value(payload: Any, progress: Progress) -> Any:
    return {
        "nul": "a\0b",
        "spelled nul": "a\\u0000b",
        "surrogate": "\ud800",
        "nan": float("nan"),
        "object": object(),
        "infinity": [float("inf")],
    }[payload]


def leave_grandchild(payload: Any, progress: Progress) -> Any:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", payload])
    return "left"


def leave_grandchild_and_crash(payload: Any, progress: Progress) -> Any:
    leave_grandchild(payload, progress)
    os.abort()


def leave_daemon(payload: Any, progress: Progress) -> Any:
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(300)", payload],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return "left"


def fork_many(payload: Any, progress: Progress) -> Any:
    for _ in range(payload):
        if os.fork() == 0:
            time.sleep(300)
    return "all forked"


def start_threads(payload: Any, progress: Progress) -> Any:
    done: list[int] = []
    threads = [threading.Thread(target=done.append, args=(n,)) for n in range(payload)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(done)


def connect_to_port(payload: Any, progress: Progress) -> Any:
    socket.create_connection(("127.0.0.1", payload), timeout=2).close()


def write_to(payload: Any, progress: Progress) -> Any:
    Path(payload).write_text("planted")


def tell_capabilities(payload: Any, progress: Progress) -> Any:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("CapPrm"))


def lock_own_directory(payload: Any, progress: Progress) -> Any:
    Path("inner").mkdir()
    Path("inner/file").write_text("x")
    os.chmod("inner", 0)
    return os.getcwd()


def write_to_all_descriptors(payload: Any, progress: Progress) -> Any:
    _write_everywhere(payload.encode())


def write_frame(payload: Any, progress: Progress) -> Any:
    body = payload.encode()
    _write_everywhere(b"HOLD" + len(body).to_bytes(4) + body)


def _write_everywhere(data: bytes) -> None:
    """Write to the pipe of the answers, wherever it is, as a broken native library might."""
    for descriptor in range(3, 1024):
        with suppress(OSError):
            os.write(descriptor, data)
    os._exit(0)


async def answer_later(payload: Any, progress: Progress) -> Any:
    return payload


def shout(payload: Any, progress: Progress) -> Any:
    """What a phase's isolated handler looks like: it gets the attempt as JSON and returns its output."""
    progress(0.5)
    return payload["input"].upper()


_calls = 0
_kept: list[Any] = []


def count_calls(payload: Any, progress: Progress) -> Any:
    """How many calls this process has served: 1 tells of a fresh one."""
    global _calls
    _calls += 1
    return _calls


def spend_processor_time(payload: Any, progress: Progress) -> Any:
    end = time.process_time() + payload
    while time.process_time() < end:
        pass
    return count_calls(None, progress)


def keep_megabytes(payload: Any, progress: Progress) -> Any:
    _kept.append(b"x" * (payload << 20))


def keep_progress(payload: Any, progress: Progress) -> Any:
    _kept.append(progress)


def report_for_an_earlier_call(payload: Any, progress: Progress) -> Any:
    _kept[0](0.25)
    progress(0.75)
    return "done"


def crash_unless_fresh(payload: Any, progress: Progress) -> Any:
    if count_calls(None, progress) > 1:
        os.abort()
    return "done"


def lack_memory_unless_fresh(payload: Any, progress: Progress) -> Any:
    if count_calls(None, progress) > 1:
        raise MemoryError
    return "done"


def list_folder(payload: Any, progress: Progress) -> Any:
    return sorted(os.listdir(payload))


def plant_link(payload: Any, progress: Progress) -> Any:
    """Leave links where the worker puts and expects files."""
    for name in ("input", "output"):
        os.symlink(f"{payload['target']}/{name}", f"{payload['folder']}/{name}")


def plant_folder_link(payload: Any, progress: Progress) -> Any:
    """Leave a link in the place of the folder in which the worker puts and expects files."""
    os.rename(payload["folder"], "moved")
    os.symlink(payload["target"], payload["folder"])


def unmount(payload: Any, progress: Progress) -> Any:
    """Try to look behind what hides a folder; return what is seen then."""
    ctypes.CDLL(None).umount2(payload.encode(), 2)
    return sorted(os.listdir(payload))


def copy_in_capitals(payload: Any, progress: Progress) -> Any:
    folder = Path(payload)
    (folder / "output").write_text((folder / "input").read_text().upper())
    Path("left behind").write_text("x")
