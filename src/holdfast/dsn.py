"""Reads a connection string as PostgreSQL's own library and the providers write it: strictly, and into one value.

What other clients put into it is honoured, translated or dropped; anything else is refused by its name. No error shows
a part that may be a password, also where the string cannot be read.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from holdfast.errors import InvalidInput

FORM = "postgresql://user@host:5432/database"
DEFAULT_PORT = 5432

TLS_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
# These connect without it where the server has none.
WITHOUT_ENCRYPTION = ("disable", "allow", "prefer")
VERIFIED_BY_SYSTEM = "system"
SESSION_ATTRIBUTES = ("any", "primary", "standby", "prefer-standby", "read-write", "read-only")
TLS_VERSIONS = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")

# Of other clients and their pools, or of sockets that the driver opens itself: nothing here depends on them.
DROPPED = frozenset(
    {
        "connection_limit",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "pgbouncer",
        "pool",
        "pool_max_conns",
        "pool_timeout",
        "prepared_statement_cache_size",
        "prepared_statements",
        "schema",
        "socket_timeout",
        "sslcompression",
        "statement_cache_size",
        "supa",
        "tcp_user_timeout",
        "uselibpqcompat",
        "workaround",
    }
)
# These ask for what happens anyway; another value asks for what the driver cannot do.
ONLY: Mapping[str, tuple[str, ...]] = {
    "client_encoding": ("utf8", "utf-8", "unicode", "auto"),
    "gssencmode": ("disable", "prefer"),
    "load_balance_hosts": ("disable",),
    "replication": ("false", "off", "no", "0"),
    "sslcertmode": ("allow",),
    "sslsni": ("1",),
}
INSTEAD: Mapping[str, str] = {
    "hostaddr": "name the address as the host",
    "require_auth": "remove it, and use sslmode=verify-full to know whom you talk to",
    "requirepeer": "remove it",
    "requiressl": "write sslmode=require",
    "service": "write what the service file says into the URL",
    "servicefile": "write what the service file says into the URL",
    "sslaccept": "write sslmode=verify-full to verify, sslmode=require not to",
    "sslcrldir": "name one file with sslcrl",
    "sslidentity": "name sslcert and sslkey",
}
HONOURED = frozenset(
    {
        *("application_name", "channel_binding", "connect_timeout", "database", "dbname", "fallback_application_name"),
        *("gsslib", "host", "krbsrvname", "options", "passfile", "password", "port", "ssl", "ssl_max_protocol_version"),
        *("ssl_min_protocol_version", "sslcert", "sslcrl", "sslkey", "sslmode", "sslnegotiation", "sslpassword"),
        *("sslrootcert", "target_session_attrs", "user"),
    }
)
SECRET = ("password", "sslpassword")

_SCHEME = re.compile(r"(postgres(?:ql)?(?:\+\w+)?|jdbc:postgresql)://")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,62}")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PORT = re.compile(r"[0-9]{1,5}")
_WITH_PORT = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tls:
    """How a connection is encrypted. Without a mode the environment decides, then the driver: `prefer`."""

    mode: str | None = None
    root: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = field(default=None, repr=False)
    revoked: str | None = None
    min_version: str | None = None
    max_version: str | None = None
    negotiation: str | None = None


@dataclass(frozen=True, slots=True)
class Dsn:
    """Where a database is and how to enter it. What is None is left to the environment (PGHOST, PGUSER, …)."""

    hosts: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    database: str | None = None
    application_name: str = "holdfast"
    options: str | None = None
    connect_seconds: float | None = None
    session_attributes: str | None = None
    passfile: str | None = None
    kerberos_service: str | None = None
    gss_library: str | None = None
    tls: Tls = Tls()


def parse_dsn(url: str, *, setting: str = "HOLDFAST_DATABASE_URL") -> Dsn:
    """Read it, or raise InvalidInput that names the setting, what is wrong, and nothing secret."""
    try:
        return _parse(url.strip())
    except _Wrong as wrong:
        raise InvalidInput(f"{setting} is invalid: {wrong}") from None


class _Wrong(Exception):
    """What to correct, in words that quote no part which may be secret."""


def _parse(url: str) -> Dsn:
    authority, path, query = _split(_without_scheme(url))
    given = _parameters(query)
    credentials, _, host_list = authority.rpartition("@")
    user, _, password = credentials.partition(":")
    hosts, ports = _addresses(host_list, given)
    return Dsn(
        hosts=hosts,
        ports=ports,
        user=given.get("user") or _decoded(user, "the user") or None,
        password=given.get("password") or _decoded(password, "the password") or None,
        database=given.get("dbname") or given.get("database") or _decoded(path, "the database's name") or None,
        application_name=given.get("application_name") or given.get("fallback_application_name") or "holdfast",
        options=given.get("options") or None,
        connect_seconds=_seconds(given.get("connect_timeout")),
        session_attributes=_one_of(given, "target_session_attrs", SESSION_ATTRIBUTES),
        passfile=given.get("passfile") or None,
        kerberos_service=given.get("krbsrvname") or None,
        gss_library=_one_of(given, "gsslib", ("gssapi", "sspi")),
        tls=_tls(given),
    )


def _without_scheme(url: str) -> str:
    if url[:1] in ("'", '"'):
        raise _Wrong(f"remove the quotes around it; write it as {FORM}")
    scheme = _SCHEME.match(url)
    if scheme is None:
        raise _Wrong(f"write it as {FORM}")
    if scheme[1] not in ("postgresql", "postgres"):
        raise _Wrong(f"{scheme[0]} is for other clients: begin it with postgresql://, as in {FORM}")
    return url[scheme.end() :]


def _split(rest: str) -> tuple[str, str, str]:
    """The authority, the path and the query. No @ may follow the authority: it would end a password cut in two."""
    end = next((position for position, letter in enumerate(rest) if letter in "/?"), len(rest))
    authority, tail = rest[:end], rest[end:]
    if "@" in tail or "#" in tail:
        raise _Wrong(
            "in a user or password / ? @ # have to be percent-encoded: write / as %2F, ? as %3F, @ as %40, # as %23"
        )
    path, _, query = tail.partition("?")
    return authority, path.removeprefix("/"), query


def _parameters(query: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in query.split("&") if part]
    names = [name for name, _, _ in pairs]
    for name, equals, value in pairs:
        # A password that was cut at its & must not be shown as the name of a parameter.
        shown = f'the parameter "{name}"' if _NAME.fullmatch(name) and not set(SECRET) & set(names) else "a parameter"
        if name in INSTEAD:
            raise _Wrong(f'the parameter "{name}" is not supported: {INSTEAD[name]}')
        if name in ONLY and _decoded(value, shown).lower() not in ONLY[name]:
            raise _Wrong(f'the parameter "{name}" can only be {" or ".join(ONLY[name])}: change or remove it')
        if name not in HONOURED | DROPPED | ONLY.keys():
            raise _Wrong(
                f"{shown} is not known: remove it, or write a setting of the server as options=-c%20name%3Dvalue"
            )
        if not equals:
            raise _Wrong(f'the parameter "{name}" has no value: write {name}=… or remove it')
        if names.count(name) > 1:
            raise _Wrong(f'the parameter "{name}" is given twice: keep one')
    return {name: _decoded(value, f'the parameter "{name}"') for name, _, value in pairs}


def _addresses(host_list: str, given: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Hosts and their ports. A parameter wins over the authority, as in libpq: sockets are named that way."""
    hosts: list[str] = []
    ports: list[int | None] = []
    for address in host_list.split(",") if host_list else ():
        parts = _WITH_PORT.fullmatch(address)
        if parts is None:
            raise _Wrong("an IPv6 address stands in brackets, and a password with [ or ] before an @: write host:port")
        hosts.append(_decoded(parts["host"].strip("[]"), "the host"))
        ports.append(_port(parts["port"]))
    if given.get("host"):
        hosts = given["host"].split(",")
    if given.get("port"):
        ports = [_port(port) for port in given["port"].split(",")]
    if hosts and len(ports) <= 1:
        ports = (ports or [None]) * len(hosts)
    if len(hosts) > 1 and "" in hosts:
        raise _Wrong("one of the hosts has no name: write host1:5432,host2:5432")
    if any(letter.isspace() for host in hosts for letter in host if not host.startswith("/")):
        raise _Wrong(f"a host holds a blank; write it as {FORM}")
    if hosts and len(hosts) != len(ports):
        raise _Wrong("there are not as many ports as hosts: write host1:5432,host2:5432")
    named = any(ports)
    return tuple(host for host in hosts if host), tuple(port or DEFAULT_PORT for port in ports) if named else ()


def _port(text: str | None) -> int | None:
    if not text:
        return None
    if not (_PORT.fullmatch(text) and 1 <= int(text) <= 65535):
        raise _Wrong(f"a port is a number from 1 to 65535; write it as {FORM}")
    return int(text)


def _decoded(text: str, what: str) -> str:
    try:
        if _BAD_ESCAPE.search(text):
            raise ValueError
        decoded = unquote(text, errors="strict")
    except ValueError:
        raise _Wrong(f"{what} holds a % that begins no percent-encoded letter: write % as %25") from None
    if "\0" in decoded:
        raise _Wrong(f"{what} holds a NUL, which no server takes: remove it")
    return decoded


def _seconds(text: str | None) -> float | None:
    """How long connecting may take; 0, without limit for libpq, leaves it to our own."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise _Wrong('the parameter "connect_timeout" is a number of seconds: correct it')
    return float(text) or None


def _one_of(given: Mapping[str, str], name: str, choice: tuple[str, ...]) -> str | None:
    value = given.get(name)
    if not value:
        return None
    if value not in choice:
        raise _Wrong(f'the parameter "{name}" is one of {", ".join(choice)}: correct it')
    return value


def _tls(given: Mapping[str, str]) -> Tls:
    tls = Tls(
        mode=_tls_mode(given),
        root=given.get("sslrootcert") or None,
        certificate=given.get("sslcert") or None,
        key=given.get("sslkey") or None,
        key_password=given.get("sslpassword") or None,
        revoked=given.get("sslcrl") or None,
        min_version=_one_of(given, "ssl_min_protocol_version", TLS_VERSIONS),
        max_version=_one_of(given, "ssl_max_protocol_version", TLS_VERSIONS),
        negotiation=_one_of(given, "sslnegotiation", ("postgres", "direct")),
    )
    if tls.root == VERIFIED_BY_SYSTEM and tls.mode not in (None, "verify-full"):
        raise _Wrong(f"sslrootcert=system verifies fully, sslmode={tls.mode} does not: write sslmode=verify-full")
    return tls


def _tls_mode(given: Mapping[str, str]) -> str | None:
    mode = given.get("sslmode") or None
    if mode == "no-verify":  # node-postgres and Heroku call it so
        mode = "require"
    if mode is None and given.get("ssl"):
        mode = {"true": "require", "1": "require", "false": "disable", "0": "disable"}.get(given["ssl"], given["ssl"])
    if mode is not None and mode not in TLS_MODES:
        raise _Wrong(f"sslmode is one of {', '.join(TLS_MODES)}: correct it")
    # The driver cannot bind the password to the channel; what it can do is insist on an encrypted one.
    if _one_of(given, "channel_binding", ("disable", "prefer", "require")) == "require":
        if mode == "disable":
            raise _Wrong("channel_binding=require needs encryption, sslmode=disable forbids it: remove one")
        if mode in WITHOUT_ENCRYPTION or (mode is None and not _encrypted_anyway(given)):
            mode = "require"
    return mode


def _encrypted_anyway(given: Mapping[str, str]) -> bool:
    """Whether a URL without a mode insists on encryption, or the environment does: perhaps on more than that."""
    environment = os.environ.get("PGSSLMODE") or "prefer"
    return given.get("sslrootcert") == VERIFIED_BY_SYSTEM or environment not in WITHOUT_ENCRYPTION
