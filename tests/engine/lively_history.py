"""A small database in which most of what can happen to a job has happened, all of it by the book."""

from dataclasses import dataclass
from decimal import Decimal

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.classify import Failure
from holdfast.engine.pipeline import Done, GiveBack, Phase, Pipeline
from holdfast.engine.policy import ENRICHMENT, Policy
from holdfast.engine.queue import Lane, Queue, Submission, submit
from holdfast.errors import Category
from tests.conftest import Clock

WORKER = "worker-1"
ONCE = Policy.retrying("once", (60,))


async def nothing(attempt: Attempt) -> Done:
    return Done()


DOCUMENTS = Pipeline(
    "documents",
    starts="uploaded",
    phases=(
        Phase(name="extract", handler=nothing, done="parsed", policy=ONCE),
        Phase(
            name="enrich",
            handler=nothing,
            done="enriched",
            policy=ENRICHMENT,
            provider="model",
            budget="enrichment",
        ),
        Phase(name="embed", handler=nothing, done="complete"),
    ),
)

NAMES = ("cancelled", "dead", "done", "failing", "held", "paid", "permanent", "released", "retrying")


@dataclass(frozen=True, slots=True)
class History:
    """The jobs by what became of them; `working` is claimed by WORKER, with money set aside."""

    jobs: dict[str, int]
    documents: dict[str, int]
    working: Attempt


async def live_through(database: Database, clock: Clock) -> History:
    """Register, submit, and lead each job to where its name says."""
    queue = Queue(database)
    await queue.register([DOCUMENTS])
    await clock.advance(minutes=2)
    jobs, documents = await _submit(database, NAMES)
    await queue.register_worker(WORKER, host="here", pid=1, lanes=[])
    await _extract(queue, jobs, clock)
    working = await _enrich_and_embed(queue, jobs)
    await database.fetch("select * from holdfast.cancel(array[$1::bigint])", jobs["cancelled"])
    moved_jobs, moved_documents = await _submit(database, ("moved",))
    await queue.settle([(attempt, Done()) for attempt in (await claim(queue, "extract")).values()])
    late_jobs, late_documents = await _submit(database, ("waiting", "parent"))
    late_documents["child"] = await _submit_child_and_copy(database, late_documents["parent"])
    return History(jobs | moved_jobs | late_jobs, documents | moved_documents | late_documents, working)


async def _submit(database: Database, names: tuple[str, ...]) -> tuple[dict[str, int], dict[str, int]]:
    items = [Submission(organisation=name, source_name=name, idempotency_key=f"key-{name}") for name in names]
    taken = await submit(database, "documents", items)
    jobs = {name: one.job_id for name, one in zip(names, taken, strict=True)}
    return jobs, {name: one.document_id for name, one in zip(names, taken, strict=True)}


async def _submit_child_and_copy(database: Database, parent: int) -> int:
    child = Submission(organisation="parent", source_name="child", parent_id=parent, content_hash="same")
    copy = Submission(organisation="parent", source_name="copy", content_hash="same")
    taken = await submit(database, "documents", [child, copy])
    return taken[0].document_id


async def _extract(queue: Queue, jobs: dict[str, int], clock: Clock) -> None:
    claimed = await claim(queue, "extract")
    await queue.fail([(claimed[jobs["dead"]], failure(Category.NETWORK_TIMEOUT))])
    await queue.fail([(claimed[jobs["permanent"]], failure(Category.CONTENT_POLICY))])
    await queue.give_back([(claimed[jobs[name]], GiveBack("not now")) for name in ("released", "retrying")])
    through = ("done", "failing", "held", "paid", "cancelled")
    await queue.settle([(claimed[jobs[name]], Done({"text": name})) for name in through])
    await clock.advance(seconds=70)
    await queue.heartbeat(WORKER, [])
    again = await claim(queue, "extract")
    await queue.settle([(again[jobs["released"]], Done())])
    await queue.fail([(again[jobs[name]], failure(Category.NETWORK_TIMEOUT)) for name in ("dead", "retrying")])


async def _enrich_and_embed(queue: Queue, jobs: dict[str, int]) -> Attempt:
    claimed = await claim(queue, "enrich")
    for name in ("done", "paid", "failing"):
        await queue.reserve_budget(claimed[jobs[name]], Decimal("0.003"))
    await queue.settle([(claimed[jobs["done"]], Done(cost_usd=Decimal("0.002")))])
    await queue.fail([(claimed[jobs["failing"]], failure(Category.JSON_PARSE, cost_usd=Decimal("0.001")))])
    await queue.fail([(claimed[jobs["held"]], failure(Category.RATE_LIMIT, retry_after_seconds=600))])
    await queue.give_back([(claimed[jobs[name]], GiveBack("not now")) for name in ("released", "cancelled")])
    embedding = await claim(queue, "embed")
    await queue.settle([(embedding[jobs["done"]], Done())])
    return claimed[jobs["paid"]]


async def claim(queue: Queue, phase: str) -> dict[int, Attempt]:
    """Whatever is ready for a phase, by job."""
    return {a.job_id: a for a in await queue.claim(WORKER, [Lane("documents", phase, 100)])}


def failure(category: Category, *, retry_after_seconds: float | None = None, cost_usd: Decimal = Decimal(0)) -> Failure:
    """An account of a failure as a worker gives it."""
    return Failure(category, "it failed", "Error", retry_after_seconds=retry_after_seconds, cost_usd=cost_usd)
