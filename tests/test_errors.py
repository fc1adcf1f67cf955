"""The error tree: complete, and as its head draws it."""

import pytest

from holdfast import errors
from holdfast.errors import Category, PhaseError

PHASE_ERRORS = PhaseError.__subclasses__()


def test_each_category_has_one_error_except_those_no_handler_raises() -> None:
    raised = [kind.category for kind in PHASE_ERRORS if kind.__module__ == errors.__name__]
    assert sorted(raised) == sorted(set(Category) - {Category.UNKNOWN, Category.WORKER_LOST})


def test_bare_phase_error_is_unknown() -> None:
    assert PhaseError("something").category is Category.UNKNOWN


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
)
def test_head_of_the_file_shows_every_error(kind: type[Exception]) -> None:
    assert errors.__doc__ is not None
    shown = [words for line in errors.__doc__.splitlines() if (words := line.strip("│├└─ ").split())]
    assert any(words[0] == kind.__name__ for words in shown)


@pytest.mark.parametrize("kind", [kind for kind in PHASE_ERRORS if kind.__module__ == errors.__name__])
def test_head_of_the_file_shows_the_category_beside_its_error(kind: type[PhaseError]) -> None:
    assert errors.__doc__ is not None
    assert any(line.split()[-2:] == [kind.__name__, kind.category] for line in errors.__doc__.splitlines() if line)
