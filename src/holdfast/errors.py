"""Everything that can go wrong, as one tree, and the categories that decide what happens next.

HoldfastError
├── UsageError                    the call was wrong: change it, repeating it will not help
│   ├── NotFound                  what it names does not exist
│   ├── Conflict                  it contradicts what is stored
│   └── InvalidInput              a value is malformed or out of range
├── DatabaseUnavailable           down, restarting, cut off: try again
│   ├── StatementTimedOut         it answers others: the statement took too long
│   └── NoConnection              there is none to be had: nothing was sent, so nothing has happened
│       └── ConnectionsUsedUp     the server or its pooler allows no more of them
├── DatabaseUnusable              wrong version, missing rights, not migrated: someone must act
└── PhaseError                    a phase failed; carries its category (here: unknown)
    ├── RateLimited               rate_limit
    ├── BudgetExceeded            budget_exceeded
    ├── NetworkTimeout            network_timeout
    ├── AnswerNotJson             json_parse
    ├── ContentPolicyViolation    content_policy
    ├── TokenLimitExceeded        token_limit
    ├── CorruptInput              corrupt_input
    ├── EncryptedInput            encrypted
    ├── UnsupportedFormat         unsupported_format
    ├── TooLarge                  too_large
    ├── UnsafeArchive             unsafe_archive
    ├── EmptyText                 empty_text
    ├── SourceGone                source_gone
    ├── StorageUnavailable        storage_unavailable
    ├── TimedOut                  timeout
    ├── ResourceExhausted         resource_exhausted
    └── AuthenticationFailed      auth
"""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar

OPERATOR_MENDS: Mapping[str, object] = {"operator_mends": True}
"""Among the details of an error that looks like the file's fault, and goes away with a setting or an extra."""


class Category(StrEnum):
    """The kind of a failure. How patient to be with each is a policy row, never a rule in code."""

    RATE_LIMIT = "rate_limit"
    BUDGET_EXCEEDED = "budget_exceeded"
    NETWORK_TIMEOUT = "network_timeout"
    JSON_PARSE = "json_parse"
    CONTENT_POLICY = "content_policy"
    TOKEN_LIMIT = "token_limit"
    UNKNOWN = "unknown"
    CORRUPT_INPUT = "corrupt_input"
    ENCRYPTED = "encrypted"
    UNSUPPORTED_FORMAT = "unsupported_format"
    TOO_LARGE = "too_large"
    UNSAFE_ARCHIVE = "unsafe_archive"
    EMPTY_TEXT = "empty_text"
    SOURCE_GONE = "source_gone"
    STORAGE_UNAVAILABLE = "storage_unavailable"
    TIMEOUT = "timeout"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    WORKER_LOST = "worker_lost"
    AUTH = "auth"


class HoldfastError(Exception):
    """Whatever Holdfast raises on purpose."""


class UsageError(HoldfastError):
    """The call was wrong. The command line ends with exit code 2."""


class NotFound(UsageError):
    """What the call names does not exist, or not for this organisation."""


class Conflict(UsageError):
    """The call contradicts what is stored, such as an illegal move or a key used for another body."""


class InvalidInput(UsageError):
    """A value is malformed, out of range or cannot be stored."""


class DatabaseUnavailable(HoldfastError):
    """The database cannot answer now; the same call may succeed later."""


class NoConnection(DatabaseUnavailable):
    """No connection could be opened or borrowed: the call was not sent, and repeating it repeats nothing."""


class StatementTimedOut(DatabaseUnavailable):
    """A statement took longer than it may, while the database answered others."""


class ConnectionsUsedUp(NoConnection):
    """The server, the database, the login or the pooler allows no more connections: wait until one is given up."""


class DatabaseUnusable(HoldfastError):
    """The database answers but cannot be worked with until someone acts."""


class PhaseError(HoldfastError):
    """A phase failed. Handlers raise a subclass to say why; bare, its category is unknown.

    `cost_usd` is money spent although the phase failed; `retry_after_seconds` what the other side asked for.
    """

    category: ClassVar[Category] = Category.UNKNOWN

    def __init__(
        self,
        message: str,
        *,
        error_code: str | None = None,
        details: Mapping[str, object] | None = None,
        retry_after_seconds: float | None = None,
        cost_usd: Decimal = Decimal(0),
    ) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.details: Mapping[str, object] = {} if details is None else details
        self.retry_after_seconds = retry_after_seconds
        self.cost_usd = cost_usd


class RateLimited(PhaseError):
    """The provider asks for fewer calls."""

    category = Category.RATE_LIMIT


class BudgetExceeded(PhaseError):
    """The provider's budget or our own is spent."""

    category = Category.BUDGET_EXCEEDED


class NetworkTimeout(PhaseError):
    """The other side was unreachable, broke off, or failed on its own account."""

    category = Category.NETWORK_TIMEOUT


class AnswerNotJson(PhaseError):
    """A model's answer is not the JSON that was asked for."""

    category = Category.JSON_PARSE


class ContentPolicyViolation(PhaseError):
    """The provider refuses this content."""

    category = Category.CONTENT_POLICY


class TokenLimitExceeded(PhaseError):
    """The document is longer than the model reads."""

    category = Category.TOKEN_LIMIT


class CorruptInput(PhaseError):
    """The document is damaged, or breaks whatever opens it."""

    category = Category.CORRUPT_INPUT


class EncryptedInput(PhaseError):
    """The document needs a password."""

    category = Category.ENCRYPTED


class UnsupportedFormat(PhaseError):
    """No reader exists for this kind of document."""

    category = Category.UNSUPPORTED_FORMAT


class TooLarge(PhaseError):
    """The document, or what it unfolds to, passes a limit."""

    category = Category.TOO_LARGE


class UnsafeArchive(PhaseError):
    """An archive reaches outside itself, or a file of any kind unfolds without end."""

    category = Category.UNSAFE_ARCHIVE


class EmptyText(PhaseError):
    """The document holds no text."""

    category = Category.EMPTY_TEXT


class SourceGone(PhaseError):
    """The document is no longer where it was."""

    category = Category.SOURCE_GONE


class StorageUnavailable(PhaseError):
    """The disk, the object store or the database cannot be written or read now."""

    category = Category.STORAGE_UNAVAILABLE


class TimedOut(PhaseError):
    """The phase passed its time limit."""

    category = Category.TIMEOUT


class ResourceExhausted(PhaseError):
    """The phase used up its memory, processor time, files or output."""

    category = Category.RESOURCE_EXHAUSTED


class AuthenticationFailed(PhaseError):
    """The source or provider does not accept our credentials."""

    category = Category.AUTH
