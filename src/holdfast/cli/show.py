"""`holdfast show`: the life of a job, or of all jobs of a document."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.life import print_life, print_lives, print_warnings
from holdfast.cli.options import Json
from holdfast.cli.output import answer
from holdfast.cli.running import reported, run
from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.app import App

JobId = Annotated[int | None, typer.Argument(metavar="[ID]", help="The job.", show_default=False)]
DocumentId = Annotated[int | None, typer.Option("--document", metavar="ID", help="Every job of this document.")]

ACTS_SHOWN = 100


def show(job_id: JobId = None, document_id: DocumentId = None, as_json: Json = False) -> None:
    """The life of a job, and what happens next.

    Where it stands, every attempt with its time, cost and error, and what operators did to it.
    """
    with reported(as_json=as_json):
        if (job_id is None) == (document_id is None):
            raise InvalidInput("name a job, or a document with --document")

    if job_id is not None:
        job = run(lambda app: _job(app, job_id), as_json=as_json)
        answer(job, as_json=as_json, render=lambda: _print_job(job))
    elif document_id is not None:
        document = run(lambda app: _document(app, document_id), as_json=as_json)
        answer(document, as_json=as_json, render=lambda: _print_document(document))


async def _job(app: "App", job_id: int) -> dict[str, Any]:
    job = await _with_acts(app, await app.overview.job(job_id))
    return {**job, "warnings": await app.warnings([job["document_id"]])}


async def _document(app: "App", document_id: int) -> dict[str, Any]:
    document = await app.overview.pipeline_of(document_id)
    jobs = [await _with_acts(app, job) for job in document["jobs"]]
    return {**document, "jobs": jobs, "warnings": await app.warnings([document_id])}


async def _with_acts(app: "App", job: dict[str, Any]) -> dict[str, Any]:
    return {**job, "acts": await app.overview.audit(ACTS_SHOWN, job["job_id"])}


def _print_job(job: dict[str, Any]) -> None:
    print_life(job)
    print_warnings(job["warnings"])


def _print_document(document: dict[str, Any]) -> None:
    print_lives(document["jobs"])
    print_warnings(document["warnings"])
