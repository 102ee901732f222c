"""The accountant: what a shuffled batch of reports reveals about one person, in one number and an assumption."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from numbers import Real

from hush.core import codec
from hush.core.channels.contrast import Contrast
from hush.core.exact import exp_bounds, log_above
from hush.core.plan import Plan
from hush.errors import DesignError
from hush.planning.shuffle.contrasts import blanket_of, chi_square, crowd_of, is_tight, only
from hush.planning.shuffle.losses import Loss, delta_of, loss_of
from hush.planning.shuffle.profiles import above, below
from hush.planning.shuffle.searches import Curve, crossing, gaussian
from hush.show.tables import Shown, Table, down, number, up

MAX_PEOPLE = 10**12
MAX_BATCHES = 10**6
_LOSSES = 1e-3  # the fineness of the points of a loss


@dataclass(frozen=True)
class Shuffled(Shown):
    """Both promises of a plan whose reports are shuffled. `hush.shuffle` makes it.

    `local` holds whatever anybody does: it is the epsilon of all reports of a person. `epsilon` with `delta` holds
    against a collector that sees shuffled batches only. No proof can give an epsilon of `lower` or less; it is 0 if
    no data set is known for which that could be said.
    """

    epsilon: float
    lower: float
    delta: float
    local: float
    crowd: int | None
    own: int | None
    batches: int
    plan: Plan = field(repr=False)

    def table(self) -> Table:
        """Return both promises."""
        rows = [
            ("anybody, whatever they do", up(self.local, 4), "0"),
            ("a collector that sees shuffled batches only", up(self.epsilon, 4), number(self.delta)),
        ]
        return Table(("who may look", "epsilon", "delta"), rows, texts=1, notes=self.assumptions())

    def assumptions(self) -> tuple[str, ...]:
        """Return what the second promise rests on, and how far it could be improved at most."""
        of = "the batch" if self.batches == 1 else f"each of {self.batches:,} batches"
        if self.own is not None:
            others = f"the relay adds {self.own:,} reports of its own to {of}; all others may lie"
        else:
            others = f"{self.crowd:,} people answer honestly in {of}, the person among them"
        return (
            f"The second line assumes that relay and collector do not work together, and that {others}.",
            "It is proved." + (f" No proof can give {down(self.lower, 4)} or less." if self.lower else ""),
        )


def shuffle(
    plan: Plan,
    *,
    delta: float,
    crowd: int | None = None,
    own: int | None = None,
    batches: int = 1,
    tickets: bool = False,
    series: bool = False,
) -> Shuffled:
    """Return the central promise of a plan whose reports a relay shuffles: (epsilon, delta) beside the local epsilon.

    crowd: how many people answer honestly in one batch, the person among them. Count only those whose reports are
    random and independent of each other: the least size of a batch, minus the liars that you must expect.

    own: instead, how many reports the relay adds to each batch, drawn from the plan's blanket. Then nothing is assumed
    of all others: they may be fakes that the collector sent.

    batches: in how many batches a person takes part, with fresh randomness in each.

    The bounds are proved for the plan's exact probabilities, and rounded to the safe side (docs/shuffle.md). A promise
    for reports that can be told apart would be false: a plan with tickets, or a series, is refused.
    """
    if not isinstance(plan, Plan):
        raise DesignError("the plan must be a Plan: shuffling is about the reports of one plan")
    if tickets:
        raise DesignError("tickets name every report, so a shuffle hides nobody: collect without tickets")
    if series:
        raise DesignError("a series repeats its answers from memory, so batches can be linked: ask a plan of its own")
    target = read_delta(delta)
    check_crowd(crowd, own)
    codec.integer(batches, 1, MAX_BATCHES, DesignError, "batches")
    local = log_above(plan.ratio)
    high = _upper(plan, crowd, own, target) if batches == 1 else _composed([(plan, crowd, own, batches)], target)
    low = _lower(plan, crowd, own, target)
    return Shuffled(high, min(low, high), float(delta), batches * local, crowd, own, batches, plan)


def compose(*parts: Shuffled, delta: float) -> float:
    """Return an epsilon, with this delta, for a person who takes part in all of these: other plans, other weeks.

    It holds even if later plans were chosen by what earlier batches showed. Each part needs randomness of its own.
    """
    target = read_delta(delta)
    if not parts or not all(isinstance(part, Shuffled) for part in parts):
        raise DesignError("give one or more results of hush.shuffle")
    return _composed([(part.plan, part.crowd, part.own, part.batches) for part in parts], target)


def check_crowd(crowd: object, own: object) -> None:
    """Refuse anything but one of both."""
    if (crowd is None) == (own is None):
        raise DesignError("give either crowd, the honest people in a batch, or own, the reports that the relay adds")
    codec.integer(crowd if own is None else own, 1, MAX_PEOPLE, DesignError, "crowd" if own is None else "own")


def read_delta(delta: object) -> Fraction:
    """Read delta as the decimal number that the user wrote."""
    if not isinstance(delta, bool) and isinstance(delta, Real) and 0 < float(delta) < 1:
        return Fraction(repr(float(delta)))
    raise DesignError("delta must be a number between 0 and 1, such as 1e-6")


# -- one batch


@lru_cache(maxsize=64)
def _blanket(plan: Plan) -> Contrast:
    return blanket_of(plan)


def _sides(plan: Plan, crowd: int | None, own: int | None) -> tuple[Contrast, int]:
    """Return the contrast that covers all pairs, and the number of values that are summed."""
    if own is not None:
        return only(_blanket(plan)), own + 1
    assert crowd is not None
    return _blanket(plan), crowd


def _guess(contrast: Contrast, n: int, target: Fraction) -> float:
    return gaussian(math.sqrt(chi_square(contrast) / n), float(target))


def _upper(plan: Plan, crowd: int | None, own: int | None, target: Fraction) -> float:
    contrast, n = _sides(plan, crowd, own)
    curve: Curve = lambda x, fineness: above(contrast, n, exp_bounds(Fraction(x))[0], fineness)  # noqa: E731
    return crossing(curve, target, log_above(plan.ratio), _guess(contrast, n, target))[1]


def _lower(plan: Plan, crowd: int | None, own: int | None, target: Fraction) -> float:
    """Return an epsilon at which some data set has a larger delta, or 0 if none is known."""
    if own is not None:
        if not is_tight(plan):
            return 0.0
        contrast, n = only(_blanket(plan)), own + 1
    else:
        assert crowd is not None
        contrast, n = crowd_of(plan), crowd
    curve: Curve = lambda x, fineness: below(contrast, n, exp_bounds(Fraction(x))[1], fineness)  # noqa: E731
    return crossing(curve, target, log_above(plan.ratio), _guess(contrast, n, target))[0]


def delta_at(plan: Plan, crowd: int | None, own: int | None, epsilon: float, fineness: float) -> Fraction:
    """Return an upper bound of the delta of one batch at this epsilon."""
    contrast, n = _sides(plan, crowd, own)
    return above(contrast, n, exp_bounds(Fraction(epsilon))[0], fineness)


# -- several batches

Part = tuple[Plan, int | None, int | None, int]


@lru_cache(maxsize=64)
def _loss(plan: Plan, crowd: int | None, own: int | None, least: Fraction) -> Loss:
    contrast, n = _sides(plan, crowd, own)
    top = log_above(plan.ratio)
    return loss_of(lambda factor: above(contrast, n, factor, _LOSSES), top, math.sqrt(chi_square(contrast) / n), least)


def _composed(given: list[Part], target: Fraction) -> float:
    """Return an epsilon for all batches together."""
    alike: dict[tuple[Plan, int | None, int | None], int] = {}
    for plan, crowd, own, batches in given:
        kind = (plan, crowd, own)
        alike[kind] = alike.get(kind, 0) + batches
    parts = [(*kind, batches) for kind, batches in alike.items()]
    total = sum(batches for *_, batches in parts)
    losses = [(_loss(plan, crowd, own, target / (100 * total)), batches) for plan, crowd, own, batches in parts]
    squares = [
        batches * chi_square(contrast) / n
        for (contrast, n), batches in ((_sides(plan, crowd, own), batches) for plan, crowd, own, batches in parts)
    ]
    top = sum(batches * log_above(plan.ratio) for plan, _, _, batches in parts)
    curve: Curve = lambda x, fineness: delta_of(losses, x, fineness)  # noqa: E731
    return crossing(curve, target, top, gaussian(math.sqrt(sum(squares)), float(target)))[1]
