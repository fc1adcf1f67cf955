"""`holdfast stories`: what a language model told of articles."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.columns import count, plain
from holdfast.cli.examples import epilog
from holdfast.cli.formats import moment, text
from holdfast.cli.options import Json, Limit, an_organisation
from holdfast.cli.output import answer, emit, print_table
from holdfast.cli.running import run

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.stories.reading import EntityCount

stories = typer.Typer(help="What a language model told of articles.", no_args_is_help=True)

DocumentId = Annotated[int, typer.Argument(metavar="DOCUMENT", help="The article, by its document's id.")]
Organisation = Annotated[
    str | None,
    typer.Option(
        "--org", callback=an_organisation, help="Whose stories; default: HOLDFAST_ORGANISATION.", show_default=False
    ),
]

COLUMNS = (plain("ENTITY", "name", flexible=True), count("STORIES", "stories"), count("MENTIONS", "mentions"))
FIELDS = {
    "title": "title",
    "url": "address",
    "published_at": "published",
    "category": "category",
    "severity": "severity",
    "primary_actor": "actor",
    "summary_neutral": "neutral",
    "summary_spicy": "spicy",
}


@stories.command("show", epilog=epilog("stories show"))
def show(document: DocumentId, as_json: Json = False) -> None:
    """The story of an article: two summaries, what it is about, how grave, and who acts in it."""
    from dataclasses import asdict

    story = asdict(run(lambda app: app.story(document), as_json=as_json))
    answer(story, as_json=as_json, render=lambda: _print(story))


@stories.command("entities", epilog=epilog("stories entities"))
def entities(org: Organisation = None, limit: Limit = 20, as_json: Json = False) -> None:
    """What an organisation's stories speak of most, counted over all of them."""
    from dataclasses import asdict

    async def ask(app: "App") -> "list[EntityCount]":
        return await app.story_entities(app.settings.organisation if org is None else org, limit=limit)

    rows = [asdict(one) for one in run(ask, as_json=as_json)]
    empty = "no story speaks of anything yet: holdfast ingest ARTICLE --pipeline stories"
    answer(rows, as_json=as_json, render=lambda: print_table(COLUMNS, rows, empty=empty))


def _print(story: dict[str, Any]) -> None:
    emit(f"document {story['document_id']}, told {moment(story['told_at'])} by {text(story['model'])}")
    for name, title in FIELDS.items():
        emit(f"  {title:<12}{text(story[name])}")
    counted = (f"{text(name)} ({story['entity_counter'].get(name, 1)})" for name in story["top_entities"])
    emit(f"  {'entities':<12}{', '.join(counted) or '-'}")
