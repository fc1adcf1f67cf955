"""Old containers are looked into for how their streams begin, whatever they say of themselves."""

import io

import pytest

from holdfast.extract.ole_streams import OleStreams
from tests.extract.compound_files import compound_file, compound_file_of_little


def test_long_and_short_streams_are_found_by_name_whatever_its_case() -> None:
    long = OleStreams(io.BytesIO(compound_file("WordDocument", b"long" * 2000)))
    short = OleStreams(io.BytesIO(compound_file_of_little("CURRENT USER", b"short", at=9)))

    assert long.beginning_of("WordDocument") == b"long" * 16
    assert short.beginning_of("Current User") == b"short"
    assert short.beginning_of("WordDocument") == b""


@pytest.mark.parametrize("part", [30, 48, 68, 76, 512, 1024 + 76, 1024 + 116, 1024 + 128 + 68, 1024 + 128 + 116])
@pytest.mark.parametrize("number", [0, 1, 2, 0x7FFFFFFF, 0xFFFFFFFF])
def test_damaged_containers_are_looked_into_without_end_or_error(part: int, number: int) -> None:
    whole = bytearray(compound_file_of_little("Current User", bytes(30), at=9))
    whole[part : part + 4] = number.to_bytes(4, "little")

    for size in (len(whole), 2000, 1100, 600, 100):
        assert len(OleStreams(io.BytesIO(whole[:size])).beginning_of("Current User")) in (0, 30)
