"""Prints passages: what was found, where it stands, and why it was found."""

from typing import TYPE_CHECKING, Any

from holdfast.cli.columns import count, plain
from holdfast.cli.formats import text
from holdfast.cli.output import emit, print_table
from holdfast.search.showing import place

if TYPE_CHECKING:
    from rich.console import RenderableType

INDENT = 3
ENTITIES = (
    plain("ENTITY", "name"),
    plain("KIND", "kind"),
    plain("STANDS NEAR", "near", flexible=True),
    count("PASSAGES", "passages"),
)


def print_passages(found: dict[str, Any]) -> None:
    """The best first."""
    for note in found["notes"]:
        emit(f"note: {note}")
    if not found["hits"]:
        emit("nothing found: try other words, or look at what was ingested with: holdfast jobs")
    for number, hit in enumerate(found["hits"], start=1):
        emit(*([""] if number > 1 else []), _title(number, hit), _passage(hit), _why(hit))
    if found["graph"]:
        _print_graph(found["graph"])


def _title(number: int, hit: dict[str, Any]) -> "RenderableType":
    from rich.text import Text

    where = place(hit["place"])
    return Text.assemble(
        (f"{number}. ", "dim"),
        (text(hit["source_name"]), "bold cyan"),
        f"  {text(where)}" if where else "",
        (f"   {hit['score']:.4f}", "dim"),
    )


def _passage(hit: dict[str, Any]) -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    whole = hit["text"]
    passage = Text("".join(c if c.isprintable() or c == "\n" else " " for c in whole), overflow="fold")
    for begin, end in hit["highlights"]:
        passage.stylize("bold yellow", begin, end)
    start, end = hit["excerpt"]
    cut = ("…" if start else "", passage[start:end], "…" if end < len(whole) else "")
    return Padding(Text.assemble(*cut), (0, 0, 0, INDENT), expand=False)


def _why(hit: dict[str, Any]) -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    why, reasons = hit["why"], []
    if why["words_rank"] is not None:
        words = ", ".join(why["matched_words"])
        reasons.append(f"words #{why['words_rank']}" + (f" ({text(words)})" if words else ""))
    if why["vector_rank"] is not None:
        reasons.append(f"meaning #{why['vector_rank']} ({why['similarity']:.2f})")
    line = f"{' · '.join(reasons)} · document {hit['document_id']}"
    return Padding(Text(line, style="dim"), (0, 0, 0, INDENT), expand=False)


def _print_graph(spoken: list[dict[str, Any]]) -> None:
    rows = [{**one, "near": ", ".join(_near(neighbour) for neighbour in one["neighbours"])} for one in spoken]
    print_table(ENTITIES, rows, title="What they speak of", empty="")


def _near(neighbour: dict[str, Any]) -> str:
    if neighbour["predicate"] == "mentioned_with":
        return f"{neighbour['name']} ({neighbour['strength']})"
    arrow = "->" if neighbour["outward"] else "<-"
    return f"{neighbour['predicate']} {arrow} {neighbour['name']} ({neighbour['strength']})"
