"""Plain text arrives as it was written, in whatever encoding and of whatever shape."""

import random

import pytest

from holdfast.errors import CorruptInput, EmptyText
from tests.extract.conftest import Extracting
from tests.extract.readers.measured import measure_extraction
from tests.extract.sentences import SENTENCES

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXT = "text/plain"
LEGACY = [
    ("French", "cp1252"),
    ("German", "iso8859-15"),
    ("Russian", "cp1251"),
    ("Russian", "koi8-r"),
    ("Polish", "cp1250"),
    ("Polish", "iso8859-2"),
    ("Turkish", "cp1254"),
    ("Greek", "cp1253"),
    ("Japanese", "shift_jis"),
    ("Japanese", "euc_jp"),
    ("Japanese", "iso2022_jp"),
    ("Chinese", "gb18030"),
    ("Chinese", "big5"),
    ("Korean", "euc_kr"),
]
UNICODE = ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize("encoding", UNICODE)
async def test_unicode_is_read_with_and_without_a_mark(extracted: Extracting, encoding: str) -> None:
    for language in ("French", "Russian", "Japanese"):
        text = SENTENCES[language] * 5
        assert (await extracted(text.encode(encoding), TEXT)).text == text


@pytest.mark.parametrize(("language", "encoding"), LEGACY)
async def test_older_encodings_are_recognised(extracted: Extracting, language: str, encoding: str) -> None:
    # Two scripts for Chinese: some characters exist in one of them only.
    data = SENTENCES[language].encode(encoding, "ignore")

    document = await extracted(data, TEXT)

    assert document.text == data.decode(encoding)


async def test_guess_is_told(extracted: Extracting) -> None:
    document = await extracted("Un café fermé".encode("cp1252"), TEXT)

    assert document.text == "Un café fermé"
    assert "cp1252" in document.warnings["ENCODING_GUESSED"]


@pytest.mark.parametrize("media_type", [TEXT, "text/csv", "application/json"])
async def test_charset_of_the_sender_counts(extracted: Extracting, media_type: str) -> None:
    # Too little to guess from.
    text = {TEXT: "Łódź", "text/csv": "port,kraj\nŁódź,Polska\n", "application/json": '{"port": "Łódź"}'}[media_type]

    document = await extracted(text.encode("iso8859-2"), media_type, charsets=["iso-8859-2"])

    assert "Łódź" in document.text
    assert document.warnings == {}


async def test_valid_utf8_is_read_as_such_whatever_the_sender_declares(extracted: Extracting) -> None:
    document = await extracted(SENTENCES["Russian"].encode(), TEXT, charsets=["iso-8859-1"])

    assert document.text == SENTENCES["Russian"]
    assert "iso-8859-1" in document.warnings["CHARSET_MISTAKEN"]


async def test_charset_that_nobody_knows_gives_way_to_a_guess(extracted: Extracting) -> None:
    document = await extracted(SENTENCES["Russian"].encode("cp1251"), TEXT, charsets=["klingon"])

    assert document.text == SENTENCES["Russian"]
    assert list(document.warnings) == ["CHARSET_MISTAKEN", "ENCODING_GUESSED"]


async def test_first_special_letter_may_stand_far_behind(extracted: Extracting) -> None:
    data = b"plain words\n" * 200_000 + "fermé à clé".encode("cp1252")

    assert (await extracted(data, TEXT)).text.endswith("fermé à clé")


async def test_unreadable_bytes_are_replaced_and_counted(extracted: Extracting) -> None:
    data = "Ein schöner Tag für alle Gäste. ".encode() * 20 + b"\xff\xfe\xfa" + b" done"

    document = await extracted(data, TEXT)

    assert document.text.endswith("\ufffd\ufffd\ufffd done")
    assert document.warnings["UNREADABLE_CHARACTERS"].startswith("3 ")
    assert "ENCODING_GUESSED" not in document.warnings


async def test_valid_utf8_is_read_as_such_though_its_special_characters_were_lost_before(extracted: Extracting) -> None:
    document = await extracted("\ufffdhe harbour opens at noon".encode(), TEXT)

    assert document.text == "\ufffdhe harbour opens at noon"
    assert "ENCODING_GUESSED" not in document.warnings


async def test_special_letter_may_be_the_last(extracted: Extracting) -> None:
    assert (await extracted("Un café".encode("cp1252"), TEXT)).text == "Un café"


@pytest.mark.parametrize("words", ["one line of words", "one line of word"], ids=["anywhere", "at even places"])
async def test_nul_is_dropped_with_a_warning(extracted: Extracting, words: str) -> None:
    document = await extracted(f"{words}\0 and another\n".encode() * 40, TEXT)

    assert document.text == f"{words} and another\n" * 40
    assert document.warnings["NUL_DROPPED"].startswith("40 ")


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)) * 40, random.Random(1).randbytes(20_000), b"\0" * 5_000, b"Title\n" + b"\x01\x02\x03" * 900],
    ids=["every byte", "noise", "zeros", "controls"],
)
async def test_what_is_no_text_is_refused(extracted: Extracting, data: bytes) -> None:
    with pytest.raises(CorruptInput, match="is not text") as raised:
        await extracted(data, TEXT)

    assert raised.value.error_code == "NOT_TEXT"


async def test_text_that_turns_into_noise_is_refused(extracted: Extracting) -> None:
    data = b"a good beginning\n" * 100_000 + random.Random(2).randbytes(4_000_000)

    with pytest.raises(CorruptInput, match="is not text"):
        await extracted(data, TEXT)


async def test_code_stays_as_it_is(extracted: Extracting) -> None:
    code = "# settings\n\tdef run(self):\n        return {  'a':1 }\n\n\n# end"

    document = await extracted(code.replace("\n", "\r\n").encode(), TEXT)

    assert document.text == code
    assert list(document.spans) == []


async def test_zero_bytes_are_empty(extracted: Extracting) -> None:
    with pytest.raises(EmptyText):
        await extracted(b"", TEXT)


@pytest.mark.parametrize("unit", [b"x", b"words in a line\n"], ids=["one line", "many lines"])
async def test_memory_does_not_grow_with_the_file(unit: bytes) -> None:
    data = unit * (50_000_000 // len(unit))

    summary = await measure_extraction(data, TEXT)

    assert summary["characters"] == len(data)
    assert summary["growth_mb"] < 25


async def test_transcript_knows_who_speaks_when(extracted: Extracting) -> None:
    data = (
        b"Weekly meeting\n\n[00:01:02] Ada: The bridge is closed.\nUntil May.\n"
        b"[00:01:30] Ben Hill: Who tells the mayor?\n[01:00:00] Ada: I will.\n"
    )

    document = await extracted(data, TEXT)

    assert document.text.startswith("Weekly meeting\n\n**Ada:** The bridge is closed. Until May.\n\n**Ben Hill:** Who")
    assert document.place("Until May").seconds == (62.0, 90.0)
    assert document.place("Who tells").speakers == ("Ben Hill",)
    assert document.place("I will").seconds == (3600.0, 3600.0)


@pytest.mark.parametrize(
    "written",
    [
        "Ada Byron  0:12\nThe bridge is closed.\n\nBen  0:40\nWho says so?\n\nAda Byron  1:02\nThe harbour master.\n",
        "00:00:12 Ada Byron\nThe bridge is closed.\n00:00:40 Ben\nWho says so?\n00:01:02 Ada Byron\nThe mayor.\n",
    ],
    ids=["name first", "time first"],
)
async def test_heads_on_their_own_lines_are_turns(extracted: Extracting, written: str) -> None:
    document = await extracted(written.encode(), TEXT)

    assert document.place("Who says so").speakers == ("Ben",)
    assert document.place("Who says so").seconds == (40.0, 62.0)


async def test_timetable_is_no_transcript(extracted: Extracting) -> None:
    timetable = "12:30 Lunch in the hall\n09:00 Breakfast on deck\n18:45 Dinner ashore\n"

    assert (await extracted(timetable.encode(), TEXT)).text == timetable
