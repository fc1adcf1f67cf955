"""Archives: zip, tar, compressed tar and single compressed files become members, each a document of its own."""

from holdfast.archives.opening import unpack
from holdfast.archives.unpacking import ArchiveLimits, Unpacking
from holdfast.errors import EmptyText
from holdfast.extract.readers.member_files import MemberFiles
from holdfast.extract.reading import Progress, Reading, Source

DEFAULT_LIMITS = ArchiveLimits()


def read_archive(
    source: Source, reading: Reading, progress: Progress, *, limits: ArchiveLimits = DEFAULT_LIMITS
) -> None:
    """Stream the members into the scratch folder and list them as the text; what is left out is warned of."""
    reading.extractor = "archive"
    reading.has_headings = False
    reading.title = source.name
    files = MemberFiles(source, reading)
    unpacking = Unpacking(source.path, source.name, limits=limits, take=files.take)
    unpack(unpacking, progress)
    files.report(unpacking)
    if not reading.members:
        raise EmptyText(f"{source.name} holds no file that can be read", error_code="NO_MEMBERS")
    files.write_list(f"Files in {source.name}:")
