"""Pieces are exact, complete, within limits and the same whatever way the text arrives."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from semantic_text_splitter import TextSplitter

from holdfast.chunk.boundaries import Boundaries
from holdfast.chunk.section import COUNTED_AS, LEAST_CHARACTERS, Sizes
from holdfast.chunk.splitting import LONGEST_RUN, Piece, Splitter
from holdfast.errors import InvalidInput
from tests.chunk.texts import CODE, TABLE, in_blocks, long_text, paragraph

SMALL = Sizes(tokens=50, overlap=10)
NO_BOUNDARIES = Boundaries()

markdown = st.lists(
    st.one_of(
        st.text(alphabet=st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=60),
        st.sampled_from(
            ["\n\n", "\n", "# ", "## Tide\n\n", "- ", "| a | b |\n|---|---|\n", "```\n", "> ", "    ", "***"]
        ),
        st.sampled_from(["漢字と仮名。", "ä" * 40, "  \u3000 ", "=" * 90, "👩‍👩‍👧‍👦", "e\u0301" * 8, "1,234.56 "]),
        st.builds(paragraph, st.integers(0, 50)),
    ),
    max_size=40,
).map("".join)


def split(
    text: str, *, sizes: Sizes = SMALL, boundaries: Boundaries = NO_BOUNDARIES, block: int = 10**9
) -> list[Piece]:
    return list(Splitter(sizes).pieces(in_blocks(text, block), boundaries))


def fits(text: str, tokens: int) -> bool:
    """Asked of the library by another way: text that fits is not split."""
    return len(TextSplitter.from_tiktoken_model(COUNTED_AS, tokens, trim=False).chunks(text)) == 1


@settings(max_examples=150, deadline=None)
@given(markdown, st.lists(st.integers(0, 3000)), st.lists(st.integers(0, 3000)))
@example("x" * (3 * LONGEST_RUN), [], [])
@example(paragraph(23) + "0:0:0:0:0:\U00013a400000~\xd70000", [], [])
@example("a" + " \n" * 1500 + "b", [], [])
@example("word " + "漢" * (2 * LONGEST_RUN), [7], [9])
def test_pieces_are_exact_complete_and_within_the_limit(text: str, always: list[int], mostly: list[int]) -> None:
    pieces = split(text, boundaries=Boundaries(always, mostly))
    covered = [False] * len(text)
    for piece in pieces:
        assert text[piece.start : piece.end] == piece.text
        assert fits(piece.text, SMALL.tokens)
        covered[piece.start : piece.end] = [True] * len(piece.text)
    assert [text[n] for n, inside in enumerate(covered) if not inside and not text[n].isspace()] == []
    assert [piece.start for piece in pieces] == sorted({piece.start for piece in pieces})


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40_000))
def test_pieces_do_not_depend_on_how_the_text_is_handed_over(seed: int, block: int) -> None:
    text = long_text(60_000, seed=seed)
    assert split(text, sizes=Sizes(), block=block) == split(text, sizes=Sizes())


def test_pieces_of_a_long_section_follow_each_other_without_a_seam() -> None:
    """No window's end leaves a short piece or a gap behind: only the very last may be short."""
    text = "\n\n".join(paragraph(n) for n in range(400))
    pieces = split(text, sizes=Sizes(tokens=200, overlap=0))
    assert len(text) > 60_000
    assert min(len(piece.text) for piece in pieces[:-1]) > LEAST_CHARACTERS
    assert [piece.continues for piece in pieces] == [False] + [True] * (len(pieces) - 1)


def test_a_section_begins_a_piece_of_its_own_and_repeats_nothing() -> None:
    first, second = paragraph(1) * 3, paragraph(2) * 3
    text = f"# One\n\n{first}\n\n# Two\n\n{second}\n"
    begin = text.index("# Two")
    pieces = split(text, sizes=Sizes(tokens=60, overlap=20), boundaries=Boundaries(mostly=[0, begin]))
    assert begin in [piece.start for piece in pieces]
    assert all(piece.end <= begin for piece in pieces if piece.start < begin)


def test_pieces_of_one_section_overlap() -> None:
    pieces = split(paragraph(1) + " " + paragraph(2) + " " + paragraph(3), sizes=Sizes(tokens=60, overlap=25))
    assert len(pieces) > 1
    assert all(after.start < before.end for before, after in pairwise(pieces))


def test_a_heading_without_text_goes_with_what_follows() -> None:
    text = "# The harbour\n\n## Tides\n\n" + paragraph(1) * 2
    (piece,) = split(text, sizes=Sizes(), boundaries=Boundaries(mostly=[0, text.index("## Tides")]))
    assert piece.text == text.strip()


def test_a_slide_stands_alone_however_short() -> None:
    text = "Welcome\n\nAgenda\n\nQuestions"
    pieces = split(text, boundaries=Boundaries(always=[0, 9, 17]))
    assert [piece.text for piece in pieces] == ["Welcome", "Agenda", "Questions"]


@pytest.mark.parametrize("block", [TABLE, CODE], ids=["table", "code"])
def test_tables_and_code_that_fit_stay_whole(block: str) -> None:
    text = f"{paragraph(1)}\n\n{block}\n\n{paragraph(3)}\n"
    sizes = Sizes(
        tokens=next(size for size in range(50, 400) if fits(f"{paragraph(1)}\n\n{block[:40]}", size)), overlap=0
    )
    assert fits(block, sizes.tokens)
    assert not fits(f"{paragraph(1)}\n\n{block}".strip(), sizes.tokens)
    assert any(block.strip() in piece.text for piece in split(text, sizes=sizes))


def test_a_short_tail_is_balanced_with_the_piece_before_it() -> None:
    sentences = "The tide turned at dawn and the boats went out. " * 9
    tokens = next(size for size in range(50, 400) if fits(sentences.strip(), size))
    text = sentences + "All came back."
    pieces = split(text, sizes=Sizes(tokens=tokens, overlap=0))
    assert len(pieces) == 2
    assert min(len(piece.text) for piece in pieces) > len(text) / 4


def test_a_million_equal_letters_are_cut_to_size() -> None:
    text = "a" * 1_000_000
    pieces = split(text, sizes=Sizes(), block=70_000)
    assert max(len(piece.text) for piece in pieces) <= LONGEST_RUN
    assert "".join(piece.text for piece in pieces) == text


def test_a_script_without_spaces_is_cut_behind_a_sentence() -> None:
    sentence = "港の灯台は夜になると光ります。"
    pieces = split(sentence * 400, sizes=Sizes(tokens=8_000, overlap=0))
    assert len(pieces) > 1
    assert all(piece.text.endswith("。") for piece in pieces)


def test_white_space_alone_has_no_pieces() -> None:
    assert split(" \n\t" * 400_000) == []


def test_a_wide_gap_is_left_out() -> None:
    assert [piece.text for piece in split("before" + "\n \t" * 40_000 + "after")] == ["before", "after"]


def test_only_what_is_near_is_held_in_memory() -> None:
    asked: list[int] = []

    def blocks() -> list[str]:
        return [paragraph(n) + "\n\n" for n in range(2_000)]

    def noted():
        for n, block in enumerate(blocks()):
            asked.append(n)
            yield block

    next(Splitter(Sizes()).pieces(noted(), NO_BOUNDARIES))
    assert len(asked) < 200


@pytest.mark.parametrize(("tokens", "overlap"), [(10, 0), (100, 60), (100, -1)])
def test_senseless_sizes_are_refused(tokens: int, overlap: int) -> None:
    with pytest.raises(InvalidInput):
        Sizes(tokens=tokens, overlap=overlap)
