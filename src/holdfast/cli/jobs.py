"""`holdfast jobs`: lists jobs, page by page."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import options
from holdfast.cli.columns import Row, dollars, identity, plain, since
from holdfast.cli.output import answer, print_table
from holdfast.cli.running import reported, run

if TYPE_CHECKING:
    from holdfast.engine.overview import JobFilter

StatusName = Annotated[str | None, typer.Option("--status", help="Only jobs that have reached this status.")]
Meta = Annotated[
    list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Only documents with this metadata.")
]
Words = Annotated[
    str | None,
    typer.Option("--text", help="Words of the document's name or their beginnings; or a document's or a job's number."),
]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Go on after the page that ended with this.")]

EMPTY = "no job matches; documents are taken in with: holdfast ingest"


def jobs(
    state: options.State = None,
    status: StatusName = None,
    pipeline: options.PipelineName = None,
    phase: options.PhaseName = None,
    component: options.Component = None,
    category: options.CategoryName = None,
    org: options.Organisation = None,
    platform: options.Platform = None,
    retryable: options.Retryable = None,
    fingerprint: options.Fingerprint = None,
    meta: Meta = None,
    words: Words = None,
    limit: options.Limit = 20,
    cursor: Cursor = None,
    as_json: options.Json = False,
) -> None:
    """List jobs, those of the newest documents first."""
    with reported(as_json=as_json):
        from holdfast.engine.metadata import metadata_of

        metadata = metadata_of(meta or ())
    narrowed: JobFilter = {
        "state": state,
        "status": status,
        "pipeline": pipeline,
        "phase": phase,
        "component": component,
        "category": category,
        "organisation": org,
        "platform": platform,
        "retryable": retryable,
        "fingerprint": fingerprint,
        "metadata": metadata or None,
        "text": words,
    }
    page = run(lambda app: app.overview.jobs(limit=limit, cursor=cursor, **narrowed), as_json=as_json)
    answer(page, as_json=as_json, render=lambda: _print(page))


def _print(page: Row) -> None:
    # Who carries a job is told where somebody else does.
    apart = any(job["flow"] == "old" for job in page["jobs"])
    print_table((*COLUMNS[:2], FLOW, *COLUMNS[2:]) if apart else COLUMNS, page["jobs"], empty=EMPTY)
    if page["cursor"]:
        print(f"\nmore with: --cursor {page['cursor']}")


FLOW = plain("FLOW", "flow")
COLUMNS = (
    identity("JOB", "job_id"),
    plain("STATE", "state"),
    plain("PIPELINE", "pipeline"),
    plain("PHASE", "phase"),
    plain("STATUS", "status"),
    plain("ORG", "organisation"),
    since("SUBMITTED", "submitted_at"),
    dollars("COST", "total_cost_usd"),
    plain("NAME", "source_name", flexible=True),
    plain("NEXT", "next", flexible=True),
)
