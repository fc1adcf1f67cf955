"""The PostgreSQL that Holdfast starts for itself: several processes share it, the last one out stops it.

Two files next to its data are the protocol; the kernel unlocks both when a process dies, however it dies.
`control` is locked by whoever is deciding to start or stop; `in-use` is locked, shared, by everyone who uses
the server, so that whoever can lock it alone is the last one out.
"""

import asyncio
import fcntl
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from holdfast.db.cluster import LOG_NAME, Cluster, StopMode
from holdfast.errors import DatabaseUnavailable, DatabaseUnusable

DECISION_SECONDS = 150.0
RECOVERY_SECONDS = 60.0
PAUSE_SECONDS = 0.02


class EmbeddedServer:
    """One user's share in the server of a home folder. Every method blocks; none may run on an event loop."""

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        self._root = home / "postgres"
        self._cluster = Cluster(self._root, durable=durable)
        self.dsn = ""  # known once joined
        self._share: int | None = None
        self._mine = threading.Lock()  # joining and leaving may overlap when a caller is cancelled

    @property
    def pid(self) -> int | None:
        """The server's process id, or None when it does not run."""
        return self._cluster.pid

    def join(self) -> None:
        """Start the server or join the running one; from here until `leave` no other user stops it."""
        with self._mine, self._deciding():
            self._run()
            self._share = os.open(self._root / "in-use", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._share, fcntl.LOCK_SH)

    def leave(self) -> None:
        """Give up the share and stop the server when nobody else has one. Idempotent."""
        with self._mine:
            if self._share is None:
                return
            share, self._share = self._share, None
            try:
                with self._deciding():
                    if _upgraded(share):
                        self._cluster.stop()
            finally:
                os.close(share)

    def ensure_running(self) -> None:
        """Bring back a server that died. Does nothing without a share: leaving must not race a revival."""
        with self._mine:
            if self._share is None:
                return
            with self._deciding():
                self._run()

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop and start it under everybody's feet; `immediate` is a crash with recovery."""
        with self._deciding():
            self._cluster.stop(mode)
            self._run()

    @contextmanager
    def _deciding(self) -> Iterator[None]:
        self._make_root()
        control = os.open(self._root / "control", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock_within(control, DECISION_SECONDS, self._root)
            yield
        finally:
            os.close(control)

    def _make_root(self) -> None:
        try:
            self._root.mkdir(mode=0o711, parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseUnusable(
                f"cannot write to {self._root} ({error.strerror}): set HOLDFAST_HOME or HOLDFAST_DATABASE_URL"
            ) from error

    def _run(self) -> None:
        """Come back with a ready server. One that is starting, stopping or dying is waited for."""
        self._cluster.initialise()
        deadline = time.monotonic() + RECOVERY_SECONDS
        while not self._cluster.ready:
            complaint = None if self._cluster.pid else self._cluster.start()
            # Backends of a killed server hold its memory until they notice; only that is worth another try.
            if complaint and "shared memory" not in complaint:
                raise DatabaseUnusable(f"the embedded database does not start:\n{complaint}")
            if time.monotonic() > deadline:
                raise DatabaseUnavailable(
                    f"the embedded database is not ready after {RECOVERY_SECONDS:.0f} s: "
                    f"see {self._cluster.data / LOG_NAME}, end what is left of it and try again"
                )
            time.sleep(PAUSE_SECONDS)
        self.dsn = self._cluster.dsn


@asynccontextmanager
async def embedded(home: Path, *, durable: bool = True) -> AsyncIterator[str]:
    """Use the server of a home folder; yields its DSN. Not `durable`: a power cut may destroy the data."""
    async with joined(EmbeddedServer(home, durable=durable)) as server:
        yield server.dsn


@asynccontextmanager
async def joined(server: EmbeddedServer) -> AsyncIterator[EmbeddedServer]:
    """Hold a share in the server while the block runs, also when joining or leaving is cancelled."""
    try:
        await asyncio.to_thread(server.join)
        yield server
    finally:
        await asyncio.shield(asyncio.to_thread(server.leave))


def _upgraded(share: int) -> bool:
    try:
        fcntl.flock(share, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_within(control: int, seconds: float, root: Path) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(control, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise DatabaseUnavailable(
                    f"another process has been starting or stopping the embedded database in {root} "
                    f"for {seconds:.0f} s: end it and try again"
                ) from None
        time.sleep(PAUSE_SECONDS)
