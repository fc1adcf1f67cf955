"""The memory of paid calls: what was answered once is not paid for again."""

import asyncio
import hashlib
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from holdfast.db.connection import Database
from holdfast.engine import strict_json
from holdfast.engine.attempt import Attempt
from holdfast.engine.journal import Journal
from holdfast.engine.patience import insist


def answer_key(provider: str, model: str, request: object) -> str:
    """Name a request, which is plain JSON: the same to the same model of the same provider has the same name."""
    return hashlib.sha256(strict_json.dump([provider, model, request])).hexdigest()


class Answers:
    """Answers by the key of their request, each organisation's apart. What is kept survives the worker."""

    def __init__(self, database: Database, journal: Journal | None = None) -> None:
        self._database = database
        self._journal = journal
        self._keeping: set[asyncio.Task[None]] = set()

    async def recall(self, organisation: str, keys: Sequence[str]) -> dict[str, Any]:
        """Those of the answers that are known."""
        rows = await self._database.fetch(
            "select key, answer from holdfast.recall_answers($1, $2)", organisation, list(keys)
        )
        return {row["key"]: row["answer"] for row in rows}

    async def keep(self, attempt: Attempt, key: str, answer: Any, cost_usd: Decimal) -> None:
        """Keep an answer, which is plain JSON, as soon as this attempt has paid for it. Idempotent.

        Waits for a database that is away; meanwhile the answer is on disk.
        """
        writing = insist(lambda: self._keep(attempt, key, answer, cost_usd))
        if self._journal is not None:
            writing = self._journal.guard(lambda: ("keep_answer", _kept(attempt, key, answer, cost_usd)), writing)
        # It is paid for: also kept when its attempt is broken off meanwhile.
        keeping = asyncio.create_task(writing)
        self._keeping.add(keeping)
        keeping.add_done_callback(self._keeping.discard)
        await asyncio.shield(keeping)

    async def _keep(self, attempt: Attempt, key: str, answer: Any, cost_usd: Decimal) -> None:
        await self._database.execute(
            "select holdfast.keep_answer($1, $2, $3, $4::text::jsonb, $5, $6, $7)",
            attempt.document.organisation,
            attempt.document.id,
            key,
            strict_json.dump(answer).decode(),
            cost_usd,
            attempt.job_id,
            attempt.token,
        )


def _kept(attempt: Attempt, key: str, answer: Any, cost_usd: Decimal) -> dict[str, Any]:
    return {
        "organisation": attempt.document.organisation,
        "document_id": attempt.document.id,
        "key": key,
        "answer": answer,
        "cost_usd": float(cost_usd),
        "job_id": attempt.job_id,
        "token": attempt.token,
        "phase": attempt.phase,
    }


async def remove_old_answers(database: Database) -> int:
    """Forget answers after 30 days, and say how many. Safe at any time, by any number of callers."""
    removed = 0
    while count := await database.fetchval("select holdfast.remove_old_answers()"):
        removed += count
    return removed
