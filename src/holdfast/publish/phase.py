"""The last phase: a finished document answers searches, and replaces the older versions of its location."""

from holdfast.db.connection import Connection, Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, GiveBack

LEAST_WAIT_SECONDS = 2.0
MOST_WAIT_SECONDS = 60.0


class Publish:
    """Switches over in the transaction that ends the job: until then the old version answers, from then on the new.

    A document with members, as an archive or a message with attachments, waits until each of them is searchable or
    has failed for good: its old version answers with its own members until then.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, attempt: Attempt) -> Done | GiveBack:
        """Hand on what came in; the switch is made when the attempt is settled."""
        document_id = attempt.document.id
        members = await self._database.fetchrow("select * from holdfast.members_under_way($1)", document_id)
        if members is not None and members["under_way"]:
            reason = f"{members['under_way']} of its {members['members']} members are under way"
            return GiveBack(reason, wait_seconds=_wait(members["seconds"]), for_members=True)

        async def switch(connection: Connection) -> None:
            await connection.execute("select holdfast.publish_document($1, $2)", document_id, attempt.job_id)

        return Done(output=attempt.input, save=switch)


def _wait(waited_seconds: float) -> float:
    """How long at most: the last member to end ends the wait too, unless another ends in the same moment."""
    return min(max(waited_seconds / 10, LEAST_WAIT_SECONDS), MOST_WAIT_SECONDS)
