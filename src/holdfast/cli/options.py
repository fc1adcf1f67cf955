"""Options that several commands share."""

from typing import Annotated

import typer


def an_organisation(name: str | None) -> str | None:
    """Refuse what no organisation is called, as an unset variable of a shell."""
    if name is None:
        return None
    from holdfast.engine.organisation import checked_organisation
    from holdfast.errors import InvalidInput

    try:
        return checked_organisation(name)
    except InvalidInput as error:
        raise typer.BadParameter(str(error)) from error


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="At most this many.")]
Days = Annotated[int, typer.Option("--days", min=1, help="Look back this many days.")]
Hours = Annotated[int, typer.Option("--hours", min=1, help="Look back this many hours.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Why; kept in the audit log.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be touched and change nothing.")]

State = Annotated[
    str | None,
    typer.Option("--state", help="queued, working, failed, held, done, deadletter or cancelled."),
]
PipelineName = Annotated[str | None, typer.Option("--pipeline", help="Only this pipeline.")]
PhaseName = Annotated[str | None, typer.Option("--phase", help="Only this phase.")]
InPhase = Annotated[str | None, typer.Option("--in-phase", help="Only jobs that stand in this phase.")]
Component = Annotated[str | None, typer.Option("--component", help="Only failures of this component.")]
CategoryName = Annotated[str | None, typer.Option("--category", help="Only failures of this category.")]
Organisation = Annotated[str | None, typer.Option("--org", callback=an_organisation, help="Only this organisation.")]
Platform = Annotated[str | None, typer.Option("--platform", help="Only documents from this source platform.")]
Retryable = Annotated[
    bool | None,
    typer.Option("--retryable/--not-retryable", help="Only failures that are, or are not, retried by themselves."),
]
Fingerprint = Annotated[
    str | None, typer.Option("--fingerprint", help='Only failures with this cause, see "errors --by fingerprint".')
]
Everything = Annotated[bool, typer.Option("--all", help="Every job the act applies to, without a filter.")]
JobIds = Annotated[list[int] | None, typer.Argument(metavar="ID", help="Jobs, by id.", show_default=False)]
