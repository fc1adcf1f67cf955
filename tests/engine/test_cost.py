"""Money as people read it."""

from decimal import Decimal

import pytest

from holdfast.engine.cost import money


@pytest.mark.parametrize(
    ("usd", "said"),
    [
        (Decimal("0E-8"), "$0"),
        (Decimal("0.5"), "$0.50"),
        (Decimal("0.000125"), "$0.000125"),
        (1234.5, "$1,234.50"),
        (Decimal("-0.25"), "-$0.25"),
        (Decimal(-3), "-$3.00"),
    ],
)
def test_money_has_as_many_places_as_it_needs(usd: Decimal | float, said: str) -> None:
    assert money(usd) == said
