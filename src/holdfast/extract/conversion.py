"""The one door to xberg, which reads the binary formats. Used in the isolated child only."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from xberg import (
    ConcurrencyConfig,
    ConversionOptions,
    ExtractedDocument,
    ExtractInput,
    ExtractionConfig,
    ExtractionErrorItem,
    OcrConfig,
    OcrPipelineConfig,
    OcrPipelineStage,
    OcrQualityThresholds,
    PageConfig,
    SecurityLimits,
    TesseractConfig,
    extract_batch,
    list_supported_formats,
)

from holdfast.errors import (
    CorruptInput,
    EncryptedInput,
    PhaseError,
    ResourceExhausted,
    TimedOut,
    TooLarge,
    UnsafeArchive,
    UnsupportedFormat,
)

# Tables of a million cells are ordinary. Drawings in a presentation pack as well as anything can, which is about
# 1,030:1, and it would count those too: parts that are bombs were refused before.
_LIMITS = SecurityLimits(
    max_table_cells=4_000_000,
    max_compression_ratio=1_100,
    max_archive_size=400 << 20,
    max_content_size=300 << 20,
)
_MESSAGE_CHARACTERS = 300
_OLD_SLIDES = "application/vnd.ms-powerpoint"
_USUAL_EXTENSIONS = {_OLD_SLIDES: "ppt"}

# What its messages say, since its error types say little. The first that fits wins.
_MEANINGS: tuple[tuple[tuple[str, ...], type[PhaseError], str], ...] = (
    (("encrypted", "password"), EncryptedInput, "ENCRYPTED"),
    (("bomb", "compression ratio", "entity"), UnsafeArchive, "BOMB"),
    (("limit exceeded", "exceeding", "too large", "max_"), TooLarge, "CONTENT_LIMIT"),
    (("out of memory",), ResourceExhausted, "MEMORY_LIMIT"),
    (("missing dependency", "unsupported"), UnsupportedFormat, "NO_READER"),
    (("timed out", "timeout"), TimedOut, "TIMEOUT"),
)


def convert(data: "bytes | Path", media_type: str) -> ExtractedDocument:
    """The document as Markdown, by pages where it has them, without looking at pictures.

    Old slides come with their structure too, which says whose speaker notes are whose.
    """
    configuration = _configuration(None, None)
    return _convert(data, media_type, replace(configuration, include_document_structure=media_type == _OLD_SLIDES))


def recognise(
    path: Path,
    media_type: str,
    *,
    pages: Sequence[int] | None,
    languages: Sequence[str],
    tessdata: Path,
) -> ExtractedDocument:
    """The document with these of its pages, or all, read from their pictures."""
    tesseract = TesseractConfig(
        language=list(languages), enable_table_detection=False, use_cache=False, output_format="text"
    )
    ocr = OcrConfig(
        backend="tesseract",
        language=list(languages),
        tessdata_path=str(tessdata),
        tesseract_config=tesseract,
        # Named alone, or it falls back to models that it would have to download.
        pipeline=OcrPipelineConfig(
            stages=[OcrPipelineStage(backend="tesseract", tesseract_config=tesseract)],
            quality_thresholds=OcrQualityThresholds(),
        ),
    )
    return _convert(path, media_type, _configuration(ocr, pages))


def _configuration(ocr: OcrConfig | None, pages: Sequence[int] | None) -> ExtractionConfig:
    return ExtractionConfig(
        disable_ocr=ocr is None,
        ocr=ocr,
        ocr_near_empty_fallback=False,
        force_ocr_pages=None if pages is None else list(pages),
        use_cache=False,
        output_format="markdown",
        pages=PageConfig(extract_pages=True),
        html_options=ConversionOptions(extract_metadata=False, inline_data_media="alt_text_only"),
        security_limits=_LIMITS,
        concurrency=ConcurrencyConfig(max_threads=1, max_concurrent_ocr=1),
    )


def _convert(data: "bytes | Path", media_type: str, configuration: ExtractionConfig) -> ExtractedDocument:
    # Its `extract` raises bare errors; a batch, even of one, answers with typed ones.
    answer = asyncio.run(extract_batch([_input(data, media_type)], configuration))
    if answer.errors:
        raise _explain(answer.errors[0])
    return answer.results[0]


def _input(data: "bytes | Path", media_type: str) -> ExtractInput:
    if isinstance(data, Path):
        return ExtractInput(kind="uri", uri=str(_with_extension(data, media_type)), mime_type=media_type)
    return ExtractInput(kind="bytes", bytes=data, mime_type=media_type)


def _with_extension(path: Path, media_type: str) -> Path:
    """The same file under a name with the extension of its type, without which less careful code reads it."""
    listed = (found.extension for found in list_supported_formats() if found.mime_type == media_type)
    extension = _USUAL_EXTENSIONS.get(media_type) or next(listed, "bin")
    named = path.with_name(f"{path.name}.{extension}")
    named.unlink(missing_ok=True)
    os.link(path, named)
    return named


def _explain(item: ExtractionErrorItem) -> PhaseError:
    """Say in our terms what its message says; what it cannot parse is taken to be damaged."""
    message = item.message.removeprefix("Parsing error: ")[:_MESSAGE_CHARACTERS]
    for words, kind, code in _MEANINGS:
        if any(word in message.lower() for word in words):
            # Of a password its message only says how to hand it one, which nobody can here.
            reason = "" if kind is EncryptedInput else f": {message}"
            return kind(f"{_ADVICE[kind]}{reason}", error_code=code)
    return CorruptInput(
        f"the file is damaged or not what it seems, save it again and retry: {message}", error_code="DAMAGED"
    )


_ADVICE: dict[type[PhaseError], str] = {
    EncryptedInput: "the file needs a password, submit it without one",
    UnsafeArchive: "the file unfolds far beyond its size, as a bomb does",
    TooLarge: "the file passes a limit of its reader, split it",
    ResourceExhausted: "its reader ran out of memory",
    UnsupportedFormat: "no reader is here for this file",
    TimedOut: "its reader took too long",
}
