"""Performs one attempt: reserve, call the handler as its kind demands, and turn whatever happens into an ending."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import cast

from holdfast.engine import events
from holdfast.engine.attempt import Attempt, Json
from holdfast.engine.classify import Failure, amount_of, classify, lacks_connection, not_storable, states_cost
from holdfast.engine.cost import money
from holdfast.engine.isolation import run_isolated
from holdfast.engine.patience import insist
from holdfast.engine.pipeline import Awaits, Done, Ending, GiveBack, Phase
from holdfast.engine.queue import Queue
from holdfast.engine.strict_json import exceeds
from holdfast.errors import BudgetExceeded, Conflict, InvalidInput, TimedOut

# Its call has waited for a connection already. Less than `ingest` stays for, more than a busy server should be asked.
NO_CONNECTION_SECONDS = 5.0
LONGEST_WAIT_SECONDS = 366 * 86_400.0
# What is larger keeps the event loop, and with it every other attempt, waiting for seconds.
LARGEST_OUTPUT_BYTES = 16 << 20


async def perform(attempt: Attempt, phase: Phase, queue: Queue) -> Ending:
    """Run a phase's handler and say how it ended. Never raises, except when it is itself cancelled.

    The one place that catches everything: a handler may raise what it likes, even SystemExit.
    """
    events.attempt_started(attempt)
    try:
        if attempt.answer is not None and attempt.answer.is_overdue:
            attempt.answer.result()
        if phase.budget is not None:
            try:
                await _reserve(attempt, phase, queue)
            except Conflict as error:
                return GiveBack(str(error))  # it was taken back before it had begun, which is no failure
        return _checked(await _call(attempt, phase), phase)
    except asyncio.CancelledError as error:
        if attempt.ended:
            raise
        return _failed(attempt, phase, error)
    except BaseException as error:
        return _failed(attempt, phase, error)


def out_of_time(attempt: Attempt) -> Failure:
    """The ending of an attempt that passed its limit: the same as check_timeouts() would record."""
    text = f"{attempt.phase} took longer than its limit of {attempt.limit_seconds:g} s"
    failure = classify(TimedOut(text, error_code="TIMEOUT", details={"threshold_seconds": attempt.limit_seconds}))
    # It was broken off: a call may be under way whose bill nobody will see.
    return replace(failure, traceback="", cost_is_known=False)


def stopped(attempt: Attempt, phase: Phase, reason: str) -> GiveBack:
    """The ending of an attempt that its worker stops: uncharged, but a call under way may have been paid."""
    return GiveBack(reason, cost_usd=None if phase.may_pay and attempt.called else Decimal(0))


def _failed(attempt: Attempt, phase: Phase, error: BaseException) -> Ending:
    """The ending of an attempt that raised. What it cost is known only where nothing was called, or the error says it.

    A handler that found no connection to the database is nobody's fault, and given back uncharged. Not where it may
    have paid before: going back and forth would pay without end, so the policy decides how often.
    """
    failure = classify(error)
    may_have_paid = phase.may_pay and attempt.called
    if lacks_connection(error):
        if not may_have_paid:
            return GiveBack(failure.error, wait_seconds=NO_CONNECTION_SECONDS, cost_usd=failure.cost_usd)
        return replace(failure, cost_is_known=False)
    return failure if states_cost(error) or not may_have_paid else replace(failure, cost_is_known=False)


async def _reserve(attempt: Attempt, phase: Phase, queue: Queue) -> None:
    amount = phase.estimate_usd
    amount_usd = amount if isinstance(amount, Decimal) else amount(attempt)
    reservation = await insist(lambda: queue.reserve_budget(attempt, amount_usd))
    attempt.reserved = reservation.granted
    if not reservation.granted:
        raise BudgetExceeded(
            f'budget "{reservation.budget}" has {money(reservation.left_usd)} left of the {money(amount_usd)} needed; '
            f"it opens again at {reservation.resets_at.isoformat()}",
            details={
                "needs_usd": float(amount_usd),
                "left_usd": float(reservation.left_usd),
                "resets_at": reservation.resets_at.isoformat(timespec="seconds"),
            },
        )


async def _call(attempt: Attempt, phase: Phase) -> object:
    handler = cast("Callable[[Attempt], object]", phase.handler)
    attempt.called = True
    if phase.isolated is not None:
        limits = replace(phase.isolated, wall_seconds=min(phase.isolated.wall_seconds, attempt.limit_seconds))
        output = await run_isolated(phase.handler, attempt.payload(), limits=limits, on_progress=attempt.progress)
        return Done(cast("Json", output))
    if not inspect.iscoroutinefunction(phase.handler):
        return await _in_thread(handler, attempt)
    return await phase.handler(attempt)


async def _in_thread(handler: Callable[[Attempt], object], attempt: Attempt) -> object:
    """Call it in a thread of its own: one that never returns costs itself, not a place in a pool."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[object] = loop.create_future()

    def deliver(value: object, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error if isinstance(error, Exception) else _Escaped(error))

    def run() -> None:
        value, error = None, None
        try:
            value = handler(attempt)
        except BaseException as raised:
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, value, error)

    threading.Thread(target=run, name=f"{attempt.phase}-{attempt.job_id}", daemon=True).start()
    try:
        return await answer
    except _Escaped as escaped:
        raise escaped.error from None


class _Escaped(Exception):
    """Carries what is no Exception out of a thread: a future would hand SystemExit to the event loop."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(repr(error))
        self.error = error


def _checked(outcome: object, phase: Phase) -> Ending:
    """What the handler returned, or the one failure that says why it can never be stored."""
    try:
        return _storable(outcome)
    except InvalidInput as error:
        cost_usd = getattr(outcome, "cost_usd", None)
        failure = not_storable(error, cost_usd)
        text = f'the handler of phase "{phase.name}" returned what cannot be stored: {failure.error}'
        return replace(failure, error=text, cost_is_known=failure.cost_is_known or not phase.may_pay)


def _storable(outcome: object) -> Done | GiveBack | Awaits:
    if not isinstance(outcome, Done | GiveBack | Awaits):
        raise InvalidInput(f"{type(outcome).__name__} is no outcome: return Done(…), GiveBack(…) or Awaits(…)")
    if outcome.cost_usd is not None and not isinstance(outcome.cost_usd, Decimal):
        outcome = replace(outcome, cost_usd=amount_of(outcome.cost_usd))
    match outcome:
        case Done():
            _check_done(outcome)
        case GiveBack():
            _check_seconds(outcome.wait_seconds, "wait_seconds")
        case Awaits():
            _check_seconds(outcome.within_seconds, "within_seconds")
            if outcome.cost_usd is None:
                raise InvalidInput("Awaits with a cost_usd of None: return what asking costs")
    if outcome.cost_usd is not None:
        amount_of(outcome.cost_usd)
    return outcome


def _check_done(done: Done) -> None:
    if done.metadata is not None and not isinstance(done.metadata, Mapping):
        raise InvalidInput(f"metadata of type {type(done.metadata).__name__}: return a dict")
    if done.ends_as is not None and not isinstance(done.ends_as, str):
        raise InvalidInput(f"ends_as of type {type(done.ends_as).__name__}: return the name of a status")
    for name, value in (("output", done.output), ("metadata", done.metadata)):
        if exceeds(value, LARGEST_OUTPUT_BYTES):
            text = f"its {name} is larger than {LARGEST_OUTPUT_BYTES >> 20} MB"
            raise InvalidInput(f"{text}: put it into the store and hand on where it is")


def _check_seconds(seconds: object, name: str) -> None:
    if not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_WAIT_SECONDS:
        raise InvalidInput(f"{name}={seconds!r}: return 0 to {LONGEST_WAIT_SECONDS:,.0f} seconds")
