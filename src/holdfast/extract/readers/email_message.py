"""E-mail: the head and the letter as text, attachments and attached messages as members."""

import email
from collections.abc import Iterator
from email.errors import CloseBoundaryNotFoundDefect

from holdfast.archives.unpacking import ArchiveLimits, Unpacking
from holdfast.errors import CorruptInput, EncryptedInput, TooLarge, UnsafeArchive
from holdfast.extract.readers.email_parts import PARSER_ERRORS, Part, content, date, file_name, given_name, header, text
from holdfast.extract.readers.html_text import html_to_text
from holdfast.extract.readers.member_files import MemberFiles
from holdfast.extract.reading import Progress, Reading, Source

# The parser holds a message several times over.
_MOST_BYTES = 100_000_000
_MOST_DEPTH = 30
_PLAIN, _HTML = "text/plain", "text/html"
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")


def read_email(source: Source, reading: Reading, progress: Progress) -> None:
    """Write subject, people, date and the letter, its plain form if it has one; every attachment becomes a member.

    Raises UnsafeArchive if messages are nested so deep, or parts so many, that they can only be meant to harm.
    """
    reading.extractor = "email"
    message = _parse(source)
    _refuse_harmful(message, source.name)
    _write_head(message, reading)
    files = MemberFiles(source, reading)
    unpacking = Unpacking(source.path, source.name, limits=ArchiveLimits(), take=files.take)
    parts = list(_chosen(message))
    for _ in parts:
        unpacking.count()
    for part in parts:
        if _is_letter(part):
            _write_letter(part, reading)
        elif _belongs_to_letter(part):
            unpacking.skip("a picture or signature of the letter itself", file_name(part))
        else:
            unpacking.store(file_name(part), [content(part)])
    files.report(unpacking)
    if _is_cut_off(message):
        reading.warn("CUT_OFF", "the message has no end: what came after is missing, get it again")
    if reading.members:
        files.write_list("## Attachments")


def _parse(source: Source) -> Part:
    size = source.path.stat().st_size
    if size > _MOST_BYTES:
        what = f"{source.name} has {size:,} bytes, and {_MOST_BYTES:,} is the limit for a message"
        raise TooLarge(what, error_code="MAIL_LIMIT")
    with source.path.open("rb") as file:
        try:
            # Not the newer policy: it reads headers by a grammar that breaks on what real mail holds.
            message = email.message_from_binary_file(file)
        except RecursionError as error:
            raise _nested_too_deep(source.name) from error
        except PARSER_ERRORS as error:
            what = f"{source.name} is not a message that can be read: {error}"
            raise CorruptInput(what, error_code="MAIL_MALFORMED") from error
    if not message.keys():
        raise CorruptInput(f"{source.name} is not a message: it has no header", error_code="MAIL_MALFORMED")
    return message


def _refuse_harmful(message: Part, name: str) -> None:
    if message.get_content_type() in _ENCRYPTED:
        raise EncryptedInput(f"{name} is encrypted: submit it decrypted", error_code="MAIL_ENCRYPTED")
    level: list[Part] = [message]
    for _ in range(_MOST_DEPTH):
        level = [part for outer in level for part in _inside(outer)]
    if level:
        raise _nested_too_deep(name)


def _nested_too_deep(name: str) -> UnsafeArchive:
    return UnsafeArchive(
        f"{name} holds messages within messages, over {_MOST_DEPTH} deep: submit the inner ones on their own",
        error_code="MAIL_NESTING",
    )


def _is_cut_off(part: Part) -> bool:
    """Whether a part within it never ends. A letter without parts has no end of its own: nobody can tell."""
    lacks_end = any(isinstance(defect, CloseBoundaryNotFoundDefect) for defect in part.defects)
    return lacks_end or any(map(_is_cut_off, _inside(part)))


def _inside(part: Part) -> list[Part]:
    # Asked only of parts that have others in them: of a letter, get_payload would decode the text.
    payload = part.get_payload() if part.is_multipart() else None
    return [inner for inner in payload if not isinstance(inner, str)] if isinstance(payload, list) else []


def _chosen(part: Part) -> Iterator[Part]:
    """Yield the parts that are not merely a frame; of a letter's forms only one, plain if that has words."""
    if part.get_content_maintype() != "multipart" or not _inside(part):
        yield part
        return
    leaves = [leaf for inner in _inside(part) for leaf in _chosen(inner)]
    if part.get_content_type() == "multipart/alternative":
        letters = [leaf for leaf in leaves if _is_letter(leaf)]
        plain = [leaf for leaf in letters if leaf.get_content_type() == _PLAIN and text(leaf).strip()]
        kept = plain or letters[-1:]
        leaves = [leaf for leaf in leaves if not _is_letter(leaf) or any(leaf is one for one in kept)]
    yield from leaves


def _is_letter(part: Part) -> bool:
    is_attached = part.get_content_disposition() == "attachment" or bool(given_name(part))
    return part.get_content_type() in (_PLAIN, _HTML) and not is_attached


def _belongs_to_letter(part: Part) -> bool:
    is_picture = part.get_content_maintype() == "image" and part.get_content_disposition() != "attachment"
    return (is_picture and part.get("Content-ID") is not None) or part.get_content_type() in _SIGNATURES


def _write_head(message: Part, reading: Reading) -> None:
    reading.title = header(message, "Subject") or None
    head = {name: header(message, name) for name in ("From", "To", "Cc")} | {"Date": date(message)}
    lines = [f"- {name}: {value}\n" for name, value in head.items() if value]
    reading.write(f"# {reading.title or 'Message without a subject'}\n\n{''.join(lines)}\n")


def _write_letter(part: Part, reading: Reading) -> None:
    letter = text(part)
    if part.get_content_type() == _HTML:
        letter, is_cut = html_to_text(letter)
        if is_cut:
            reading.warn("LETTER_CUT", "the letter is longer than any letter: only its beginning was read")
    if letter.strip():
        reading.write(f"{letter.strip()}\n\n")
