"""Lets one transaction take as long as it needs, whatever a provider allows a statement by default."""

from holdfast.db.connection import Connection

# Not every server knows all of them. Who only waits for a lock is still sent away: see lock_timeout.
LIFT = """
select set_config(name, '0', true) from pg_settings
where name in ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')
"""


async def lift_time_limits(connection: Connection) -> None:
    """Lift them to the end of this transaction: managed servers end a statement after some minutes, an index or not."""
    await connection.execute(LIFT)
