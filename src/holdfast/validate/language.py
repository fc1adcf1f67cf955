"""Guesses the language of a text from its script and its small words, and says so when it cannot tell."""

import re
from collections import Counter

from holdfast.validate.stop_words import STOP_WORDS

FEWEST_WORDS = 8
FEWEST_HITS = 3
LEAST_SHARE = 0.1
CLEAR_LEAD = 1.3
FEWEST_LETTERS = 6

_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = {
    "latin": re.compile(r"[A-Za-z\u00c0-\u024f]"),
    "cyrillic": re.compile(r"[\u0400-\u04ff]"),
    "arabic": re.compile(r"[\u0600-\u06ff]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
    "ko": re.compile(r"[\uac00-\ud7af\u1100-\u11ff]"),
    "kana": re.compile(r"[\u3040-\u30ff]"),
    "han": re.compile(r"[\u4e00-\u9fff]"),
}
_UKRAINIAN = re.compile(r"[іїєґІЇЄҐ]")
_RUSSIAN = re.compile(r"[ыэъёЫЭЪЁ]")
_PERSIAN = re.compile(r"[پچژگ]")


def guess_language(sample: str) -> str | None:
    """The two-letter code of the language that most of the sample is in, or None when that is not clear."""
    letters = Counter({script: len(pattern.findall(sample)) for script, pattern in _SCRIPTS.items()})
    ((script, count),) = letters.most_common(1)
    if count < FEWEST_LETTERS or count < letters.total() / 2:
        # Japanese mixes two scripts, of which neither need have the greater half.
        return "ja" if letters["kana"] >= FEWEST_LETTERS and _is_japanese(letters) else None
    match script:
        case "latin":
            return _by_small_words(sample)
        case "cyrillic":
            return _by_letters(sample)
        case "arabic":
            return "fa" if len(_PERSIAN.findall(sample)) > count / 100 else "ar"
        case "han" | "kana":
            return "ja" if _is_japanese(letters) else "zh"
        case language:
            return language


def _is_japanese(letters: Counter[str]) -> bool:
    return letters["kana"] > (letters["kana"] + letters["han"]) / 10


def _by_small_words(sample: str) -> str | None:
    words = [word.lower() for word in _WORD.findall(sample)]
    if len(words) < FEWEST_WORDS:
        return None
    counts = Counter(words)
    hits = Counter(
        {language: sum(counts[word] for word in small) for language, small in STOP_WORDS.items()},
    )
    (best, most), (_, second) = hits.most_common(2)
    clear = most >= FEWEST_HITS and most >= LEAST_SHARE * len(words) and most >= CLEAR_LEAD * second
    return best if clear else None


def _by_letters(sample: str) -> str | None:
    """Russian and Ukrainian each have letters that the other lacks; other languages have both kinds, or neither."""
    ukrainian, russian = len(_UKRAINIAN.findall(sample)), len(_RUSSIAN.findall(sample))
    if max(ukrainian, russian) < FEWEST_HITS or min(ukrainian, russian) > max(ukrainian, russian) / 10:
        return None
    return "uk" if ukrainian > russian else "ru"
