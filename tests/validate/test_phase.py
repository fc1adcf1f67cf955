"""Texts not worth going on with are refused for good, with numbers; the rest goes on, warned about where due."""

import random
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.errors import (
    OPERATOR_MENDS,
    CorruptInput,
    EmptyText,
    InvalidInput,
    PhaseError,
    TooLarge,
    UnsupportedFormat,
)
from holdfast.standard import Carried, Warning
from holdfast.validate.phase import Validate
from holdfast.validate.rules import Rules
from tests.engine.scenario import begin, plain

ENGLISH = "The harbour master waits for the tide, and the boats that are in the bay do not leave with it. "
GERMAN = "Der Hafenmeister wartet auf die Flut, und die Boote in der Bucht werden für sich nicht auslaufen. "
RUSSIAN = "Начальник порта ждёт прилива, и лодки, которые стоят в бухте, не выйдут сегодня. "


def misread(text: str) -> str:
    """UTF-8 taken for the Latin of Windows, as careless programs do."""
    return text.encode().decode("cp1252", "replace")


def coded(length: int) -> str:
    chance = random.Random(1)
    return "".join(chance.choice("ABCDEFabcdefghijklmnopqrstuvwxyz0123456789+") for _ in range(length))


async def validate(database: Database, folder: Path, text: str, rules: Rules | None = None, **facts: Any) -> Carried:
    """What the phase hands on."""
    store = ArtifactStore(folder.as_uri())
    artifact = store.put_bytes("acme", text.encode())
    carried = Carried(original=artifact, media_type="text/plain", name="notes.txt", text=artifact).adding(**facts)
    scenario = await begin(database, plain("validate"))
    await scenario.submit_one(input=carried.to_json())
    done = await Validate(store, rules or Rules()).run(await scenario.claim_one("validate"))
    return Carried.from_json(done.output)


async def refusal(database: Database, folder: Path, text: str, rules: Rules | None = None) -> PhaseError:
    with pytest.raises(PhaseError) as raised:
        await validate(database, folder, text, rules)
    return raised.value


def codes(carried: Carried) -> list[str]:
    return [warning.code for warning in carried.warnings]


async def test_ordinary_text_passes_with_its_language_and_length(database: Database, tmp_path: Path) -> None:
    carried = await validate(database, tmp_path, ENGLISH * 20)
    assert (carried.language, carried.characters, carried.warnings) == ("en", len(ENGLISH) * 20, ())


@pytest.mark.parametrize("text", ["", " \n\t\u3000 \n"])
async def test_white_space_is_empty(database: Database, tmp_path: Path, text: str) -> None:
    error = await refusal(database, tmp_path, text)
    assert (type(error), error.error_code) == (EmptyText, "EMPTY")


async def test_a_text_without_words_is_too_short(database: Database, tmp_path: Path) -> None:
    error = await refusal(database, tmp_path, "--- ***\n a\n")
    assert (type(error), error.error_code) == (EmptyText, "TOO_SHORT")
    assert error.details["letters_and_figures"] == 1


async def test_one_short_sentence_passes_with_a_warning(database: Database, tmp_path: Path) -> None:
    assert codes(await validate(database, tmp_path, "The tide turned.")) == ["SHORT_TEXT"]


async def test_one_character_beyond_the_limit_is_too_large(database: Database, tmp_path: Path) -> None:
    rules = Rules(most_characters=len(ENGLISH))
    await validate(database, tmp_path, ENGLISH, rules)
    error = await refusal(database, tmp_path, ENGLISH + "x", rules)
    assert (type(error), error.error_code) == (TooLarge, "TEXT_TOO_LONG")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ENGLISH.replace("a", "\ufffd").replace("t", "\ufffd"), id="replaced"),
        pytest.param("".join(f"{word}\x07\x01" for word in ENGLISH.split(" ")), id="control"),
        pytest.param("\ue012\ue034\ue051 \uf0b7\ue011 " * 40, id="private use"),
        pytest.param("(cid:12)(cid:7) (cid:88) " * 30, id="glyph numbers"),
        pytest.param(misread(RUSSIAN * 5), id="misread Cyrillic"),
        pytest.param(coded(20_000), id="coded"),
        pytest.param(b64encode(random.Random(1).randbytes(20_000)).decode(), id="base64"),
        pytest.param(urlsafe_b64encode(random.Random(1).randbytes(20_000)).decode(), id="base64 of links"),
        pytest.param("31415926535" * 500, id="digits"),
        pytest.param("thetideturnedandtheboatswentout" * 100, id="no spaces"),
    ],
)
async def test_garbled_text_is_refused_with_the_share_measured(database: Database, tmp_path: Path, text: str) -> None:
    error = await refusal(database, tmp_path, text)
    assert (type(error), error.error_code) == (CorruptInput, "GARBLED")
    share = error.details.get("damaged_share") or error.details.get("unbroken_share")
    assert isinstance(share, float)
    assert 0.1 <= share <= 1


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        pytest.param(ENGLISH * 9 + "\ufffd" * 10, ["DAMAGED_TEXT"], id="a little damage"),
        pytest.param(misread(GERMAN * 9), ["DAMAGED_TEXT"], id="misread umlauts"),
        pytest.param(ENGLISH * 90 + coded(2_000), ["UNBROKEN_TEXT"], id="a coded picture within"),
        pytest.param('{"berth":"north","vessel":"Aurora"},' * 90, ["UNBROKEN_TEXT"], id="dense data"),
        pytest.param(RUSSIAN * 9, [], id="Cyrillic"),
        pytest.param("港の灯台は夜になると光ります。" * 200, [], id="a script without spaces"),
        pytest.param("São João não é Ângela: ÇÃO ÂNGULO ÅSA ÎLE ÑANDÚ. " * 20, [], id="capital accents"),
        pytest.param(
            "👩\u200d🚀 🌊 The tide 🚢⚓\ufe0f turned and turned and turned and turned again. " * 5, [], id="emoji"
        ),
    ],
)
async def test_text_that_can_be_read_passes(database: Database, tmp_path: Path, text: str, warnings: list[str]) -> None:
    assert codes(await validate(database, tmp_path, text)) == warnings


async def test_a_run_through_several_blocks_is_measured_as_one(database: Database, tmp_path: Path) -> None:
    error = await refusal(database, tmp_path, "0" * 5_000_000)
    assert error.details["unbroken"] == 5_000_000


async def test_an_unwanted_language_is_refused(database: Database, tmp_path: Path) -> None:
    error = await refusal(database, tmp_path, GERMAN * 3, Rules(languages=frozenset({"en", "fr"})))
    assert (type(error), error.error_code) == (UnsupportedFormat, "WRONG_LANGUAGE")
    assert error.details == {"language": "de", "wanted": "en, fr", **OPERATOR_MENDS}


async def test_a_wanted_language_passes(database: Database, tmp_path: Path) -> None:
    carried = await validate(database, tmp_path, GERMAN * 3, Rules(languages=frozenset({"de"})))
    assert (carried.language, carried.warnings) == ("de", ())


async def test_an_unknown_language_passes_and_is_said(database: Database, tmp_path: Path) -> None:
    carried = await validate(database, tmp_path, "Aurora, Borealis " * 9, Rules(languages=frozenset({"de"})))
    assert codes(carried) == ["LANGUAGE_UNKNOWN"]


@pytest.mark.parametrize(("declared", "text", "language"), [("pt-BR", "Aurora, Borealis", "pt"), ("fr", ENGLISH, "en")])
async def test_what_the_words_say_goes_before_what_the_document_declares(
    database: Database, tmp_path: Path, declared: str, text: str, language: str
) -> None:
    assert (await validate(database, tmp_path, text, language=declared)).language == language


def test_warnings_are_kept_beside_what_else_is_known_of_the_document(tmp_path: Path) -> None:
    carried = carrying(tmp_path).adding(Warning("SHORT_TEXT", "brief"), Warning("SHORT_TEXT", "brief"))

    kept = carried.kept_in(
        {"team": "quay", "extracted": {"pages": 2, "warnings": [{"code": "OLD", "message": "gone"}]}}
    )

    assert kept == {"extracted": {"pages": 2, "warnings": [{"code": "SHORT_TEXT", "message": "brief"}]}}
    assert carried.kept_in(kept) is None


@pytest.mark.parametrize("metadata", [{}, {"extracted": "by hand"}, {"extracted": {"pages": 2}}])
def test_metadata_stay_as_they_are_where_nothing_is_to_be_told(tmp_path: Path, metadata: dict[str, Any]) -> None:
    assert carrying(tmp_path).kept_in(metadata) is None


def test_warnings_of_an_earlier_run_go(tmp_path: Path) -> None:
    earlier = {"extracted": {"pages": 2, "warnings": [{"code": "OLD", "message": "gone"}]}}

    assert carrying(tmp_path).kept_in(earlier) == {"extracted": {"pages": 2}}


def carrying(folder: Path) -> Carried:
    artifact = ArtifactStore(folder.as_uri()).put_bytes("acme", b"The tide turned.")
    return Carried(original=artifact, media_type="text/plain", name="notes.txt", text=artifact)


def test_rules_that_nothing_fits_are_refused() -> None:
    with pytest.raises(InvalidInput):
        Rules(least_characters=10, most_characters=5)
