"""`holdfast delete`, `reindex` and `clean`: what keeps knowledge as it should be."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.formats import money, number, plural
from holdfast.cli.options import Json, an_organisation
from holdfast.cli.output import answer, emit
from holdfast.cli.progress import progress
from holdfast.cli.running import actor, reported, run
from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.embed.reindex import Reindexed

Documents = Annotated[list[int], typer.Argument(metavar="DOCUMENT...", help="Documents, by id.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask: it cannot be undone.")]
Model = Annotated[
    str | None, typer.Option("--model", help="light, openai, or an embedder's full name; default: the configured one.")
]
Organisation = Annotated[
    str | None,
    typer.Option("--org", callback=an_organisation, help="Embed only this organisation's passages, and do not switch."),
]
Prune = Annotated[bool, typer.Option("--prune", help="Remove the vectors of all other models after the switch.")]
# Of one, and of many.
RECEIPT = {
    "documents": ("document", "documents"),
    "chunks": ("chunk", "chunks"),
    "embeddings": ("vector", "vectors"),
    "entities": ("entity", "entities"),
    "relations": ("relation", "relations"),
    "stories": ("story", "stories"),
    "readings": ("reading", "readings"),
    "answers": ("remembered answer of paid services", "remembered answers of paid services"),
    "config_files": ("configuration file", "configuration files"),
    "stanzas": ("stanza", "stanzas"),
    "settings": ("setting", "settings"),
    "errors": ("logged error", "logged errors"),
    "artifacts": ("stored file", "stored files"),
    "bytes": ("byte", "bytes"),
    "artifacts_waiting": ("stored file to go with a later clean", "stored files to go with a later clean"),
}
CLEANED = {
    "replaced_versions": ("replaced version", "replaced versions"),
    **{name: RECEIPT[name] for name in ("chunks", "artifacts", "bytes", "answers")},
}


def delete(documents: Documents, yes: Yes = False, as_json: Json = False) -> None:
    """Remove documents and everything made from them, and print a receipt.

    Text, chunks, vectors, contributions to the graph and stored files go for good, also those of older versions,
    of the same content under other names and of what was inside: members of archives, attachments. What was tried and
    what it cost stays.
    """
    with reported(as_json=as_json):
        _confirm(documents, yes=yes)

    receipts: list[dict[str, Any]] = []

    async def remove(app: "App") -> None:
        for one in documents:
            receipts.append({"document_id": one, **asdict(await app.delete(one, actor=actor()))})

    try:
        run(remove, as_json=as_json)
    finally:
        # What is gone is gone, also when the next one cannot be removed.
        if receipts:
            answer({"receipts": receipts}, as_json=as_json, render=lambda: _print_receipts(receipts))


def reindex(model: Model = None, org: Organisation = None, prune: Prune = False, as_json: Json = False) -> None:
    """Embed everything with another model while the old one answers, then switch.

    Can be stopped and called again: it goes on where it was, and only what lacks a vector is embedded. Give workers
    the new model in HOLDFAST_EMBEDDER before the switch: those with the old one are refused from then on.
    """

    async def embed(app: "App") -> "tuple[Reindexed, int]":
        done = await app.reindex(model, organisation=org, on_progress=lambda so_far: shown(so_far.embedded))
        return done, await app.prune_vectors() if prune and done.active else 0

    with progress("passages embedded") as shown:
        done, pruned = run(embed, as_json=as_json)
    told = {**asdict(done), "pruned": pruned}
    answer(told, as_json=as_json, render=lambda: _print_reindexed(told))


def clean(as_json: Json = False) -> None:
    """Remove what nobody needs any more. Workers do this by themselves, every hour.

    What was made from replaced versions after HOLDFAST_SUPERSEDED_DAYS, stored files that no document uses, and
    remembered answers of paid services after 30 days. Nothing that is referenced is ever removed.
    """
    with progress("removed"):
        removed = run(lambda app: app.clean(), as_json=as_json)

    def render() -> None:
        for name, nouns in CLEANED.items():
            if removed[name]:
                emit(f"{number(removed[name])} {_noun(removed[name], nouns)} removed")
        if not any(removed.values()):
            emit("there was nothing to remove")

    answer(removed, as_json=as_json, render=render)


def _confirm(documents: list[int], *, yes: bool) -> None:
    if yes:
        return
    shown = ", ".join(map(str, documents))
    if not sys.stdin.isatty():
        raise InvalidInput(f"removing document {shown} cannot be undone: add --yes if that is meant")
    typer.confirm(f"Remove document {shown} and everything made from it, for good?", abort=True)


def _print_receipts(receipts: list[dict[str, Any]]) -> None:
    for receipt in receipts:
        emit(f"document {receipt['document_id']} is gone, and with it:")
        for name, nouns in RECEIPT.items():
            if receipt[name]:
                emit(f"  {number(receipt[name]):>12} {_noun(receipt[name], nouns)}")


def _noun(amount: int, nouns: tuple[str, str]) -> str:
    return nouns[0] if amount == 1 else nouns[1]


def _print_reindexed(told: dict[str, Any]) -> None:
    emit(f"{plural(told['embedded'], 'passage')} embedded, {number(told['reused'])} reused, {money(told['cost_usd'])}")
    emit(
        "it answers searches now"
        if told["active"]
        else "the old model goes on answering: only one organisation was done"
    )
    if told["pruned"]:
        emit(f"{plural(told['pruned'], 'vector')} of other models removed")
