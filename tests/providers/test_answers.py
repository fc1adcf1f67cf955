"""What was paid for once is remembered: by request, per organisation, for 30 days."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done
from holdfast.engine.queue import Lane, Queue, Submission, submit
from holdfast.errors import DatabaseUnusable, InvalidInput, NotFound
from holdfast.providers.answers import Answers, answer_key, remove_old_answers
from holdfast.providers.asking import Asking, Question
from tests.conftest import Clock
from tests.engine.scenario import WORKER, begin, plain, until_someone_waits_for_a_lock
from tests.engine.working import until

KEY = answer_key("openai", "chat-model", {"question": "why?"})
OTHER = answer_key("openai", "chat-model", {"question": "when?"})
COST = Decimal("0.0125")


@pytest.fixture
async def attempt(database: Database) -> Attempt:
    scenario = await begin(database, plain("chunk"))
    await scenario.submit()
    return await scenario.claim_one("chunk")


@pytest.fixture
def answers(database: Database) -> Answers:
    return Answers(database)


async def test_kept_answers_are_recalled_and_others_are_not(answers: Answers, attempt: Attempt) -> None:
    value = {"text": "because: naïve 日本", "numbers": [1, 2.5, None]}
    await answers.keep(attempt, KEY, value, COST)
    assert await answers.recall("acme", [KEY, OTHER]) == {KEY: value}


async def test_attempt_that_could_not_say_its_cost_counts_only_what_it_paid_itself(
    database: Database, clock: Clock
) -> None:
    scenario = await begin(database, plain("chunk"))
    await Queue(database).register([plain("chunk", name="again")])
    first = await scenario.submit_one()
    await submit(database, "again", [Submission(organisation="acme", document_id=first.document_id)])
    await scenario.register_worker("mortal")
    lanes = [Lane("documents", "chunk", 1), Lane("again", "chunk", 1)]
    mine, other = await scenario.queue.claim("mortal", lanes)
    await Asking(Answers(database), mine).ask({KEY: _costs(COST)})
    await Asking(Answers(database), other).ask({OTHER: _costs(2 * COST)})
    await clock.advance(seconds=11)
    await scenario.queue.sweep(10)
    costs = [(await scenario.job(attempt.job_id))["total_cost_usd"] for attempt in (mine, other)]
    assert costs == [COST, 2 * COST]


async def test_next_attempt_does_not_pay_for_the_one_before(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("chunk"))
    submitted = await scenario.submit_one()
    await Asking(Answers(database), await scenario.claim_one("chunk")).ask({KEY: _costs(COST)})
    await clock.advance(seconds=11)
    await scenario.queue.sweep(10)
    await scenario.register_worker("second")
    await scenario.claim_one("chunk", worker="second")
    await clock.advance(seconds=11)
    await scenario.queue.sweep(10)
    assert (await scenario.job(submitted.job_id))["total_cost_usd"] == COST


async def test_answer_kept_after_its_job_was_claimed_again_is_on_the_bill(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("chunk"))
    submitted = await scenario.submit_one()
    attempt = await scenario.claim_one("chunk")
    await clock.advance(seconds=11)
    await scenario.queue.sweep(10)
    await scenario.register_worker("second")
    again = await scenario.claim_one("chunk", worker="second")
    await Asking(Answers(database), attempt).ask({KEY: _costs(COST)})
    await Asking(Answers(database), again).ask({KEY: _costs(COST)})
    await scenario.settle([again])
    assert await database.fetchval("select sum(cost_usd) from holdfast.pipeline_phase") == COST
    assert (await scenario.job(submitted.job_id))["total_cost_usd"] == COST


async def test_answer_kept_while_its_token_is_renewed_counts_once(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("chunk"))
    submitted = await scenario.submit_one()
    attempt = await scenario.claim_one("chunk")
    await clock.advance(seconds=11)
    await scenario.queue.sweep(10)
    pulse = await scenario.queue.heartbeat(WORKER, [attempt])
    await Asking(Answers(database), attempt).ask({KEY: _costs(COST)})
    (attempt.token,) = pulse.renewed.values()
    await clock.advance(seconds=11)
    await scenario.queue.sweep(10)
    assert (await scenario.job(submitted.job_id))["total_cost_usd"] == COST
    await scenario.settle([attempt], Done(cost_usd=COST))
    assert (await scenario.job(submitted.job_id))["total_cost_usd"] == COST


async def test_paid_answer_is_kept_although_its_attempt_is_broken_off(database: Database, attempt: Attempt) -> None:
    answers = Answers(database)
    async with database.transaction() as other:
        await other.execute("lock table holdfast.paid_answer in exclusive mode")
        keeping = asyncio.create_task(answers.keep(attempt, KEY, "because", COST))
        await until_someone_waits_for_a_lock(database)
        keeping.cancel()
        await asyncio.wait({keeping})

    async def is_kept() -> bool:
        return await answers.recall("acme", [KEY]) == {KEY: "because"}

    await until(is_kept)


async def test_answer_about_a_document_that_is_deleted_is_not_kept(database: Database, attempt: Attempt) -> None:
    answers = Answers(database)
    await database.execute("select holdfast.delete_document($1, 'someone')", attempt.document.id)
    await answers.keep(attempt, KEY, "because", COST)
    assert await answers.recall("acme", [KEY]) == {}


def _costs(amount: Decimal) -> Question:
    async def ask() -> tuple[str, Decimal]:
        return "because", amount

    return Question(ask)


async def test_nothing_is_recalled_for_no_keys(answers: Answers) -> None:
    assert await answers.recall("acme", []) == {}


async def test_first_answer_stays(answers: Answers, attempt: Attempt, database: Database) -> None:
    await answers.keep(attempt, KEY, "first", COST)
    await answers.keep(attempt, KEY, "second", COST)
    assert await answers.recall("acme", [KEY]) == {KEY: "first"}
    assert await database.fetchval("select cost_usd from holdfast.paid_answer") == COST


async def test_another_organisation_recalls_nothing(answers: Answers, attempt: Attempt) -> None:
    await answers.keep(attempt, KEY, "secret", COST)
    assert await answers.recall("globex", [KEY]) == {}


async def test_answer_for_another_organisations_document_is_refused(answers: Answers, attempt: Attempt) -> None:
    stolen = replace(attempt, document=replace(attempt.document, organisation="globex"))
    with pytest.raises(NotFound, match='"globex" has no document'):
        await answers.keep(stolen, KEY, "text", COST)


async def test_answer_that_cannot_be_stored_is_refused(answers: Answers, attempt: Attempt) -> None:
    with pytest.raises(InvalidInput, match="NUL"):
        await answers.keep(attempt, KEY, "half\0", COST)


async def test_removal_takes_one_documents_answers_and_counts_them(
    answers: Answers, attempt: Attempt, database: Database
) -> None:
    [other] = await submit(database, "documents", [Submission(organisation="acme")])
    await answers.keep(attempt, KEY, "mine", COST)
    theirs = replace(attempt.document, id=other.document_id)
    await answers.keep(replace(attempt, document=theirs), OTHER, "theirs", COST)
    assert await database.fetchval("select holdfast.remove_answers($1)", attempt.document.id) == {"answers": 1}
    assert await answers.recall("acme", [KEY, OTHER]) == {OTHER: "theirs"}


async def test_answers_are_removed_after_thirty_days(
    answers: Answers, attempt: Attempt, database: Database, clock: Clock
) -> None:
    await answers.keep(attempt, KEY, "old", COST)
    await clock.advance(days=29)
    await answers.keep(attempt, OTHER, "new", COST)
    assert await remove_old_answers(database) == 0
    await clock.advance(days=2)
    assert await remove_old_answers(database) == 1
    assert await answers.recall("acme", [KEY, OTHER]) == {OTHER: "new"}


@pytest.mark.parametrize("role", ["holdfast_worker", "holdfast_api", "holdfast_readonly"])
async def test_nobody_reads_the_table(database: Database, role: str) -> None:
    async def read() -> None:
        async with database.transaction() as connection:
            await connection.execute(f"set local role {role}")
            await connection.fetch("select * from holdfast.paid_answer")

    with pytest.raises(DatabaseUnusable):
        await read()


async def test_worker_may_keep_and_recall(database: Database, attempt: Attempt) -> None:
    async with database.transaction() as connection:
        await connection.execute("set local role holdfast_worker")
        await connection.execute("select holdfast.keep_answer('acme', $1, $2, '1', 0, 1, 1)", attempt.document.id, KEY)
        assert await connection.fetchval("select count(*) from holdfast.recall_answers('acme', $1)", [KEY]) == 1


def test_key_tells_providers_models_and_requests_apart() -> None:
    keys = {
        answer_key(*parts) for parts in (("a", "b", 1), ("a", "b", 2), ("a", "c", 1), ("ab", "", 1), ("a", "b1", ""))
    }
    assert len(keys) == 5
    assert answer_key("a", "b", {"x": [1, "ü"]}) == answer_key("a", "b", {"x": [1, "ü"]})
