"""A relay's own reports in a prediction.

A collector cannot tell own reports from those of people. It subtracts their known average, and stretches the interval
of all reports to the people (`hush.server.own`). A prediction does the same with expected moments. The moments of all
reports are those of a mixture: means of values and of squares are averages, weighted by the numbers of answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from hush.core.channels.squares import Squares
from hush.core.plan import Plan
from hush.errors import DesignError, PlanError
from hush.server.intervals import Ratio, Sample, sample_of
from hush.server.own import expected
from hush.server.sources import sources
from hush.server.tally import MAX_REPORTS, Tally

_MANY = 1 << 48  # reports whose expected counts are rounded to whole numbers


@dataclass(frozen=True)
class Part:
    """The expected value of one report about a target, and the probability that a report is about it."""

    inclusion: float
    noise: float
    report: Sample | Ratio
    present: float = 1.0
    """The assumed share of people who have the attribute, for a mean of the present whose `report` is a Sample."""

    @property
    def variance(self) -> float:
        """The variance of one value; for a mean of the present that of its linear part."""
        if isinstance(self.report, Ratio):
            return self.report.spread(self.report.point) / self.report.denominator.mean**2
        return self.report.variance


@lru_cache(maxsize=64)
def own_tally(plan: Plan) -> Tally:
    """Return the expected counts of very many own reports."""
    try:
        return Tally(plan, *expected(plan, _MANY))
    except PlanError as error:
        raise DesignError(f"a relay cannot add reports of its own to this plan: {error}") from None


def own_parts(plan: Plan) -> list[list[Part]]:
    """Return the parts of own reports, for every target and source of `hush.server.sources`."""
    found = []
    for target in sources(plan, own_tally(plan)):
        found.append([Part(one.n / _MANY, one.noise, _one(sample_of(one.reading))) for one in target.sources])
    return found


def mixture(people: Sequence[Part], own: Sequence[Part], n: int, m: int) -> tuple[Sample | Ratio, float, float]:
    """Return what n people and m own reports say together: the moments of one value, its variance, and the answers."""
    parts = [
        Part(n * a.inclusion + m * b.inclusion, a.noise, _together(a, b, n * a.inclusion, m * b.inclusion))
        for a, b in zip(people, own, strict=True)
    ]
    answers = sum(part.inclusion for part in parts)
    if len(parts) == 1:
        return parts[0].report, parts[0].variance, answers
    variance = pooled(parts)
    return normal(parts[0].report, variance), variance, answers


def pooled(parts: Sequence[Part]) -> float:
    """Return the variance of one answer of a pool: sources are weighted by their answers and their known noise."""
    weights = [part.inclusion / part.noise for part in parts]
    errors = ((w / sum(weights)) ** 2 * part.variance / part.inclusion for w, part in zip(weights, parts, strict=True))
    return sum(part.inclusion for part in parts) * math.fsum(errors)


def normal(report: Sample | Ratio, variance: float) -> Sample:
    """Return a sample of values with this variance, about which no more is known."""
    mean = report.mean if isinstance(report, Sample) else report.point
    flat = ((-1.0, variance), (1.0, variance))
    far = 1e6 * math.sqrt(variance)
    return Sample(1.0, mean, variance, mean - far, mean + far, False, Squares(flat, flat, 0.0))


def own_answers(plan: Plan, index: int, own: int) -> list[int]:
    """Return the expected counts of own reports for one question."""
    return [round(count * own / _MANY) for count in own_tally(plan).counts[index]]


def check(own: object) -> None:
    """Refuse anything but a number of reports."""
    if type(own) is not int or not 0 <= own <= MAX_REPORTS:
        raise DesignError("own must be a whole number, 0 or more: the reports that the relay adds in all batches")


def _one(report: Sample | Ratio) -> Sample | Ratio:
    """Return the expected sample of one value, from that of very many."""
    if isinstance(report, Sample):
        return replace(report, n=1.0)
    top, bottom = replace(report.numerator, n=1.0), replace(report.denominator, n=1.0)
    return Ratio(top, bottom, report.covariance)


def _together(one: Part, other: Part, a: float, b: float) -> Sample | Ratio:
    """Return the moments of a values of people and b of own reports."""
    if isinstance(one.report, Sample) and isinstance(other.report, Ratio):  # people by the linear part of the ratio
        x, theirs = one.report.mean, other.report
        mean = x + (theirs.numerator.mean - x * theirs.denominator.mean) / one.present
        sample = replace(one.report, mean=mean, variance=theirs.spread(x) / one.present**2)
        mixed = _mixed(one.report, sample, a, b)
        assert isinstance(mixed, Sample)
        return normal(mixed, mixed.variance)
    return _mixed(one.report, other.report, a, b)


def _mixed(one: Sample | Ratio, other: Sample | Ratio, a: float, b: float) -> Sample | Ratio:
    """Return the moments of a mixture of a values of the one kind and b of the other."""
    if isinstance(one, Sample) and isinstance(other, Sample):
        mean, variance = _moments(((a, one.mean, one.mean, one.variance), (b, other.mean, other.mean, other.variance)))
        return replace(one, mean=mean, variance=variance)
    assert isinstance(one, Ratio)
    assert isinstance(other, Ratio)
    top, bottom = (
        _mixed(one.numerator, other.numerator, a, b),
        _mixed(one.denominator, other.denominator, a, b),
    )
    assert isinstance(top, Sample)
    assert isinstance(bottom, Sample)
    both = ((a, one), (b, other))
    _, covariance = _moments((w, r.numerator.mean, r.denominator.mean, r.covariance) for w, r in both)
    return Ratio(top, bottom, covariance)


def _moments(parts: Iterable[tuple[float, float, float, float]]) -> tuple[float, float]:
    """Return the mean of the first and the covariance of both, from weights, two means and covariances."""
    listed = list(parts)
    total = math.fsum(w for w, *_ in listed)
    first = math.fsum(w * x for w, x, _, _ in listed) / total
    second = math.fsum(w * y for w, _, y, _ in listed) / total
    return first, math.fsum(w * (c + (x - first) * (y - second)) for w, x, y, c in listed) / total
