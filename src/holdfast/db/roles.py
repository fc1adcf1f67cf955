"""The roles that own, work, serve and read: named once, created where they are missing."""

import re
from collections.abc import Sequence
from pathlib import Path

from holdfast.db.connection import Connection
from holdfast.errors import InvalidInput

# Supplements of other rooms grant rights to these; nobody logs in as one of them.
ROLES = ("holdfast_owner", "holdfast_worker", "holdfast_api", "holdfast_readonly", "holdfast_tenant")

MOST_NAME_BYTES = 63

_FOLDER = Path(__file__).parent


async def ensure_roles(connection: Connection) -> None:
    """Create the roles that are missing, and let this login act as their owner. Idempotent."""
    await connection.execute(_render("current_user"))


def preparation(logins: Sequence[str]) -> str:
    """The script with which a superuser prepares a database for these logins, who need no right to create roles.

    Raises InvalidInput for a name that no role has, or that would not stay on its line.
    """
    for login in logins:
        _check_name(login)
    roles = _render(", ".join(map(_literal, logins)))
    return _filled("prepare.sql", names=", ".join(logins), roles=roles)


def quoted(name: str) -> str:
    """A name as SQL takes any."""
    return '"' + name.replace('"', '""') + '"'


def _check_name(login: str) -> None:
    # A superuser runs what is printed: every letter of it has to be seen, and to stay in its comment.
    if not login.isprintable():
        raise InvalidInput(f"--login {login!a} holds a character that cannot be printed: name a role without")
    if not 0 < len(login.encode()) <= MOST_NAME_BYTES:
        raise InvalidInput(f'--login "{login}" is no name of a role: one has 1 to {MOST_NAME_BYTES} bytes')


def _render(logins: str) -> str:
    return _filled("roles.sql", logins=logins, roles=", ".join(map(_literal, ROLES)))


def _filled(file: str, **parts: str) -> str:
    """A template with all its parts at once: a name may look like one of them."""
    template = (_FOLDER / file).read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], template)


def _literal(text: str) -> str:
    """A constant that no dollar quote around it is ended by, and that every server reads alike."""
    opening = "E'" if "\\" in text else "'"
    return opening + text.replace("\\", "\\\\").replace("'", "''").replace("$", f"$'||{opening}") + "'"
