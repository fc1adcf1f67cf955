"""`holdfast search`: passages that answer a question, with the place each came from."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from holdfast.cli.options import Json, an_organisation
from holdfast.cli.output import answer
from holdfast.cli.running import reported, run
from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.app import App

Mode: TypeAlias = Literal["fused", "words", "vectors"]
Question = Annotated[list[str], typer.Argument(metavar="QUESTION...", help="What you want to know.")]
Organisation = Annotated[
    str | None,
    typer.Option("--org", callback=an_organisation, help="Whose documents to search; default: HOLDFAST_ORGANISATION."),
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=100, help="At most this many passages.")]
By = Annotated[Mode, typer.Option("--by", help="fused (words and meaning), words or vectors.")]
Platform = Annotated[str | None, typer.Option("--platform", help="Only documents from this source platform.")]
Location = Annotated[str | None, typer.Option("--location", help="Only the source at this path, link or location.")]
Name = Annotated[str | None, typer.Option("--name", help="Only sources of this name.")]
Documents = Annotated[list[int] | None, typer.Option("--document", metavar="ID", help="Only this document.")]
Meta = Annotated[
    list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Only documents with this metadata.")
]
Graph = Annotated[bool, typer.Option("--graph", help="Add what the passages mention, and what that stands near.")]


def search(
    question: Question,
    org: Organisation = None,
    limit: Limit = 5,
    by: By = "fused",
    platform: Platform = None,
    location: Location = None,
    name: Name = None,
    document: Documents = None,
    meta: Meta = None,
    graph: Graph = False,
    as_json: Json = False,
) -> None:
    """Find passages by words and by meaning.

    "Phrases in quotes" must stand so; a word with - before it must not. Each passage says where it stands: the page,
    the heading, the slide, the sheet or the minute.
    """
    with reported(as_json=as_json):
        from holdfast.engine.metadata import metadata_of

        metadata = metadata_of(meta or ()) or None
        one_document = _only(document or [])

    async def find(app: "App") -> dict[str, Any]:
        organisation = app.settings.organisation if org is None else org
        found = await app.search.find(
            " ".join(question),
            organisation=organisation,
            limit=limit,
            mode=by,
            source_platform=platform,
            source_location=_recorded(location),
            source_name=name,
            metadata=metadata,
            document_id=one_document,
        )
        around = await app.neighbourhood(organisation, found.hits) if graph else []
        return {**found.to_json(), "graph": [asdict(spoken) for spoken in around]}

    found = run(find, as_json=as_json)
    _print(found, as_json=as_json)


def _only(documents: list[int]) -> int | None:
    if len(documents) > 1:
        raise InvalidInput("--document narrows the search to one document: name one, or search for each")
    return documents[0] if documents else None


def _recorded(location: str | None) -> str | None:
    """As intake records it: a path that is there, by its URI."""
    if location is None or not Path(location).exists():
        return location
    return Path(location).resolve().as_uri()


def _print(found: dict[str, Any], *, as_json: bool) -> None:
    from holdfast.cli.passages import print_passages

    answer(found, as_json=as_json, render=lambda: print_passages(found))
