"""Names the sessions that stand in others' way, so that an operator finds them."""

from dataclasses import dataclass
from datetime import datetime

from holdfast.db.connection import Database

# Process 0 stands for a prepared transaction, which no session has.
BLOCKING = """
select b.pid, nullif(a.application_name, '') as application, a.usename as user, a.state, a.xact_start as since
from unnest(pg_blocking_pids($1)) as b(pid)
left join pg_stat_activity a on a.pid = b.pid
order by a.xact_start, b.pid
"""


@dataclass(frozen=True, slots=True)
class Session:
    """A session, and since when its transaction runs. What this login may not see of it is None."""

    pid: int
    application: str | None
    user: str | None
    state: str | None
    since: datetime | None

    def __str__(self) -> str:
        if not self.pid:
            return "a prepared transaction (see pg_prepared_xacts)"
        facts = [
            f'application "{self.application}"' if self.application else "",
            f'user "{self.user}"' if self.user else "",
            f"{self.state} since {self.since:%Y-%m-%d %H:%M:%S %Z}" if self.state and self.since else "",
        ]
        return f"session {self.pid} ({', '.join(fact for fact in facts if fact) or 'hidden from this login'})"

    @property
    def remedy(self) -> str:
        """How to be rid of it."""
        return f"select pg_terminate_backend({self.pid})" if self.pid else "commit prepared, or rollback prepared"


async def blocking_sessions(database: Database, pid: int) -> list[Session]:
    """Whom that session waits for now, the oldest first; nobody unless it waits."""
    return [Session(*row) for row in await database.fetch(BLOCKING, pid)]
