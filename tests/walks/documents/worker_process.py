"""`holdfast worker` in a process of its own, to be killed."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class WorkerProcess:
    """The real command with these settings. Killed at the end at the latest."""

    def __init__(self, settings: Mapping[str, Any], log: Path) -> None:
        self._settings = settings
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self, *arguments: str) -> None:
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "holdfast.cli", "worker", *arguments),
                env={
                    **os.environ,
                    **{f"HOLDFAST_{name.upper()}": str(value) for name, value in self._settings.items()},
                },
                stdout=log,
                stderr=log,
            )

    async def kill(self) -> None:
        """SIGKILL; comes back when it is dead."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def ended(self) -> int:
        """Wait for its end: the exit code."""
        assert self._process is not None
        return await self._process.wait()
