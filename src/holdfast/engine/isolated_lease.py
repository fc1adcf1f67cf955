"""A leased child: a process that is replaced when it wears out or breaks, and the folder it works in."""

import asyncio
import os
import stat
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from holdfast.engine import isolated_process
from holdfast.engine.isolated_call import Answer, Call, ProgressListener
from holdfast.engine.isolated_process import Cell, IsolatedProcess
from holdfast.engine.isolated_scratch import Scratch
from holdfast.engine.isolation import IsolatedFunction, Limits, prepare_call
from holdfast.errors import CorruptInput, PhaseError, ResourceExhausted, UsageError

# Ends to which an earlier document may have led, by what it left in the memory of the process.
_DOUBTFUL_ENDS = frozenset({"CRASHED", "MEMORY_LIMIT", "KILLED"})


class Child:
    """A leased child process.

    `folder` is empty at first, of this lease alone, seen by no other child, and removed after the lease: the place
    for what the function reads and writes. A process that a document took over could plant links there, so files go
    in and out by `hand_in` and `take_out`, by way of `desk`: a folder as short-lived, which the child cannot see.
    """

    def __init__(self, key: str, *, cell: Cell, limits: Limits) -> None:
        self.key = key
        self.leases = 0
        self.idle_since = 0.0
        self._cell = cell
        self._limits = limits
        self._scratch = Scratch.create()
        self.desk = self._scratch.desk
        self.folder = self._scratch.cell
        self._folder_fd: int | None = None
        self._process: IsolatedProcess | None = None
        self._is_busy = False
        self._is_over = False
        self._belongings = AsyncExitStack()
        self._belongings.push_async_callback(asyncio.to_thread, self._scratch.remove)
        self._belongings.push_async_callback(self.end_process)
        self._belongings.callback(self._let_go_of_folder)

    async def run(
        self,
        function: IsolatedFunction,
        payload: object,
        *,
        on_progress: ProgressListener | None = None,
        wall_seconds: float | None = None,
    ) -> object:
        """Return `function(payload, progress)`, with the errors of `run_isolated`.

        The function starts in the parent of `folder`. If a process that served earlier documents breaks or lacks
        something, that is no verdict on this one: the call is repeated once in a fresh process on the same folder,
        so let the function overwrite. Unless there is an answer or a PhaseError of the function, or if this call
        is cancelled, the process and all that it started are gone when this raises.
        """
        limits = replace(self._limits, wall_seconds=wall_seconds or self._limits.wall_seconds)
        call = prepare_call(function, payload, limits=limits, on_progress=on_progress)
        if self._is_busy or self._is_over or self._folder_fd is None:
            raise UsageError(f"the child that shall run {call.name} is busy or not leased: lease another")
        self._is_busy, answer = True, None
        try:
            answer = await self._answer(call)
        finally:
            if answer is None or answer.worn:
                await self.end_process()
            self._is_busy = False
        return answer.unwrap()

    def hand_in(self, name: str) -> Path:
        """Move this file from the desk into the folder, and return where the function finds it."""
        os.rename(self.desk / _plain(name), name, dst_dir_fd=self._require_folder())
        return self.folder / name

    def take_out(self, name: str) -> Path:
        """Move this file, which the function wrote, from the folder to the desk, and return where it is.

        Raises CorruptInput if there is none, or something that only looks like a file.
        """
        taken = self.desk / _plain(name)
        try:
            os.rename(name, taken, src_dir_fd=self._require_folder())
            is_file = stat.S_ISREG(taken.lstat().st_mode)
        except OSError as error:
            raise CorruptInput(f"no file {name} came out of the child: {error}", error_code="FILE_MISSING") from error
        if not is_file:
            raise CorruptInput(f"what the child left as {name} is not a plain file", error_code="NOT_A_FILE")
        return taken

    def begin_lease(self) -> None:
        """Make the folder."""
        self.leases += 1
        self.folder = self._scratch.cell / f"lease-{self.leases}"
        self.folder.mkdir(mode=0o700)
        self._folder_fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)

    async def end_lease(self) -> None:
        """Remove the folder and whatever else was left beside it. OSError: the child is not fit for another."""
        self._let_go_of_folder()
        await asyncio.to_thread(self._scratch.clear)

    @property
    def is_warm(self) -> bool:
        """Whether its process lives and may be asked again."""
        process = self._process
        return process is not None and not process.exited.is_set() and not self._is_busy and not self._is_over

    @property
    def granted(self) -> tuple[str, ...] | None:
        """What the system granted to its process, once that has said so."""
        return self._process.granted if self._process else None

    async def end_process(self) -> None:
        """Kill the process, if there is one, and all that it started."""
        process, self._process = self._process, None
        if process is not None:
            await process.close()

    async def stop(self) -> None:
        """End the process for good, also in the middle of a call."""
        self._is_over = True
        await self.end_process()

    async def close(self) -> None:
        """End the process for good and remove its files, even if cancelled. Safe to repeat."""
        self._is_over = True
        await self._belongings.aclose()

    async def _answer(self, call: Call) -> Answer:
        process = await self._find_process()
        is_used = process.calls > 0
        try:
            answer = await call.run(process)
            if not is_used or not isinstance(answer.error, ResourceExhausted):
                return answer
        except PhaseError as error:
            if not is_used or self._is_over or error.error_code not in _DOUBTFUL_ENDS:
                raise
        await self.end_process()
        return await call.run(await self._find_process())

    async def _find_process(self) -> IsolatedProcess:
        if self._process is None:
            self._process = await isolated_process.start(self._scratch.cell, self._cell)
        if self._is_over:
            raise UsageError("the children were closed: open them for as long as they work")
        return self._process

    def _require_folder(self) -> int:
        if self._folder_fd is None:
            raise UsageError("the lease of this child has ended: move files while it lasts")
        return self._folder_fd

    def _let_go_of_folder(self) -> None:
        descriptor, self._folder_fd = self._folder_fd, None
        if descriptor is not None:
            os.close(descriptor)


def _plain(name: str) -> str:
    """Return the name if it can only mean something in its folder: it may come out of the child."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise CorruptInput(f"{name!r} is not the name of a file in the folder of a child", error_code="UNSAFE_NAME")
    return name
