"""A document to read for, and where nothing depends on it."""

from holdfast.engine.attempt import Document

DOCUMENT = Document(
    id=1,
    organisation="acme",
    source_name="handbook.md",
    source_platform="upload",
    source_location=None,
    content_hash=None,
    metadata={},
)
