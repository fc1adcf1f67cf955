"""Prints passages: what was found, where it stands, and why it was found."""

from typing import TYPE_CHECKING, Any

from holdfast.cli.columns import count, plain
from holdfast.cli.formats import text
from holdfast.cli.output import emit, print_table

if TYPE_CHECKING:
    from rich.console import RenderableType

INDENT = 3
LONGEST = 700
AROUND = 120
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


def place(where: dict[str, Any]) -> str:
    """Where a passage stands, in words: `page 3`, `12:05-12:40, Harbour master`."""
    parts = [_numbers("page", where.get("pages", [])), _numbers("slide", where.get("slides", []))]
    if sheets := where.get("sheets"):
        parts.append(f"sheet {', '.join(sheets)}")
    if seconds := where.get("seconds"):
        parts.append("-".join(clock(second) for second in seconds))
    if speakers := where.get("speakers"):
        parts.append(", ".join(speakers))
    if heading := where.get("heading"):
        parts.append(" > ".join(heading))
    return " · ".join(part for part in parts if part)


def clock(seconds: float) -> str:
    """`12:05`, or `1:02:05` when there are hours."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _numbers(name: str, numbers: list[int]) -> str:
    if not numbers:
        return ""
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    return f"{name}s {numbers[0]}-{numbers[-1]}"


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
    start, end = _part(whole, hit["highlights"])
    cut = ("…" if start else "", passage[start:end], "…" if end < len(whole) else "")
    return Padding(Text.assemble(*cut), (0, 0, 0, INDENT), expand=False)


def _part(passage: str, highlights: list[tuple[int, int]]) -> tuple[int, int]:
    """From where to where it is worth reading: around the first word that was found, and whole words only."""
    if len(passage) <= LONGEST:
        return 0, len(passage)
    first = highlights[0][0] if highlights else 0
    start = max(0, min(first - AROUND, len(passage) - LONGEST))
    end = min(len(passage), start + LONGEST)
    if start:
        start = passage.find(" ", start, first) + 1 or start
    if end < len(passage):
        last = passage.rfind(" ", first, end)
        end = end if last < 0 else last
    return start, end


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
