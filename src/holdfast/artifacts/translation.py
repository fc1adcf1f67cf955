"""Turns the storage's errors into ours, at the one edge where they appear."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from holdfast.errors import AuthenticationFailed, PhaseError, StorageUnavailable, TooLarge

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
STORAGE_FULL = "STORAGE_FULL"
# The library has no error of its own for it. Some services answer 413, others 400 with S3's name for it.
TOO_LARGE = ("status code: 413", "<Code>EntityTooLarge</Code>")
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def our_errors(place: str) -> Iterator[None]:
    """Raise ours for whatever the storage at `place` raises.

    All can be tried again, when someone has made room or fixed it, but for what is larger than the service takes.
    """
    try:
        yield
    except OSError as error:
        raise of_system(error, place) from error
    except BaseError as error:
        raise _of_service(error, place) from error


def of_system(error: OSError, place: str) -> StorageUnavailable:
    """Our error for a call that the operating system refused."""
    if error.errno in FULL:
        return StorageUnavailable(f"{place} is full: make room", error_code=STORAGE_FULL)
    if error.errno in FORBIDDEN:
        return StorageUnavailable(
            f"{place} cannot be written or read ({error.strerror}): give this process the right to",
            error_code="STORAGE_FORBIDDEN",
        )
    return StorageUnavailable(
        f"{place} fails ({error.strerror or _first_line(error)}): check that it exists and that its disk is well",
        error_code="STORAGE_FAILED",
    )


def _of_service(error: BaseError, place: str) -> PhaseError:
    said = _first_line(error)
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return AuthenticationFailed(
            f"{place} does not accept our credentials ({said}): check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
            "that they may read, write, list and delete there",
            error_code="STORAGE_REFUSED",
        )
    if any(sign in said for sign in TOO_LARGE):
        return TooLarge(
            f"{place} takes no object as large as this one ({said}): raise the limit of the bucket, or split the file",
            error_code="STORAGE_TOO_LARGE",
        )
    return StorageUnavailable(
        f"{place} does not answer as it should ({said}): check that it is up and reachable",
        error_code="STORAGE_FAILED",
    )


def _first_line(error: BaseException) -> str:
    # What follows is the library's own account for its developers.
    return str(error).partition("\n")[0].strip()
