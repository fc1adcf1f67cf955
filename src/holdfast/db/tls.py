"""Says to the driver how a connection is encrypted: all that it reads itself, and the one thing that it misreads."""

import os
import ssl
from typing import Any
from urllib.parse import urlencode

from holdfast.dsn import VERIFIED_BY_SYSTEM, Tls
from holdfast.errors import DatabaseUnusable


def tls_arguments(tls: Tls) -> dict[str, Any]:
    """What `asyncpg.connect` is called with. Reads certificates, so renewed ones are used by the next connection."""
    _check_files(tls)
    root = tls.root or os.environ.get("PGSSLROOTCERT")
    if root == VERIFIED_BY_SYSTEM and tls.mode != "disable":
        return {"ssl": _trusting_the_system(tls), "direct_tls": tls.negotiation == "direct"}
    given = {
        "sslmode": tls.mode,
        "sslrootcert": tls.root,
        "sslcert": tls.certificate,
        "sslkey": tls.key,
        "sslpassword": tls.key_password,
        "sslcrl": tls.revoked,
        "ssl_min_protocol_version": tls.min_version,
        "ssl_max_protocol_version": tls.max_version,
        "sslnegotiation": tls.negotiation,
    }
    return {"dsn": f"postgresql://?{urlencode({name: value for name, value in given.items() if value})}"}


def _check_files(tls: Tls) -> None:
    files = {"sslrootcert": tls.root, "sslcert": tls.certificate, "sslkey": tls.key, "sslcrl": tls.revoked}
    for name, path in files.items():
        if path and path != VERIFIED_BY_SYSTEM and not os.access(path, os.R_OK):
            raise DatabaseUnusable(f"{name} names {path}, which cannot be read: correct the path or its rights")


def _trusting_the_system(tls: Tls) -> ssl.SSLContext:
    """Verifies certificate and name by whom this system trusts: the driver would read a file `system`."""
    context = ssl.create_default_context()
    # Set by default since Python 3.13; PostgreSQL's own clients accept authorities that older tools have made.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.minimum_version = _version(tls.min_version) or ssl.TLSVersion.TLSv1_2
    context.maximum_version = _version(tls.max_version) or ssl.TLSVersion.MAXIMUM_SUPPORTED
    context.set_alpn_protocols(["postgresql"])
    if tls.revoked:
        context.load_verify_locations(cafile=tls.revoked)
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN
    if tls.certificate:
        context.load_cert_chain(tls.certificate, tls.key, lambda: tls.key_password or "")
    return context


def _version(name: str | None) -> ssl.TLSVersion | None:
    return ssl.TLSVersion[name.replace(".", "_")] if name else None
