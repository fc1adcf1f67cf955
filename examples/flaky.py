"""Shows the promise at a glance: 40 documents, a flaky paid service, a killed worker, a spent budget."""

import asyncio
import hashlib
import sys
from decimal import Decimal

from account import Account, Promise
from picture import PHASES, Watch
from rich.console import Console
from rich.table import Table
from service import FIRST_SUMMARIES, FORBIDDEN, HOPELESS, RETRACTED, Service, running_service
from world import Failed, WorkerProcess, ending, holdfast, own_world, worker_processes

from holdfast.app import App, open_app
from holdfast.engine.queue import Submission, submit
from holdfast.settings import load_settings

ARTICLES = {"aurora": 19, "borealis": 11, "cirrus": 6}
FIRST_LIMIT_USD, SECOND_LIMIT_USD = Decimal("0.09"), Decimal("1")


def submissions() -> list[Submission]:
    """Forty documents of three organisations: some cannot succeed, and one comes twice."""
    names = [(org, f"{org}-{number:02}") for org, count in ARTICLES.items() for number in range(1, count + 1)]
    names += [("aurora", RETRACTED), ("borealis", FORBIDDEN), ("cirrus", HOPELESS), ("aurora", "aurora-01")]
    return [
        Submission(
            organisation=organisation,
            source_name=name,
            source_platform="newspaper",
            content_hash=hashlib.sha256(name.encode()).hexdigest(),
        )
        for organisation, name in names
    ]


async def play(app: App, watch: Watch, workers: list[WorkerProcess], service: Service) -> None:
    """The story: submit, kill a worker in the middle, run out of money, get more, finish."""
    control = app.control("example")
    await app.register()
    await control.set_budget("summaries", FIRST_LIMIT_USD)
    await app.database.execute("create table public.story (document_id bigint primary key, summary text not null)")
    taken_in = await submit(app.database, "press", submissions())
    watch.tell(
        f"{len(taken_in)} documents of {len(ARTICLES)} organisations submitted, the budget is ${FIRST_LIMIT_USD}"
    )

    one = workers[0]
    picture = await watch.until(lambda p: p.past("store") >= FIRST_SUMMARIES and p.in_hand.get(one.pid, 0) > 1)
    one.kill()
    service.go_on.set()
    watch.tell(f"[bold red]kill -9[/] for {one.name}, which had {picture.in_hand[one.pid]} jobs in hand")
    await watch.until(lambda p: p.in_hand[one.pid] == 0)
    watch.tell("it was missed: its jobs are back in the queue, at the phase they were in, uncharged")

    picture = await watch.until(lambda p: p.out_of_money)
    waiting = picture.states()["queued"] + picture.states()["held"]
    watch.tell(f"[bold yellow]the budget is spent[/]: {waiting} jobs wait for its next day, uncharged")
    await control.set_budget("summaries", SECOND_LIMIT_USD)
    watch.tell(f"an operator raises it to ${SECOND_LIMIT_USD}, and work goes on by itself")

    await watch.until(lambda p: p.settled)
    watch.tell("[bold green]everything has ended[/]")


def print_failures(console: Console, account: Account) -> None:
    """What did not succeed, why, and what to do about it."""
    headings = ("JOB", "DOCUMENT", "WHAT HAPPENED", "WHOSE FAULT", "WHAT NEXT")
    table = Table(*headings, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for job in account.unfinished:
        error = job["last_error"]
        table.add_row(str(job["job_id"]), job["source_name"], error["error"], error["component"], job["next"])
    console.print(table, "")


def print_promises(console: Console, promises: list[Promise]) -> None:
    """Each part of the promise with the figures behind it."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for promise in promises:
        mark = "[bold green]✓[/]" if promise.holds else "[bold red]✗[/]"
        table.add_row(f"{mark} [bold]{promise.text}[/]", promise.figures)
    console.print(table, highlight=False)


def as_operator(console: Console, *arguments: str) -> int:
    """Show a command and what it answers."""
    console.print(f"\n[bold cyan]$ holdfast {' '.join(arguments)}[/]", highlight=False)
    return holdfast(*arguments)


async def run(console: Console, service: Service) -> None:
    """The story and its reckoning. Raises Failed unless everything that was promised holds."""
    async with open_app(load_settings()) as app:
        with worker_processes("worker one", "worker two") as workers:
            async with Watch(app, console).drawing() as watch:
                try:
                    await play(app, watch, workers, service)
                except TimeoutError:
                    console.print(f"{workers[1].name} said:\n{workers[1].last_words}", markup=False)
                    raise Failed(f"the story stopped: see what {workers[1].name} said above") from None
        account = await Account.taken(app, service.calls)
        console.rule("one job's life", align="left")
        as_operator(console, "show", str(account.liveliest))
        console.rule("what did not succeed", align="left")
        print_failures(console, account)
        console.rule("the promise", align="left")
        promises = account.promises(len(submissions()))
        print_promises(console, promises)
        if as_operator(console, "doctor") != 0:
            raise Failed("an invariant is broken: see what doctor says above")
        if broken := [promise.text for promise in promises if not promise.holds]:
            raise Failed(f"the promise is broken: {', '.join(broken)}")


def story() -> None:
    # Elsewhere than on a terminal nobody knows the width; these lines fit in 120.
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(
        f"[bold]Holdfast[/]: a pipeline of {len(PHASES)} phases, {' → '.join(PHASES)}, on a database of its own"
    )
    settings = {
        "HOLDFAST_PIPELINES": "press:press",
        # A dead worker is missed after 10 s by default; here nobody wants to wait that long.
        "HOLDFAST_LEASE_SECONDS": "2",
        "HOLDFAST_HEARTBEAT_SECONDS": "0.5",
        "HOLDFAST_SWEEP_SECONDS": "0.5",
    }
    with running_service() as service, own_world(PRESS_URL=service.url, **settings):
        asyncio.run(run(console, service))


if __name__ == "__main__":
    sys.exit(ending("examples/flaky.py", story))
