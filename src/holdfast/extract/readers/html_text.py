"""The text of a mail written in HTML, without its scripts, styles and pictures."""

import re
from html.parser import HTMLParser

# This parser takes quadratic time on some malformed input, and a mail longer than this is no letter.
_MOST_CHARACTERS = 2_000_000

_HIDDEN = {"script", "style", "head", "title", "template", "noscript", "svg", "object", "iframe"}
_BLOCKS = {
    *("address", "article", "aside", "blockquote", "div", "dl", "dt", "dd", "fieldset", "figure", "footer", "form"),
    *(
        "header",
        "hr",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "tr",
        "ul",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
    ),
}
_BLANKS = re.compile(r"[ \t\r\f\v\xa0]+")
_NEWLINES = re.compile(r" ?\n[ \n]*\n ?| ?\n ?")


def html_to_text(html: str) -> tuple[str, bool]:
    """Return the words, a line for each block, and whether some had to be left out because there were too many."""
    parser = _Words()
    parser.feed(html[:_MOST_CHARACTERS])
    parser.close()
    text = _BLANKS.sub(" ", "".join(parser.pieces))
    text = _NEWLINES.sub(lambda found: "\n\n" if found[0].count("\n") > 1 else "\n", text)
    return text.strip(), len(html) > _MOST_CHARACTERS


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden.append(tag)
        elif tag == "br":
            self.pieces.append("\n")
        elif tag == "li":
            self.pieces.append("\n- ")
        elif tag in ("td", "th"):
            self.pieces.append(" ")
        elif tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _HIDDEN:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            # Also closes what was opened inside and never closed.
            del self._hidden[self._hidden.index(tag) :]
        elif tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data.replace("\n", " "))
