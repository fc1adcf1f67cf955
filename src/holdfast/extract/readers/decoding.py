"""Text out of bytes, window by window, with an account of what was lost on the way."""

import codecs
import io
from collections.abc import Iterable, Iterator

from holdfast.errors import CorruptInput
from holdfast.extract.readers.encoding import Encoding, detect_encoding
from holdfast.extract.reading import Progress, Reading, Source

_WINDOW_BYTES = 1 << 20
# Everything below the space except tab, line ends, form feed and escape (terminal logs).
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\x0b\x0c\x1b") + b"\x7f"
_MOST_UNREADABLE_SHARE = 0.1
_LEAST_JUDGED_CHARACTERS = 100_000


def decode(source: Source, reading: Reading, progress: Progress) -> Iterator[str]:
    """Yield the file's text in windows of about a megabyte, without NUL, and warn of what could not be read.

    Raises CorruptInput, as soon as it shows, for a file that is not text.
    """
    yield from decode_as(detect_encoding(source.path, source.charsets), source, reading, progress)


def decode_as(encoding: Encoding, source: Source, reading: Reading, progress: Progress) -> Iterator[str]:
    """Yield the same of a file whose encoding is known."""
    size = source.path.stat().st_size
    account = _Account(source.name, encoding)
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    with source.path.open("rb") as file:
        file.seek(encoding.mark_bytes)
        while data := file.read(_WINDOW_BYTES):
            yield account.take(decoder.decode(data))
            progress(file.tell() / size)
        yield account.take(decoder.decode(b"", final=True))
    account.report(reading)


def lines(windows: Iterable[str], *, most_characters: int) -> Iterator[str]:
    """Yield line after line, each with its newline, however the windows cut them.

    A longer line comes in pieces of that length, so that memory does not grow with it.
    """
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    rest = ""
    for window in windows:
        # Not splitlines: that would also cut at form feeds and Unicode's separators, which stand inside fields.
        for line in io.StringIO(rest + newlines.decode(window)):
            rest = line
            if line.endswith("\n"):
                yield line
                rest = ""
        while len(rest) > most_characters:
            yield rest[:most_characters]
            rest = rest[most_characters:]
    if rest:
        yield rest


class _Account:
    """Counts what no reader can make sense of, and refuses what turns out not to be text."""

    def __init__(self, name: str, encoding: Encoding) -> None:
        self._name = name
        self._encoding = encoding
        self._characters = 0
        self._zeros = 0
        self._controls = 0
        self._replaced = 0

    def take(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        controls = len(data) - len(data.translate(None, _CONTROLS))
        replaced = text.count("\ufffd")
        self._characters += len(text)
        self._controls += controls
        self._replaced += replaced
        # The whole so far, and a window on its own: text may turn into noise after a long good beginning.
        self._judge(self._controls + self._replaced, self._characters)
        if len(text) > _LEAST_JUDGED_CHARACTERS:
            self._judge(controls + replaced, len(text))
        if "\0" not in text:
            return text
        self._zeros += text.count("\0")
        return text.replace("\0", "")

    def _judge(self, unreadable: int, characters: int) -> None:
        if unreadable > characters * _MOST_UNREADABLE_SHARE:
            raise CorruptInput(
                f"{self._name} is not text: of {characters:,} characters, read as {self._encoding.name}, "
                f"{unreadable:,} are control codes or unreadable",
                error_code="NOT_TEXT",
            )

    def report(self, reading: Reading) -> None:
        for charset in self._encoding.mistaken:
            message = f"declared as {charset!r}, which is unknown or does not fit; read as {self._encoding.name}"
            reading.warn("CHARSET_MISTAKEN", message)
        if self._encoding.is_guess:
            declared = "declared wrongly" if self._encoding.mistaken else "not declared"
            reading.warn("ENCODING_GUESSED", f"the encoding is {declared}; read as {self._encoding.name}")
        if self._replaced:
            reading.warn(
                "UNREADABLE_CHARACTERS", f"{self._replaced:,} characters could not be read and are shown as \ufffd"
            )
        if self._zeros:
            reading.warn("NUL_DROPPED", f"{self._zeros:,} NUL characters were dropped")
