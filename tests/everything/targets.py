"""What hush says of a tally, next to what is true of its crowd: every estimator, every sort of interval.

`reader` yields, for a plan, functions that read a tally: each gives rows, and each row belongs to a target. The truth
of a target is an exact sum over the records of the crowd.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import hush
from hush.core.channels import Picks
from hush.core.views import Bands
from hush.errors import EstimateError
from hush.server.relations.related import related
from tests.everything.crowds import Crowd, Record


class Target(NamedTuple):
    """What an interval is about: the estimator, and which of its rows."""

    estimator: str
    row: tuple[Any, ...]


@dataclass(frozen=True)
class Said:
    """One row of an estimator, with the truth and the domain. `truth` is NaN if there is none."""

    target: Target
    point: float
    low: float
    high: float
    truth: float
    least: float
    most: float
    until: float | None = None
    """The other end of the truth, where nobody lies in between: of a median, for instance."""

    @property
    def refused(self) -> bool:
        """Whether the estimator says in words that it cannot say."""
        return math.isnan(self.point)

    @property
    def covers(self) -> bool:
        """Whether the interval has the truth, up to rounding."""
        spare = 1e-9 * max(abs(self.most - self.least), abs(self.truth) * 1e-6)
        until = self.truth if self.until is None else self.until
        return self.low - spare <= until and self.truth <= self.high + spare

    @property
    def width(self) -> float:
        """The width of the interval, as a part of the domain."""
        return (self.high / 2 - self.low / 2) / (self.most / 2 - self.least / 2) if self.least < self.most else 0.0

    @property
    def flat(self) -> bool:
        """Whether the interval has no width, though it could have one: a quantile may be one whole number."""
        return self.high <= self.low and self.least < self.most and self.target.estimator != "quantile of whole numbers"


class Truths:
    """The truths of a crowd under a schema."""

    def __init__(self, schema: hush.Schema, crowd: Crowd) -> None:
        self.schema, self.crowd = schema, crowd
        self.inputs = [schema.encode(record) for record in crowd.records]
        self._place = {name: place for place, name in enumerate(schema.names)}

    def number(self, name: str, place: int) -> float | None:
        """Return the number of a record, on its own scale."""
        item, u = self.schema[name], self.inputs[place][self._place[name]]
        return None if u is None else item.low * (1 - u) + item.high * u  # type: ignore[union-attr]

    def category(self, name: str, place: int) -> Any:
        """Return the index of the category of a record, "missing" last."""
        return self.inputs[place][self._place[name]]

    def share(self, holds: Callable[[int], bool]) -> float:
        """Return the share of the records for which something holds."""
        return math.fsum(share for place, share in enumerate(self.crowd.shares) if holds(place))

    def mean(self, value: Callable[[int], float | None]) -> float:
        """Return the mean of a value among those who have it, or NaN if nobody has."""
        found = [(share, value(place)) for place, share in enumerate(self.crowd.shares)]
        present = math.fsum(share for share, one in found if one is not None)
        return math.fsum(share / present * one for share, one in found if one is not None) if present > 0 else math.nan

    def band(self, name: str, cuts: tuple[float, ...], place: int) -> int | None:
        """Return the band of a record, None if it is missing."""
        u = self.inputs[place][self._place[name]]
        seen = Bands(name, cuts).look(self.schema)(self.inputs[place])
        return None if u is None else int(seen)  # type: ignore[arg-type]

    def group(self, view: Any, place: int) -> int:
        """Return the group of a record in a view."""
        return int(view.look(self.schema)(self.inputs[place]))


Reader = Callable[[hush.Tally, Truths], Iterator[Said]]


def readers(plan: hush.Plan) -> list[tuple[str, Reader]]:
    """Return all that hush can say of a tally of this plan."""
    found: list[tuple[str, Reader]] = [("estimate", estimates)]
    if len(plan.schema) < 6:
        found.append(("together", together))
    for relation in related(plan):
        for maker in RELATIONS[relation.kind]:
            found.append(
                (f"{maker.__name__} {relation.attribute} {relation.by}", maker(plan, relation.attribute, relation.by))
            )
    for item in plan.schema.attributes:
        if isinstance(item, hush.Choices) and any(
            isinstance(one.channel, Picks) and one.attributes == (item.name,) for one in plan.questions
        ):
            found.append((f"nothing {item.name}", nothing(item.name)))
    return found


def truth_of(row: Any, truths: Truths) -> tuple[float, float, float]:
    """Return the truth of a row of `hush.estimate`, and its domain."""
    item: Any = truths.schema[row.attribute]
    if row.category is None:
        low, high = (item.low, item.high) if row.floor is None else (row.floor, row.ceiling)

        def value(place: int) -> float | None:
            number = truths.number(item.name, place)
            return None if number is None else min(max(number, low), high)

        return truths.mean(value), low, high
    if isinstance(item, hush.Numeric):
        return truths.share(lambda place: truths.number(item.name, place) is None), 0.0, 1.0
    symbol = list(item.labels).index(row.category)
    if isinstance(item, hush.Choices):
        mark = 2 if symbol == len(item.values) else 1
        return (
            truths.share(lambda place: truths.category(item.name, place)[min(symbol, len(item.values) - 1)] == mark),
            0.0,
            1.0,
        )
    return truths.share(lambda place: truths.category(item.name, place) == symbol), 0.0, 1.0


def estimates(tally: hush.Tally, truths: Truths) -> Iterator[Said]:
    """Means and shares. Of many categories the first ones and the likeliest."""
    for row in _some(hush.estimate(tally)):
        item = truths.schema[row.attribute]
        truth, low, high = truth_of(row, truths)
        sort = "share" if row.category is not None else "wide mean" if row.floor is not None else "mean"
        if row.category == hush.MISSING and isinstance(item, hush.Numeric):
            sort = "missing"
        if item.optional and sort in ("mean", "wide mean"):
            sort += " of the present"
        yield Said(Target(sort, (row.attribute, row.category)), row.point, row.low, row.high, truth, low, high)


def _some(rows: Any) -> Any:
    """Return rows, of each attribute at most twelve."""
    seen: dict[str, int] = {}
    found = []
    for row in rows:
        seen[row.attribute] = seen.get(row.attribute, 0) + 1
        if seen[row.attribute] <= 12:
            found.append(row)
    return found


def together(tally: hush.Tally, truths: Truths) -> Iterator[Said]:
    """All shares of an attribute at once: one target, whose interval covers if all do."""
    groups: dict[str, list[Any]] = {}
    for row in hush.estimate(tally, simultaneous=True):
        if row.category is not None:
            groups.setdefault(row.attribute, []).append(row)
    for name, rows in groups.items():
        if 1 < len(rows) < 50:
            yield _all("shares together", (name,), [(row, *truth_of(row, truths)) for row in rows])


def _all(estimator: str, name: tuple[Any, ...], rows: list[tuple[Any, float, float, float]]) -> Said:
    """Return the row of a target that covers if all of these do: 1 if all hold, and else the first that fails."""
    said = [
        Said(Target(estimator, name), row.point, row.low, row.high, truth, low, high) for row, truth, low, high in rows
    ]
    shown = [one for one in said if not one.refused]
    if not shown:
        return said[0]
    missed = [one for one in shown if not one.covers and not math.isnan(one.truth)]
    return (missed or [max(shown, key=lambda one: -math.inf if math.isnan(one.truth) else one.width)])[0]


# -- relations


def _view(plan: hush.Plan, kinds: Any, attribute: str, by: str | None) -> Any:
    for question in plan.questions:
        of = {name for view in question.views for name in view.of}
        if kinds(question) and of == {attribute, *([] if by is None else [by])}:
            return question.views
    raise AssertionError("the relation is in the plan")


def tables(plan: hush.Plan, attribute: str, by: str | None) -> Reader:
    """The cells of a table: of all people, of its rows, of its columns, and all at once."""
    from hush.core.channels import Cells

    views = _view(plan, lambda question: isinstance(question.channel, Cells), attribute, by)
    first, second = views if views[0].of == (attribute,) else views[::-1]

    def read(tally: hush.Tally, truths: Truths) -> Iterator[Said]:
        rows, columns = (len(view.seen(plan.schema).labels) for view in (first, second))
        if rows * columns > 60:
            return
        cells: dict[tuple[int, int], float] = {}
        for place, share in enumerate(truths.crowd.shares):
            key = truths.group(first, place), truths.group(second, place)
            cells[key] = cells.get(key, 0.0) + share
        by_row = [math.fsum(cells.get((i, j), 0.0) for j in range(columns)) for i in range(rows)]
        by_column = [math.fsum(cells.get((i, j), 0.0) for i in range(rows)) for j in range(columns)]
        for shares in ("all", "rows", "columns"):
            for simultaneous in (False, True):
                found = hush.crosstab(tally, attribute, by, shares=shares, simultaneous=simultaneous)  # type: ignore[arg-type]
                every = []
                for place, row in enumerate(found):
                    i, j = divmod(place, columns)
                    whole = {"all": 1.0, "rows": by_row[i], "columns": by_column[j]}[shares]
                    truth = cells.get((i, j), 0.0) / whole if whole > 0 else math.nan
                    every.append((row, truth, 0.0, 1.0))
                if simultaneous:
                    yield _all(f"table of {shares} together", (attribute, by), every)
                    continue
                for place, (row, *rest) in enumerate(every[:12]):
                    yield Said(
                        Target(f"table of {shares}", (attribute, by, place)), row.point, row.low, row.high, *rest
                    )

    return read


def groups(plan: hush.Plan, attribute: str, by: str | None) -> Reader:
    """Means by group and their differences, pooled and not, and all at once."""
    from hush.core.channels import Rows

    assert by is not None
    views = _view(plan, lambda question: isinstance(question.channel, Rows), attribute, by)
    number = plan.schema[attribute]

    def read(tally: hush.Tally, truths: Truths) -> Iterator[Said]:
        size = len(views[0].seen(plan.schema).labels)

        def of(group: int) -> float:
            return truths.mean(
                lambda place: truths.number(attribute, place) if truths.group(views[0], place) == group else None
            )

        known = [of(group) for group in range(size)]
        low, high = number.low, number.high  # type: ignore[union-attr]
        for pooled in (True, False):
            if not pooled and len(plan.questions) == 1:
                continue
            words = "" if pooled else " alone"
            found = hush.means(tally, attribute, by=by, pooled=pooled)
            for place, row in enumerate(found[:8]):
                yield Said(
                    Target(f"group mean{words}", (attribute, by, place)),
                    row.point,
                    row.low,
                    row.high,
                    known[place],
                    low,
                    high,
                )
            if size < 2:
                continue
            gaps = found.differences(versus=found[0].group)
            for place, row in enumerate(gaps[:6]):
                truth = known[place + 1] - known[0]
                yield Said(
                    Target(f"group difference{words}", (attribute, by, place)),
                    row.point,
                    row.low,
                    row.high,
                    truth,
                    low - high,
                    high - low,
                )
        if size <= 12:
            every = hush.means(tally, attribute, by=by, simultaneous=True)
            yield _all(
                "group means together", (attribute, by), [(row, known[i], low, high) for i, row in enumerate(every)]
            )
            pairs = [(i, j) for j in range(size) for i in range(size) if i > j]
            gaps = every.differences()
            yield _all(
                "group differences together",
                (attribute, by),
                [(row, known[i] - known[j], low - high, high - low) for row, (i, j) in zip(gaps, pairs, strict=True)],
            )

    return read


def associations(plan: hush.Plan, attribute: str, by: str | None) -> Reader:
    """An association by one bit, where people are on both sides of the cuts."""
    from hush.core.views import Sides
    from hush.server.relations.bivariate import both_below

    assert by is not None
    views = _view(plan, lambda question: isinstance(question.views[0], Sides), attribute, by)
    cuts = dict(zip(views[0].attributes, views[0].cuts, strict=True))

    def read(tally: hush.Tally, truths: Truths) -> Iterator[Said]:
        from statistics import NormalDist

        def below(name: str, place: int) -> bool | None:
            band = truths.band(name, (cuts[name],), place)
            return None if band is None else band == 0

        def share(of: Callable[[int], bool | None]) -> float:
            return truths.mean(lambda place: None if of(place) is None else float(bool(of(place))))

        def same(place: int) -> bool | None:
            one, other = below(attribute, place), below(by, place)
            return None if one is None or other is None else one == other

        a, b, s = share(lambda place: below(attribute, place)), share(lambda place: below(by, place)), share(same)
        truth = math.nan
        if 1e-6 < a < 1 - 1e-6 and 1e-6 < b < 1 - 1e-6 and not math.isnan(s):
            x, y, wanted = NormalDist().inv_cdf(a), NormalDist().inv_cdf(b), (s - 1 + a + b) / 2
            low, high = -1.0, 1.0
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if both_below(x, y, middle) < wanted else (low, middle)
            truth = (low + high) / 2
        row = hush.association(tally, attribute, by)[0]
        yield Said(Target("association", (attribute, by)), row.point, row.low, row.high, truth, -1.0, 1.0)

    return read


def moments(plan: hush.Plan, attribute: str, by: str | None) -> Reader:
    """Pearson's correlation."""
    assert by is not None

    def read(tally: hush.Tally, truths: Truths) -> Iterator[Said]:
        def average(value: Callable[[float, float], float], *names: str) -> float:
            def one(place: int) -> float | None:
                found = [truths.inputs[place][truths._place[name]] for name in names]
                return None if None in found else value(found[0] - 0.5, found[-1] - 0.5)  # type: ignore[operator]

            return truths.mean(one)

        xy = average(lambda x, y: x * y, attribute, by)
        xx, yy = average(lambda x, _: x * x, attribute), average(lambda x, _: x * x, by)
        x, y = average(lambda x, _: x, attribute), average(lambda x, _: x, by)
        spread = (xx - x * x) * (yy - y * y)
        truth = (xy - x * y) / math.sqrt(spread) if spread > 1e-12 else math.nan
        if not -1 - 1e-9 <= truth <= 1 + 1e-9:  # of optional numbers whose products are of fewer people
            truth = math.nan
        row = hush.association(tally, attribute, by, method="moments")[0]
        yield Said(Target("moments", (attribute, by)), row.point, row.low, row.high, truth, -1.0, 1.0)

    return read


def ranges(plan: hush.Plan, attribute: str, by: str | None) -> Reader:
    """Shares below cuts, some of them and all at once."""

    def read(tally: hush.Tally, truths: Truths) -> Iterator[Said]:
        def below(cut: float) -> float:
            band = [truths.band(attribute, (cut,), place) for place in range(len(truths.crowd.shares))]
            return truths.mean(lambda place: None if band[place] is None else float(band[place] == 0))

        found = hush.below(tally, attribute)
        step = max(1, len(found) // 8)
        for place, row in enumerate(found[::step]):
            yield Said(Target("below", (attribute, place)), row.point, row.low, row.high, below(row.cut), 0.0, 1.0)
        every = hush.below(tally, attribute, simultaneous=True)
        yield _all("below together", (attribute,), [(row, below(row.cut), 0.0, 1.0) for row in every])

    return read


def quantiles(plan: hush.Plan, attribute: str, by: str | None) -> Reader:
    """Quantiles of a range."""
    number = plan.schema[attribute]

    def read(tally: hush.Tally, truths: Truths) -> Iterator[Said]:
        values = [(truths.number(attribute, place), share) for place, share in enumerate(truths.crowd.shares)]
        here = sorted((value, share) for value, share in values if value is not None)
        whole = math.fsum(share for _, share in here)
        for quantile in hush.quantiles(tally, attribute):
            total, truth, until = 0.0, math.nan, None
            for value, share in here:
                if not math.isnan(truth):  # exactly this share lies below: every value up to the next one is a quantile
                    until = value
                    break
                total += share / whole
                if total >= quantile.share - 1e-9:
                    truth = value
                    if total > quantile.share + 1e-9:
                        break
            sort = "quantile of whole numbers" if number.whole else "quantile"  # type: ignore[union-attr]
            ends = quantile.low, quantile.high, truth, number.low, number.high  # type: ignore[union-attr]
            yield Said(Target(sort, (attribute, quantile.share)), quantile.point, *ends, until)

    return read


RELATIONS: dict[str, list[Callable[[hush.Plan, str, str | None], Reader]]] = {
    "table": [tables],
    "means": [groups],
    "association": [associations],
    "moments": [moments],
    "range": [ranges, quantiles],
}


def nothing(name: str) -> Reader:
    """The share of people who hold no value of choices."""

    def read(tally: hush.Tally, truths: Truths) -> Iterator[Said]:
        row = hush.nothing(tally, name)[0]
        truth = truths.share(lambda place: not any(truths.category(name, place)))
        yield Said(Target("nothing", (name,)), row.point, row.low, row.high, truth, 0.0, 1.0)

    return read


def said(tally: hush.Tally, truths: Truths) -> Iterator[Said]:
    """Yield all that hush says of a tally. An estimator that refuses as a whole says nothing."""
    for _, reader in readers(tally.plan):
        try:
            yield from reader(tally, truths)
        except EstimateError:
            continue


def changes(before: hush.Tally, after: hush.Tally, old: Truths, new: Truths) -> Iterator[Said]:
    """Yield the changes from one tally to another."""
    rows = {(row.attribute, row.category): row for row in hush.estimate(after)}
    for row in _some(hush.change(before, after)):
        like: Any = rows[row.attribute, row.category]
        (was, low, high), (is_, _, _) = truth_of(like, old), truth_of(like, new)
        yield Said(
            Target("change", (row.attribute, row.category)),
            row.point,
            row.low,
            row.high,
            is_ - was,
            low - high,
            high - low,
        )


__all__ = ["Record", "Said", "Target", "Truths", "changes", "readers", "said", "truth_of"]
