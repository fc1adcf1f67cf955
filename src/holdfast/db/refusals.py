"""Turns whatever goes wrong while a connection is opened into ours: try again, wait for a free one, or act.

Poolers do not speak with the server's codes: Supavisor says XX000 to everything, PgBouncer 08P01. Their words decide.
"""

import socket
import ssl
from collections.abc import Sequence

import asyncpg

from holdfast.errors import ConnectionsUsedUp, DatabaseUnusable, HoldfastError, NoConnection

URL = "HOLDFAST_DATABASE_URL"
# SQLSTATE classes that pass by themselves: connection, resources, operator, system, internal (all that Supavisor says).
PASSING_CLASSES = ("08", "40", "53", "55", "57", "58", "XX")
USED_UP_STATES = ("53300",)
USED_UP_WORDS = (
    "max clients",
    "maxclients",
    "max client connections",
    "max_client_conn",
    "too many clients",
    "too many connections",
    "remaining connection slots",
    "query_wait_timeout",
)
UNUSABLE_WORDS = (
    "tenant or user not found",
    "tenant/user",
    "no such user",
    "no such database",
    "unsupported startup parameter",
    "endpoint id is not specified",
    "password authentication failed",
    "authentication failed",
)

# The driver has no type for a server without TLS where the URL requires it.
NO_TLS = "rejected SSL upgrade"


def translate_connecting(error: Exception, setting: str = URL, hosts: Sequence[str] = ()) -> HoldfastError:
    """Our error for any that was raised while opening a connection: there every one is about the database.

    `setting` is the one that names the address, and `hosts` those that it names.
    """
    match error:
        case asyncpg.PostgresError():
            return _from_server(error, setting)
        case TimeoutError():
            return NoConnection("no connection to the database in time: check that it is up and has connections left")
        case ssl.SSLCertVerificationError():
            return DatabaseUnusable(
                f"the database's certificate is not trusted: {error.verify_message}; name its authority with "
                f"sslrootcert=… or correct the host in {setting}"
            )
        case ssl.SSLError() if error.library in ("X509", "PEM"):
            return DatabaseUnusable(
                f"a certificate or key for the database cannot be read: {error.reason}; correct {setting}"
            )
        case ConnectionError() if NO_TLS in str(error):
            return DatabaseUnusable(
                f"the database offers no encryption: {error}; enable TLS in the server, or change sslmode or the "
                f"address in {setting}"
            )
        case socket.gaierror():
            named = ", ".join(hosts)
            return NoConnection(f"cannot reach the database: host {named}: {error.strerror}; check {setting} and DNS")
        case OSError():
            return NoConnection(f"cannot reach the database: {error}; check that it runs and {setting}")
        case UnicodeError():
            return DatabaseUnusable(f"the database's host is no name that can be looked up: correct {setting}")
        case asyncpg.TargetServerAttributeNotMatched():
            return NoConnection(f"no server is as target_session_attrs demands: {_one_line(error)}; correct {setting}")
        case asyncpg.ClientConfigurationError():
            return DatabaseUnusable(f"the database cannot be entered so: {_one_line(error)}; correct {setting}")
        case _:
            # Garbage from something that is no PostgreSQL, or a proxy that broke off: the driver has no type for that.
            return NoConnection(
                f"what answers is no PostgreSQL, or broke off ({type(error).__name__}): check {setting}"
            )


def _from_server(error: asyncpg.PostgresError, setting: str) -> HoldfastError:
    state, text = error.sqlstate or "", _one_line(error)
    words = text.lower()
    if state in USED_UP_STATES or any(said in words for said in USED_UP_WORDS):
        return ConnectionsUsedUp(
            f"the database has no connection left: {text}; wait for one, lower HOLDFAST_POOL_SIZE or allow more"
        )
    if any(said in words for said in UNUSABLE_WORDS) or state.startswith("28"):
        return DatabaseUnusable(f"the database refuses the login: {text}; correct {setting}")
    if state == "3D000":
        return DatabaseUnusable(f"{text}; correct the database's name in {setting} or create it")
    if state == "42501":
        return DatabaseUnusable(f"{text}; grant it, or connect as a role that has it")
    if not state or state.startswith(PASSING_CLASSES):
        return NoConnection(f"the database cannot be entered now: {text}")
    return DatabaseUnusable(f"the database cannot be entered so: {text}; correct {setting}")


def _one_line(error: Exception) -> str:
    """What it says, without the details and hints that follow on lines of their own."""
    text = str(error).partition("\n")[0]
    if "root.crt" in text:
        text += " (sslrootcert=system trusts the authorities of this machine)"
    return text
