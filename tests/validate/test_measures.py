"""What is counted does not depend on how the text is handed over."""

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.validate.measures import ENOUGH, LONG_RUN, Measures, measure


def measured(text: str, block: int) -> Measures:
    *_, last = measure(text[start : start + block] for start in range(0, len(text), block))
    return last


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["a" * 700, "0" * 400, " ", "\n", "港" * 900, "tide ", "\ufffd", "!"]), min_size=1).map(
        "".join
    )
)
def test_counts_are_the_same_in_blocks_of_any_size(text: str) -> None:
    whole, blocks = measured(text, len(text)), measured(text, 333)
    assert min(blocks.wordly, ENOUGH) == min(whole.wordly, ENOUGH)
    for name in ("characters", "visible", "damaged", "unbroken", "unbroken_letters", "unbroken_marks"):
        assert getattr(blocks, name) == getattr(whole, name), name


def test_only_a_long_run_counts_as_unbroken() -> None:
    assert measured("x" * LONG_RUN + " y", 300).unbroken == 0
    assert measured("x" * (LONG_RUN + 1) + " y", 300).unbroken == LONG_RUN + 1


def test_memory_does_not_grow_with_the_text() -> None:
    *_, last = measure("tide " * 20_000 for _ in range(50))
    assert last.characters == 5_000_000
    assert len(last.sample) <= 200_000
