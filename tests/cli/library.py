"""A folder of small documents for the command line to take in, and what became of them."""

from pathlib import Path

from tests.cli.conftest import CommandLine

GATE = """# Lock keeper's notes

## The gate

The lower gate opens when the lamp on the pier turns green. Keep clear of the winch.

## The ledger

Anna Berg signs the ledger every evening at six.
"""
BREAD = """# Bakery

Rye bread rests for twelve hours before it is baked. Anna Berg brings the flour on Mondays.
"""
PAGE = b"<!doctype html><html><head><title>Ferry</title></head><body><p>The ferry leaves at noon.</p></body></html>"
PHASES = ["store", "extract", "validate", "chunk", "embed", "graph_extract", "graph_add", "publish"]


def write_library(folder: Path) -> Path:
    """Two good documents, a copy of one, one in an old encoding and one that is empty."""
    folder.mkdir()
    (folder / "bakery.md").write_text(BREAD)
    (folder / "cafe.txt").write_bytes(
        "The café on the quay closes at four in winter, and the terrace too.".encode("cp1252")
    )
    (folder / "copy.md").write_text(GATE)
    (folder / "gate.md").write_text(GATE)
    (folder / "zero.txt").write_bytes(b"")
    return folder


def states(desk: CommandLine) -> list[str]:
    """The statuses of all jobs, sorted."""
    return sorted(job["status"] for job in desk.succeed("jobs", "--json").json["jobs"])
