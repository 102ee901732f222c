"""From a tally to means, shares, standard errors and intervals.

**Targets.** The estimates assume that respondents are drawn independently from some population. The target is the mean
of a numeric attribute in that population (of the clipped values, where the schema clips), on the attribute's own
scale, or the share of a category. An interval covers it with the stated probability. It accounts for the noise that
the devices added and for the chance of who responds. It does not account for people who declined, lied, were asked
twice, or sent malicious reports; for the last see `hush.manipulation`.

**Ratio estimator** (the default): the average over those who answered the attribute. It is unbiased given their number.
**Paper's estimator**: the sum divided by n*k/d, the *expected* number who answered, as in Wang et al. (2019). It
is unbiased too, but adds a variance of (d/k - 1)*mean^2/n without any benefit.
**Several questions** about one attribute (alone, or in relations with others) are pooled: a weighted average, with
weights that follow from the plan and the numbers of answers alone. It is unbiased, and its intervals are exact as those
of its parts, because different people answer different questions.

**Many categories.** Each interval covers its own share with the stated probability. Of 200 such intervals, about 10
miss theirs, and the largest share is likely to be one that noise has moved. With `simultaneous=True` all intervals of
one attribute's shares hold at once with the stated probability (Bonferroni: each may miss with 1/200 of what is
allowed).

**Too few answers.** An interval that is wider than three quarters of its domain says nothing, and its point would only
mislead. Such an estimate is refused in words: its point is NaN, its interval stays, and `needed` says about how many
answers it takes. `refuse=False` shows the points of simulations and of averages over many collections.

Points are unbiased and may lie outside the domain, or be negative. Intervals are laid into the domain, as truths lie
there: a share of -2 % may have the interval from 0 to 1 %. `Estimates.clip` and `Estimates.project` remove such points,
but neither is a default: their results look better and are often closer to the truth, but are biased. Their averages
over weeks or regions stay biased: add tallies and estimate once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nlargest
from operator import mul
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Protocol, Self

from hush.core.channels import Geometry, Ladder, Reading, Subset
from hush.core.plan import Plan
from hush.core.schema import MAX_CATEGORIES, MISSING, Categorical, Numeric, Schema
from hush.errors import EstimateError
from hush.server.intervals import (
    Interval,
    Sample,
    bounds,
    laid,
    least_answers,
    needed,
    ratio,
    says_nothing,
)
from hush.server.ladders import answers_needed, clipped, fitted, unclipped
from hush.server.simplex import simplex
from hush.server.sources import (
    Estimator,
    Read,
    Scale,
    any_of,
    category_of,
    ladders,
    last_of_all,
    long_lists,
    read_by,
    sources,
    targets,
)
from hush.server.tally import Tally
from hush.show.rows import Rows
from hush.show.tables import Table, most, number, percent, within

MAX_LEVEL = 1 - 1e-9
MAX_TAIL = 100


@dataclass(frozen=True)
class Estimate:
    """A mean (category None) or the share of a category, from this number of `answers` about it.

    The mean of a wide number is that of its values clipped to `floor`..`ceiling`, and `beyond` is an upper bound of the
    share of people outside (`hush.server.ladders`). For all others these are None. With `tail` it is the mean without a
    clip, if survival falls at least as fast as x^-tail.

    `needed`: there are too few answers to say anything, and about so many are needed. Then the point is NaN.
    """

    attribute: str
    category: str | int | None
    point: float
    stderr: float
    low: float
    high: float
    answers: int
    floor: float | None = None
    ceiling: float | None = None
    beyond: float | None = None
    tail: float | None = None
    needed: int | None = None


class Estimates(Rows[Estimate]):
    """A list of estimates, with the level of their intervals, and whether these are simultaneous, if that was given."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "point": float,
        "stderr": float,
        "low": float,
        "high": float,
        "answers": int,
        "floor": float,
        "ceiling": float,
        "beyond": float,
        "tail": float,
        "needed": float,
    }
    _rare: ClassVar = ("floor", "ceiling", "beyond", "tail", "needed")
    _scaled: ClassVar = ("point", "low", "high", "floor", "ceiling")

    def __init__(
        self,
        rows: Iterable[Estimate] = (),
        *,
        level: float | None = None,
        simultaneous: bool | None = None,
        schema: Schema | None = None,
    ) -> None:
        super().__init__(rows)
        self.level, self.simultaneous, self._schema = level, simultaneous, schema

    def table(self) -> Table:
        """Return them with as many digits as their intervals justify."""
        shown, notes = [], []
        for row in self:
            what = "mean" if row.category is None else f"share of {row.category}"
            if row.beyond is not None and row.needed is None:
                what = f"mean of {clipping(row)}"
                notes.append(f"{what}: at most {most(row.beyond)} of the people lie beyond.")
            if row.tail is not None:
                what = "mean without a clip"
                notes.append(
                    f"{row.attribute}, {what}: if the share of people above x falls like x^-{row.tail:g} or faster."
                )
            point, low, high = map(within(row.low, row.high, self._named(row)), (row.point, row.low, row.high))
            shown.append((row.attribute, what, few(row, point), f"{low} .. {high}", f"{row.answers:,}"))
        if self.simultaneous:
            notes.append("The intervals of one attribute's shares hold together with the stated probability.")
        notes += too_few((row.attribute, row.answers, row.needed) for row in self)
        columns = ("attribute", "estimate", "value", percent(self.level, "interval"), "answers")
        return Table(columns, shown, texts=2, notes=tuple(notes))

    def _named(self, row: Estimate) -> Callable[[float], str | None] | None:
        """Return the words for the numbers of a mean, if the schema is known."""
        attribute = None if self._schema is None or row.category is not None else self._schema[row.attribute]
        return attribute.named if isinstance(attribute, Numeric) else None

    def clip(self) -> Self:
        """Move points into the domain: low to high for means, 0 to 1 for shares."""
        rows = []
        for row in self:
            attribute = self._known()[row.attribute]
            low, high = 0.0, 1.0
            if isinstance(attribute, Numeric) and row.category is None:
                low, high = attribute.low, attribute.high
            inside = [min(max(value, low), high) for value in (row.point, row.low, row.high)]
            rows.append(replace(row, point=inside[0], low=inside[1], high=inside[2]))
        return self.like(rows)

    def project(self) -> Self:
        """Replace the shares of each categorical attribute by the nearest ones that are nonnegative and add up to 1.

        Nearest is meant in the Euclidean sense: the same amount is taken from every share, and negative ones then
        become 0 (known as Norm-Sub). Intervals stay those of the unbiased points. Other rows do not change.
        """
        groups: dict[str, list[float]] = {}
        for row in self:
            if isinstance(self._known()[row.attribute], Categorical):
                groups.setdefault(row.attribute, []).append(row.point)
        for name, points in groups.items():
            attribute = self._known()[name]
            assert isinstance(attribute, Categorical)
            if len(points) != len(attribute.labels):
                raise EstimateError(f"attribute {name!r}: all of its categories must be given to project them")
            if any(math.isnan(point) for point in points):
                continue
            groups[name] = simplex(points)
        remaining = {name: iter(points) for name, points in groups.items()}
        return self.like(
            [replace(row, point=next(remaining[row.attribute])) if row.attribute in remaining else row for row in self]
        )

    def _known(self) -> Schema:
        if self._schema is None:
            raise EstimateError("these rows do not know their schema: use those that hush.estimate returned")
        return self._schema


def estimate(
    tally: Tally,
    *,
    level: float = 0.95,
    estimator: Estimator = "ratio",
    tail: float | None = None,
    simultaneous: bool | None = None,
    top: int | None = None,
    search: str | None = None,
    refuse: bool = True,
) -> Estimates:
    """Return an estimate for every numeric attribute and every category, in the schema's order.

    For an optional numeric attribute the mean is that of the present values, and the category `MISSING` has the share
    of the missing ones. Reading a tally costs no privacy, however often you do it.

    The mean of a wide number (`scale="log"`) is clipped at a stated value. `tail` adds the mean without a clip, if you
    know what the reports cannot show: beyond half of the clip, the share of people above x falls at least as fast as
    x^-tail.

    `simultaneous=True` widens the intervals of shares: those of one attribute hold at once with probability `level`.
    Use it to compare categories, or to say which of them can be told from none. Means keep their intervals. By default
    each interval holds by itself, but not with `top`.

    `top` keeps this number of the largest shares of each attribute, the largest first. Of a million categories these
    are the luckiest ones, so their intervals are simultaneous and count all categories, unless you ask for others with
    `simultaneous=False`.

    `search` keeps the shares of categories with this text in their name, whatever the case, and no means. Intervals
    that hold at once still count all categories.

    An estimate is refused if its interval is wider than three quarters of what is possible: its point is NaN, and
    `needed` says about how many answers it takes. `refuse=False` returns such points too. They are unbiased, and each
    of them alone says nothing.
    """
    if type(refuse) is not bool:
        raise EstimateError("refuse must be True or False")
    if search is not None and (type(search) is not str or not search):
        raise EstimateError("search must be a text that is not empty")
    if not isinstance(tally, Tally):
        raise EstimateError("estimate(tally) needs a Tally")
    if not isinstance(level, float) or not 0 < level <= MAX_LEVEL:
        raise EstimateError(f"level must be a number between 0 and {MAX_LEVEL}, such as 0.95")
    if simultaneous is None:
        simultaneous = top is not None
    if not isinstance(simultaneous, bool):
        raise EstimateError("simultaneous must be True or False")
    if tail is not None:
        if isinstance(tail, bool) or not isinstance(tail, int | float) or not 1 < tail <= MAX_TAIL:
            raise EstimateError(f"tail must be a number above 1, at most {MAX_TAIL}: survival falls like x^-tail")
        if not ladders(tally.plan):
            raise EstimateError('tail= is for wide numbers, and the plan asks for none: declare one with scale="log"')
    if top is not None and (type(top) is not int or top < 1):
        raise EstimateError("top must be a whole number from 1 on")
    return chosen(tally, Wanted(level, estimator, simultaneous, top, search, refuse=refuse), tail=tail)


class Wanted(NamedTuple):
    """Which estimates are asked for: the arguments of `estimate`, checked."""

    level: float = 0.95
    estimator: Estimator = "ratio"
    simultaneous: bool = False
    top: int | None = None
    search: str | None = None
    most: int | None = None  # like `top`, of attributes with more than MAX_CATEGORIES categories alone
    refuse: bool = True  # points that say nothing

    def kept(self, categories: int) -> int | None:
        """Return how many of an attribute's shares are kept; None if all are."""
        return self.most if self.top is None and categories > MAX_CATEGORIES + 2 else self.top


def chosen(
    tally: Tally, wanted: Wanted, totals: Mapping[int, Sequence[int]] = MappingProxyType({}), tail: float | None = None
) -> Estimates:
    """Return the estimates that are wanted. `totals`: those of long lists, if they were read (`read_totals`)."""
    apart = long_lists(tally.plan)
    found = list(targets(tally, wanted.estimator, apart))
    together = compared(found) if wanted.simultaneous else {}
    for index in apart if wanted.simultaneous else ():
        together[tally.plan.attributes[index][0].name] = len(_categories(tally.plan, index).labels)
    finish = partial(shown, schema=tally.plan.schema, refuse=wanted.refuse)
    rows = estimated(
        tally, wanted.level, wanted.estimator, tail, together, found=found, some=wanted, totals=totals, finish=finish
    )
    if wanted.search is not None:
        text = wanted.search.casefold()
        rows = [row for row in rows if row.category is not None and text in str(row.category).casefold()]
    if wanted.top is not None:
        rows = _largest(rows, wanted.top)
    return Estimates(rows, level=wanted.level, simultaneous=wanted.simultaneous, schema=tally.plan.schema)


def read_totals(tally: Tally) -> dict[int, Sequence[int]]:
    """Return for every question about a long list how many reports support each category. It takes seconds."""
    return {index: _geometry(tally.plan, index).totals(tally.counts[index]) for index in long_lists(tally.plan)}


def estimated(
    tally: Tally,
    level: float,
    estimator: Estimator = "ratio",
    tail: float | None = None,
    together: Mapping[str, int] = MappingProxyType({}),
    *,
    found: Iterable[Read] | None = None,
    some: Wanted | None = None,
    totals: Mapping[int, Sequence[int]] = MappingProxyType({}),
    places: Mapping[int, Sequence[int]] = MappingProxyType({}),
    finish: Callable[[Estimate], Estimate] | None = None,
) -> list[Estimate]:
    """Return the rows of `estimate`, whose arguments were checked. `finish` lays each into its domain (`shown`).

    Without it, points and ends may lie outside: differences need to know how far an end is from its point. `needed` is
    what it takes if the row is refused. `found`: the targets, if they are known. `together`: how many intervals of an
    attribute's shares hold at once. `some`: of long lists, only the rows that are wanted are made. `totals`: as in
    `chosen`. `places`: of the long list of a question, just these.
    """
    rows = [row for index in ladders(tally.plan) for row in _wide(tally, index, level, tail)]
    if finish is not None:
        rows = list(map(finish, rows))
    apart = long_lists(tally.plan)
    for index in apart:
        many = together.get(tally.plan.attributes[index][0].name, 1)
        wanted = (Wanted() if some is None else some)._replace(level=_shared(level, many), estimator=estimator)
        rows += _shares(tally, index, wanted, totals.get(index), places.get(index), finish)
    for target in targets(tally, estimator, apart) if found is None else found:
        scale, row = _pointed(target)
        many = together.get(row.attribute, 1) if row.category is not None else 1
        each = _shared(level, many)
        low, high = scale.around(bounds(target.sample, each), row.point, cut=False)
        takes = None if row.answers > 1 else least_answers(target.sample, each)
        row = replace(row, low=low, high=high, needed=takes)
        rows.append(row if finish is None else finish(row))
    return _in_order(rows, tally.plan)


def domain_of(row: Estimate, schema: Schema) -> Interval:
    """Return where the truth of an estimate may lie."""
    attribute = schema[row.attribute]
    if row.category is not None or not isinstance(attribute, Numeric):
        return 0.0, 1.0
    if row.floor is not None and row.ceiling is not None:
        return row.floor, row.ceiling
    return attribute.low, attribute.high


def shown(row: Estimate, schema: Schema, *, refuse: bool = True) -> Estimate:
    """Return an estimate with its interval laid into its domain, and refused if that says nothing."""
    domain = domain_of(row, schema)
    low, high = laid((row.low, row.high), row.point, domain)
    if not refuse and not math.isnan(row.point):
        return replace(row, low=low, high=high, needed=None)
    if row.beyond is not None and row.needed is not None:  # neither a mean nor a clip
        attribute = schema[row.attribute]
        assert isinstance(attribute, Numeric)
        ends = attribute.low, attribute.high
        return replace(row, point=math.nan, stderr=math.inf, low=ends[0], high=ends[1], floor=ends[0], ceiling=ends[1])
    if not math.isnan(row.point) and (domain[0] == domain[1] or not says_nothing((low, high), domain)):
        return replace(row, low=low, high=high, needed=None)
    takes = needed(row.answers, (row.low, row.high), domain) if row.needed is None else row.needed
    return replace(row, point=math.nan, stderr=math.inf, low=low, high=high, needed=takes)


def few(row: _Needing, point: str) -> str:
    """Return the point of a row in words."""
    return point if row.needed is None else "too few answers"


class _Needing(Protocol):
    """A row that may be refused."""

    @property
    def needed(self) -> int | None:
        """About how many answers it takes to say something."""


def too_few(rows: Iterable[tuple[str, int, int | None]]) -> list[str]:
    """Return a sentence for each attribute with refused rows: how many answers it takes, at most."""
    found: dict[str, tuple[int, int]] = {}
    for name, answers, takes in rows:
        if takes is not None:
            before = found.get(name, (0, 0))
            found[name] = max(before[0], answers), max(before[1], takes)
    return [
        f"{name}: too few answers ({answers:,}); about {takes:,} are needed to say something."
        for name, (answers, takes) in found.items()
    ]


def unbounded(tally: Tally, estimator: Estimator = "ratio") -> list[Estimate]:
    """Return the rows of `estimate` for callers that read points and standard errors alone: it is faster.

    The ends of intervals are NaN. Wide numbers and long lists still have intervals.
    """
    if ladders(tally.plan) or long_lists(tally.plan):
        return estimated(tally, Wanted().level, estimator)
    return _in_order([_pointed(target)[1] for target in targets(tally, estimator)], tally.plan)


def _in_order(rows: list[Estimate], plan: Plan) -> list[Estimate]:
    """Return rows in the order of the schema, and within an attribute as its channel lists them."""
    order = {name: place for place, name in enumerate(plan.schema.names)}
    return sorted(rows, key=lambda row: order[row.attribute])


def _pointed(target: Read) -> tuple[Scale, Estimate]:
    """Return a target's scale, and its estimate with NaN for the ends of the interval."""
    attribute, symbol, sample = target.attribute, target.symbol, target.sample
    scale = Scale(attribute, symbol)
    point = scale.value(sample.point)
    category, stderr = category_of(attribute, symbol), scale.half * sample.stderr
    return scale, Estimate(attribute.name, category, point, stderr, math.nan, math.nan, target.answers)


def _categories(plan: Plan, index: int) -> Categorical:
    attribute = plan.attributes[index][0]
    assert isinstance(attribute, Categorical)
    return attribute


def _geometry(plan: Plan, index: int) -> Geometry:
    channel = plan.questions[index].channel
    assert isinstance(channel, Geometry)
    return channel


def _shares(
    tally: Tally,
    index: int,
    wanted: Wanted,
    known_totals: Sequence[int] | None,
    places: Sequence[int] | None = None,
    finish: Callable[[Estimate], Estimate] | None = None,
) -> list[Estimate]:
    """Return the shares of a long list that are wanted. Categories with the same count have one estimate, made once."""
    attribute, n, own = _categories(tally.plan, index), tally.answered[index], tally.among(index)
    labels, name, scale = attribute.labels, attribute.name, Scale(attribute, 0)
    geometry = _geometry(tally.plan, index)
    totals = geometry.totals(tally.counts[index]) if known_totals is None else known_totals
    owns = [] if own is None else geometry.totals(own.counts)
    kept = largest(totals, labels, wanted.kept(len(labels)), wanted.search) if places is None else places
    known: dict[tuple[int, int], tuple[float, float, float, float, int | None]] = {}
    answers, found = tally.answers(index), []
    for place in kept:
        count, theirs = totals[place], owns[place] if owns else 0
        if (count, theirs) not in known:
            one = any_of(tally.plan, index, (n - count, count), own, theirs)
            sample = read_by(wanted.estimator, tally, one.sources[0])
            point = scale.value(sample.point)
            ends = scale.around(bounds(sample, wanted.level), point, cut=False)
            takes = None if answers > 1 else least_answers(sample, wanted.level)
            row = Estimate(name, labels[place], point, scale.half * sample.stderr, *ends, answers, needed=takes)
            row = row if finish is None else finish(row)
            known[count, theirs] = row.point, row.stderr, row.low, row.high, row.needed
        point, stderr, low, high, takes = known[count, theirs]
        found.append(Estimate(name, labels[place], point, stderr, low, high, answers, needed=takes))
    return found


def largest(totals: Sequence[int], labels: Sequence[object], top: int | None, search: str | None) -> Sequence[int]:
    """Return the places of the categories of a long list that most reports support, or that a text finds."""
    kept: Sequence[int] = range(len(labels))
    if search is not None:
        text = search.casefold()
        kept = [place for place, label in enumerate(labels) if text in str(label).casefold()]
    return kept if top is None else nlargest(top, kept, key=totals.__getitem__)


def _largest(rows: Iterable[Estimate], top: int) -> list[Estimate]:
    """Return the largest shares of each attribute, and all means, attribute by attribute."""
    groups: dict[str, list[Estimate]] = {}
    for row in rows:
        groups.setdefault(row.attribute, []).append(row)
    found = []
    for group in groups.values():
        found += [row for row in group if row.category is None]
        found += nlargest(top, [row for row in group if row.category is not None], key=_size)
    return found


def _size(row: Estimate) -> float:
    return -math.inf if math.isnan(row.point) else row.point


def _shared(level: float, many: int) -> float:
    """Return the level of each of some intervals that shall hold at once (Bonferroni)."""
    return level if many == 1 else 1 - (1 - level) / many


def compared(found: Iterable[Read]) -> dict[str, int]:
    """Return how many shares of each attribute can be wrong independently of each other."""
    groups: dict[str, list[Read]] = {}
    for target in found:
        if target.symbol is not None:
            groups.setdefault(target.attribute.name, []).append(target)
    return {name: 1 if _mirrored(group) else len(group) for name, group in groups.items()}


def _mirrored(group: list[Read]) -> bool:
    """Whether there are two shares, and each interval is the other one's mirror image: both hold, or neither."""
    return len(group) == 2 and all(
        isinstance(one.attribute, Categorical)
        and len(one.sources) == 1
        and isinstance(one.sources[0].channel, Subset)
        and isinstance(one.sample, Sample)
        and one.sample.two_valued  # the paper's estimator has a third value, for those who were not asked
        for one in group
    )


def _wide(tally: Tally, index: int, level: float, tail: float | None) -> list[Estimate]:
    """Return the mean of a wide number, clipped where people are, and the share of missing if it is optional."""
    channel, number = tally.plan.questions[index].channel, tally.plan.attributes[index][0]
    assert isinstance(channel, Ladder)
    assert isinstance(number, Numeric)
    n, low, high, name = tally.answers(index), number.low, number.high, number.name
    fit = fitted(tally, index)
    if fit is None:
        takes = answers_needed(channel, number, level)
        found = [Estimate(name, None, math.nan, math.inf, low, high, n, low, high, 1.0, needed=takes)]
        if tail is not None:
            found.append(Estimate(name, None, math.nan, math.inf, low, high, n, tail=float(tail), needed=takes))
    else:
        mean, more = clipped(fit, level), None
        if mean.refused:
            more = max(needed(n, mean.interval, (mean.low, mean.high)) if mean.low < mean.high else 2 * n, n + 1)
        ends = mean.low, mean.high, mean.beyond
        found = [Estimate(name, None, mean.point, mean.stderr, *mean.interval, n, *ends, needed=more)]
        if tail is not None:
            free = unclipped(fit, level, tail)
            point = math.nan if mean.refused else free.point
            found.append(Estimate(name, None, point, free.stderr, *free.interval, n, tail=float(tail), needed=more))
    if number.optional:
        found.append(_missing(tally, index, channel, number, level))
    return found


def _missing(tally: Tally, index: int, channel: Ladder, number: Numeric, level: float) -> Estimate:
    """Return the share of missing values of a wide number: its last output is one of two values, as in a window."""
    law = channel.table
    here, gone = float(law[0][-1]), float(law[-1][-1])
    sample = last_of_all(tally, index, (-here / (gone - here), (1 - here) / (gone - here)))
    ends = Scale(number, 1).around(bounds(sample, level), sample.mean, cut=False)
    n = tally.answers(index)
    takes = None if n > 1 else least_answers(sample, level)
    return Estimate(number.name, MISSING, sample.mean, sample.stderr, *ends, n, needed=takes)


def clipping(row: Estimate) -> str:
    """Return how the values of a wide number are clipped, as people write it."""
    assert row.floor is not None
    assert row.ceiling is not None
    if row.floor >= 0:
        return f"min({row.attribute}, {number(row.ceiling, 6)})"
    return f"{row.attribute} clipped to {number(row.floor, 6)}..{number(row.ceiling, 6)}"


def points(tally: Tally) -> list[float]:
    """Return only the unbiased points of `estimate`, for callers that need many estimates and no intervals."""
    if ladders(tally.plan):
        return [row.point for row in estimate(tally, refuse=False)]
    found = []
    for target in sources(tally.plan, tally):
        if tally.own == 0 and len(target.sources) == 1 and isinstance(reading := target.sources[0].reading, Reading):
            if reading.presence is not None:
                point = ratio(reading.counts, reading.values, reading.presence).point
            else:
                n = sum(reading.counts)
                point = math.fsum(map(mul, reading.counts, reading.values)) / n if n else math.nan
        else:
            point = target.pooled().point
        found.append(Scale(target.attribute, target.symbol).value(point))
    return found
