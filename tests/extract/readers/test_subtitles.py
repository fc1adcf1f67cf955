"""Subtitles become paragraphs that know when they were said and by whom."""

import pytest

from holdfast.errors import CorruptInput, EmptyText
from tests.extract.conftest import Extracting

pytestmark = pytest.mark.asyncio(loop_scope="module")

SRT, VTT = "application/x-subrip", "text/vtt"


async def test_cues_join_to_paragraphs_with_their_times(extracted: Extracting) -> None:
    data = (
        b"1\r\n00:00:01,000 --> 00:00:02,500\r\nThe bridge\r\n\r\n"
        b"2\r\n00:00:02,600 --> 00:00:04,000\r\n<i>is closed</i>\r\nuntil May.\r\n\r\n"
        b"3\r\n01:00:10,000 --> 01:00:12,000\r\nMuch later.\r\n"
    )

    document = await extracted(data, SRT)

    assert document.text == "The bridge is closed until May.\n\nMuch later.\n"
    assert document.place("is closed").seconds == (2.6, 4.0)
    assert document.place("Much later").seconds == (3610.0, 3612.0)


async def test_voices_are_speakers(extracted: Extracting) -> None:
    data = (
        "WEBVTT - minutes\n\nNOTE not said\nby anyone\n\nSTYLE\n::cue { color: red }\n\n"
        "intro\n00:01.000 --> 00:02.000 align:start position:10%\n<v.loud Ada Byron>Who has <b>the key</b>?</v>\n\n"
        "00:02.100 --> 00:03.000\n<v Ben>Me &amp; Eve.\n\n00:03.100 --> 00:04.000\nBEN HILL: The blue one.\n"
    )

    document = await extracted(data.encode(), VTT)

    assert document.text == "**Ada Byron:** Who has the key?\n\n**Ben:** Me & Eve.\n\n**BEN HILL:** The blue one.\n"
    assert document.place("Who has the key?").speakers == ("Ada Byron",)
    assert document.place("Me & Eve").speakers == ("Ben",)
    assert document.place("blue one").speakers == ("BEN HILL",)
    assert document.summary["warnings"] == []


async def test_rolling_captions_are_read_once(extracted: Extracting) -> None:
    data = (
        b"WEBVTT\n\n00:00.000 --> 00:02.000\nwelcome to<00:00:01.000><c> the harbour</c>\n\n"
        b"00:02.000 --> 00:02.010\nwelcome to the harbour\n\n"
        b"00:02.010 --> 00:04.000\nwelcome to the harbour\nof the old town\n\n"
        b"00:04.000 --> 00:06.000\nof the old town where ships\n\n00:09.000 --> 00:09.500\nwhere ships\n"
    )

    document = await extracted(data, VTT)

    assert document.text == "welcome to the harbour of the old town where ships where ships\n"
    assert document.place("of the old town").seconds == (2.01, 4.0)


async def test_malformed_cues_are_counted(extracted: Extracting) -> None:
    data = (
        b"1\n00:00:01,000 --> 00:00:02,000\nGood.\n\n2\nsoon --> later\nLost.\n\n"
        b"3\n00:00:09,000 --> 00:00:04,000\nBackwards.\n\nstray words\n\n4\n00:00:10,000 --> 00:00:11,000\nAlso good.\n"
        b"5\n00:00:11,000 --> 00:00:12,000\nNo blank line before.\n"
    )

    document = await extracted(data, SRT)

    assert document.text == "Good.\n\nAlso good. No blank line before.\n"
    assert document.warnings["CUES_SKIPPED"].startswith("2 cues")
    assert document.warnings["LINES_SKIPPED"].startswith("1 lines")


async def test_long_speech_is_cut_into_paragraphs(extracted: Extracting) -> None:
    cue = "{0:02}:{1:02}.000 --> {0:02}:{1:02}.900\nThis sentence is about the bridge and its keeper number {2}.\n\n"
    data = "WEBVTT\n\n" + "".join(cue.format(number // 60, number % 60, number) for number in range(60))

    document = await extracted(data.encode(), VTT)

    paragraphs = document.text.strip().split("\n\n")
    assert len(paragraphs) > 3
    assert all(paragraph.endswith(".") and len(paragraph) < 1_000 for paragraph in paragraphs)


async def test_file_of_broken_cues_is_refused(extracted: Extracting) -> None:
    with pytest.raises(CorruptInput, match="none of the 2 cues"):
        await extracted(b"1\nhere --> there\nWords.\n\n2\n--> now\nMore.\n", SRT)


async def test_file_without_words_is_empty(extracted: Extracting) -> None:
    with pytest.raises(EmptyText):
        await extracted(b"WEBVTT\n\n00:01.000 --> 00:02.000\n<i></i>\n", VTT)
