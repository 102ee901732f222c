"""Questions about relations: tables of two categories, means by group, associations of two numbers, ranges.

Everybody answers one question with the whole epsilon. A question about a pair needs 4 to 30 times fewer people than two
questions with half of epsilon each, whose answers a server would multiply (docs/relations.md).

- A category with a category, or bands of numbers: a **table**, reported as a set of its cells.
- A number by a category, or by bands: **means**, by the rows channel.
- Two numbers: an **association**, one bit: do both lie on the same side of their cuts? Both cuts are asked alone too.
- Two numbers: **moments**, the product and both squares through windows. Single questions give the means.
- A **range**: a tree of bands, 4, 16, 64, ... of them, each level a question.

**Weights.** With probabilities p_j the error is the sum of e_j/p_j, which is least if p_j is in proportion to the
square root of e_j. For a table e is the average variance of its cells; for means that of the groups' parts of the mean,
on the scale [-1, 1]; for one bit that of its share; for single questions as elsewhere. A share `singles` of the people
is asked about single attributes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from itertools import combinations
from numbers import Real
from typing import Literal, NamedTuple

from hush.core.channels import Channel
from hush.core.design import groups
from hush.core.design.categorical import subset
from hush.core.design.choice import Makers
from hush.core.design.joint import table
from hush.core.design.sets import better_whole, expanded, views_of
from hush.core.looking import View
from hush.core.plan import Question
from hush.core.schema import Attribute, Categorical, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.core.views import Bands, Product, Sides, Value
from hush.errors import DesignError, PlanError, SchemaError

KINDS = ("table", "means", "association", "moments")
DEPTH = 4  # levels of the tree of a range
BRANCHES = 4
MAX_LEAVES = 1024  # estimates take time in proportion to the square of this
REACH = 0.25  # a product of two positions measured from the middle of their domains is at most this
_WEIGHT = 1 << 20

Relation = Sequence[str]
"""Two names of attributes, and perhaps the kind: ("income", "education", "means")."""


class Asked(NamedTuple):
    """A question about a relation with its predicted error, and how much that counts."""

    question: Question
    error: float


class Wishes(NamedTuple):
    """What the user wants to learn beyond single attributes."""

    relations: Sequence[Relation] | Literal["all"]
    singles: float
    bands: Mapping[str, Sequence[float | str | date]]
    ranges: Sequence[str] | Mapping[str, int]
    importance: Mapping[object, float]


def questions(
    schema: Schema, makers: Makers, epsilon: Fraction, wishes: Wishes
) -> tuple[tuple[Question, ...], tuple[int, ...]]:
    """Return the questions of these wishes, and their weights."""
    bands = {name: _cuts(schema, name, cuts) for name, cuts in wishes.bands.items()}
    asked: dict[tuple[View, ...], Asked] = {}
    singles = _singles(wishes.singles)
    for names, kind in _relations(schema, wishes.relations, bands):
        if kind == "moments" and not singles:
            raise DesignError(f"attribute {names[0]!r}: moments need its mean too, so singles must be above 0")
        weight = _importance(wishes.importance, names)
        for one in _asking(schema, epsilon, names, kind, bands):
            asked.setdefault(one.question.views, Asked(one.question, one.error * weight))
    for name, leaves in _ranges(schema, wishes.ranges).items():
        weight = _importance(wishes.importance, (name,))
        for one in _tree(schema, epsilon, name, leaves):
            asked.setdefault(one.question.views, Asked(one.question, one.error * weight))
    alone: dict[tuple[View, ...], Asked] = {}
    if singles:
        whole = makers.whole or better_whole(schema, epsilon)
        makers = makers._replace(whole=whole)
        blocks = expanded([[attribute] for attribute in schema.attributes], whole)
        for views, block in zip(views_of(blocks, whole), blocks, strict=True):
            weight = _importance(wishes.importance, (block[0].name,))
            question = Question(views, makers.channel(block, epsilon))
            alone[question.views] = Asked(question, makers.error(block, epsilon) * weight)
    _covered(schema, asked, alone)
    first = _weights(list(alone.values()), singles if asked else 1.0)
    second = _weights(list(asked.values()), 1 - singles if alone else 1.0)
    found = [*alone.values(), *asked.values()]
    return tuple(one.question for one in found), tuple(max(1, round(w * _WEIGHT)) for w in (*first, *second))


def _weights(asked: Sequence[Asked], share: float) -> list[float]:
    """Return the probabilities of least error, which add up to a share of the people."""
    roots = [math.sqrt(max(one.error, 0.0)) for one in asked]
    total = sum(roots)
    if asked and not total:
        raise DesignError("some relation must be of importance")
    return [share * root / total for root in roots]


def _singles(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < 1:
        raise DesignError("singles is the share of people who are asked about one attribute: from 0 to below 1")
    return float(value)


def _importance(importance: Mapping[object, float], names: tuple[str, ...]) -> float:
    """Return how much the error of a relation counts, under either order of its names."""
    for key in (names, names[::-1], *(names if len(names) == 1 else ())):
        if key in importance:
            weight = importance[key]
            if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= float(weight) < math.inf:
                raise DesignError(f"{key!r}: its importance must be a number, 0 or more")
            return float(weight)
    return 1.0


def _relations(
    schema: Schema, wanted: Sequence[Relation] | Literal["all"], bands: Mapping[str, tuple[float, ...]]
) -> list[tuple[tuple[str, str], str]]:
    """Return the pairs with the kind of each."""
    if wanted == "all":
        names = [item.name for item in schema.attributes if not isinstance(item, Choices | Text)]
        wanted = list(combinations(names, 2))
    if isinstance(wanted, str):
        raise DesignError('relations is "all", or a list of pairs of names')
    found = []
    for relation in wanted:
        parts = () if isinstance(relation, str) else tuple(relation)
        if len(parts) not in (2, 3) or not all(isinstance(part, str) for part in parts):
            raise DesignError("a relation is two names of attributes, and perhaps its kind")
        one, other = schema[parts[0]], schema[parts[1]]
        for item in (one, other):
            if isinstance(item, Text):
                raise DesignError(f"attribute {item.name!r}: a relation cannot be with a text")
            if isinstance(item, Choices):
                raise DesignError(
                    f"attribute {item.name!r}: a relation cannot be with choices, as a table has one cell for each "
                    "person; declare a Boolean for each value (hush.pairs has the pairs of values of one attribute)"
                )
        if one == other:
            raise DesignError(f"attribute {one.name!r}: a relation is between two attributes")
        kind = parts[2] if len(parts) == 3 else _usual(one, other)
        if kind not in KINDS:
            raise DesignError(f"the kind of a relation is one of: {', '.join(KINDS)}")
        found.append(_checked(one, other, kind, bands))
    if len({(frozenset(names), kind) for names, kind in found}) < len(found):
        raise DesignError("a relation is listed twice")
    return found


def _usual(one: Attribute, other: Attribute) -> str:
    """Return the usual kind of a relation of two attributes."""
    numbers = isinstance(one, Numeric) + isinstance(other, Numeric)
    return ("table", "means", "association")[numbers]


def _checked(
    one: Attribute, other: Attribute, kind: str, bands: Mapping[str, tuple[float, ...]]
) -> tuple[tuple[str, str], str]:
    """Return the names in the order of the kind: for means the number first, then what it is grouped by."""
    if kind in ("association", "moments"):
        for item in (one, other):
            if not isinstance(item, Numeric):
                raise DesignError(f"attribute {item.name!r}: {kind} is for two numbers")
        return (one.name, other.name), kind
    if kind == "means":
        if not isinstance(one, Numeric):
            one, other = other, one
        if not isinstance(one, Numeric):
            raise DesignError(f"attributes {one.name!r}, {other.name!r}: means are of a number, by a category or bands")
        grouped = (other,)
    else:
        grouped = (one, other)  # type: ignore[assignment]
    for item in grouped:
        if isinstance(item, Numeric) and item.name not in bands:
            raise DesignError(f"attribute {item.name!r}: give its bands, such as bands={{{item.name!r}: [18, 40, 65]}}")
    return (one.name, other.name), kind


def _asking(
    schema: Schema, epsilon: Fraction, names: tuple[str, str], kind: str, bands: Mapping[str, tuple[float, ...]]
) -> list[Asked]:
    """Return the questions of a relation."""
    one, other = (schema[name] for name in names)
    if kind == "table":
        views = [_grouping(item, bands) for item in (one, other)]
        sizes = tuple(_labels(schema, view) for view in views)
        channel = table(epsilon, sizes)
        share = Fraction(1, channel.cells)
        return [Asked(Question(views, channel), float(channel.whole.variance(share) + share * (1 - share)))]
    if kind == "means":
        view = _grouping(other, bands)
        rows = groups.rows(epsilon, _labels(schema, view), one.optional)
        return [Asked(Question([view, Value(one.name)], rows), groups.error(rows))]
    if kind == "association":
        cuts = (_middle(one, bands), _middle(other, bands))
        both = Sides((one.name, other.name), cuts)
        return [_bit(schema, epsilon, view) for view in (both, Bands(names[0], cuts[:1]), Bands(names[1], cuts[1:]))]
    pairs = (names, (names[0], names[0]), (names[1], names[1]))
    return [_product(schema, epsilon, pair) for pair in pairs]


def _grouping(attribute: Attribute, bands: Mapping[str, tuple[float, ...]]) -> View:
    return Value(attribute.name) if isinstance(attribute, Categorical) else Bands(attribute.name, bands[attribute.name])


def _labels(schema: Schema, view: View) -> int:
    seen = view.seen(schema)
    assert isinstance(seen, Categorical)
    return len(seen.labels)


def _bit(schema: Schema, epsilon: Fraction, view: View) -> Asked:
    """Return the question of a category with two or three values, by the subset channel."""
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


_PLAIN = Numeric("number", 0, 1)


def _middle(attribute: Attribute, bands: Mapping[str, tuple[float, ...]]) -> float:
    """Return the cut of a number for an association: the middle one of its bands, or the middle of its domain."""
    assert isinstance(attribute, Numeric)
    cuts = bands.get(attribute.name)
    middle = attribute.low / 2 + attribute.high / 2 + 0.0
    return cuts[len(cuts) // 2] if cuts else float(math.floor(middle)) if attribute.whole else middle


def _cuts(schema: Schema, name: str, cuts: Sequence[float | str | date]) -> tuple[float, ...]:
    """Return the cuts of an attribute's bands, checked."""
    number = schema[name]
    if isinstance(cuts, str):
        raise DesignError(f"attribute {name!r}: bands are a list of numbers, the cuts between them")
    try:
        found = tuple((number if isinstance(number, Numeric) else _PLAIN).cut(cut) for cut in cuts)
    except SchemaError as error:
        raise DesignError(str(error)) from None
    if isinstance(number, Numeric) and number.whole and not all(cut.is_integer() for cut in found):
        raise DesignError(f"attribute {name!r}: bands of whole numbers have whole numbers as cuts")
    try:
        Bands(name, found).seen(schema)
    except PlanError as error:
        raise DesignError(str(error)) from None
    return found


def _ranges(schema: Schema, wanted: Sequence[str] | Mapping[str, int]) -> dict[str, int]:
    """Return the number of leaves of the tree of each range."""
    if isinstance(wanted, str):
        raise DesignError("ranges is a list of names of numbers, or a mapping from names to a number of bands")
    usual = BRANCHES**DEPTH
    found = dict(wanted) if isinstance(wanted, Mapping) else dict.fromkeys(wanted, usual)
    for name, leaves in found.items():
        if not isinstance(schema[name], Numeric):
            raise DesignError(f"attribute {name!r}: a range is of a number")
        if type(leaves) is not int or not 2 <= leaves <= MAX_LEAVES or leaves & (leaves - 1):
            raise DesignError(f"attribute {name!r}: a range has a power of two of bands, 2 to {MAX_LEAVES}")
    return found


def _tree(schema: Schema, epsilon: Fraction, name: str, leaves: int) -> list[Asked]:
    """Return the questions of a range: 4, 16, 64, ... equal bands, and as many as wanted at last."""
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
    return found


def _covered(schema: Schema, asked: Mapping[tuple[View, ...], Asked], alone: Mapping[tuple[View, ...], Asked]) -> None:
    names = {name for one in (*asked.values(), *alone.values()) for name in one.question.attributes}
    for name in schema.names:
        if name not in names:
            raise DesignError(f"attribute {name!r}: is in no relation, so singles must be above 0 to ask about it")
