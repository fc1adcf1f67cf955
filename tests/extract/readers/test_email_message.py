"""A message becomes its head and its letter; what is attached becomes members."""

import base64
from email.message import EmailMessage

import pytest

from holdfast.errors import CorruptInput, EncryptedInput, TooLarge, UnsafeArchive
from tests.extract.conftest import Extracting
from tests.extract.readers.conftest import Unpacking
from tests.extract.readers.measured import measure_extraction

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAIL, MAILBOX = "message/rfc822", "application/mbox"


def letter(subject: str = "Bridge", body: str = "The bridge is closed.\n") -> EmailMessage:
    """A message as a mail program writes it."""
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "Ada Byron <ada@example.org>"
    message["To"] = "ben@example.org, eve@example.org"
    message["Date"] = "Mon, 02 Mar 2026 10:00:00 +0100"
    message.set_content(body)
    return message


async def test_head_and_letter_are_the_text(extracted: Extracting) -> None:
    document = await extracted(letter("Br\u00fccke gesperrt").as_bytes(), MAIL)

    assert document.text == (
        "# Br\u00fccke gesperrt\n\n- From: Ada Byron <ada@example.org>\n- To: ben@example.org, eve@example.org\n"
        "- Date: 2026-03-02 10:00:00+01:00\n\nThe bridge is closed.\n\n"
    )
    assert document.summary["title"] == "Br\u00fccke gesperrt"
    assert document.place("bridge is closed").heading == ("Br\u00fccke gesperrt",)


async def test_plain_form_is_preferred(extracted: Extracting) -> None:
    message = letter()
    message.add_alternative("<p>The <b>bridge</b> in HTML.</p>", subtype="html")

    text = (await extracted(message.as_bytes(), MAIL)).text

    assert "The bridge is closed." in text
    assert "HTML" not in text


async def test_html_is_read_without_scripts(extracted: Extracting) -> None:
    html = (
        b"<html><head><title>hidden</title><style>p {}</style></head><body><p>First &amp; last</p>"
        b"<script>alert('hidden')</script><ul><li>one<li>two</ul><table><tr><td>a</td><td>b</td></tr></table>"
    )

    document = await extracted(b"Subject: x\nContent-Type: text/html\n\n" + html, MAIL)

    assert document.text == "# x\n\n\nFirst & last\n\n- one\n- two\n\na b\n\n"


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable", b"caf=C3=A9 =\nouvert"),
        ("text/plain; charset=utf-8\nContent-Transfer-Encoding: base64", b"Y2Fmw6kgb3V2ZXJ0"),
        ("text/plain; charset=iso-8859-1", "caf\u00e9 ouvert".encode("latin-1")),
        ("text/plain; charset=no-such-charset", "caf\u00e9 ouvert".encode()),
        ("text/plain; charset=punycode", "caf\u00e9 ouvert".encode("cp1252")),
        ("text/plain; charset=us-ascii", "caf\u00e9 ouvert".encode()),
    ],
)
async def test_transfer_encodings_and_charsets_are_undone(extracted: Extracting, head: str, body: bytes) -> None:
    document = await extracted(f"Subject: x\nContent-Type: {head}\n\n".encode() + body, MAIL)

    assert "caf\u00e9 ouvert" in document.text


async def test_charset_that_is_none_is_not_believed(extracted: Extracting) -> None:
    head = b"Subject: x\nContent-Type: text/plain; charset=punycode\nContent-Transfer-Encoding: base64\n\n"

    document = await extracted(head + base64.b64encode(b"plain-old"), MAIL)

    assert "plain-old" in document.text


async def test_attachments_become_members(unpacked: Unpacking) -> None:
    message = letter()
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Pl\u00e4ne.pdf")
    message.add_attachment(b"x", maintype="application", subtype="octet-stream", filename="../../x")
    message.add_attachment(b"y", maintype="application", subtype="octet-stream", filename="C:\\Users\\x")
    message.add_attachment(b"z", maintype="image", subtype="png", disposition="attachment")
    message.add_attachment("words", filename="note.txt")

    mail = await unpacked(message.as_bytes(), MAIL)

    assert mail.members == {
        "Pl\u00e4ne.pdf": b"%PDF",
        "x": b"x",
        "x (2)": b"y",
        "attachment.png": b"z",
        "note.txt": b"words\n",
    }
    assert mail.files == {f"members/{number:06}" for number in range(5)}
    assert "## Attachments\n\n- Pl\u00e4ne.pdf (4 bytes)\n" in mail.document.text


async def test_attached_message_is_a_member(unpacked: Unpacking, extracted: Extracting) -> None:
    message = letter()
    message.add_attachment(letter("Older", "From here on it was open.\n"))

    mail = await unpacked(message.as_bytes(), MAIL)

    inner = await extracted(mail.members["Older.eml"], MAIL)
    assert inner.summary["title"] == "Older"
    assert "\nFrom here on it was open.\n" in inner.text


async def test_pictures_of_the_letter_are_left_out(unpacked: Unpacking) -> None:
    message = letter()
    message.add_related(b"png", maintype="image", subtype="png", cid="<logo>", disposition="inline")

    mail = await unpacked(message.as_bytes(), MAIL)

    assert mail.members == {}
    assert "a picture or signature" in mail.document.warnings["MEMBERS_SKIPPED"]


@pytest.mark.parametrize("depth", [40, 5_000])
async def test_messages_nested_beyond_all_use_are_refused(extracted: Extracting, depth: int) -> None:
    nested = b"Subject: a\nContent-Type: message/rfc822\n\n" * depth + b"Subject: end\n\nwords\n"

    with pytest.raises(UnsafeArchive, match="messages within messages"):
        await extracted(nested, MAIL)


async def test_multiparts_nested_beyond_all_use_are_refused(extracted: Extracting) -> None:
    nested = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(400))

    with pytest.raises(UnsafeArchive):
        await extracted(b"Subject: a\n" + nested + b"\nwords", MAIL)


async def test_thousands_of_parts_are_refused(extracted: Extracting) -> None:
    parts = b"--b\nContent-Type: message/rfc822\n\nSubject: i\n\nx\n" * 10_001

    with pytest.raises(TooLarge) as raised:
        await extracted(b'Subject: a\nContent-Type: multipart/mixed; boundary="b"\n\n' + parts + b"--b--\n", MAIL)

    assert raised.value.error_code == "MEMBER_LIMIT"


@pytest.mark.parametrize(
    "head",
    [
        b"Subject: caf\xe9\nFrom: \xff\xfe\nDate: never",
        b"Subject: =?utf-8?b?####?= =?nope?q?x?= =?utf-8?q?=zz?=\nFrom: =?x",
        b"Subject: x\nContent-Type: ;;;=\nContent-Disposition: attachment; filename*=utf-9''%zz%",
        b"Subject: x\nContent-Type: multipart/mixed\nMIME-Version: 1.0",
        b'Subject: x\nContent-Type: multipart/mixed; boundary=""',
        b"Subject: x\nContent-Transfer-Encoding: base65\nContent-Type: text/plain; charset*=a'b",
        b"Subject: " + b"x" * 100_000 + b"\nTo: " + b"a@b, " * 50_000,
        b"Subject: [\nFrom: <<>>>,,,;:\nTo: (((((\nMessage-ID: <[",
    ],
)
async def test_malformed_headers_do_no_harm(unpacked: Unpacking, head: bytes) -> None:
    mail = await unpacked(head + b"\n\nThe bridge is closed, as every year.\n", MAIL)

    assert mail.document.summary["title"]
    assert len(mail.document.text) < 10_000
    assert "The bridge is closed" in mail.document.text or b"The bridge is closed" in b"".join(mail.members.values())


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"Subject: x\nContent-Type: multipart/encrypted; boundary=b\n\n--b\n\nx\n--b--\n", EncryptedInput),
        (b"Subject: x\nContent-Type: application/pkcs7-mime\n\nxxxx\n", EncryptedInput),
        (b"\nno header at all\n", CorruptInput),
    ],
)
async def test_what_cannot_be_read_is_refused(extracted: Extracting, data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        await extracted(data, MAIL)


async def test_message_beyond_the_limit_is_refused() -> None:
    with pytest.raises(TooLarge, match="100,000,000 is the limit"):
        await measure_extraction(b"Subject: x\n\n", MAIL, size=100_000_001)


@pytest.mark.thorough
async def test_mailbox_of_too_many_messages_is_too_large_and_says_what_to_do(extracted: Extracting) -> None:
    with pytest.raises(TooLarge, match="more than 10,000 members, which is the limit: split it"):
        await extracted(
            b"From ann@example.org Sat Jan  3 01:05:34 2026\nSubject: a\n\nx\n\n" * 12_000, "application/mbox"
        )


async def test_mailbox_becomes_its_messages(unpacked: Unpacking) -> None:
    data = (
        b"From ada Mon Mar  2\nSubject: one\n\nHello.\n>From now on.\nFrom here too.\n\n"
        b"From ben Tue Mar  3\nSubject: two\n\nBye.\n"
    )

    box = await unpacked(data, MAILBOX, name="old.mbox")

    assert box.members == {
        "message 00001.eml": b"Subject: one\n\nHello.\nFrom now on.\nFrom here too.\n\n",
        "message 00002.eml": b"Subject: two\n\nBye.\n",
    }


async def test_attachment_of_megabytes_fits_in_the_child() -> None:
    message = letter()
    message.add_attachment(b"x" * 10_000_000, maintype="application", subtype="octet-stream", filename="large.bin")

    summary = await measure_extraction(message.as_bytes(), MAIL)

    assert [member["name"] for member in summary["members"]] == ["large.bin"]
    assert summary["growth_mb"] < 120
