"""Views: what a question sees of a record.

A question asks about values as they are, or looks at them through a public view: the band of a number, whether two
numbers lie on the same side of their cuts, a product. A view is a fixed function of the checked inputs, so it costs no
privacy and draws no randomness. What it gives is again an input for one attribute, a number or a category, which the
view describes as `seen`: channels know nothing of views.

Views of numbers, and values as they are, are here; those of choices and texts are in `hush.core.word_views`.

**Bands.** Cuts c_1 < c_2 < ... divide a number into the bands x <= c_1, c_1 < x <= c_2, ..., x > c_m. Both the number
and the cuts are taken as positions (x - low)/(high - low), rounded as IEEE 754 says: all languages compute the same.

**Time.** A view takes the same steps for all values: a band is searched among 2^m - 1 limits, and a missing number is
looked up as if it were there.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from hush.core import codec
from hush.core.looking import Look, View
from hush.core.schema import Attribute, Categorical, Input, Numeric, Schema, short
from hush.core.word_views import Among, Member, Prefix
from hush.errors import PlanError

MAX_CUTS = 4095
SAME, DIFFERENT = "same side", "different sides"


@dataclass(frozen=True)
class Value(View):
    """An attribute as it is."""

    attribute: str

    kind: ClassVar[str] = "value"

    @property
    def of(self) -> tuple[str, ...]:
        """The attribute."""
        return (self.attribute,)

    @property
    def words(self) -> str:
        """The name of the attribute."""
        return self.attribute

    def seen(self, schema: Schema) -> Attribute:
        """Return the attribute."""
        return schema[self.attribute]

    def look(self, schema: Schema) -> Look:
        """Return the function that picks the input."""
        place = schema.names.index(self.attribute)
        return lambda inputs: inputs[place]


@dataclass(frozen=True)
class Bands(View):
    """The band of a number between public cuts. A number on a cut belongs to the band below it."""

    attribute: str
    cuts: tuple[float, ...]

    kind: ClassVar[str] = "bands"

    def __post_init__(self) -> None:
        if type(self.cuts) is not tuple or not 1 <= len(self.cuts) <= MAX_CUTS:
            raise PlanError(f"attribute {self.attribute!r}: bands need 1 to {MAX_CUTS} cuts")
        for cut in self.cuts:
            _check_float(cut, self.attribute, "a cut")

    @property
    def of(self) -> tuple[str, ...]:
        """The attribute."""
        return (self.attribute,)

    @property
    def words(self) -> str:
        """The attribute, and how many bands there are."""
        return f"{self.attribute} in {len(self.cuts) + 1} bands"

    def seen(self, schema: Schema) -> Attribute:
        """Return the bands as categories, "missing" last if the number is optional."""
        number = _number(schema, self.attribute)
        _positions(number, self.cuts)
        return Categorical(number.name, labels(self.cuts, number), number.optional)

    def look(self, schema: Schema) -> Look:
        """Return the function that finds the band."""
        number = _number(schema, self.attribute)
        positions = _positions(number, self.cuts)
        # Among 2^m - 1 limits a search halves the rest m times, wherever it ends.
        limits = [*positions, *[math.inf] * ((1 << len(positions).bit_length()) - 1 - len(positions))]
        place, last = schema.names.index(self.attribute), len(positions) + 1

        def look(inputs: Sequence[Input]) -> Input:
            u = inputs[place]
            band = bisect_left(limits, 0.5 if u is None else u)
            return last if u is None else band

        return look

    def to_json(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return {**super().to_json(), "cuts": list(self.cuts)}


@dataclass(frozen=True)
class Sides(View):
    """Whether two numbers lie on the same side of their cuts: both at most their cut, or both above."""

    attributes: tuple[str, str]
    cuts: tuple[float, float]

    kind: ClassVar[str] = "sides"

    def __post_init__(self) -> None:
        _check_pair(self.attributes)
        if type(self.cuts) is not tuple or len(self.cuts) != 2:
            raise PlanError(f"attributes {self.attributes}: sides need a cut of each number")
        for name, cut in zip(self.attributes, self.cuts, strict=True):
            _check_float(cut, name, "a cut")

    @property
    def of(self) -> tuple[str, ...]:
        """The two numbers."""
        return self.attributes

    @property
    def words(self) -> str:
        """The two numbers, and the cuts that they are compared with."""
        one, other = map(short, self.cuts)
        return f"{' and '.join(self.attributes)}: same side of {one} and {other}?"

    def told(self, schema: Schema) -> str:
        """Return the two numbers, and the cuts that they are compared with, in their own words."""
        numbers = (_number(schema, name) for name in self.attributes)
        one, other = (number.named(cut) or short(cut) for number, cut in zip(numbers, self.cuts, strict=True))
        return f"{' and '.join(self.attributes)}: same side of {one} and {other}?"

    def seen(self, schema: Schema) -> Attribute:
        """Return the answer as a category: same, different, or missing if a number may be."""
        first, second = (_number(schema, name) for name in self.attributes)
        for number, cut in zip((first, second), self.cuts, strict=True):
            _positions(number, (cut,))
        return Categorical(_joined(self.attributes), (SAME, DIFFERENT), first.optional or second.optional)

    def look(self, schema: Schema) -> Look:
        """Return the function that compares both numbers with their cuts."""
        first, second = (_number(schema, name) for name in self.attributes)
        (a,), (b,) = _positions(first, self.cuts[:1]), _positions(second, self.cuts[1:])
        one, other = (schema.names.index(name) for name in self.attributes)

        def look(inputs: Sequence[Input]) -> Input:
            x, y = inputs[one], inputs[other]
            different = int(((0.5 if x is None else x) <= a) != ((0.5 if y is None else y) <= b))
            return 2 if (x is None) | (y is None) else different  # both are asked, whichever is missing

        return look

    def to_json(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return {**super().to_json(), "cuts": list(self.cuts)}


@dataclass(frozen=True)
class Product(View):
    """The product of two numbers, each measured from a public centre, clipped at a public reach.

    Both numbers are taken as positions in their domains: with positions x, y and those of the centres p, q it is
    (x - p)*(y - q)/reach, moved into -1..1. The same attribute twice gives a square.
    """

    attributes: tuple[str, str]
    centres: tuple[float, float]
    reach: float

    kind: ClassVar[str] = "product"

    def __post_init__(self) -> None:
        _check_pair(self.attributes)
        if type(self.centres) is not tuple or len(self.centres) != 2:
            raise PlanError(f"attributes {self.attributes}: a product needs a centre of each number")
        for name, centre in zip(self.attributes, self.centres, strict=True):
            _check_float(centre, name, "a centre")
        _check_float(self.reach, self.attributes[0], "the reach of a product")
        if not 2.0**-20 <= self.reach <= 1:
            raise PlanError(f"attributes {self.attributes}: the reach of a product must be from 2^-20 to 1")

    @property
    def of(self) -> tuple[str, ...]:
        """The two numbers."""
        return self.attributes

    @property
    def words(self) -> str:
        """The two numbers as a product, or one of them squared."""
        one, other = self.attributes
        return f"{one} squared" if one == other else f"{one} × {other}"

    def places(self, schema: Schema) -> tuple[float, float]:
        """Return the positions of the centres in the domains."""
        found = []
        for name, centre in zip(self.attributes, self.centres, strict=True):
            number = _number(schema, name)
            if not number.low <= centre <= number.high:
                raise PlanError(f"attribute {name!r}: the centre must be from {number.low!r} to {number.high!r}")
            found.append((centre - number.low) / (number.high - number.low))
        return found[0], found[1]

    def seen(self, schema: Schema) -> Attribute:
        """Return the product as a number from -1 to 1."""
        self.places(schema)
        optional = any(_number(schema, name).optional for name in self.attributes)
        return Numeric(_joined(self.attributes), -1.0, 1.0, "clip", optional)

    def look(self, schema: Schema) -> Look:
        """Return the function that multiplies both numbers."""
        p, q = self.places(schema)
        one, other = (schema.names.index(name) for name in self.attributes)
        reach = self.reach

        def look(inputs: Sequence[Input]) -> Input:
            x, y = inputs[one], inputs[other]
            product = ((0.5 if x is None else x) - p) * ((0.5 if y is None else y) - q) / reach
            place = (min(max(product, -1.0), 1.0) + 1.0) / 2.0
            return None if (x is None) | (y is None) else place

        return look

    def to_json(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return {**super().to_json(), "centres": list(self.centres), "reach": self.reach}


_PLAIN = Numeric("number", 0, 1)


def labels(cuts: Sequence[float], number: Numeric = _PLAIN) -> list[str]:
    """Return the names of the bands between cuts. A band of whole numbers is named by its first and its last one."""
    if number.whole and all(cut.is_integer() for cut in cuts):
        between = [number.spanned(low + 1, high) for low, high in pairwise(cuts)]
        return [number.spanned(None, cuts[0]), *between, number.spanned(cuts[-1] + 1, None)]
    shown = [short(cut) for cut in cuts]
    between = [f"{low} to {high}" for low, high in pairwise(shown)]
    return [f"up to {shown[0]}", *between, f"above {shown[-1]}"]


def from_json(value: Any) -> View:
    """Read a view of any kind, strictly."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind == Value.kind:
        of = _names(codec.fields(value, ("kind", "of"), PlanError, "a view")[1], 1)
        return Value(of[0])
    if kind == Bands.kind:
        _, of, cuts = codec.fields(value, ("kind", "of", "cuts"), PlanError, "a view of bands")
        return Bands(_names(of, 1)[0], tuple(codec.listed(cuts, PlanError, "the cuts of a view")))
    if kind == Sides.kind:
        _, of, cuts = codec.fields(value, ("kind", "of", "cuts"), PlanError, "a view of sides")
        one, other = _names(of, 2)
        return Sides((one, other), tuple(codec.listed(cuts, PlanError, "the cuts of a view")))
    if kind == Product.kind:
        names = ("kind", "of", "centres", "reach")
        _, of, centres, reach = codec.fields(value, names, PlanError, "a view of a product")
        one, other = _names(of, 2)
        return Product((one, other), tuple(codec.listed(centres, PlanError, "the centres of a view")), reach)
    if kind == Member.kind:
        _, of, chosen = codec.fields(value, ("kind", "of", "value"), PlanError, "a view of a member")
        return Member(_names(of, 1)[0], chosen)
    if kind == Among.kind:
        _, of, values = codec.fields(value, ("kind", "of", "values"), PlanError, "a view of listed texts")
        return Among(_names(of, 1)[0], tuple(codec.listed(values, PlanError, "the listed texts")))
    if kind == Prefix.kind:
        names = ("kind", "of", "chunks", "points")
        _, of, chunks, points = codec.fields(value, names, PlanError, "a view of a prefix")
        return Prefix(_names(of, 1)[0], tuple(codec.listed(chunks, PlanError, "the chunks of a prefix")), points)
    raise PlanError(f"the kind of a view must be one of: {', '.join(KINDS)}")


KINDS = (Value.kind, Bands.kind, Sides.kind, Product.kind, Member.kind, Prefix.kind, Among.kind)


def _names(value: Any, count: int) -> list[str]:
    names = codec.listed(value, PlanError, "the attributes of a view")
    if len(names) != count or not all(type(name) is str for name in names):
        raise PlanError(f"this view is of {count} attribute{'s' if count > 1 else ''}")
    return names


def _number(schema: Schema, name: str) -> Numeric:
    attribute = schema[name]
    if not isinstance(attribute, Numeric):
        raise PlanError(f"attribute {name!r}: this view is of a number, and it is none")
    return attribute


def _positions(number: Numeric, cuts: Sequence[float]) -> list[float]:
    """Return the cuts as positions in the domain, which must increase: otherwise a band would be empty."""
    if not all(number.low <= cut < number.high for cut in cuts):
        raise PlanError(f"attribute {number.name!r}: cuts must be from {number.low!r} to below {number.high!r}")
    positions = [(cut - number.low) / (number.high - number.low) for cut in cuts]
    if not all(a < b for a, b in pairwise(positions)) or positions[-1] >= 1:
        raise PlanError(f"attribute {number.name!r}: cuts must increase, and not lie too close to each other")
    return positions


def _check_float(value: object, name: str, what: str) -> None:
    if type(value) is not float or not math.isfinite(value) or math.copysign(1, value) != math.copysign(1, value + 0.0):
        raise PlanError(f"attribute {name!r}: {what} must be a finite float, and 0 without a sign")


def _check_pair(names: object) -> None:
    if type(names) is not tuple or len(names) != 2 or not all(type(name) is str for name in names):
        raise PlanError("this view is of two attributes")


def _joined(names: tuple[str, str]) -> str:
    return " × ".join(name[:60] for name in names)
