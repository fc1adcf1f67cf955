"""Whose documents are meant."""

from holdfast.errors import InvalidInput

MOST_CHARACTERS = 255


def checked_organisation(name: str) -> str:
    """The name of an organisation as it is. InvalidInput for none at all, and for one too long to be kept."""
    if not name:
        raise InvalidInput(
            "the organisation is empty: name one, or see why the variable that should hold it is not set"
        )
    if len(name) > MOST_CHARACTERS:
        raise InvalidInput(f"an organisation has at most {MOST_CHARACTERS} characters, not {len(name)}: shorten it")
    return name
