"""Recognises MPEG audio that begins with its first frame, without a tag."""

from dataclasses import dataclass

_LAYER_1, _LAYER_2, _LAYER_3 = 3, 2, 1
_VERSION_1, _RESERVED_VERSION = 3, 1
_KILOBITS_OF_VERSION_1 = {
    _LAYER_1: (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    _LAYER_2: (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    _LAYER_3: (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
}
_KILOBITS_OF_LOW_RATES = {
    _LAYER_1: (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    _LAYER_2: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    _LAYER_3: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_HERTZ = {_VERSION_1: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}


@dataclass(frozen=True, slots=True)
class _Frame:
    """What the four bytes before a frame say of it."""

    version: int
    layer: int
    hertz: int
    length: int


def begins_with_frames(head: bytes) -> bool:
    """Whether two frames of one stream stand at the beginning, the second where the first says: chance writes none."""
    first = _frame_at(head, 0)
    second = _frame_at(head, first.length) if first else None
    if first is None or second is None:
        return False
    return (first.version, first.layer, first.hertz) == (second.version, second.layer, second.hertz)


def _frame_at(head: bytes, at: int) -> _Frame | None:
    if len(head) < at + 4:
        return None
    bits = int.from_bytes(head[at : at + 4])
    version, layer, rate, frequency = bits >> 19 & 3, bits >> 17 & 3, bits >> 12 & 15, bits >> 10 & 3
    is_frame = bits >> 21 == 0x7FF and version != _RESERVED_VERSION and layer and rate not in (0, 15) and frequency != 3
    if not is_frame:
        return None
    kilobits = (_KILOBITS_OF_VERSION_1 if version == _VERSION_1 else _KILOBITS_OF_LOW_RATES)[layer][rate - 1]
    hertz = _HERTZ[version][frequency]
    return _Frame(version, layer, hertz, _length(version, layer, kilobits * 1_000, hertz, padding=bits >> 9 & 1))


def _length(version: int, layer: int, bits_per_second: int, hertz: int, *, padding: int) -> int:
    if layer == _LAYER_1:
        return (12 * bits_per_second // hertz + padding) * 4
    samples_in_bytes = 72 if layer == _LAYER_3 and version != _VERSION_1 else 144
    return samples_in_bytes * bits_per_second // hertz + padding
