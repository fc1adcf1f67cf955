"""Which reader reads which media type. Readers are named, not imported: a child loads only the one it needs."""

from types import MappingProxyType

from holdfast.errors import UnsupportedFormat

_OPEN_XML = "application/vnd.openxmlformats-officedocument"
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument"
_MACROS = "macroEnabled.12"

_DOCUMENTS = (
    f"{_OPEN_XML}.wordprocessingml.document",
    f"{_OPEN_XML}.wordprocessingml.template",
    f"application/vnd.ms-word.document.{_MACROS}",
    f"application/vnd.ms-word.template.{_MACROS}",
    "application/msword",
    f"{_OPEN_DOCUMENT}.text",
    "application/rtf",
    "text/rtf",
    "application/epub+zip",
    "application/xml",
    "text/xml",
    # Says what it is, and that it needs a password.
    "application/x-encrypted-office",
)
_SLIDES = (
    f"{_OPEN_XML}.presentationml.presentation",
    f"{_OPEN_XML}.presentationml.slideshow",
    f"{_OPEN_XML}.presentationml.template",
    f"application/vnd.ms-powerpoint.presentation.{_MACROS}",
    "application/vnd.ms-powerpoint",
    f"{_OPEN_DOCUMENT}.presentation",
)
_SHEETS = (
    f"{_OPEN_XML}.spreadsheetml.sheet",
    f"{_OPEN_XML}.spreadsheetml.template",
    f"application/vnd.ms-excel.sheet.{_MACROS}",
    f"application/vnd.ms-excel.sheet.binary.{_MACROS}",
    "application/vnd.ms-excel",
    f"{_OPEN_DOCUMENT}.spreadsheet",
)
_TABLES = ("text/csv", "text/tab-separated-values")
_JSON = ("application/json", "application/x-ndjson", "application/jsonl")
_SUBTITLES = ("application/x-subrip", "text/vtt", "text/srt")
_ARCHIVES = (
    "application/zip",
    "application/x-tar",
    "application/gzip",
    "application/x-bzip2",
    "application/x-xz",
)
_IMAGES = ("image/png", "image/jpeg", "image/tiff", "image/bmp", "image/gif", "image/webp")

READERS = MappingProxyType(
    {
        "application/pdf": "holdfast.extract.pdf:read_pdf",
        "text/html": "holdfast.extract.web_page:read_web_page",
        "application/xhtml+xml": "holdfast.extract.web_page:read_web_page",
        **dict.fromkeys(_DOCUMENTS, "holdfast.extract.office:read_document"),
        **dict.fromkeys(_SLIDES, "holdfast.extract.office:read_slides"),
        **dict.fromkeys(_SHEETS, "holdfast.extract.sheets:read_sheets"),
        **dict.fromkeys(_IMAGES, "holdfast.extract.images:read_image"),
        "text/plain": "holdfast.extract.readers.text:read_text",
        "text/markdown": "holdfast.extract.readers.markdown:read_markdown",
        **dict.fromkeys(_TABLES, "holdfast.extract.readers.csv_table:read_csv"),
        **dict.fromkeys(_JSON, "holdfast.extract.readers.json_text:read_json"),
        **dict.fromkeys(_SUBTITLES, "holdfast.extract.readers.subtitles:read_subtitles"),
        "message/rfc822": "holdfast.extract.readers.email_message:read_email",
        "application/mbox": "holdfast.extract.readers.mailbox:read_mailbox",
        **dict.fromkeys(_ARCHIVES, "holdfast.extract.readers.archives:read_archive"),
    }
)

_SAVE_AS = {
    "application/vnd.ms-outlook": "save it as .eml",
    "application/vnd.apple.pages": "export it as PDF or .docx",
    "application/vnd.apple.keynote": "export it as PDF or .pptx",
    "application/vnd.apple.numbers": "export it as PDF or .xlsx",
    "application/x-7z-compressed": "pack it as .zip",
    "application/vnd.rar": "pack it as .zip",
    "application/x-rar-compressed": "pack it as .zip",
    "application/x-ole-storage": "save it as .docx, .pptx or .xlsx",
    "image/svg+xml": "export it as PDF or PNG",
    "image/heic": "save it as JPEG or PNG",
}


def is_recording(media_type: str) -> bool:
    """Whether it is sound or film, which a transcriber turns into text."""
    return media_type.startswith(("audio/", "video/"))


def find_reader(media_type: str, name: str) -> str:
    """The `module:function` that reads this type; UnsupportedFormat, with what would help, if there is none."""
    reader = READERS.get(media_type)
    if reader is None:
        advice = _SAVE_AS.get(media_type, "convert it to PDF, an Office format or text")
        raise UnsupportedFormat(
            f"{name} is {media_type}, which no reader reads: {advice}",
            error_code="NO_READER",
            details={"media_type": media_type},
        )
    return reader
