"""What processes take of memory, as the kernel counts it."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

MEGABYTE = 1 << 20


def resident_mb(pid: int) -> float:
    """What a process has in memory now."""
    return psutil.Process(pid).memory_info().rss / MEGABYTE


class Watch:
    """Looks at a process and its children for as long as the block lasts, and keeps the most that it saw."""

    def __init__(self, pid: int) -> None:
        self.peak_mb = 0.0
        self.children_mb = 0.0
        self._pid = pid
        self._looking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._looking is not None
        self._look_once()
        self._looking.cancel()
        await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self) -> None:
        while True:
            self._look_once()
            await asyncio.sleep(0.05)

    def _look_once(self) -> None:
        with suppress(psutil.Error, OSError):
            self.peak_mb = max(self.peak_mb, _high_water_mb(self._pid))
            for child in psutil.Process(self._pid).children(recursive=True):
                self.children_mb = max(self.children_mb, _high_water_mb(child.pid))


def _high_water_mb(pid: int) -> float:
    """The most it ever had: between two looks nothing escapes. Where the system does not say, what it has now."""
    if not Path("/proc/self/status").exists():
        return float(psutil.Process(pid).memory_info().rss) / (1 << 20)
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(kilobytes) / 1024
