"""A real worker in a process of its own, which stops dead at a chosen boundary until someone kills it.

Run as `python -m tests.walks.worker_process '<json>'` with: dsn, log (a file that gets a line per handler call),
pause_at (a boundary, or null), and pace (fields of Pace). Each line on standard output names something that happened.
"""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from holdfast.db.connection import Connection, connect
from holdfast.engine.attempt import Attempt
from holdfast.engine.lifeline import Pace
from holdfast.engine.pipeline import Done, Ending, Phase, Pipeline
from holdfast.engine.worker import Worker
from holdfast.settings import Settings

BOUNDARIES = ("after_claim", "mid_phase", "before_settle", "during_settle", "after_settle")
PAUSED_PHASE = "second"


class Walk:
    """A pipeline of three phases that notes each call, and stands still at one boundary of the second phase."""

    def __init__(self, log: Path, pause_at: str | None) -> None:
        self._log = log
        self._pause_at = pause_at

    @property
    def pipeline(self) -> Pipeline:
        names = ("first", PAUSED_PHASE, "third")
        phases = [Phase(name=name, handler=self._handle, done=f"{name}_done", limit_seconds=60) for name in names]
        return Pipeline("walk", phases=tuple(phases))

    def reached(self, boundary: str, attempt: Attempt) -> bool:
        return boundary == self._pause_at and attempt.phase == PAUSED_PHASE

    async def _handle(self, attempt: Attempt) -> Done:
        with self._log.open("a") as log:
            log.write(f"{attempt.phase} {attempt.job_id} {os.getpid()}\n")
        if attempt.document.metadata.get("deadly"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.reached("mid_phase", attempt):
            say("mid_phase")
            if attempt.document.metadata.get("freezes"):
                os.kill(os.getpid(), signal.SIGSTOP)
            await asyncio.sleep(float(str(attempt.document.metadata.get("pause_seconds", 3600))))

        async def save(connection: Connection) -> None:
            await connection.execute("insert into walk_result values ($1, $2)", attempt.job_id, attempt.phase)
            if self.reached("during_settle", attempt):
                stand_still("during_settle")

        return Done({"by": attempt.phase}, save=save)


class PausingWorker(Worker):
    """The real worker, with a place to stand still before and after what it does to an attempt."""

    walk: Walk

    def _start(self, attempt: Attempt) -> None:
        if self.walk.reached("after_claim", attempt):
            stand_still("after_claim")
        super()._start(attempt)

    def _end(self, running: Any, ending: Ending | None) -> None:
        if self.walk.reached("before_settle", running.attempt):
            stand_still("before_settle")
        super()._end(running, ending)

    def _written(self, attempt: Attempt) -> None:
        if self.walk.reached("after_settle", attempt):
            stand_still("after_settle")
        super()._written(attempt)


def say(what: str) -> None:
    print(what, flush=True)


def stand_still(boundary: str) -> None:
    """Block the whole process, as a machine that freezes does."""
    say(boundary)
    time.sleep(3600)


async def main(config: dict[str, Any]) -> None:
    walk = Walk(Path(config["log"]), config.get("pause_at"))
    pace = Pace(**config.get("pace", {}))
    settings = Settings(database_url=config["dsn"])
    async with connect(settings, connect_seconds=20, command_seconds=pace.lease_seconds) as database:
        worker = PausingWorker(database, [walk.pipeline], pace=pace)
        worker.walk = walk
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        say("started")
        await worker.run()
        say("stopped")


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
