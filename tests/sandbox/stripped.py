"""A system without what only Linux has: an interpreter that lacks the calls, no /proc, and an account without rights.

The interpreter is a virtual environment beside ours, with our packages and a start-up file. Whatever it starts uses the
same interpreter, also a child with a bare environment. /proc is hidden in a mount namespace, for which one is root.
"""

import os
import shlex
import shutil
import subprocess
import sysconfig
import venv
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# What is taken away: see stripped_startup.py.
Kind = Literal["absent", "enosys", "container"]

STARTUP = Path(__file__).with_name("stripped_startup.py")
ENTRY = "import sys; from holdfast.cli.main import main; sys.argv[0] = 'holdfast'; main()"
MOUNTING = ("unshare", "--mount", "--propagation", "private")
# An account without root's rights that reads what root reads, because our interpreter may belong to root.
NOBODY = 65534
AS_NOBODY = (
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    *(
        "--bounding-set=-all,+dac_read_search",
        "--inh-caps=-all,+dac_read_search",
        "--ambient-caps=-all,+dac_read_search",
    ),
)


@dataclass(frozen=True, slots=True)
class StrippedSystem:
    """Runs programs as if this were another system. `hides_proc` is False where that was not to be had."""

    python: Path
    processes: Path
    hides_proc: bool

    @classmethod
    def create(cls, folder: Path, kind: Kind) -> "StrippedSystem":
        """Make one in this folder. Warns if /proc should be hidden and cannot be."""
        processes = folder / "processes"
        processes.mkdir(parents=True)
        hides = kind != "container" and may_mount()
        if kind != "container" and not hides:
            warnings.warn("NOT SHOWN: life without /proc, because only root may hide it; run as root", stacklevel=2)
        venv.create(folder / "system", symlinks=True)
        python = folder / "system" / "bin" / "python"
        packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "system")}))
        text = STARTUP.read_text().replace('KIND = "absent"', f'KIND = "{kind}"')
        if hides:
            text = text.replace('PROCESSES_FOLDER = "/proc"', f"PROCESSES_FOLDER = {str(processes)!r}")
        (packages / STARTUP.name).write_text(text)
        (packages / "a.pth").write_text(f"import {STARTUP.stem}\n")
        (packages / "b.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        holdfast = python.with_name("holdfast")
        holdfast.write_text(f"#!{python}\n{ENTRY}\n")
        holdfast.chmod(0o755)
        return cls(python, processes, hides)

    @property
    def holdfast(self) -> Path:
        """The command line."""
        return self.python.with_name("holdfast")

    def command(self, *arguments: str | Path, as_nobody: bool = False) -> list[str]:
        """What to start, given what would be typed there. What it starts has the id of what is typed."""
        command = [str(argument) for argument in arguments]
        if as_nobody and os.geteuid() == 0:
            command = [*AS_NOBODY, *command]
        if not self.hides_proc:
            return command
        place = shlex.quote(str(self.processes))
        hide = f'mount --bind /proc {place} && mount -t tmpfs none /proc && exec "$@"'
        return [*MOUNTING, "sh", "-c", hide, "sh", *command]


def may_mount() -> bool:
    """Whether a mount namespace is to be had."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    probe = [*MOUNTING, "mount", "-t", "tmpfs", "none", "/proc"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0
