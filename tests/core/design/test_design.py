"""The designed channels have the variances that the paper proves, with its errata on the right side."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, floor, log, sqrt

import pytest

from hush import DesignError
from hush.core.channels import Mixture, Window
from hush.core.design import BLOCK, CATEGORICAL, NUMERIC
from hush.core.design.categorical import grr, oue, subset, sue
from hush.core.design.numeric import (
    EPSILON_STAR,
    duchi,
    hybrid,
    laplace,
    piecewise,
    piecewise_sub,
    scdf,
    signs,
    staircase,
)
from hush.core.exact import WORD
from tests.cases import exp_floor

EPSILONS = [0.1, 0.5, 0.61, 0.7, 1.0, 1.29, 2.0, 3.0, 4.0, 6.0, 8.0]
INPUTS = [-1.0, -2 / 3, 0.0, 1 / 3, 0.5, 1.0]


def f(epsilon: float) -> Fraction:
    return Fraction(repr(epsilon))


def pm_variance(t: float, e: float) -> float:
    """Lemma 1."""
    return t * t / (exp(e / 2) - 1) + (exp(e / 2) + 3) / (3 * (exp(e / 2) - 1) ** 2)


def duchi_variance(t: float, e: float) -> float:
    """Equation 4."""
    return ((exp(e) + 1) / (exp(e) - 1)) ** 2 - t * t


def hm_worst(e: float) -> float:
    """Equation 8."""
    if e <= EPSILON_STAR:
        return duchi_variance(0, e)
    half = exp(e / 2)
    return (half + 3) / (3 * half * (half - 1)) + (exp(e) + 1) ** 2 / (half * (exp(e) - 1) ** 2)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_piecewise_has_the_variance_of_lemma_1(epsilon: float) -> None:
    channel = piecewise(f(epsilon))
    for t in INPUTS:
        assert float(channel.variance(t)) == pytest.approx(pm_variance(t, epsilon), rel=5e-4)
    assert float(channel.worst_variance) == pytest.approx(
        4 * exp(epsilon / 2) / (3 * (exp(epsilon / 2) - 1) ** 2), rel=2e-4
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_duchi_has_the_variance_of_equation_4(epsilon: float) -> None:
    channel = duchi(f(epsilon))
    for t in INPUTS:
        assert float(channel.variance(t)) == pytest.approx(duchi_variance(t, epsilon), rel=1e-9)
    assert float(channel.worst_variance) == pytest.approx(duchi_variance(0, epsilon), rel=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_hybrid_has_the_worst_variance_of_equation_8(epsilon: float) -> None:
    channel = hybrid(f(epsilon))
    assert float(channel.worst_variance) == pytest.approx(hm_worst(epsilon), rel=2e-4)
    assert isinstance(channel, Mixture if epsilon > EPSILON_STAR else Window)
    # The weight alpha makes the variance the same for all inputs.
    if epsilon > EPSILON_STAR:
        for t in INPUTS:
            assert float(channel.variance(t)) == pytest.approx(hm_worst(epsilon), rel=5e-4)


@pytest.mark.parametrize(
    ("epsilon", "d", "p", "h"),
    [
        (0.5, 16.671, 21.223, 16.671),
        (1, 4.683, 5.224, 4.289),
        (2, 1.724, 1.228, 1.042),
        (4, 1.076, 0.2414, 0.2190),
        (6, 1.010, 0.0735, 0.0704),
    ],
)
def test_worst_variances_are_those_of_the_design(epsilon: float, d: float, p: float, h: float) -> None:
    for make, expected in ((duchi, d), (piecewise, p), (hybrid, h)):
        assert float(make(f(float(epsilon))).worst_variance) == pytest.approx(expected, rel=7e-4)


def test_epsilon_star_is_where_piecewise_meets_duchi_at_zero() -> None:
    assert pytest.approx(0.61, abs=0.005) == EPSILON_STAR
    assert pm_variance(0, EPSILON_STAR) == pytest.approx(duchi_variance(0, EPSILON_STAR), rel=1e-9)


def test_epsilon_sharp_is_where_the_worst_cases_meet() -> None:
    sharp = log((7 + 4 * sqrt(7) + 2 * sqrt(20 + 14 * sqrt(7))) / 9)
    assert sharp == pytest.approx(1.29, abs=0.005)
    for epsilon, better in ((sharp - 0.01, duchi), (sharp + 0.01, piecewise)):
        worst = {make: make(f(epsilon)).worst_variance for make in (duchi, piecewise)}
        assert min(worst, key=worst.__getitem__) is better


@pytest.mark.parametrize("epsilon", [3.0, 4.0, 6.0])
def test_piecewise_sub_is_better_than_piecewise_at_large_epsilon(epsilon: float) -> None:
    assert piecewise_sub(f(epsilon)).worst_variance < piecewise(f(epsilon)).worst_variance


# -- k of d attributes with the paper's estimator: (d/k) E[x^2] - t^2


def sampled(second_moment: float, d: int, k: int, t: float) -> float:
    return d / k * second_moment - t * t


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("d", "k"), [(5, 1), (10, 1), (10, 2)])
def test_multidimensional_variances_of_lemma_5(epsilon: float, d: int, k: int) -> None:
    half = exp(epsilon / (2 * k))
    for t in INPUTS:
        x2 = float(piecewise(f(epsilon) / k).variance(t)) + t * t
        expected = d * (half + 3) / (3 * k * (half - 1) ** 2) + (d * half / (k * (half - 1)) - 1) * t * t
        assert sampled(x2, d, k, t) == pytest.approx(expected, rel=5e-4)
        if epsilon / k > EPSILON_STAR:
            x2 = float(hybrid(f(epsilon) / k).variance(t)) + t * t
            expected = d / k * hm_worst(epsilon / k) + (d / k - 1) * t * t
            assert sampled(x2, d, k, t) == pytest.approx(expected, rel=5e-4)


@pytest.mark.parametrize("epsilon", [0.2, 0.5, 0.6])
def test_erratum_3_hybrid_at_small_epsilon(epsilon: float) -> None:
    """The truth is (d/k) B^2 - t^2: below eps* the mechanism is Duchi's, whose square is always B^2."""
    d, k = 10, 1
    b2 = duchi_variance(0, epsilon)
    for t in (0.5, 1.0):
        x2 = float(hybrid(f(epsilon)).variance(t)) + t * t
        assert sampled(x2, d, k, t) == pytest.approx(d / k * b2 - t * t, rel=1e-9)
        assert sampled(x2, d, k, t) != pytest.approx(d / k * b2 + (d / k - 1) * t * t, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "duchi_wins"), [(0.65, True), (2.0, True), (4.8, True), (5.0, False)])
def test_erratum_5_sampled_duchi_beats_hybrid_in_the_worst_case(epsilon: float, duchi_wins: bool) -> None:
    """With d = 10, k = 1 and the paper's estimator, for 0.61 < epsilon < 4.9."""
    worst = {}
    for make in (duchi, hybrid):
        channel = make(f(epsilon))
        worst[make] = max(sampled(float(channel.variance(t)) + t * t, 10, 1, t) for t in INPUTS)
    assert (worst[duchi] < worst[hybrid]) is duchi_wins


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_hybrid_and_piecewise_against_duchi_multidimensional(epsilon: float) -> None:
    """Corollary 2 and figure 3: HM is at most 77 % of Duchi et al.'s worst case for d = 5, 10, 20, 40."""
    for d in (5, 10, 20, 40):
        k = max(1, min(d, floor(epsilon / 2.5)))
        rival = float(signs(f(epsilon), d + 1 - d % 2).worst_variance)  # odd, as printed: the better for Duchi
        for make, share in ((hybrid, 0.77), (piecewise, 1.0)):
            channel = make(f(epsilon) / k)
            worst = max(sampled(float(channel.variance(t)) + t * t, d, k, t) for t in INPUTS)
            assert worst < share * rival


# -- additive noise


def two_level_variance(m: float, e: float) -> float:
    """The variance of the corrected density: 1 on [-m, m], e^(-(j+1) eps) on the j-th piece of length 2 beyond."""
    mass, square, low, height = m, m**3 / 3, m, exp(-e)
    for _ in range(100_000):
        high = low + 2
        mass += 2 * height
        square += height * (high**3 - low**3) / 3
        low, height = high, height * exp(-e)
        if height * high**3 < 1e-14 * square:
            break
    return square / mass


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_laplace_has_the_variance_8_over_epsilon_squared(epsilon: float) -> None:
    channel = laplace(f(epsilon))
    for t in (*INPUTS, 0.123456):
        assert float(channel.variance(t)) == pytest.approx(8 / epsilon**2, rel=2e-4)


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_erratum_2_scdf_and_staircase_have_the_corrected_densities(epsilon: float) -> None:
    m = 2 * (1 - exp(-epsilon) - epsilon * exp(-epsilon)) / (epsilon - epsilon * exp(-epsilon))
    assert float(scdf(f(epsilon)).variance(0.0)) == pytest.approx(two_level_variance(m, epsilon), rel=1e-3)
    m = 2 / (1 + exp(epsilon / 2))
    assert float(staircase(f(epsilon)).variance(0.0)) == pytest.approx(two_level_variance(m, epsilon), rel=1e-3)


@pytest.mark.parametrize("make", [laplace, scdf, staircase])
def test_additive_noise_needs_some_epsilon(make: object) -> None:
    with pytest.raises(DesignError, match="larger epsilon"):
        make(Fraction(1, 10**4))  # type: ignore[operator]
    with pytest.raises(DesignError, match="missing"):
        make(Fraction(1), True)  # type: ignore[operator]


# -- categorical


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_categorical_probabilities_are_those_of_the_literature(epsilon: float) -> None:
    e = exp(epsilon)  # q of unary encodings has few digits
    assert float(oue(f(epsilon), 9).p) == 0.5
    assert float(oue(f(epsilon), 9).q) == pytest.approx(1 / (e + 1), rel=2**-12)
    assert float(sue(f(epsilon), 9).p) == pytest.approx(exp(epsilon / 2) / (exp(epsilon / 2) + 1), rel=2**-12)
    assert float(grr(f(epsilon), 9).p) == pytest.approx(e / (e + 8), rel=1e-12)
    # OUE: variance 4 e^eps / (e^eps - 1)^2 for a rare category (Wang et al. 2017).
    assert float(oue(f(epsilon), 9).variance(0)) == pytest.approx(4 * e / (e - 1) ** 2, rel=1e-3)


def test_oue_rounds_q_up() -> None:
    for epsilon in (0.1, 1.0, 3.7):
        channel = oue(f(epsilon), 4)
        assert channel.ratio <= exp_floor(f(epsilon))
        fewer = type(channel)(4, channel.true, channel.other - (channel.other & -channel.other))  # one step less
        assert fewer.ratio > exp_floor(f(epsilon))


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 1.0, 4.0, 16.0])
def test_few_digits_cost_little_variance(epsilon: float) -> None:
    """A unary channel reads a word for each digit of q, so it has few; an exact q would hardly be better."""
    for make, lower in ((oue, f(epsilon)), (sue, f(epsilon) / 2)):
        channel = make(f(epsilon), 9)
        other = ceil(WORD / (exp_floor(lower) + 1))
        exact = type(channel)(9, WORD // 2 if make is oue else WORD - other, other)
        assert exact.worst_variance <= channel.worst_variance <= exact.worst_variance * Fraction(1001, 1000)
        digits = len(f"{channel.other:064b}".rstrip("0"))
        assert digits <= 13 + max(2, round(epsilon * 1.45), round(4 / epsilon).bit_length())


def test_erratum_4_the_plain_average_is_biased() -> None:
    """The printed estimator counts supports; for OUE the mean of that is f*p + (1-f)*q, not f."""
    channel = oue(Fraction(1), 4)
    share = Fraction(1, 10)
    plain = share * channel.p + (1 - share) * channel.q
    assert float(plain) == pytest.approx(0.05 + 0.9 * 0.26894, rel=1e-4)
    assert (plain - channel.q) / (channel.p - channel.q) == share


# -- the ends of the range


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 1000), Fraction(16)])
def test_nothing_overflows_at_the_ends(epsilon: Fraction) -> None:
    for name, make in NUMERIC.items():
        if epsilon < Fraction(1, 100) and name in ("laplace", "scdf", "staircase"):
            continue
        channel = make(epsilon, False)
        assert 1 < channel.ratio <= exp_floor(epsilon)
        assert 0 < float(channel.worst_variance) < 1e16
    for name, make_categorical in CATEGORICAL.items():
        for size in (5, 6, 4097) if name == "geometry" else (2, 3, 4097):
            channel = make_categorical(epsilon, size)
            assert 1 < channel.ratio <= exp_floor(epsilon)
            assert 0 < float(channel.worst_variance) < 1e20
    for make_block in BLOCK.values():
        for size in (1, 2, 1024):
            assert 1 < make_block(epsilon, size).ratio <= exp_floor(epsilon)


def test_the_best_weight_is_one_at_large_epsilon() -> None:
    assert subset(Fraction(8), 16).weight == 1
