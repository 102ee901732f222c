"""The questions of one relation or range, each with its predicted error.

- **table**: a category with a category, or bands of numbers; a set of the cells.
- **means**: a number by a category, or by bands; the rows channel.
- **association**: two numbers; a bit whether both lie on the same side of their cuts, and both cuts alone.
- **moments**: two numbers; their product and both squares through windows.
- **range**: a tree of bands, 4, 16, 64, ... of them, each level a question.

An error is the variance of one report about an item: for a table the average over its cells; for means that of the
groups' parts of the mean, on the scale [-1, 1]; for one bit that of its share; for a product that of its average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from numbers import Real
from typing import NamedTuple

from hush.core.channels import Channel
from hush.core.design import groups
from hush.core.design.categorical import subset
from hush.core.design.choice import Makers
from hush.core.design.joint import table
from hush.core.looking import View
from hush.core.plan import Question
from hush.core.schema import Attribute, Categorical, Numeric, Schema
from hush.core.views import Bands, Product, Sides, Value
from hush.errors import DesignError

KINDS = ("table", "means", "association", "moments")
SINGLE, RANGE = "single", "range"
DEPTH = 4  # levels of the tree of a range
BRANCHES = 4
MAX_LEAVES = 1024  # estimates take time in proportion to the square of this
REACH = 0.25  # a product of two positions measured from the middle of their domains is at most this
_EVEN = Fraction(1, 12)  # the variance of positions that are spread evenly

Cuts = Mapping[str, tuple[float, ...]]
"""The cuts of the bands of numbers, checked."""


class Asked(NamedTuple):
    """A question with its predicted error."""

    question: Question
    error: float


class Unit(NamedTuple):
    """An attribute, a relation or a range, which counts as one: its questions, and how much it counts.

    The first question stands for it. Its items (cells, groups, sides) have the average share `average`, and the shares
    below the cuts of a range are 1/2 on average; a correlation from moments is told from none if its product has a
    margin below this.
    """

    names: tuple[str, ...]
    kind: str
    asked: tuple[Asked, ...]
    weight: float
    average: float

    @property
    def key(self) -> tuple[tuple[str, ...], str]:
        """What identifies it."""
        return self.names, self.kind

    @property
    def parts(self) -> list[float]:
        """How its people are divided among its questions: with the least sum of errors, by their square roots."""
        roots = [math.sqrt(max(one.error, 0.0)) for one in self.asked]
        total = math.fsum(roots)
        return [root / total for root in roots] if total else [1 / len(roots)] * len(roots)

    @property
    def error(self) -> float:
        """The error of the items of the first question, if one person of all who are asked about the unit answers."""
        if self.kind == RANGE:  # all its questions tell of them
            return self.asked[0].error
        return self.asked[0].error / max(self.parts[0], 1e-12)


def unit(
    schema: Schema, epsilon: Fraction, names: tuple[str, str], kind: str, bands: Cuts, weight: float = 1.0
) -> Unit:
    """Return a relation of these attributes."""
    one, other = (schema[name] for name in names)
    if kind == "table":
        views = [grouping(item, bands) for item in (one, other)]
        sizes = tuple(_labels(schema, view) for view in views)
        channel = table(epsilon, sizes)
        share = Fraction(1, channel.cells)
        error = float(channel.whole.variance(share) + share * (1 - share))
        return Unit(names, kind, (Asked(Question(views, channel), error),), weight, float(share))
    if kind == "means":
        view = grouping(other, bands)
        rows = groups.rows(epsilon, _labels(schema, view), one.optional)
        asked = Asked(Question([view, Value(one.name)], rows), groups.error(rows))
        return Unit(names, kind, (asked,), weight, 1 / rows.rows)
    if kind == "association":
        cuts = (_middle(one, bands), _middle(other, bands))
        both = Sides((one.name, other.name), cuts)
        views = [both, Bands(names[0], cuts[:1]), Bands(names[1], cuts[1:])]
        bits = tuple(_bit(schema, epsilon, view) for view in views)
        return Unit(names, kind, bits, weight, 1 / _labels(schema, both))
    pairs = (names, (names[0], names[0]), (names[1], names[1]))
    products = tuple(_product(schema, epsilon, pair) for pair in pairs)
    return Unit(names, kind, products, weight, float(_EVEN) / REACH)


def grouping(attribute: Attribute, bands: Cuts) -> View:
    """Return the view that groups people by an attribute."""
    return Value(attribute.name) if isinstance(attribute, Categorical) else Bands(attribute.name, bands[attribute.name])


def _labels(schema: Schema, view: View) -> int:
    seen = view.seen(schema)
    assert isinstance(seen, Categorical)
    return len(seen.labels)


def _bit(schema: Schema, epsilon: Fraction, view: View) -> Asked:
    """Return the question of a category with few values, by the subset channel."""
    channel = subset(epsilon, _labels(schema, view))
    share = Fraction(1, channel.size)
    return Asked(Question([view], channel), float(channel.variance(share) + share * (1 - share)))


def _product(schema: Schema, epsilon: Fraction, names: tuple[str, str]) -> Asked:
    centres = []
    for name in names:
        number = schema[name]
        assert isinstance(number, Numeric)
        centres.append(number.low / 2 + number.high / 2 + 0.0)
    view = Product(names, (centres[0], centres[1]), REACH)
    channel: Channel = Makers("minimax", "subset", None).channel([view.seen(schema)], epsilon)
    return Asked(Question([view], channel), float(channel.worst_variance))


def _middle(attribute: Attribute, bands: Cuts) -> float:
    """Return the cut of a number for an association: the middle one of its bands, or the middle of its domain."""
    assert isinstance(attribute, Numeric)
    cuts = bands.get(attribute.name)
    middle = attribute.low / 2 + attribute.high / 2 + 0.0
    return cuts[len(cuts) // 2] if cuts else float(math.floor(middle)) if attribute.whole else middle


def tree(schema: Schema, epsilon: Fraction, name: str, leaves: int, weight: float = 1.0) -> Unit:
    """Return a range: 4, 16, 64, ... equal bands, and as many as wanted at last."""
    number = schema[name]
    assert isinstance(number, Numeric)
    values = int(number.high) - int(number.low) + 1
    if number.whole:
        leaves = min(leaves, values)  # then each value is a band
    if leaves <= BRANCHES**2:
        counts = [leaves]  # for so few a plain question is as good
    else:
        counts = [BRANCHES**level for level in range(1, DEPTH + 4) if BRANCHES**level < leaves] + [leaves]
    found = []
    for count in counts:
        cuts = tuple(number.low + (number.high - number.low) * (i / count) + 0.0 for i in range(1, count))
        if number.whole:  # each the last value of a band; the cuts of fewer bands are among those of more
            cuts = tuple(
                number.near(float(int(number.low) - (-values * i // count) - 1), values / leaves)
                for i in range(1, count)
            )
        found.append(_bit(schema, epsilon, Bands(name, cuts)))
    return Unit((name,), RANGE, tuple(found), weight, 0.5)


def importance_of(importance: Mapping[tuple[str, ...], float], names: tuple[str, ...]) -> float:
    """Return how much a relation counts, under either order of its names."""
    for key in (names, names[::-1]):
        if key in importance:
            return importance[key]
    return 1.0


def checked_importance(key: object, weight: object) -> float:
    """Return how much something counts, checked."""
    if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= float(weight) < math.inf:
        raise DesignError(f"{key!r}: its importance must be a number, 0 or more")
    return float(weight)
