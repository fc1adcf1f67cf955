"""The promise, checked: what the database says against what the service itself has counted."""

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from service import Call

from holdfast.app import App


@dataclass(frozen=True, slots=True)
class Promise:
    """One part of the promise, and whether the figures bear it out."""

    holds: bool
    text: str
    figures: str


@dataclass(frozen=True, slots=True)
class Account:
    """What is known when everything has ended."""

    jobs: list[dict[str, Any]]
    attempts: list[dict[str, Any]]
    stories: int
    calls: list[Call]

    @classmethod
    async def taken(cls, app: App, calls: list[Call]) -> "Account":
        """Read the records as they stand."""
        page = await app.overview.jobs(limit=1000)
        attempts = await app.database.fetch("select * from holdfast.attempt order by job_id, token")
        stories = await app.database.fetchval("select count(*) from public.story")
        return cls(page["jobs"], [dict(attempt) for attempt in attempts], stories, calls)

    def promises(self, submitted: int) -> list[Promise]:
        """Everything that was promised."""
        return [self._nothing_lost(submitted), self._nothing_paid_twice(), self._money_agrees(), self._all_explained()]

    @property
    def unfinished(self) -> list[dict[str, Any]]:
        """The jobs that did not reach their end."""
        return [job for job in self.jobs if job["state"] != "done"]

    @property
    def liveliest(self) -> int:
        """The finished job to which the most different things happened, and the dearest of those."""
        happened: defaultdict[int, set[str]] = defaultdict(set)
        for attempt in self.attempts:
            happened[attempt["job_id"]].add(attempt["category"] or attempt["outcome"])
        finished = [job for job in self.jobs if job["state"] == "done"]
        return int(max(finished, key=lambda job: (len(happened[job["job_id"]]), job["total_cost_usd"]))["job_id"])

    def _nothing_lost(self, submitted: int) -> Promise:
        duplicates = sum(job["status"] == "duplicate" for job in self.jobs)
        done = len(self.jobs) - len(self.unfinished) - duplicates
        explained = sum(job["state"] in ("failed", "deadletter") for job in self.unfinished)
        return Promise(
            submitted == done + duplicates + explained and done == self.stories,
            "nothing is lost",
            f"{submitted} submitted = {done} done ({self.stories} summaries stored) + {duplicates} duplicate"
            f" + {explained} failed and explained",
        )

    def _nothing_paid_twice(self) -> Promise:
        finished = {
            a["job_id"]: a["token"] for a in self.attempts if a["phase"] == "enrich" and a["outcome"] == "completed"
        }
        # Tokens only grow: a call under a later token was made after the phase had been finished.
        repeated = sum(call.token > finished.get(call.job_id, call.token) for call in self.calls)
        bad = sum(call.answer != "good" for call in self.calls)
        return Promise(
            repeated == 0,
            "nothing finished is paid twice",
            f"{len(self.calls)} calls, {bad} of them answered badly; calls for what was finished already: {repeated}",
        )

    def _money_agrees(self) -> Promise:
        lost = {(a["job_id"], a["token"]) for a in self.attempts if a["outcome"] == "lost"}
        billed = sum((call.billed_usd for call in self.calls), Decimal(0))
        died = sum((call.billed_usd for call in self.calls if (call.job_id, call.token) in lost), Decimal(0))
        recorded = sum((attempt["cost_usd"] for attempt in self.attempts), Decimal(0))
        return Promise(
            billed == recorded + died,
            "every cent is known",
            f"the service billed ${billed} = ${recorded} on attempts + ${died} that died with worker one",
        )

    def _all_explained(self) -> Promise:
        facts = [(job["last_error"], job["next"]) for job in self.unfinished]
        explained = sum(all((e["error"], e["component"], e["category"], after)) for e, after in facts if e)
        return Promise(
            explained == len(facts),
            "every failure is explained",
            f"{explained} of {len(facts)} say what failed, whose fault it is and what happens next",
        )
