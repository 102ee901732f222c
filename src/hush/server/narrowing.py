"""Narrowing the range of a wide number after a pilot.

Some people answer a ladder (the pilot), the others the usual channel on a range that the pilot's tally shows to be
enough. `narrow` chooses the upper end c of least expected error for the second round: with the rungs up to x_k clearly
in use, survival behind them is taken as a Pareto tail of index 2.5,

    t = min(2^-2.5 * S_{k-1}, max(S_k, sd_k/4)),     c = x_k * sqrt(2) * (t * sqrt(n/v)/sqrt(1.5))^0.4,

within x_k..H: S are survivals, sd their standard errors, n the answers of the second round and v the variance of one
report on a range of 1. That only chooses c: whatever the tail is, the second round estimates the mean clipped at c
without bias, with an honest interval.

If the pilot saw too little (the survival in the lowest rung is below 6 standard errors), narrowing could err badly:
then it is refused, and the others should answer the ladder too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from hush.core.channels import Ladder
from hush.core.design.numeric import best_worst_case
from hush.core.schema import Numeric
from hush.errors import EstimateError
from hush.server.ladders import Fitted, Side, fitted
from hush.server.tally import Tally

SEEN = 6.0
"""By how many standard errors the survival in the lowest rung must differ from 0."""

_INDEX = 2.5


def narrow(tally: Tally, attribute: str, *, people: int) -> Numeric:
    """Return an attribute with the range that the pilot's tally shows to be enough, for this many further people.

    Numbers beyond are clipped. Use it in a plan with `after=` the pilot's, so that nobody answers both. As many of the
    people as in the pilot are taken to be asked about the attribute.
    """
    if not isinstance(tally, Tally):
        raise EstimateError("narrow(tally, attribute, people=...) needs a Tally")
    if type(people) is not int or people < 1:
        raise EstimateError("people must be a whole number, 1 or more")
    number = tally.plan.schema[attribute]
    channel = tally.plan.channel(attribute)
    if not isinstance(number, Numeric) or not isinstance(channel, Ladder):
        raise EstimateError(f'attribute {attribute!r}: only a number with scale="log" can be narrowed')
    index = tally.plan.question(attribute)
    fit = fitted(tally, index)
    if fit is None:
        raise EstimateError(f"attribute {attribute!r}: nobody has answered the pilot yet")
    first = [fit.rungs(side)[0] for side in fit.sides]
    if not any(share > SEEN * error for share, error in first):
        raise EstimateError(
            f"attribute {attribute!r}: the pilot saw too little to narrow its range: ask more people on the same plan"
        )
    noise = float(best_worst_case(Fraction(tally.plan.cost) / tally.plan.k, number.optional).worst_variance) / 4
    ends = {True: fit.places[fit.origin], False: fit.places[fit.origin]}
    for side in fit.sides:
        up = fit.places[side.states[1]] > fit.places[side.states[0]]
        ends[up] = _end(fit, side, people * float(tally.plan.inclusions[index]) / noise)
    # A plain number has no scale, and clips.
    return replace(number, low=ends[False], high=ends[True], out_of_range="clip", scale="linear", unit=None)


def _end(fit: Fitted, side: Side, precision: float) -> float:
    """Return the end of the narrowed range on one side."""
    rungs, origin = fit.rungs(side), fit.places[fit.origin]
    used, last = fit.used(side), len(rungs)
    if not used:
        return fit.places[side.states[0]]
    far = fit.places[side.states[-1]]
    if used == last:
        return far
    share, error = rungs[used]
    tail = min(2**-_INDEX * rungs[used - 1][0], max(share, error / 4))
    near = fit.places[side.states[used]] - origin
    reach = near * math.sqrt(2) * (max(tail, 1e-9) * math.sqrt(precision / (_INDEX - 1))) ** (1 / _INDEX)
    end = _round(max(abs(reach), abs(near)))
    if end >= abs(far - origin):  # rounded up, it must not leave the range: devices refuse a plan with a wider one
        return far
    return origin + math.copysign(end, far - origin)


def _round(x: float) -> float:
    """Return a number with three digits, rounded up: a bound that people can read."""
    digits = 2 - math.floor(math.log10(x))
    return math.ceil(x * 10.0**digits) / 10.0**digits
