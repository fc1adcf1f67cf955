"""Tells whether bytes are text, and kinds of text apart."""

import codecs
import json
import re
import unicodedata

from holdfast import json_codec

PLAIN = "text/plain"
MARKDOWN = "text/markdown"
CSV = "text/csv"
TSV = "text/tab-separated-values"
HTML = "text/html"
XML = "application/xml"
SVG = "image/svg+xml"
JSON = "application/json"
JSON_LINES = "application/x-ndjson"
SUBRIP = "application/x-subrip"
WEBVTT = "text/vtt"
MAIL = "message/rfc822"
MAILBOX = "application/mbox"
RTF = "application/rtf"
POSTSCRIPT = "application/postscript"

# UTF-32 before UTF-16: the mark of one begins with the mark of the other.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNMARKED = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
# Everything below the space that no text uses: tab, line and page breaks, backspace and escape do occur.
_CONTROL = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_STRAY = 0.01
# As many as readers drop before they refuse. Programs pad with NUL, and binary files hold other controls beside it.
_MOST_NUL = 0.1
_NEVER_WRITTEN = frozenset({"Cc", "Cn", "Co", "Cs"})
_SPACES = frozenset(" \n\u3000\u3001\u3002")

_BY_EXTENSION = {
    ".csv": CSV,
    ".markdown": MARKDOWN,
    ".md": MARKDOWN,
    ".mkd": MARKDOWN,
    ".tab": TSV,
    ".tsv": TSV,
}
_JSON_EXTENSIONS = {".json": JSON, ".jsonl": JSON_LINES, ".ndjson": JSON_LINES}
# No pattern here may look at a character more than a fixed number of times: the text is anyone's.
_HTML_START = re.compile(r"(?i)<(!doctype\s+html|html|head|body)\b")
_SVG_START = re.compile(r"(?i)<(!doctype\s+svg|svg)\b")
_TAG = re.compile(r"(?i)<(p|div|span|table|a|h[1-6]|ul|ol|br|title|meta)\b[^<>]*>")
_SUBRIP_START = re.compile(r"\d+[ \t]*\n\d{1,2}:\d\d:\d\d[,.]\d{1,3}[ \t]*-->")
_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]*):[ \t\n]")
# Written by programs that carry mail, not by people who write "From:" and "Subject:" above a note.
_CARRIED = frozenset({"message-id", "received", "mime-version", "return-path", "delivered-to", "dkim-signature"})
_WRITTEN = frozenset({"from", "to", "subject", "date"})
_MARKDOWN_SIGNS = (
    re.compile(r"^#{1,6} \S", re.MULTILINE),
    re.compile(r"^(```|~~~)", re.MULTILINE),
    re.compile(r"\[[^\[\]\n]{1,200}\]\([^()\n]{1,500}\)"),
    re.compile(r"^[*-] \S.*\n[*-] \S", re.MULTILINE),
    re.compile(r"\*\*[^*\n]+\*\*"),
    re.compile(r"^\|? ?:?-{3,80}:? ?\|", re.MULTILINE),
)


def read_strictly(head: bytes) -> str | None:
    """The text, if the bytes are Unicode beyond doubt: by their mark, or UTF-8 without a control character."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return _decoded(head, encoding)
    text = _decoded(head, "utf-8")
    return None if text is None or _CONTROL.search(text) else text


def read_leniently(head: bytes) -> str | None:
    """The text, if the bytes look like one.

    UTF-8 with some NUL or a few stray controls, unmarked UTF-16, or an older encoding.
    """
    for encoding in _UNMARKED if b"\0" in head else ():
        text = _decoded(head, encoding)
        if text and _looks_wide(text):
            return text
    plain = _decoded(head.replace(b"\0", b""), "utf-8")
    if plain and not _CONTROL.search(plain) and head.count(0) <= _MOST_NUL * len(head):
        return plain
    for encoding in ("utf-8", "latin-1"):
        text = _decoded(head, encoding)
        if text and len(_CONTROL.findall(text)) <= _MOST_STRAY * len(text):
            return text
    return None


def kind_of_text(text: str, extension: str) -> str:
    """What kind of text it is: by content where that tells, else by the extension, else plain."""
    text = text.lstrip("\ufeff \t\r\n").replace("\r\n", "\n")
    return _marked_up(text, extension) or _structured(text, extension) or _loosely_structured(text, extension)


def _decoded(head: bytes, encoding: str) -> str | None:
    # Incremental, because the head may end within a character.
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head, final=False)
    except UnicodeDecodeError:
        return None


def _looks_wide(text: str) -> bool:
    """Whether UTF-16 or UTF-32 was a good guess: nearly any bytes decode, but few give spaces and no odd character."""
    odd = sum(unicodedata.category(char) in _NEVER_WRITTEN and char not in "\t\n\r\f" for char in text)
    return odd <= _MOST_STRAY * len(text) and not _SPACES.isdisjoint(text)


def _marked_up(text: str, extension: str) -> str | None:
    inner = _without_prolog(text)
    if _HTML_START.match(inner):
        return HTML
    if _SVG_START.match(inner):
        return SVG
    if text.startswith("<?xml") or (extension == ".xml" and text.startswith("<")):
        return XML
    if extension in (".html", ".htm", ".xhtml") and _TAG.search(text):
        return HTML
    if text.startswith("{\\rtf"):
        return RTF
    return POSTSCRIPT if text.startswith("%!PS") else None


def _without_prolog(text: str) -> str:
    """The text from its first element on: without a declaration and comments before it."""
    position = 0
    while text.startswith(("<!--", "<?"), position):
        closing = "-->" if text.startswith("<!--", position) else "?>"
        end = text.find(closing, position)
        if end < 0:
            break
        position = end + len(closing)
        while text[position : position + 1].isspace():
            position += 1
    return text[position:]


def _structured(text: str, extension: str) -> str | None:
    if re.match(r"WEBVTT(\s|$)", text):
        return WEBVTT
    if _SUBRIP_START.match(text):
        return SUBRIP
    if text.startswith("From ") and _is_mail(text.partition("\n")[2], ".eml"):
        return MAILBOX
    if _is_mail(text, extension):
        return MAIL
    return _json_kind(text, extension)


def _is_mail(text: str, extension: str) -> bool:
    names = set()
    for line in text.split("\n"):
        header = _HEADER.match(line + "\n")
        if header:
            names.add(header[1].lower())
        elif not line or line[0] not in " \t":
            break
    known = names & (_CARRIED | _WRITTEN)
    return len(known) >= 2 and bool(extension == ".eml" or known & _CARRIED)


def _json_kind(text: str, extension: str) -> str | None:
    if not text.startswith(("{", "[")):
        return None
    lines = text.split("\n", 2)
    if len(lines) > 1 and text.startswith("{") and _is_json(lines[0]) and _begins_json(lines[1].lstrip()):
        return JSON_LINES
    if extension in _JSON_EXTENSIONS:
        return _JSON_EXTENSIONS[extension]
    return JSON if _begins_json(text) else None


def _is_json(text: str) -> bool:
    try:
        json_codec.loads(text)
    except ValueError:
        return False
    return True


def _begins_json(text: str) -> bool:
    """Whether it is JSON as far as it goes: the head of a large one breaks off somewhere."""
    if not text.startswith(("{", "[")):
        return False
    try:
        json_codec.loads(text, strict=False)
    except json.JSONDecodeError as error:
        # A string that breaks off is reported where it begins.
        return error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string")
    except ValueError:
        # Nested very deep, or a number of thousands of digits.
        return True
    return True


def _loosely_structured(text: str, extension: str) -> str:
    if extension in _BY_EXTENSION:
        return _BY_EXTENSION[extension]
    if extension:
        return PLAIN
    if sum(bool(sign.search(text)) for sign in _MARKDOWN_SIGNS) >= 2:
        return MARKDOWN
    return _table_kind(text) or PLAIN


def _table_kind(text: str) -> str | None:
    """A table, if the first lines hold the same number of separators, two or more, and cells rather than sentences."""
    lines = [line for line in text.split("\n")[:-1] if line][:20]
    if len(lines) < 3:
        return None
    for separator, kind in (("\t", TSV), (",", CSV), (";", CSV)):
        counts = {line.count(separator) for line in lines}
        if len(counts) == 1 and min(counts) >= 2 and max(map(len, lines)) < 40 * (min(counts) + 1):
            return kind
    return None
