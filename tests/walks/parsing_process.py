"""A real worker in a process of its own whose one phase hands documents to a parser that answers later.

Run as `python -m tests.walks.parsing_process '<json>'` with: dsn, parser_url, dies_before_settle. Says on standard
output that it started, and when it stands still between asking and settling.
"""

import asyncio
import json
import sys
from typing import Any

import httpx2

from holdfast.db.connection import connect
from holdfast.engine.attempt import Attempt
from holdfast.engine.lifeline import Pace
from holdfast.engine.pipeline import Awaits, Done, Ending, Outcome, Phase, Pipeline
from holdfast.engine.worker import Worker
from holdfast.settings import Settings
from tests.walks.worker_process import say, stand_still

ATTENTIVE = Pace(heartbeat_seconds=0.4, lease_seconds=60.0, sweep_seconds=0.4)


def pipeline(parser_url: str) -> Pipeline:
    async def parse(attempt: Attempt) -> Outcome:
        if attempt.answer is not None:
            return Done(attempt.answer.result())
        # The same while nobody was charged for a failure: a worker that dies now leaves an order that is found again.
        key = {"Idempotency-Key": f"{attempt.job_id}-{attempt.run}-{attempt.number}"}
        async with httpx2.AsyncClient(timeout=60) as client:
            order = await client.post(parser_url, json={"name": attempt.document.source_name}, headers=key)
        return Awaits("parser", order.json()["id"], within_seconds=600)

    async def keep(attempt: Attempt) -> Outcome:
        return Done(metadata={"text": attempt.input})

    phases = (Phase(name="parse", handler=parse, done="parsed"), Phase(name="keep", handler=keep, done="kept"))
    return Pipeline("parsing", phases)


class DyingWorker(Worker):
    """The real worker, which stands still once it has asked and before that is on record."""

    def _end(self, running: Any, ending: Ending | None) -> None:
        if isinstance(ending, Awaits):
            stand_still("asked")
        super()._end(running, ending)


async def main(config: dict[str, Any]) -> None:
    kind = DyingWorker if config["dies_before_settle"] else Worker
    async with connect(Settings(database_url=config["dsn"])) as database:
        worker = kind(database, [pipeline(config["parser_url"])], pace=ATTENTIVE)
        say("started")
        await worker.run()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
