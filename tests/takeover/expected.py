"""What each old status with each state becomes, written down by hand: flow, status and state; None: it is left."""

Standing = tuple[str, str, str] | None

UNDER_WAY = (
    *("pending_upload", "uploaded", "parse_queued", "parsed", "parse_validated", "chunking", "chunks_stored"),
    *("embedding_queued", "embedding_in_progress", "embeddings_stored"),
)
RENAMED = {"failed_parse": "parse_queued", "failed_chunking": "chunking", "failed_embedding": "embedding_queued"}
COMPONENTS = {"failed_parse": "parse", "failed_chunking": "chunking", "failed_embedding": "embedding"}


def expected(status: str | None, state: str | None, *, used_up: bool = False) -> Standing:
    """With the new flow chosen, and old workers that may still run; `used_up`: it was retried as often as it may be."""
    if status in ("complete", "duplicate"):
        return "new", status, "done"
    if status in UNDER_WAY:
        states = {
            "queued": ("new", status, "queued"),
            "working": ("old", status, "held"),
            "retryable": ("new", status, "deadletter" if used_up else "failed"),
            "done": ("new", status, "failed"),
            "deadletter": ("new", status, "deadletter"),
        }
        return states.get(state or "")
    if status in RENAMED:
        renamed = RENAMED[status]
        states = {
            "queued": ("new", renamed, "failed"),
            "working": ("old", renamed, "held"),
            "retryable": ("new", renamed, "deadletter" if used_up else "failed"),
            "done": ("new", renamed, "failed"),
            "deadletter": ("new", renamed, "deadletter"),
        }
        return states.get(state or "")
    return None
