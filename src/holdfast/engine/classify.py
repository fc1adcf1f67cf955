"""Turns whatever a phase raised into a Failure: its category, and an account fit to be stored and shown."""

import traceback as tracebacks
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation

from holdfast.engine import foreign
from holdfast.engine.redaction import clean_details, clean_tail, clean_text
from holdfast.errors import Category, InvalidInput, NoConnection, PhaseError

_TRACEBACK_LIMIT = 8_000
_CODE_LIMIT = 200
_CHAIN_LIMIT = 32
# More than any single attempt can cost; a larger figure is a provider's or a handler's mistake.
LARGEST_COST_USD = Decimal(1_000_000)

_KINDS: tuple[type[PhaseError], ...] = (PhaseError, *PhaseError.__subclasses__())
_ERRORS = {kind.category: kind for kind in _KINDS if kind.__module__ == PhaseError.__module__}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed. Every text is scrubbed of secrets, cut, and storable as jsonb.

    `is_final` says that trying again would fail again, whatever the policy says of its category.
    """

    category: Category
    error: str
    error_type: str
    error_code: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    retry_after_seconds: float | None = None
    cost_usd: Decimal = Decimal(0)
    cost_is_known: bool = True
    traceback: str = ""
    is_final: bool = False

    def to_json(self) -> dict[str, object]:
        """Return a plain JSON object from which `from_json` makes an equal Failure."""
        return {
            "category": str(self.category),
            "error": self.error,
            "error_type": self.error_type,
            "error_code": self.error_code,
            "details": dict(self.details),
            "retry_after_seconds": self.retry_after_seconds,
            "cost_usd": str(self.cost_usd),
            "traceback": self.traceback,
        }

    @classmethod
    def from_json(cls, account: object) -> "Failure":
        """Read an account that may come from a compromised process: cleaned again, or InvalidInput."""
        if not isinstance(account, Mapping) or account.get("category") not in list(Category):
            raise InvalidInput("not the account of a failure: it names no known category")
        return cls(
            category=Category(account["category"]),
            error=clean_text(str(account.get("error"))),
            error_type=clean_text(str(account.get("error_type")), limit=_CODE_LIMIT),
            error_code=_clean_code(account.get("error_code")),
            details=_clean_details(account.get("details")),
            retry_after_seconds=foreign.bounded_seconds(account.get("retry_after_seconds")),
            cost_usd=_clean_cost(account.get("cost_usd")),
            traceback=clean_tail(str(account.get("traceback", "")), limit=_TRACEBACK_LIMIT),
        )


class ReportedFailure(Exception):
    """The cause of an error that was classified in another process; carries that process's account."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.error)
        self.failure = failure


def restore(failure: Failure) -> PhaseError:
    """Return an error of the failure's category, which `classify` turns back into exactly that failure.

    Refuses, as InvalidInput, a category that no handler can raise.
    """
    kind = _ERRORS.get(failure.category)
    if kind is None:
        raise InvalidInput(f"no handler can fail with category {failure.category}")
    error = kind(
        failure.error,
        error_code=failure.error_code,
        details=failure.details,
        retry_after_seconds=failure.retry_after_seconds,
        cost_usd=failure.cost_usd,
    )
    error.__cause__ = ReportedFailure(failure)
    return error


def classify(exception: BaseException) -> Failure:
    """Return the failure that `exception` stands for. Never raises, whatever the exception does."""
    try:
        return _classify(exception)
    except BaseException as trouble:
        # Attributes and __str__ of a foreign exception are foreign code.
        error_type = type(exception).__name__
        text = f"{error_type}, which could not be read: reading it raised {type(trouble).__name__}"
        return Failure(Category.UNKNOWN, error=text, error_type=error_type)


def not_storable(error: BaseException, cost_usd: object) -> Failure:
    """The failure of an attempt whose handler returned what can never be stored: paying for it again would not help."""
    failure = replace(classify(error), error_code="RESULT_NOT_STORABLE", is_final=True)
    try:
        return replace(failure, cost_usd=amount_of(cost_usd))
    except InvalidInput:
        return replace(failure, cost_is_known=False)


def amount_of(cost_usd: object) -> Decimal:
    """What a handler says an attempt cost, or InvalidInput that says how to say it."""
    try:
        # A float is taken for what it shows: 0.01, and not the binary fraction next to it.
        amount = cost_usd if isinstance(cost_usd, Decimal) else Decimal(str(cost_usd))
    except InvalidOperation:
        text = f"a cost_usd of {clean_text(repr(cost_usd), limit=_CODE_LIMIT)} is not an amount"
        raise InvalidInput(f'{text}: return a number of USD such as Decimal("0.01"), or None if nobody knows') from None
    if not (amount.is_finite() and 0 <= amount <= LARGEST_COST_USD):
        raise InvalidInput(f"a cost_usd of {amount} makes no sense: return 0 to {LARGEST_COST_USD:,} USD")
    return amount


def lacks_connection(exception: BaseException) -> bool:
    """Whether there was no connection to the database to be had: that is neither the document's fault nor its cost."""
    try:
        return any(isinstance(link, NoConnection) for link in _chain(exception))
    except BaseException:
        return False  # attributes of a foreign exception are foreign code


def states_cost(exception: BaseException) -> bool:
    """Whether an error tells what was paid: it was raised on purpose, or the other side refused the request."""
    try:
        return all(
            any(isinstance(link, PhaseError) or foreign.http_status(link) for link in _chain(member))
            for member in _members(exception)
        )
    except BaseException:
        return False  # attributes of a foreign exception are foreign code


def _classify(exception: BaseException) -> Failure:
    if isinstance(exception.__cause__, ReportedFailure):
        return exception.__cause__.failure
    origin, category = _find_origin(exception)
    return Failure(
        category=category,
        error=_describe(exception, origin),
        error_type=type(origin).__name__,
        error_code=_error_code(origin),
        details=_clean_details(getattr(origin, "details", None)) if isinstance(origin, PhaseError) else {},
        retry_after_seconds=_retry_after(origin),
        cost_usd=sum(map(_cost, _members(exception)), start=Decimal(0)),
        traceback=clean_tail("".join(tracebacks.format_exception(exception)), limit=_TRACEBACK_LIMIT),
    )


def _find_origin(exception: BaseException) -> tuple[BaseException, Category]:
    """Return the outermost error whose category is known, and that category."""
    for link in _chain(exception):
        category = link.category if isinstance(link, PhaseError) else foreign.recognise(link)
        if category is not None:
            return link, category
    return exception, Category.UNKNOWN


def _chain(exception: BaseException) -> Iterator[BaseException]:
    """Yield the error, then what it groups or was explicitly raised from, each once.

    The implicit __context__ is left out: it is what was being handled, which may have nothing to do with it.
    """
    waiting, seen = [exception], set[int]()
    while waiting and len(seen) < _CHAIN_LIMIT:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        members = link.exceptions if isinstance(link, BaseExceptionGroup) else ()
        nearer = (*members, link.__cause__, getattr(link, "reason", None))  # urllib wraps in `reason`
        waiting.extend(member for member in nearer if isinstance(member, BaseException))


def _members(exception: BaseException) -> Iterator[BaseException]:
    """Yield the errors that happened side by side; one raised from another may repeat its cost."""
    if isinstance(exception, BaseExceptionGroup):
        for member in exception.exceptions:
            yield from _members(member)
    else:
        yield exception


def _describe(exception: BaseException, origin: BaseException) -> str:
    if origin is exception or isinstance(exception, BaseExceptionGroup):
        return clean_text(_text(origin))
    return clean_text(f"{_text(exception)} (caused by {type(origin).__name__}: {_text(origin)})")


def _text(exception: BaseException) -> str:
    return str(exception) or f"{type(exception).__name__} without a message"


def _error_code(origin: BaseException) -> str | None:
    if isinstance(origin, PhaseError):
        return _clean_code(origin.error_code)
    status = foreign.http_status(origin)
    return _clean_code(foreign.provider_code(origin)) or (f"HTTP_{status}" if status else None)


def _retry_after(origin: BaseException) -> float | None:
    if isinstance(origin, PhaseError):
        return foreign.bounded_seconds(origin.retry_after_seconds)
    return foreign.retry_after_seconds(origin)


def _cost(exception: BaseException) -> Decimal:
    costs = (_clean_cost(link.cost_usd) for link in _chain(exception) if isinstance(link, PhaseError))
    return next(costs, Decimal(0))


def _clean_code(code: object) -> str | None:
    return clean_text(str(code), limit=_CODE_LIMIT) if code is not None else None


def _clean_details(details: object) -> dict[str, object]:
    return clean_details(details) if isinstance(details, Mapping) else {}


def _clean_cost(cost: object) -> Decimal:
    try:
        amount = Decimal(str(cost))
    except InvalidOperation:
        return Decimal(0)
    return amount if amount.is_finite() and 0 <= amount <= LARGEST_COST_USD else Decimal(0)
