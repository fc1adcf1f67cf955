"""How far back a page looks: a few choices, kept in the page's address."""

from collections.abc import Sequence

from markupsafe import Markup

from holdfast.dashboard.markup import link, tag


def chosen(days: int, choices: Sequence[int]) -> int:
    """The choice that was asked for, or the middle one."""
    return days if days in choices else choices[len(choices) // 2]


def periods(path: str, days: int, choices: Sequence[int]) -> Markup:
    """Links to the same page over other periods."""
    links = [
        link(
            f"{path}?days={choice}",
            "1 day" if choice == 1 else f"{choice} days",
            class_="here" if choice == days else None,
            aria_current="true" if choice == days else None,
        )
        for choice in choices
    ]
    return tag("nav", links, class_="periods", aria_label="Period")
