"""Plain text in any encoding, kept as it is; a transcript among them is read as one."""

from itertools import chain

from holdfast.extract.readers.decoding import decode
from holdfast.extract.readers.transcripts import looks_like_transcript, write_transcript
from holdfast.extract.reading import Progress, Reading, Source


def read_text(source: Source, reading: Reading, progress: Progress) -> None:
    """Write every character, code and tables included, in memory that does not depend on size or line length."""
    reading.extractor = "text"
    # A line that begins with # is a comment of some language, not a heading.
    reading.has_headings = False
    windows = decode(source, reading, progress)
    first = next(windows)
    if looks_like_transcript(first):
        write_transcript(chain([first], windows), reading)
        return
    for window in chain([first], windows):
        reading.write(window)
