"""What a worker says about its own jobs costs no more for the jobs that others have under way."""

import json

import pytest

from holdfast.db.connection import Database
from tests.engine.scenario import begin, plain

pytestmark = pytest.mark.thorough

OTHERS_JOBS = 400
OWN_JOBS = 20
# A few look-ups by key for each own job; to walk what is under way even once reads more.
READS_ALLOWED = OWN_JOBS * 15

VERBS = {
    "settle": "select * from holdfast.settle($1::text::jsonb)",
    "fail": "select * from holdfast.fail($1::text::jsonb)",
    "give back": "select holdfast.give_back($1::text::jsonb)",
    "heartbeat": "select * from holdfast.heartbeat('own', $1::text::jsonb)",
}
READS = "select idx_tup_fetch from pg_stat_xact_user_tables where relid = 'holdfast.pipeline_job'::regclass"


@pytest.mark.parametrize("verb", VERBS)
async def test_verb_reads_nothing_of_what_others_have_under_way(database: Database, verb: str) -> None:
    scenario = await begin(database, plain("parse"))
    await scenario.register_worker("own")
    await scenario.submit(OTHERS_JOBS + OWN_JOBS)
    # Statistics of a quiet moment say that nothing is under way, so that reading all of it looks cheap.
    await database.execute("vacuum (analyze) holdfast.pipeline_job")
    await scenario.claim("parse", OTHERS_JOBS)
    own = await scenario.claim("parse", OWN_JOBS, worker="own")
    items = [{"job_id": attempt.job_id, "token": attempt.token, "progress": 0.5} for attempt in own]
    async with database.transaction() as connection:
        before = await connection.fetchval(READS)
        await connection.fetch(VERBS[verb], json.dumps(items))
        reads = await connection.fetchval(READS) - before
    assert reads <= READS_ALLOWED
