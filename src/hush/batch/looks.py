"""Views, compiled: what questions see of the people who answer them, computed as in `hush.core.views`.

A view becomes a kind and an array of floats, and its kernel makes a column of it: positions in [0, 1] (NaN if missing),
or indices of categories. All operations are those of the scalar path in the same order, each rounded once by IEEE 754,
so both paths see the same.

**Time.** A kernel takes the same steps for every record, as those of the draws do (`hush.batch.draws`). A missing
number is looked up as if it were there. Where a number is not optional, NaN gives a category all the same: other code
may write to columns after the check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from hush.batch.draws import ONE, Array, clamped, either
from hush.batch.native import FUSES, blend, compiled, flag, floats_at, greater, inlined, lesser, pointer, shorts_at
from hush.batch.picks import member_look
from hush.batch.texts import among_look, prefix_look
from hush.core.looking import View
from hush.core.schema import Attribute, Categorical, Choices, Numeric, Schema
from hush.core.texts import MAX_BITS, Text
from hush.core.views import Bands, Product, Sides, Value
from hush.core.word_views import Among, Member, Prefix

CATEGORIES = ("category", "bands", "sides", "member", "among")  # the kinds that give categories

MODERATE = 400  # the exponent of two up to which spans are divided by in a product


class Bounds(NamedTuple):
    """The bounds of columns: `inverses` are 1/span, or 0 where `hush.batch.draws.scaled` cannot use it."""

    lows: Array
    spans: Array
    inverses: Array


class Look(NamedTuple):
    """A view for its kernel: its kind, the columns that it reads with their bounds, and its floats."""

    kind: str
    columns: tuple[int, ...]
    bounds: Bounds
    floats: Array


class Scene(NamedTuple):
    """A view and the people whose records it looks at. `columns` are addresses, and `people` are rows.

    The result of each person goes to `numbers` or `categories`, in order.
    """

    columns: Array
    lows: Array
    spans: Array
    floats: Array
    people: Array
    numbers: Array
    categories: Array


def bounds_of(attributes: Sequence[Attribute | None]) -> Bounds:
    """Return the bounds of columns. A category has none, nor has a column of positions (None)."""
    lows = [attribute.low if isinstance(attribute, Numeric) else 0.0 for attribute in attributes]
    highs = [attribute.high if isinstance(attribute, Numeric) else 1.0 for attribute in attributes]
    spans = [high - low for low, high in zip(lows, highs, strict=True)]
    inverses = [1.0 / span if FUSES and abs(math.frexp(span)[1]) <= MODERATE else 0.0 for span in spans]
    return Bounds(np.array(lows), np.array(spans), np.array(inverses))


@singledispatch
def encode_view(view: View, schema: Schema) -> Look:
    """Return a view as arrays."""
    raise NotImplementedError(f"the batch engine has no kernel for a {view.kind} view")


def _pack(kind: str, view: View, schema: Schema, floats: Sequence[float]) -> Look:
    columns = tuple(schema.names.index(name) for name in view.of)
    return Look(kind, columns, bounds_of([schema.attributes[column] for column in columns]), np.array(floats))


def _positions(view: Bands | Sides, schema: Schema) -> list[float]:
    """Return the cuts as positions. Both cuts of sides have a number of their own."""
    numbers = [schema[name] for name in view.of] * (len(view.cuts) // len(view.of))
    found = []
    for number, cut in zip(numbers, view.cuts, strict=True):
        assert isinstance(number, Numeric)
        found.append((cut - number.low) / (number.high - number.low))
    return found


@encode_view.register
def _value(view: Value, schema: Schema) -> Look:
    return _pack("category" if isinstance(schema[view.attribute], Categorical) else "number", view, schema, [])


@encode_view.register
def _member(view: Member, schema: Schema) -> Look:
    # floats: the number of values, and the place of this one
    choices = schema[view.attribute]
    assert isinstance(choices, Choices)
    return _pack("member", view, schema, [len(choices.values), view.place(schema)])


@encode_view.register
def _prefix(view: Prefix, schema: Schema) -> Look:
    # floats: the points, and the bits of each chunk
    return _pack("prefix", view, schema, [view.points, *view.chunks])


@encode_view.register
def _among(view: Among, schema: Schema) -> Look:
    # floats: how many texts are listed, halvings that find one; then for each, in order, its code and its place. Codes
    # are words that take the room of floats.
    text = schema[view.attribute]
    assert isinstance(text, Text)
    codes = sorted((code << (MAX_BITS - text.bits), place) for place, code in enumerate(view.codes(schema)))
    levels = len(codes).bit_length()
    rest = (1 << levels) - len(codes)
    found = np.zeros((len(codes) + rest, 3))
    words = found.view(np.uint64)
    for row, (code, place) in enumerate([*codes, *[((1 << MAX_BITS) - 1, len(codes))] * rest]):
        words[row, :2] = code >> 64, code & ((1 << 64) - 1)
        found[row, 2] = place
    head = _pack("among", view, schema, [])
    return head._replace(floats=np.concatenate([[float(len(codes)), float(levels)], found.ravel()]))


@encode_view.register
def _bands(view: Bands, schema: Schema) -> Look:
    # floats: 1 if there is a band of missing numbers, that band, halvings that find a band; limits, filled up for them
    limits = _positions(view, schema)
    levels = len(limits).bit_length()
    head = [view.seen(schema).optional, len(limits) + 1, levels]
    return _pack("bands", view, schema, [*head, *limits, *[math.inf] * ((1 << levels) - 1 - len(limits))])


@encode_view.register
def _sides(view: Sides, schema: Schema) -> Look:
    # floats: 1 if a number may be missing, then the positions of both cuts
    return _pack("sides", view, schema, [view.seen(schema).optional, *_positions(view, schema)])


@encode_view.register
def _product(view: Product, schema: Schema) -> Look:
    # floats: the positions of both centres, and the reach
    return _pack("product", view, schema, [*view.places(schema), view.reach])


@inlined
def placed(value: float, low: float, span: float) -> Any:
    """Return a number as its position in [0, 1], and whether it is missing; then the position is a half."""
    missing = value != value
    return blend(missing, 0.5, clamped((value - low) / span)), missing


@compiled
def number_look(scene: Any) -> None:
    """Numbers as they are."""
    source, people, found = floats_at(scene.columns[0]), pointer(scene.people), pointer(scene.numbers)
    low, span = scene.lows[0], scene.spans[0]
    for i in range(len(scene.people)):
        u, missing = placed(source[people[i]], low, span)
        found[i] = blend(missing, math.nan, u)


@compiled
def category_look(scene: Any) -> None:
    """Categories as they are."""
    source, people, found = shorts_at(scene.columns[0]), pointer(scene.people), pointer(scene.categories)
    for i in range(len(scene.people)):
        found[i] = source[people[i]]


@compiled
def bands_look(scene: Any) -> None:
    """Bands of numbers: how many limits are below the number. The search takes fixed steps."""
    source, people, found = floats_at(scene.columns[0]), pointer(scene.people), pointer(scene.categories)
    low, span, f = scene.lows[0], scene.spans[0], pointer(scene.floats)
    optional, last, levels = np.uint64(f[0]), np.uint64(f[1]), np.int64(f[2])
    for i in range(len(scene.people)):
        u, missing = placed(source[people[i]], low, span)
        band: Any = 0
        for level in range(levels - 1, -1, -1):
            band += np.int64(flag(f[2 + band + (1 << level)] < u)) << level
        found[i] = np.int64(either(flag(missing) & optional, last, np.uint64(band)))


@compiled
def sides_look(scene: Any) -> None:
    """Whether two numbers lie on different sides of their cuts, 2 if one is missing."""
    first, second = floats_at(scene.columns[0]), floats_at(scene.columns[1])
    people, found, f = pointer(scene.people), pointer(scene.categories), pointer(scene.floats)
    low_x, span_x, low_y, span_y = scene.lows[0], scene.spans[0], scene.lows[1], scene.spans[1]
    optional = np.uint64(f[0])
    for i in range(len(scene.people)):
        x, no_x = placed(first[people[i]], low_x, span_x)
        y, no_y = placed(second[people[i]], low_y, span_y)
        different = flag(x <= f[1]) ^ flag(y <= f[2])
        found[i] = np.int64(either((flag(no_x) | flag(no_y)) & optional, ONE + ONE, different))


@compiled
def product_look(scene: Any) -> None:
    """Products of two numbers, each measured from its centre, as positions in [0, 1]."""
    first, second = floats_at(scene.columns[0]), floats_at(scene.columns[1])
    people, found, f = pointer(scene.people), pointer(scene.numbers), pointer(scene.floats)
    low_x, span_x, low_y, span_y = scene.lows[0], scene.spans[0], scene.lows[1], scene.spans[1]
    for i in range(len(scene.people)):
        x, no_x = placed(first[people[i]], low_x, span_x)
        y, no_y = placed(second[people[i]], low_y, span_y)
        product = (x - f[0]) * (y - f[1]) / f[2]
        place = (lesser(greater(product, -1.0), 1.0) + 1.0) / 2.0
        found[i] = blend(no_x, math.nan, blend(no_y, math.nan, place))


LOOKS: dict[str, Callable[..., Any]] = {
    "number": number_look,
    "category": category_look,
    "bands": bands_look,
    "sides": sides_look,
    "product": product_look,
    "member": member_look,
    "prefix": prefix_look,
    "among": among_look,
}
