"""What became of a document: its files, and its passages."""

from markupsafe import Markup

from holdfast.artifacts.document_file import DocumentFile
from holdfast.dashboard.markup import Content, link, tag
from holdfast.dashboard.tables import folded
from holdfast.dashboard.words import count, nothing_yet, size
from holdfast.search.passages import Passage
from holdfast.standard import Place

SLACK_BYTES = 4  # of a character that was cut in two


def passages_markup(job_id: int, passages: list[Passage], *, first: int, limit: int, chunks: int) -> Markup:
    """Passages with where they stand and what situates them, a page at a time."""
    title = tag("h2", "Passages", f" ({count(chunks)})" if chunks else None, id="passages")
    if not passages:
        return tag("section", title, nothing_yet("There are no passages yet.", "They are made in the phase chunk."))
    last = passages[-1].ordinal
    before = link(_at(job_id, max(0, first - limit)), "Earlier") if first > 0 else None
    after = link(_at(job_id, last + 1), "Later") if last + 1 < chunks else None
    ways = tag("nav", before, after, class_="ways", aria_label="Pages of passages") if before or after else None
    return tag("section", title, tag("ol", map(_passage, passages), class_="passages"), ways)


def files_markup(document_id: int, original: DocumentFile | None, text: DocumentFile | None, beginning: str) -> Content:
    """What can be taken away, and the beginning of the text, folded."""
    taken = [
        tag("li", link(f"/documents/{document_id}/{kind}", word, download=True), f" {size(file.artifact.size)}")
        for kind, word, file in (("original", "Original", original), ("text", "Extracted text", text))
        if file is not None
    ]
    if not taken:
        return None
    more = "" if text is None or len(beginning.encode()) + SLACK_BYTES >= text.artifact.size else "\n…"
    read = folded("text", "Read the text", tag("pre", beginning, more)) if beginning else None
    return tag("section", tag("h2", "Files"), tag("div", tag("ul", taken, class_="taken"), read, class_="card"))


def place_words(place: Place) -> str:
    """Where a passage stands: page 3, 12:05 to 12:40, Harbour > Gates."""
    parts = [_numbers("page", place.pages), _numbers("slide", place.slides)]
    parts += [f"sheet {', '.join(place.sheets)}"] if place.sheets else []
    parts += [" to ".join(_clock(second) for second in place.seconds)] if place.seconds else []
    parts += [", ".join(place.speakers)] if place.speakers else []
    parts += [" > ".join(place.heading)] if place.heading else []
    return " · ".join(part for part in parts if part)


def _passage(passage: Passage) -> Content:
    return tag(
        "li",
        tag("p", tag("b", f"{passage.ordinal + 1}"), " ", place_words(passage.place), class_="faint"),
        tag("p", passage.context, class_="context") if passage.context else None,
        tag("p", passage.text, class_="text"),
        class_="card",
        value=passage.ordinal + 1,
    )


def _at(job_id: int, first: int) -> str:
    return f"/jobs/{job_id}?passage={first}#passages"


def _numbers(name: str, numbers: tuple[int, ...]) -> str:
    if not numbers:
        return ""
    return f"{name} {numbers[0]}" if len(numbers) == 1 else f"{name}s {numbers[0]}-{numbers[-1]}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
