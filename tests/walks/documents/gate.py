"""A gate in the database: whoever is about to record the end of a chosen phase waits before it."""

from typing import Self, TypeAlias

import asyncpg

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

INSTALL = """
create table public.gate (phase text);
grant select on public.gate to public;
create function public.wait_at_gate() returns trigger language plpgsql as $$
begin
    if exists (select from public.gate where phase = old.phase) then
        perform pg_advisory_xact_lock(1);
    end if;
    return new;
end $$;
create trigger gate before update on holdfast.pipeline_job for each row
when (old.state = 'working' and (new.phase <> old.phase or new.state = 'done'))
execute function public.wait_at_gate();
"""
# Others may be in each other's way for a moment: only who stands before the keeper counts.
WAITING = "select pid from pg_stat_activity where datname = current_database() and $1 = any (pg_blocking_pids(pid))"


class Gate:
    """Closed and opened by a test. One connection keeps it closed, the other looks who waits."""

    def __init__(self, keeper: Connection, watcher: Connection) -> None:
        self._keeper = keeper
        self._watcher = watcher

    @classmethod
    async def build(cls, dsn: str) -> Self:
        gate = cls(await asyncpg.connect(dsn), await asyncpg.connect(dsn))
        await gate._watcher.execute(INSTALL)
        return gate

    async def close_before_end_of(self, phase: str) -> None:
        """Let no attempt at this phase be recorded."""
        await self._keeper.execute("select pg_advisory_lock(1)")
        await self._watcher.execute("insert into public.gate values ($1)", phase)

    async def close_table(self, name: str) -> None:
        """Let nobody write to a table."""
        await self._keeper.execute(f"begin; lock table {name} in share mode")

    async def is_waited_at(self) -> bool:
        return await self._watcher.fetchval(f"select exists ({WAITING})", self._keeper.get_server_pid()) is True

    async def open(self) -> None:
        """Let those through who come from now on. Who waits now is dead, and the server learns that here."""
        end_them = f"select pg_terminate_backend(pid, 5000) from ({WAITING}) as w"
        await self._watcher.execute(end_them, self._keeper.get_server_pid())
        await self._watcher.execute("delete from public.gate")
        await self._keeper.execute("rollback; select pg_advisory_unlock_all()")

    async def tear_down(self) -> None:
        await self._keeper.close()
        await self._watcher.close()
