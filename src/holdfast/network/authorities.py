"""Whose certificates are believed."""

import ssl
from functools import cache


@cache
def authorities() -> ssl.SSLContext:
    """For all calls of a process. Reading them takes longer than many a command: once, and not before a call."""
    import httpx2

    return httpx2.create_ssl_context()


def distrust_in(error: BaseException | None) -> str | None:
    """Why a certificate was not believed, if that is what lies behind an error."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None
