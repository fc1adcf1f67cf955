"""Charsets as servers and pages name them, and the codecs that read them."""

import codecs

# What the HTML standard reads under these names: the larger encodings that their writers really use.
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "utf-8-sig": "utf-8",
    "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
}
# Python's own ways to write text, and one that hides what it says.
_NOT_BELIEVED = frozenset({"utf-7", "unicode-escape", "raw-unicode-escape", "idna", "punycode", "undefined"})


def codec_of(charset: str) -> str | None:
    """The codec for what people call this charset, or None if there is none to be believed."""
    label = charset.strip().lower().removeprefix("x-")
    for name in (label, label.replace("windows-", "cp")):
        try:
            codec = codecs.lookup(name).name
            # Refuses codecs that do not make text of bytes.
            b"a".decode(codec)
        except (LookupError, ValueError):
            continue
        return None if codec in _NOT_BELIEVED else _MEANT.get(codec, codec)
    return None
