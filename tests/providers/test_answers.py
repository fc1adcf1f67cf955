"""What was paid for once is remembered: by request, per organisation, for 30 days."""

from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.queue import Submission, submit
from holdfast.errors import DatabaseUnusable, InvalidInput, NotFound
from holdfast.providers.answers import Answers, answer_key, remove_old_answers
from tests.conftest import Clock
from tests.engine.scenario import begin, plain

KEY = answer_key("openai", "chat-model", {"question": "why?"})
OTHER = answer_key("openai", "chat-model", {"question": "when?"})
COST = Decimal("0.0125")


@pytest.fixture
async def document(database: Database) -> int:
    await begin(database, plain("chunk"))
    [submitted] = await submit(database, "documents", [Submission(organisation="acme")])
    return submitted.document_id


@pytest.fixture
def answers(database: Database) -> Answers:
    return Answers(database)


async def test_kept_answers_are_recalled_and_others_are_not(answers: Answers, document: int) -> None:
    value = {"text": "because: naïve 日本", "numbers": [1, 2.5, None]}
    await answers.keep("acme", document, KEY, value, COST)
    assert await answers.recall("acme", [KEY, OTHER]) == {KEY: value}


async def test_nothing_is_recalled_for_no_keys(answers: Answers) -> None:
    assert await answers.recall("acme", []) == {}


async def test_first_answer_stays(answers: Answers, document: int, database: Database) -> None:
    await answers.keep("acme", document, KEY, "first", COST)
    await answers.keep("acme", document, KEY, "second", COST)
    assert await answers.recall("acme", [KEY]) == {KEY: "first"}
    assert await database.fetchval("select cost_usd from holdfast.paid_answer") == COST


async def test_another_organisation_recalls_nothing(answers: Answers, document: int) -> None:
    await answers.keep("acme", document, KEY, "secret", COST)
    assert await answers.recall("globex", [KEY]) == {}


async def test_answer_for_another_organisations_document_is_refused(answers: Answers, document: int) -> None:
    with pytest.raises(NotFound, match='"globex" has no document'):
        await answers.keep("globex", document, KEY, "text", COST)


async def test_answer_that_cannot_be_stored_is_refused(answers: Answers, document: int) -> None:
    with pytest.raises(InvalidInput, match="NUL"):
        await answers.keep("acme", document, KEY, "half\0", COST)


async def test_removal_takes_one_documents_answers_and_counts_them(
    answers: Answers, document: int, database: Database
) -> None:
    [other] = await submit(database, "documents", [Submission(organisation="acme")])
    await answers.keep("acme", document, KEY, "mine", COST)
    await answers.keep("acme", other.document_id, OTHER, "theirs", COST)
    assert await database.fetchval("select holdfast.remove_answers($1)", document) == {"answers": 1}
    assert await answers.recall("acme", [KEY, OTHER]) == {OTHER: "theirs"}


async def test_answers_are_removed_after_thirty_days(
    answers: Answers, document: int, database: Database, clock: Clock
) -> None:
    await answers.keep("acme", document, KEY, "old", COST)
    await clock.advance(days=29)
    await answers.keep("acme", document, OTHER, "new", COST)
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


async def test_worker_may_keep_and_recall(database: Database, document: int) -> None:
    async with database.transaction() as connection:
        await connection.execute("set local role holdfast_worker")
        await connection.execute("select holdfast.keep_answer('acme', $1, $2, '1', 0)", document, KEY)
        assert await connection.fetchval("select count(*) from holdfast.recall_answers('acme', $1)", [KEY]) == 1


def test_key_tells_providers_models_and_requests_apart() -> None:
    keys = {
        answer_key(*parts) for parts in (("a", "b", 1), ("a", "b", 2), ("a", "c", 1), ("ab", "", 1), ("a", "b1", ""))
    }
    assert len(keys) == 5
    assert answer_key("a", "b", {"x": [1, "ü"]}) == answer_key("a", "b", {"x": [1, "ü"]})
