"""Channels for numeric attributes, by name: the mechanisms of Wang et al. (ICDE 2019) and their rivals.

Each function takes the epsilon of one answer, as an exact Fraction, and returns a channel whose ratio is proved to be
at most e^epsilon. The shapes follow the paper as far as a grid allows; the thresholds are the largest that privacy
permits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from hush.core.channels import Additive, Channel, Mixture, Signs, Window
from hush.core.channels.additive import MAX_REACH, MAX_STEPS, digits_of, falls
from hush.core.channels.signs import near_corners
from hush.core.channels.window import ROUNDING
from hush.core.design.average import average_variance, averaged
from hush.core.design.joint import cube
from hush.core.design.minimax import minimax
from hush.core.exact import WORD, aligned_threshold, exp_bounds, largest_threshold
from hush.errors import DesignError

EPSILON_STAR = math.log(
    (-5 + 2 * math.cbrt(6353 - 405 * math.sqrt(241)) + 2 * math.cbrt(6353 + 405 * math.sqrt(241))) / 27
)
"""Below this epsilon (about 0.61) the Hybrid Mechanism is Duchi et al.'s: Lemma 3 of the paper."""

_CELLS = range(1024, 4097)  # sizes that are tried for the Piecewise Mechanism
_TAIL = 52  # binary digits by which additive noise has decayed at its last outputs, except for one period
_FINE = 35  # lattice steps per unit of epsilon: rounding then adds less than 1e-4 of the Laplace variance


def _window(epsilon: Fraction, size: int, width: int, optional: bool) -> Window:
    outside = size if optional else size - width
    return Window(size, width, aligned_threshold(exp_bounds(epsilon)[0], width, outside, ROUNDING), "even", optional)


@lru_cache(maxsize=256)
def duchi(epsilon: Fraction, optional: bool = False) -> Window:
    """Duchi et al. in one dimension: two outputs."""
    return _window(epsilon, 2, 1, optional)


def _evenly(epsilon: Fraction, share: float, optional: bool) -> Window:
    """Return equally spaced cells with a window of about this share of them.

    It takes the smallest size that meets the share to 1e-4, or else the size that meets it best. The common
    divisors of width and size must be powers of two: see `aligned_threshold`.
    """
    best, error = (0, 0), math.inf
    for size in _CELLS:
        width = max(1, round(size * share))
        common = math.gcd(width, size)
        miss = abs(width / (size * share) - 1)
        if miss < error and common & (common - 1) == 0:
            best, error = (size, width), miss
            if error < 1e-4:
                break
    return _window(epsilon, *best, optional)


@lru_cache(maxsize=256)
def piecewise(epsilon: Fraction, optional: bool = False) -> Window:
    """The Piecewise Mechanism: Algorithm 2 of the paper, on a grid."""
    return _evenly(epsilon, 1 / (float(exp_bounds(epsilon / 2)[0]) + 1), optional)


@lru_cache(maxsize=256)
def piecewise_sub(epsilon: Fraction, optional: bool = False) -> Window:
    """The Piecewise Mechanism with the narrower window of Zhao et al. (2020), PM-SUB."""
    return _evenly(epsilon, 1 / (float(exp_bounds(epsilon / 3)[0]) + 1), optional)


@lru_cache(maxsize=256)
def hybrid(epsilon: Fraction, optional: bool = False) -> Channel:
    """The Hybrid Mechanism: Piecewise with probability 1 - e^(-eps/2), else Duchi; Duchi alone if eps <= 0.61."""
    if epsilon <= EPSILON_STAR:
        return duchi(epsilon, optional)
    share = WORD - math.floor(WORD / exp_bounds(epsilon / 2)[0])
    return Mixture((share, WORD - share), (piecewise(epsilon, optional), duchi(epsilon, optional)))


def _periods(epsilon: Fraction) -> int:
    """Return the number of periods after which noise that decays by e^-epsilon in each has decayed by 2^-52.

    More would not help, because the probabilities of rare digits are rounded to 64 bits.
    """
    return math.floor(_TAIL * math.log(2) / epsilon)


def _fitting(epsilon: Fraction, steps: int) -> int:
    """Return the reach of an additive channel, or refuse an alphabet that is too large."""
    reach = steps * _periods(epsilon)
    if reach > MAX_REACH:
        raise DesignError(
            f"additive noise needs a larger epsilon for each answer than {float(epsilon):.6g} (about 0.005): "
            "answer fewer attributes, or choose another channel"
        )
    return max(reach, 2)


def decays_of(epsilon: Fraction, steps: int, reach: int) -> tuple[int, ...]:
    """Return the decays of periods that fall by e^-epsilon: each digit is as rare as the digits below it permit."""
    bound = exp_bounds(epsilon)[0]
    decays: list[int] = []
    ones = all_ones = Fraction(1)  # the product of the odds so far, and of the probabilities
    for _ in range(digits_of(steps, reach)):
        decays.append(_threshold(ones / bound))
        ones *= Fraction(decays[-1], WORD - decays[-1])
        all_ones *= Fraction(decays[-1], WORD)
    return *decays, _threshold(all_ones / (max(falls(decays)) - 1))


def _threshold(odds: Fraction) -> int:
    """Return the least threshold with at least these odds."""
    return math.ceil(WORD * odds / (1 + odds))


def _refuse_optional(optional: bool, name: str) -> None:
    if optional:
        raise DesignError(f"{name} cannot report a missing value: choose another channel for optional attributes")


@lru_cache(maxsize=256)
def laplace(epsilon: Fraction, optional: bool = False) -> Additive:
    """The Laplace mechanism on a lattice."""
    _refuse_optional(optional, "laplace")
    steps = min(max(1, math.ceil(_FINE * epsilon)), max(1, MAX_REACH // _periods(epsilon)))
    reach = _fitting(epsilon, steps)
    unit = 1 << 51
    # Rounding up keeps the last weight above that of the next period. Bounds are rational: exp differs by library.
    weights = [math.ceil(unit / exp_bounds(epsilon * i / steps)[0]) for i in range(steps)]
    return Additive(tuple((1, weight) for weight in weights), decays_of(epsilon, steps, reach), reach)


def _two_level(epsilon: Fraction, share: float) -> Additive:
    """Return noise that is flat up to `share` of a period, and e^-epsilon times that beyond.

    It takes the fewest steps that meet the share to 5e-4, or else the number that meets it best.
    """
    fewest = max(3, math.ceil(_FINE * epsilon))
    _fitting(epsilon, fewest)
    most = min(MAX_STEPS, MAX_REACH // _periods(epsilon), max(fewest + 256, math.ceil(4 / share)))
    best, error = (0, 0), math.inf
    for steps in range(fewest, most + 1):
        flat = max(1, round(share * steps))
        miss = abs(flat / (share * steps) - 1)
        if miss < error:
            best, error = (steps, flat), miss
            if error < 5e-4:
                break
    steps, flat = best
    reach = _fitting(epsilon, steps)
    decays = decays_of(epsilon, steps, reach)
    unit = 1 << 51
    runs = ((flat, unit), (steps - flat, math.ceil(unit / min(falls(decays[:-1])))))
    return Additive(runs, decays, reach)


@lru_cache(maxsize=256)
def scdf(epsilon: Fraction, optional: bool = False) -> Additive:
    """Soria-Comas and Domingo-Ferrer's noise, on a lattice."""
    _refuse_optional(optional, "scdf")
    e = float(epsilon)
    # (1 - e^-x - x e^-x)/(x - x e^-x), written so that nothing cancels for small x.
    share = 1 / e - 1 / math.expm1(e)
    return _two_level(epsilon, share)


@lru_cache(maxsize=256)
def staircase(epsilon: Fraction, optional: bool = False) -> Additive:
    """The Staircase mechanism of Geng et al., on a lattice."""
    _refuse_optional(optional, "staircase")
    return _two_level(epsilon, 1 / (1 + math.exp(float(epsilon) / 2)))


@lru_cache(maxsize=256)
def signs(epsilon: Fraction, size: int) -> Signs:
    """Duchi et al. for all attributes at once: Algorithm 3 of the paper, corrected for an even number of attributes."""
    near = near_corners(size)
    return Signs(size, largest_threshold(exp_bounds(epsilon)[0], near, (1 << size) - near))


@lru_cache(maxsize=256)
def best_worst_case(epsilon: Fraction, optional: bool = False) -> Window:
    """The minimax design, or PM-SUB where it is better: at the largest epsilons, where 128 cells are too few."""
    designed = minimax(epsilon, optional)
    if epsilon <= 8:
        return designed
    return min(designed, piecewise_sub(epsilon, optional), key=lambda channel: channel.worst_variance)


@lru_cache(maxsize=64)
def best_average(epsilon: Fraction, prior: tuple[Fraction, ...], optional: bool = False) -> Window:
    """The channel with the least average variance under a prior: one designed for it, or a known one if better."""
    rivals = (averaged(epsilon, prior, optional), piecewise_sub(epsilon, optional), minimax(epsilon, optional))
    return min(rivals, key=lambda channel: average_variance(channel, prior))


NUMERIC: dict[str, Callable[[Fraction, bool], Channel]] = {
    "minimax": best_worst_case,
    "hybrid": hybrid,
    "piecewise": piecewise,
    "piecewise-sub": piecewise_sub,
    "duchi": duchi,
    "laplace": laplace,
    "scdf": scdf,
    "staircase": staircase,
}
"""Channels for one numeric attribute."""

BLOCK: dict[str, Callable[[Fraction, int], Channel]] = {"duchi-multi": signs, "cube": cube}
"""Channels for all numeric attributes together."""
