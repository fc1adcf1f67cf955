"""An attempt at a document to read, where nothing depends on it."""

from datetime import UTC, datetime

from holdfast.engine.attempt import Attempt, Document

DOCUMENT = Document(
    id=1,
    organisation="acme",
    source_name="handbook.md",
    source_platform="upload",
    source_location=None,
    content_hash=None,
    metadata={},
)
ATTEMPT = Attempt(1, 1, "documents", "graph_extract", 1, 1, 60.0, datetime.now(UTC), None, DOCUMENT)
