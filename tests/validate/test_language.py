"""Languages are told by their script and small words; what cannot be told is not guessed."""

# ruff: noqa: RUF001
import pytest

from holdfast.validate.language import guess_language

SENTENCES = {
    "en": "The harbour master waits for the tide, and the boats that are in the bay do not leave with it.",
    "de": "Der Hafenmeister wartet auf die Flut, und die Boote in der Bucht werden nicht mit ihr auslaufen.",
    "fr": "Le maître du port attend la marée, et les bateaux qui sont dans la baie ne partent pas avec elle",
    "es": "El jefe del puerto espera la marea, y los barcos que están en la bahía no salen con ella por la noche.",
    "it": "Il capo del porto aspetta la marea, e le barche che sono nella baia non partono con essa per il largo.",
    "pt": "O chefe do porto espera a maré, e os barcos que estão na baía não saem com ela para o mar.",
    "nl": "De havenmeester wacht op het tij, en de boten die in de baai zijn varen er niet mee uit naar het noorden.",
    "sv": "Hamnkaptenen väntar på floden, och båtarna som är i viken går inte ut med den när det är mörkt.",
    "fi": "Satamakapteeni odottaa vuorovettä, ja veneet jotka ovat lahdella eivät lähde, mutta hän oli se joka jäi.",
    "pl": "Kapitan portu czeka na przypływ, a łodzie w zatoce nie wypływają z nim na morze, bo to jest za wcześnie.",
    "tr": "Liman başkanı gelgiti bekliyor ve bu koydaki tekneler için daha çok zaman var, ama bir fener de yanıyor.",
    "ru": "Начальник порта ждёт прилива, и лодки, которые стоят в бухте, не выйдут с ним, это было бы рано.",
    "uk": "Начальник порту чекає на приплив, і човни, що стоять у бухті, не вийдуть із ним, бо їм іще зарано.",
    "el": "Ο λιμενάρχης περιμένει την παλίρροια.",
    "he": "מנהל הנמל ממתין לגאות.",
    "ar": "مدير الميناء ينتظر المد والجزر.",
    "fa": "رئیس بندر چند روز است که منتظر جزر و مد پرگل است.",
    "hi": "बंदरगाह का मुखिया ज्वार की प्रतीक्षा करता है।",
    "th": "นายท่าเรือรอน้ำขึ้น",
    "ko": "항구 책임자는 밀물을 기다린다.",
    "ja": "港長は潮が満ちるのを待っています。",
    "zh": "港务长正在等待涨潮。",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_tells_its_language(language: str) -> None:
    assert guess_language(SENTENCES[language]) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ahoy!",
        "1,204 88 19.5 3,000",
        "Aurora Borealis Cormorant Dolphin Eider Fulmar Gannet Heron Ibis Jackdaw",
        "def moor(vessel, berth):\n    berth.lines = 4\n    return vessel.rest(berth)\n",
        f"{SENTENCES['de']} Das ist nicht von der Hand zu weisen. {SENTENCES['en']}",
    ],
)
def test_what_cannot_be_told_is_not_guessed(text: str) -> None:
    assert guess_language(text) is None
