"""Which system account the embedded server runs as: PostgreSQL refuses to run as root."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import DatabaseUnusable

# Tried in this order when the caller is root and no data exists yet.
UNPRIVILEGED = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """An unprivileged account that root hands the server to."""

    uid: int
    gid: int


def server_account(data: Path) -> Account | None:
    """Whom to run the server as, or None for the caller itself. Data already there keeps its owner."""
    if os.geteuid() != 0:
        return None
    if data.exists():
        owner = data.stat()
        return Account(owner.st_uid, owner.st_gid)
    for name in UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise DatabaseUnusable(
        f"PostgreSQL refuses to run as root and no account is named {' or '.join(UNPRIVILEGED)}: "
        "run Holdfast as another user, or set HOLDFAST_DATABASE_URL"
    )


def hand_over(directory: Path, account: Account | None) -> None:
    """Make a directory private to the account the server runs as, and reachable by it."""
    directory.chmod(0o700)
    if account is not None:
        os.chown(directory, account.uid, account.gid)
        open_way_to(directory)


def open_way_to(path: Path) -> None:
    """Let other accounts pass through the directories above; they still cannot list or read them."""
    for directory in path.resolve().parents:
        mode = directory.stat().st_mode
        if not mode & stat.S_IXOTH:
            directory.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)
