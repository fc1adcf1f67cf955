"""`holdfast submit`: takes documents in, one from the command line or many from JSON lines."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from holdfast.cli.options import Json, an_organisation
from holdfast.cli.output import answer
from holdfast.cli.progress import progress
from holdfast.cli.running import WORK_FAILED, reported, run
from holdfast.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.engine.queue import Submission, Submitted

PipelineArgument = Annotated[str, typer.Argument(metavar="PIPELINE", help="The pipeline to carry it through.")]
OrganisationOption = Annotated[
    str | None, typer.Option("--org", callback=an_organisation, help="The organisation it belongs to.")
]
Name = Annotated[str, typer.Option("--name", help="What its source calls it.")]
PlatformOption = Annotated[str, typer.Option("--platform", help="Where it comes from: upload, s3, gdrive …")]
Location = Annotated[str | None, typer.Option("--location", help="Where its source lives: a path or URL.")]
ContentHash = Annotated[str | None, typer.Option("--hash", help="Its content's hash: the same content runs once.")]
Meta = Annotated[list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Metadata; repeat for more.")]
Input = Annotated[str | None, typer.Option("--input", metavar="JSON", help="What the first phase gets.")]
Key = Annotated[str | None, typer.Option("--key", help="Idempotency key: the same key is taken in once.")]
Priority = Annotated[int, typer.Option("--priority", min=-100, max=100, help="Higher is claimed first.")]
File = Annotated[
    Path | None, typer.Option("--file", help="Read many as JSON lines, one object each; - is standard input.")
]


def submit(
    context: typer.Context,
    pipeline: PipelineArgument,
    org: OrganisationOption = None,
    name: Name = "unnamed",
    platform: PlatformOption = "upload",
    location: Location = None,
    content_hash: ContentHash = None,
    meta: Meta = None,
    input_: Input = None,
    key: Key = None,
    priority: Priority = 0,
    file: File = None,
    as_json: Json = False,
) -> None:
    """Take documents in. Answers at once; workers do the rest.

    With --file the fields of each line are organisation, source_name, source_platform, source_location,
    content_hash, metadata, idempotency_key, parent_id, document_id, priority and input. Lines are taken in by the
    thousand; give each an idempotency_key and the same file can be submitted again after an interruption.
    """
    if file is not None:
        with reported(as_json=as_json):
            _refuse_fields(context)
        _submit_lines(pipeline, file, organisation=org, as_json=as_json)
        return
    with reported(as_json=as_json):
        from holdfast.cli.submissions import json_of
        from holdfast.engine.metadata import metadata_of
        from holdfast.engine.queue import Submission

        if not org:
            raise InvalidInput("name the organisation the document belongs to: --org NAME")
        submission = Submission(
            organisation=org,
            source_name=name,
            source_platform=platform,
            source_location=location,
            content_hash=content_hash,
            metadata=metadata_of(meta or ()),
            idempotency_key=key,
            priority=priority,
            input=None if input_ is None else json_of(input_),
        )
    _submit_one(pipeline, submission, as_json=as_json)


def _refuse_fields(context: typer.Context) -> None:
    """With --file the lines say it all; only the organisation may be given for those that name none."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        given = source is not None and source.name == "COMMANDLINE"
        if given and parameter.name not in ("pipeline", "org", "file", "as_json"):
            raise InvalidInput(f"{parameter.opts[0]} and --file exclude each other: put it in the lines")


def _submit_one(pipeline: str, submission: "Submission", *, as_json: bool) -> None:
    (submitted,) = run(lambda app: _take_in(app, pipeline, [submission]), as_json=as_json)
    answer(submitted, as_json=as_json, render=lambda: print(_sentence(submitted)))
    if submitted.result == "permanent_failure":
        raise typer.Exit(WORK_FAILED)


def _submit_lines(pipeline: str, file: Path, *, organisation: str | None, as_json: bool) -> None:
    from holdfast.cli.submissions import read_batches

    submitted: list[Submitted] = []

    async def take_all_in(app: "App") -> None:
        with _opened(file) as lines:
            try:
                for batch in read_batches(lines, organisation):
                    submitted.extend(await _take_in(app, pipeline, batch))
                    shown(len(submitted))
            except InvalidInput as error:
                raise InvalidInput(f"{error}; {len(submitted)} documents before it were taken in") from error

    with progress("documents taken in") as shown:
        run(take_all_in, as_json=as_json)
    counts = Counter(one.result for one in submitted)
    answer(
        {"counts": counts, "submissions": submitted},
        as_json=as_json,
        render=lambda: print(", ".join(f"{count} {result}" for result, count in counts.items()) or "no lines to read"),
    )


async def _take_in(app: "App", pipeline: str, batch: "list[Submission]") -> "list[Submitted]":
    from holdfast.engine.queue import submit as submit_batch

    try:
        return await submit_batch(app.database, pipeline, batch)
    except NotFound:
        # Declared here but never run: make it known, which those who only submit have no right to do otherwise.
        await app.register()
        return await submit_batch(app.database, pipeline, batch)


def _sentence(submitted: "Submitted") -> str:
    job, document = submitted.job_id, submitted.document_id
    return {
        "created": f"job {job} created for document {document}; follow it with: holdfast show {job}",
        "existing": f"document {document} was taken in before: see holdfast show {job}",
        "duplicate": f"document {document} is a duplicate: nothing will run, see holdfast show {job}",
        "permanent_failure": f"document {document} failed for good: see holdfast show {job}, then holdfast reset {job}",
    }[submitted.result]


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    if str(file) == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = file.open("rb")
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror}") from error
    with stream:
        yield stream
