"""What can be told from its form alone: addresses, dates, amounts, codes and numbers to call."""

import re

# Looked for only where their sign stands.
_ADDRESSES = (
    ("url", "://", re.compile(r"https?://[^\s<>\"'\])}]{3,500}", re.IGNORECASE)),
    ("email", "@", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}\b")),
)

_MONTHS = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|"
    "Nov(?:ember)?|Dec(?:ember)?"
)
_CURRENCIES = "EUR|USD|GBP|CHF"
_AMOUNT = r"\d(?:[\d.,]{0,17}\d)?"


def _without_first(alternatives: str) -> str:
    """The same alternatives for what follows their first letter, which was read already."""
    return "|".join(f"(?<={one[0]}){one[1:]}" for one in alternatives.split("|"))


# Kind, the characters that may begin it, and what follows them. The first that fits wins.
_FORMS: tuple[tuple[str, str, str], ...] = (
    ("date", "0-9", r"\d{3}-\d{2}-\d{2}\b"),
    ("date", "0-9", r"\d?[./]\d{1,2}[./]\d{4}\b"),
    ("date", "0-9", rf"\d? (?:{_MONTHS})\b(?:\.?,? \d{{4}}\b)?"),
    ("date", "JFMASOND", rf"(?:{_without_first(_MONTHS)})\b\.? (?:\d{{1,2}}\b(?:, \d{{4}}\b)?|\d{{4}}\b)"),
    ("money", "€$£¥", rf" ?{_AMOUNT}(?: (?:million|billion)\b)?"),
    ("money", "EUGC", rf"(?:{_without_first(_CURRENCIES)}) ?{_AMOUNT}(?: (?:million|billion)\b)?"),
    ("money", "0-9", rf"[\d.,]{{0,18}} ?(?:million |billion )?(?:[€£¥]|(?:{_CURRENCIES}|euros?|dollars?|pounds?)\b)"),
    ("code", "A-Z", r"[A-Z]{0,5}-?\d{1,8}(?:-[A-Z\d]{1,6})?\b"),
    ("phone", "+", r"\d[\d ()./-]{5,18}\d\b"),
)

# One expression for all, which begins with one set of characters: that makes the search several times faster. An empty
# group ends each form: its number says which one was found.
_BRANCHES = (rf"(?<=[{first}])(?<!\w.){rest}()" for _, first, rest in _FORMS)
_FORM = re.compile(rf"[{''.join(first for _, first, _ in _FORMS)}](?:{'|'.join(_BRANCHES)})")
_KINDS = ("", *(kind for kind, _, _ in _FORMS))


def take_out(text: str) -> tuple[list[tuple[str, str]], str]:
    """Kind and text of each, and the text with a mark where each of them stood."""
    found: list[tuple[str, str]] = []

    def note(match: "re.Match[str]") -> str:
        found.append((_KINDS[match.lastindex or 0], match[0]))
        return "|"

    for kind, sign, pattern in _ADDRESSES:
        if sign in text:
            found += ((kind, address.rstrip(".,;")) for address in pattern.findall(text))
            text = pattern.sub("|", text)
    return found, _FORM.sub(note, text)
