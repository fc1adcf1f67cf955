"""Reads files with our readers in a bare process pool: `python -m bench.bare_reading FOLDER` prints the seconds.

A process of its own with few imports, because each process of the pool imports them again.
"""

import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from holdfast.extract.child import extract
from holdfast.sandbox.platform import usable_cores

CORES = usable_cores()


def main(folder: Path) -> float:
    """Seconds from starting the pool to its last answer."""
    from holdfast.intake.media_type import sniff_file

    typed = [(path, sniff_file(path, path.name)) for path in sorted(folder.iterdir())]
    began = time.perf_counter()
    with ProcessPoolExecutor(CORES, mp_context=multiprocessing.get_context("spawn")) as pool:
        for _ in pool.map(read_one, *zip(*typed, strict=True)):
            pass
        return time.perf_counter() - began


def read_one(path: Path, media_type: str) -> None:
    """Read a file as an isolated child would, and drop what was read."""
    folder = Path(tempfile.mkdtemp())
    os.link(path, folder / "input")
    payload = {
        "path": str(folder / "input"),
        "folder": str(folder),
        "name": path.name,
        "media_type": media_type,
        "charsets": [],
        "most_characters": 1 << 31,
        "languages": ["eng"],
        "most_scanned_pages": 500,
    }
    extract(payload, lambda _: None)
    shutil.rmtree(folder)


if __name__ == "__main__":
    print(main(Path(sys.argv[1])), flush=True)
    # Past the interpreter's farewell, in which the native library is known to crash after its work is done.
    os._exit(0)
