"""The model's holds and money: what keeps work from being claimed although it is ready (C5, F2)."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from tests.engine.model_records import Day, Entry, Handle, Hold, Scope
from tests.engine.model_rules import PIPELINE, PhaseRules

BUDGET = Scope(budget="enrichment")


def midnight(now: datetime) -> datetime:
    """The beginning of this moment's day."""
    return datetime(now.year, now.month, now.day, tzinfo=UTC)


def scope_of(phase: PhaseRules, organisation: str) -> Scope:
    """What trouble at a phase's far end holds: its provider for that organisation, or else the phase itself."""
    if phase.provider:
        return Scope(provider=phase.provider, organisation=organisation)
    return Scope(organisation=organisation, pipeline=PIPELINE, phase=phase.name)


class Holds(dict[Scope, Hold]):
    """Holds that are in force, or over with jobs still waiting to be put back."""

    def place(self, scope: Scope, until: datetime | None, *, now: datetime, needs: Decimal | None = None) -> None:
        """Hold a scope; on one already held the later moment counts, and the smallest need."""
        known = self.get(scope)
        if known is None or not known.in_force(now):
            self[scope] = Hold(until, needs=needs)
            return
        known.until = None if until is None or known.until is None else max(known.until, until)
        known.needs = min((need for need in (known.needs, needs) if need is not None), default=None)

    def over(self, phase: PhaseRules, *, now: datetime) -> list[Scope]:
        """The scopes in force that cover a phase, for some organisation or all."""
        here = Scope(phase.provider, None, PIPELINE, phase.name, phase.budget)
        return [scope for scope, hold in self.items() if hold.in_force(now) and _covers(scope, here)]

    def drop_ended(self, now: datetime) -> set[Scope]:
        """Forget what is over."""
        ended = {scope for scope, hold in self.items() if not hold.in_force(now)}
        for scope in ended:
            del self[scope]
        return ended


def _covers(scope: Scope, here: Scope) -> bool:
    named = zip(scope._replace(organisation=None), here, strict=True)
    return all(wanted is None or wanted == found for wanted, found in named)


class Money:
    """One daily budget: reserving, spending and refusing."""

    def __init__(self, limit: Decimal, holds: Holds) -> None:
        self.limit = limit
        self.days: dict[datetime, Day] = {}
        self.entries: dict[Handle, Entry] = {}
        self._holds = holds

    def reserve(self, handle: Handle, amount: Decimal, *, now: datetime) -> bool:
        """See that this much is set aside, or refuse and count that; a reservation goes on in the day it began."""
        self.days.setdefault(midnight(now), Day(self.limit))
        entry = self.entries.get(handle)
        when = entry.day if entry else midnight(now)
        day = self.days[when]
        missing = max(amount - (entry.reserved if entry else Decimal(0)), Decimal(0))
        if missing > self._left(day):
            day.refusals += 1
            return False
        day.reserved += missing
        entry = self.entries.setdefault(handle, Entry(when))
        entry.reserved += missing
        entry.open = True
        return True

    def settle(self, handle: Handle, billed: Decimal | None, *, now: datetime) -> None:
        """End a reservation. What nobody knows counts as spent; what passes the limit is kept apart."""
        entry = self.entries.get(handle)
        if entry is None or not entry.open:
            return
        day = self.days[entry.day]
        reserved, entry.reserved, entry.open = entry.reserved, Decimal(0), False
        day.reserved -= reserved
        billed = reserved if billed is None else billed
        spent = min(billed, day.left)
        for account in (day, entry):
            account.spent += spent
            account.overrun += billed - spent
        if spent < reserved and entry.day == midnight(now):
            self.end_holds(now)

    def reopen(self, handle: Handle, new: Handle) -> None:
        """What was counted as spent because nobody knew is set aside again, under that handle."""
        entry = self.entries.pop(handle, None)
        if entry is None:
            return
        day = self.days[entry.day]
        day.spent -= entry.spent
        day.reserved += entry.spent
        day.overrun -= entry.overrun
        entry.reserved += entry.spent
        entry.spent = entry.overrun = Decimal(0)
        entry.open = True
        self.entries[new] = entry

    def set_limit(self, limit: Decimal, *, now: datetime) -> None:
        """Change the daily limit; today's never falls below what is reserved and spent."""
        self.limit = limit
        today = self.days.get(midnight(now))
        if today:
            today.limit = max(limit, today.reserved + today.spent)
            self.end_holds(now)

    def end_holds(self, now: datetime) -> None:
        """End the hold on the budget if what waits can be paid now."""
        hold = self._holds.get(BUDGET)
        if hold and hold.in_force(now) and self.affords(hold.needs, now=now):
            hold.until = now

    def affords(self, needs: Decimal | None, *, now: datetime) -> bool:
        """Whether today has that much left; an amount nobody named is never certain."""
        today = self.days.get(midnight(now)) or Day(self.limit)
        return needs is not None and needs <= self._left(today)

    def _left(self, day: Day) -> Decimal:
        """What a day still allows: a limit that was lowered counts at once."""
        return max(min(day.limit, self.limit) - day.reserved - day.spent, Decimal(0))


def next_day(now: datetime) -> datetime:
    """When a daily budget begins anew."""
    return midnight(now) + timedelta(days=1)
