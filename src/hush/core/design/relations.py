"""Plans that ask about relations: tables of two categories, means by group, associations of two numbers, ranges.

Everybody answers one question with the whole epsilon. A question about a pair needs 4 to 30 times fewer people than two
questions with half of epsilon each, whose answers a server would multiply (docs/relations.md). `units` has the
questions of each relation, and `shares` how the people are divided among them.

**Weights.** Every attribute, every relation and every range counts as one, times its importance; and all relations and
ranges together count as much as all attributes together. With `singles` that part is fixed: so many of the people are
asked about single attributes.

**Left out.** Of few people some relations would learn nothing: the margin of a cell would exceed the average share of
the cells, the mean of a group could be anything in the range. If the number of people is known, the worst of these are
left out, one after the other, until those that remain are worth asking. Relations are kept if the user insists, or has
named their margins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from itertools import combinations
from numbers import Real
from typing import Literal, NamedTuple

from hush.core.channels import Geometry
from hush.core.channels.base import noise_of
from hush.core.design.choice import Makers
from hush.core.design.sets import better_whole, expanded, views_of
from hush.core.design.shares import Row, divided
from hush.core.design.units import (
    BRANCHES,
    DEPTH,
    KINDS,
    MAX_LEAVES,
    RANGE,
    SINGLE,
    Asked,
    Cuts,
    Unit,
    importance_of,
    tree,
    unit,
)
from hush.core.looking import View
from hush.core.plan import Question
from hush.core.schema import Attribute, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.core.views import Bands, Value
from hush.errors import DesignError, PlanError, SchemaError

_WEIGHT = 1 << 20
_NORMAL = 1.959964  # standard errors of a margin at the level 0.95
_FEW = 30  # units, of which one is left out at a time

Relation = Sequence[str]
"""Two names of attributes, and perhaps the kind: ("income", "education", "means")."""

Importance = Mapping[tuple[str, ...], float]
"""How much attributes, relations and ranges count, by their names."""

Key = tuple[tuple[str, ...], str]
"""The names and the kind of an attribute, a relation or a range."""


class Wishes(NamedTuple):
    """What the user wants to learn. `needs` has shares of the people that some units need, `without` relations
    that are not asked after all.
    """

    relations: Sequence[Relation] | Literal["all"]
    singles: float | None
    bands: Mapping[str, Sequence[float | str | date]]
    ranges: Sequence[str] | Mapping[str, int]
    importance: Importance
    people: int | None
    insist: bool
    needs: Mapping[Key, float]
    without: frozenset[Key]


class LeftOut(NamedTuple):
    """A relation or range of which so many people would learn nothing. `needed`: how many would do, if it is known."""

    names: tuple[str, ...]
    kind: str
    margin: float
    average: float
    needed: float | None = None

    @property
    def key(self) -> Key:
        """What identifies it."""
        return self.names, self.kind

    @property
    def words(self) -> str:
        """What was left out, why, and how many people would do."""
        what = f"the range of {self.names[0]}" if self.kind == RANGE else f"{' by '.join(self.names)} ({self.kind})"
        why = {
            "table": f"cells have a share of {self.average:.2g} on average, and a margin of {self.margin:.2g}",
            "moments": "any correlation would be possible",
            "association": "any association would be possible",
            "means": "any mean of a group would be possible",
            RANGE: "any quantile would be possible",
        }[self.kind]
        do = "" if self.needed is None else f"; about {float(f'{self.needed:.2g}'):,.0f} people would do"
        return f"{what}: {why}{do}"


class Questions(NamedTuple):
    """The questions of a plan, their weights, the places of those of each unit, and what was left out.

    `hardness` has for each relation the margin of its items with one person as a multiple of their average share.
    """

    asked: tuple[Question, ...]
    weights: tuple[int, ...]
    places: Mapping[Key, tuple[int, ...]]
    left_out: tuple[LeftOut, ...]
    hardness: Mapping[Key, float]


def questions(schema: Schema, makers: Makers, epsilon: Fraction, wishes: Wishes) -> Questions:
    """Return the questions of these wishes."""
    singles = _singles(wishes.singles)
    related = [one for one in _related(schema, epsilon, wishes, singles) if one.key not in wishes.without]
    alone = _alone(schema, makers, epsilon, wishes.importance) if singles != 0 else []
    gone, left_out = {*wishes.without}, list[LeftOut]()
    _covered(schema, (*alone, *related), gone)
    told: dict[tuple[Sequence[View], str], float] = {}
    found = _Divided(schema, alone, related, wishes, told)
    while wishes.people is not None and not wishes.insist and (hopeless := found.hopeless(wishes.people)):
        left_out += hopeless
        gone |= {one.key for one in hopeless}
        related = [one for one in related if one.key not in gone]
        _covered(schema, (*alone, *related), gone)
        found = _Divided(schema, alone, related, wishes, told)
    weights = tuple(max(1, round(share * _WEIGHT)) for share in found.shares)
    places = {one.key: tuple(found.places[part.question.views] for part in one.asked) for one in (*alone, *related)}
    hardness = {one.key: found.margin(one, 1) / one.average for one in related}
    return Questions(tuple(found.asked), weights, places, tuple(left_out), hardness)


class _Divided:
    """Units with the shares of their questions, each of which is asked once.

    `told` keeps how much the questions tell of attributes, for other units of the same schema.
    """

    def __init__(
        self,
        schema: Schema,
        alone: Sequence[Unit],
        related: Sequence[Unit],
        wishes: Wishes,
        told: dict[tuple[Sequence[View], str], float],
    ) -> None:
        self.related, self._needs, self._told = related, wishes.needs, told
        self.places: dict[tuple[View, ...], int] = {}
        self.asked: list[Question] = []
        for one in (*alone, *related):
            for question, _ in one.asked:
                if question.views not in self.places:
                    self.places[question.views] = len(self.asked)
                    self.asked.append(question)
        fixed = wishes.singles if alone and related else None
        parts = _parts(alone, related, fixed)
        if fixed is None:
            rows = [*self._of_attributes(schema, alone, parts), *self._own(related, parts)]
            self.shares = divided(rows, len(self.asked), self._needed((*alone, *related)))
        else:  # each group by itself
            self.shares = [0.0] * len(self.asked)
            for group, share in ((alone, fixed), (related, 1 - fixed)):
                mine = divided(self._own(group, parts), len(self.asked), self._needed(group, share))
                asked = {self.places[part.question.views] for one in group for part in one.asked}
                total = math.fsum(mine[place] for place in asked)
                for place in asked:
                    self.shares[place] = share * mine[place] / total

    def _needed(self, units: Sequence[Unit], whole: float = 1.0) -> list[float]:
        """Return the least shares of all questions, as parts of a whole."""
        found = [0.0] * len(self.asked)
        for one in units:
            for part, (question, _) in zip(one.parts, one.asked, strict=True):
                place = self.places[question.views]
                found[place] = max(found[place], self._needs.get(one.key, 0.0) * part / whole)
        return found

    def _own(self, units: Sequence[Unit], parts: Mapping[Key, float]) -> list[Row]:
        """Return the rows of units of which only their own questions tell."""
        return [
            Row(parts[one.key] * part, {self.places[question.views]: 1.0})
            for one in units
            for part, (question, _) in zip(one.parts, one.asked, strict=True)
        ]

    def _of_attributes(self, schema: Schema, units: Sequence[Unit], parts: Mapping[Key, float]) -> list[Row]:
        """Return the rows of attributes: tables and means tell of them too."""
        found = []
        for one in units:
            number = schema[one.names[0]]
            wide = isinstance(number, Numeric) and number.scale == "log"  # relations tell of another mean than its own
            telling = [place for place, question in enumerate(self.asked) if Value(one.names[0]) in question.views]
            if wide or len(telling) < 2:
                found += self._own([one], parts)
            else:
                tells = {place: self._tells(schema, place, one.names[0]) for place in telling}
                found.append(Row(parts[one.key], tells))
        return found

    def _tells(self, schema: Schema, place: int, name: str) -> float:
        """Return how much one report to a question tells of an attribute."""
        question = self.asked[place]
        key = question.views, name
        if key not in self._told:
            self._told[key] = _told(schema, question, name)
        return self._told[key]

    def margin(self, one: Unit, people: int) -> float:
        """Return the margin of the items of a relation, of equal shares."""
        share = math.fsum(self.shares[self.places[part.question.views]] for part in one.asked)
        return _NORMAL * math.sqrt(one.error / (people * share))

    def hopeless(self, people: int) -> list[LeftOut]:
        """Return the relations of which these people would learn least, if some would learn nothing."""
        found = []
        for one in self.related:
            margin = self.margin(one, people)
            if margin > one.average and one.key not in self._needs:
                found.append(LeftOut(one.names, one.kind, margin, one.average))
        found.reverse()  # of those that are alike the last one is left out first
        found.sort(key=lambda one: round(-one.margin / one.average, 6))
        return found[: 1 if len(self.related) <= _FEW else -(-len(found) // 10)]


def _told(schema: Schema, question: Question, name: str) -> float:
    """Return how much one report to a question tells of an attribute: 1 over its variance."""
    channel, at = question.channel, question.views.index(Value(name))
    if isinstance(channel, Geometry):  # all its categories are alike
        share = Fraction(1, channel.size)
        return 1 / float(channel.variance(share) + share * (1 - share))
    readings = channel.readings(channel.alphabet.zeros(), 0)
    return 1 / noise_of(next(reading for reading in readings if reading.attribute == at), schema[name])


def _parts(alone: Sequence[Unit], related: Sequence[Unit], fixed: float | None) -> dict[Key, float]:
    """Return how much every unit counts, so that all of them count 1: attributes as much as relations."""
    found: dict[Key, float] = {}
    groups = [group for group in (alone, related) if group]
    totals = [math.fsum(one.weight for one in group) for group in groups]
    if not any(totals):
        raise DesignError("some relation must be of importance")
    for group, total in zip(groups, totals, strict=True):
        share = 1.0 if fixed is not None else 1 / sum(1 for one in totals if one)
        for one in group:
            found[one.key] = share * one.weight / total if total else 0.0
    return found


def _alone(
    schema: Schema, makers: Makers, epsilon: Fraction, importance: Mapping[tuple[str, ...], float]
) -> list[Unit]:
    """Return the questions about single attributes."""
    whole = makers.whole or better_whole(schema, epsilon)
    makers = makers._replace(whole=whole)
    found = []
    for attribute in schema.attributes:
        blocks = expanded([[attribute]], whole)
        asked = tuple(
            Asked(Question(views, makers.channel(block, epsilon)), 1.0)
            for views, block in zip(views_of(blocks, whole), blocks, strict=True)
        )
        found.append(Unit((attribute.name,), SINGLE, asked, importance_of(importance, (attribute.name,)), 0.0))
    return found


def _related(schema: Schema, epsilon: Fraction, wishes: Wishes, singles: float | None) -> list[Unit]:
    """Return the questions of the relations and ranges."""
    bands = {name: _cuts(schema, name, cuts) for name, cuts in wishes.bands.items()}
    found = []
    for names, kind in _relations(schema, wishes.relations, bands):
        if kind == "moments" and singles == 0:
            raise DesignError(f"attribute {names[0]!r}: moments need its mean too, so singles must be above 0")
        found.append(unit(schema, epsilon, names, kind, bands, importance_of(wishes.importance, names)))
    for name, leaves in _ranges(schema, wishes.ranges).items():
        found.append(tree(schema, epsilon, name, leaves, importance_of(wishes.importance, (name,))))
    return found


def _singles(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < 1:
        raise DesignError("singles is the share of people who are asked about one attribute: from 0 to below 1")
    return float(value)


def _relations(
    schema: Schema, wanted: Sequence[Relation] | Literal["all"], bands: Cuts
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


def _checked(one: Attribute, other: Attribute, kind: str, bands: Cuts) -> tuple[tuple[str, str], str]:
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


_PLAIN = Numeric("number", 0, 1)


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


def _covered(schema: Schema, units: Sequence[Unit], gone: set[Key]) -> None:
    """Refuse to leave an attribute unasked. `gone` are relations that were left out."""
    names = {name for one in units for name in one.names}
    for name in schema.names:
        if name not in names:
            left = [key[0] for key in gone if name in key[0]]
            why = f"too few people for its relation {' by '.join(left[0])}" if left else "is in no relation"
            how = "be above 0 to ask about it" + (", or insist on the relation" if left else "")
            raise DesignError(f"attribute {name!r}: {why}, so singles must {how}")
