"""The names of stores in a tally: what is written is read, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.core import codec, stores
from hush.errors import TallyError

NAMES = st.binary(min_size=16, max_size=16)
STORES = st.lists(NAMES, min_size=1, max_size=8, unique=True).flatmap(
    lambda names: st.lists(st.integers(0, 3), min_size=len(names), max_size=len(names)).map(
        lambda places: stores.checked(
            [[name for name, at in zip(names, places, strict=True) if at == place] for place in sorted({*places})]
        )
    )
)


@given(STORES)
def test_what_is_written_is_read(found: stores.Stores) -> None:
    assert stores.read(stores.written(found)) == found
    cursor = codec.Cursor(stores.packed(found), TallyError, "names")
    assert stores.unpacked(cursor) == found
    assert cursor.left == 0


@given(STORES, STORES)
def test_sums_have_all_names_or_are_refused(one: stores.Stores, two: stores.Stores) -> None:
    names = [name for names in (*one, *two) for name in names]
    if len({*names}) < len(names):
        with pytest.raises(TallyError, match="count twice"):
            stores.joined(one, two)
    else:
        assert stores.joined(one, two) == stores.joined(two, one) == tuple(sorted((*one, *two)))
    assert stores.joined(one, ()) == stores.joined((), one) == one


ONE, TWO = "01" * 16, "02" * 16


@pytest.mark.parametrize(
    "value",
    [
        [],
        [[]],
        {},
        [ONE],
        [[ONE, ONE]],
        [[ONE], [ONE]],
        [[TWO], [ONE]],
        [[ONE[:-2]]],
        [[ONE.upper() + "AB"]],
        [["0A" * 16]],
    ],
)
def test_other_names_are_refused(value: object) -> None:
    with pytest.raises(TallyError):
        stores.read(value)


def test_very_many_names_are_refused() -> None:
    many = [[number.to_bytes(16, "big")] for number in range(stores.MOST + 1)]
    with pytest.raises(TallyError, match="at most 4096"):
        stores.checked(many)
    assert len(stores.checked(many[1:])) == stores.MOST
    with pytest.raises(TallyError, match="at most 4096"):
        stores.unpacked(codec.Cursor(codec.varint(1 << 60), TallyError, "names"))
