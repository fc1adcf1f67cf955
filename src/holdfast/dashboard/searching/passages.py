"""Passages that were found: the words that were asked for stand out, with the place and the reason of each."""

from collections.abc import Iterable

from markupsafe import Markup

from holdfast.chunk.context import PATH_MARK
from holdfast.dashboard.markup import Content, link, tag
from holdfast.search.hit import Hit, Why
from holdfast.search.showing import place


def passages(hits: Iterable[Hit]) -> Markup:
    """The best first."""
    return tag("ol", [_passage(hit) for hit in hits], class_="passages")


def highlighted(hit: Hit) -> list[Content]:
    """The part of a passage that is worth reading, its highlights marked."""
    text = hit.text
    start, end = hit.excerpt
    pieces: list[Content] = ["…" if start else None]
    reached = start
    for begin, after in hit.highlights:
        if reached <= begin and after <= end:
            pieces += [text[reached:begin], tag("mark", text[begin:after])]
            reached = after
    return [*pieces, text[reached:end], "…" if end < len(text) else None]


def _passage(hit: Hit) -> Markup:
    where = place(hit.place.to_json())
    return tag(
        "li",
        tag(
            "header",
            tag("h3", link(f"/documents/{hit.document_id}", hit.title)),
            tag("span", where, class_="place") if where else None,
        ),
        tag("p", hit.context, class_="context") if _says_more(hit) else None,
        tag("blockquote", highlighted(hit)),
        tag("p", f"score {hit.score:.2f} · {_why(hit.why)} · {_source(hit)}", class_="why"),
        class_="card",
    )


def _says_more(hit: Hit) -> bool:
    """Whether the context is more than the title and the headings, which are shown anyway."""
    return hit.context not in ("", hit.title, PATH_MARK.join(hit.place.heading))


def _source(hit: Hit) -> str:
    named = "" if hit.source_name == hit.title else f"{hit.source_name}, "
    return f"{named}from {hit.source_platform}"


def _why(why: Why) -> str:
    reasons = []
    if why.words_rank is not None:
        words = f" ({', '.join(why.matched_words)})" if why.matched_words else ""
        reasons.append(f"words #{why.words_rank}{words}")
    if why.vector_rank is not None:
        reasons.append(f"meaning #{why.vector_rank} ({why.similarity:.2f})")
    return "found by " + " and ".join(reasons) if reasons else "found"
