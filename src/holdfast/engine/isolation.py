"""Runs a plain function on an untrusted document in a child process that cannot harm the worker."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from holdfast.engine import isolated_process, strict_json
from holdfast.engine.isolated_call import Call, ProgressListener
from holdfast.engine.isolated_child import give_back
from holdfast.engine.isolated_process import Cell
from holdfast.errors import UsageError

# The function gets the payload and a way to report its progress as a fraction; it returns plain JSON.
IsolatedFunction = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one isolated call may use. Memory and file size hold for each of its processes.

    Processor time is the function's own; each process that it starts may use twice as much, and more only by as
    much as calls before it used.
    """

    memory_mb: int = 1024
    cpu_seconds: int = 120
    wall_seconds: float = 600
    output_mb: int = 64
    file_mb: int = 1024

    def cell(self, *, calls: int, hidden: Sequence[Path] = (), environment: Mapping[str, str] | None = None) -> Cell:
        """Return the cell of a child that may be called so many times."""
        return Cell(self.memory_mb, self.cpu_seconds * calls, self.file_mb, hidden, environment or {})


async def run_isolated(
    function: IsolatedFunction,
    payload: object,
    *,
    limits: Limits | None = None,
    on_progress: ProgressListener | None = None,
    environment: Mapping[str, str] | None = None,
) -> object:
    """Return `function(payload, progress)` as computed by a fresh child process, JSON in and JSON out.

    The child sees an empty scratch directory as its home, `environment`, and no other variable but PATH,
    language and time zone; where the system allows, neither a network nor other processes nor their scratch,
    and it can write nowhere else. Its standard output is thrown away. Whatever happens, the child, all it
    started and its scratch directory are gone when this returns, raises or is cancelled.

    Raises the PhaseError that the function raised, or one of the category that its exception has; TimedOut;
    ResourceExhausted for memory and processor time; TooLarge for output; CorruptInput if the child crashed
    or answered nonsense.
    """
    limits = limits or Limits()
    call = prepare_call(function, payload, limits=limits, on_progress=on_progress)
    async with isolated_process.start_alone(limits.cell(calls=1, environment=environment)) as process:
        return (await call.run(process)).unwrap()


async def describe_isolation(cell: Cell | None = None) -> tuple[str, ...]:
    """Return what this system grants to a child in this cell beyond the limits that every system has.

    A subset of the keys of `protection.GAPS`: memory_limit, process_limit (by the system itself instead of a
    supervisor that looks every so often), no_new_privileges, network, processes, proc, files, read_only, and
    descendants (nothing that a child starts can hide from its end).
    """
    limits = Limits()
    call = prepare_call(give_back, None, limits=limits)
    async with isolated_process.start_alone(cell or limits.cell(calls=1)) as process:
        (await call.run(process)).unwrap()
        return process.granted or ()


def prepare_call(
    function: IsolatedFunction, payload: object, *, limits: Limits, on_progress: ProgressListener | None = None
) -> Call:
    """Return the call ready to be run, or raise UsageError if no child could run it."""
    name = check_importable(function)
    allowance = {"memory_mb": limits.memory_mb, "cpu_seconds": limits.cpu_seconds}
    request = strict_json.dump({"function": name, "payload": payload, "limits": allowance})
    return Call(name, request, limits.wall_seconds, limits.output_mb, on_progress)


def check_importable(function: IsolatedFunction) -> str:
    """Return `module:name` under which a child finds exactly this function, or raise UsageError."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or "<" in name:
        raise UsageError(f"{function!r} cannot run isolated: use a function defined with def at the top of a module")
    if module == "__main__":
        raise UsageError(f"{name} cannot run isolated from the main script: move it to a module that can be imported")
    if inspect.iscoroutinefunction(function):
        raise UsageError(f"{module}.{name} cannot run isolated: make it a plain function instead of async def")
    try:
        found = attrgetter(name)(sys.modules[module])
    except (AttributeError, KeyError):
        found = None
    if found is not function:
        raise UsageError(f"{module}.{name} cannot run isolated: that name does not lead to {function!r}")
    return f"{module}:{name}"
