"""What a large configuration archive takes in memory: of the worker that stores it, and of the child that reads it."""

import asyncio
import tempfile
import zipfile
from pathlib import Path

import psutil

from bench.carrier import carrier
from bench.figure import Figure
from bench.place import Place
from holdfast.pipelines import CONFIGS

SETTINGS_OF_A_FILE = 100
MOST_MEGABYTES = 300.0
LOOK_SECONDS = 0.05


async def measure(place: Place) -> list[Figure]:
    """The most that either had in memory at once, from the claim of the archive to its last setting."""
    files = place.scale.configuration_files
    peaks = _Peaks()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-files-") as folder:
        _write_archive(Path(folder) / "apps.zip", files)
        async with carrier(place, "configurations") as archives:
            await archives.take_in(Path(folder), CONFIGS)
            await archives.work(beside=peaks.watch)
            if (await archives.spent())["parse"].completed != 1:
                raise RuntimeError("the archive was not parsed: the figures would say nothing")
    what = f"{files:,} .conf files, {files * SETTINGS_OF_A_FILE:,} settings"
    return [_figure(f"memory of the worker, {what}", peaks.worker), _figure("memory of its child", peaks.child)]


def _figure(name: str, size: int) -> Figure:
    return Figure(name=name, measured=size / 1e6, against=MOST_MEGABYTES, unit="MB", baseline="goal", demand="at most")


def _write_archive(path: Path, files: int) -> None:
    lines = "".join(f"key_{number} = a value of some length, as they are\n" for number in range(SETTINGS_OF_A_FILE))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(files):
            archive.writestr(f"apps/{number}/default/app.conf", f"[app {number}]\n{lines}")


class _Peaks:
    """The most bytes that a worker, and the largest of the processes it started, had in memory."""

    def __init__(self) -> None:
        self.worker = 0
        self.child = 0

    async def watch(self, pid: int) -> None:
        """Look again and again, until cancelled."""
        worker = psutil.Process(pid)
        while True:
            self.worker = max(self.worker, _size(worker))
            children = worker.children(recursive=True) if worker.is_running() else []
            self.child = max([self.child, *(_size(child) for child in children)])
            await asyncio.sleep(LOOK_SECONDS)


def _size(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:  # it has ended meanwhile
        return 0
