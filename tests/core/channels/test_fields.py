"""Finite fields by themselves: how large they are, and which tables they make."""

from __future__ import annotations

import pytest

from hush.core.channels.fields import MAX_ORDER, MAX_POWER, Field, power_of


def test_the_largest_fields() -> None:
    assert (MAX_ORDER, MAX_POWER) == (2047, 128)
    for order, found in ((127, (127, 1)), (128, (2, 7)), (131, (131, 1)), (2039, (2039, 1))):
        assert (Field(order).prime, Field(order).degree) == power_of(order) == found
    for order in (1, 130, 169, 256, 2047, 2048, 2053):
        with pytest.raises(ValueError, match="no such field"):
            Field(order)


@pytest.mark.parametrize("order", [2, 3, 4, 7, 8, 9])
def test_0_stands_for_its_own_inverse(order: int) -> None:
    over = Field(order)
    assert over.inverses[0] == 0
    assert [over.products[a][over.inverses[a]] for a in range(order)] == [0] + [1] * (order - 1)


@pytest.mark.parametrize("order", [2, 7])
def test_a_field_of_prime_order_needs_no_table_of_all_pairs(order: int) -> None:
    """The largest would have four million entries."""
    over = Field(order)
    over.prepare()
    assert over.against(1, (1, 0), (1, 1)) == 0
    assert over.scaled(1, (0, 1)) == [0, 1]
    assert {"inverses"} == {*vars(over)} - {"order", "prime", "degree"}


@pytest.mark.parametrize("order", [4, 8, 9])
def test_another_field_makes_its_tables_before_they_are_needed(order: int) -> None:
    over = Field(order)
    over.prepare()
    assert {"inverses", "products", "differences"} <= {*vars(over)}
