"""Every channel keeps the promises of the protocol, checked exactly in rational arithmetic.

That the sampler has the law, exactly, is shown channel by channel in the files beside this one.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush import PlanError, ReportError
from hush.core.channels import (
    CHANNELS,
    Additive,
    Cells,
    Channel,
    Corners,
    Cube,
    Ladder,
    Mixture,
    Picks,
    Rows,
    Subset,
    Unary,
    Window,
    from_json,
)
from hush.core.channels.windowed import ROUNDING, Windowed
from hush.core.design.categorical import grr
from hush.core.design.numeric import decays_of
from hush.core.exact import WORD
from hush.testing import ListedCoins, SeededCoins
from tests.cases import DESIGNED, EPSILONS, SMALL, exp_floor, largest_ratio, small_window

FEW = [(name, Fraction(text)) for name in SMALL for text in ("0.5", "4")]


def test_every_kind_of_channel_is_covered() -> None:
    kinds = {make(Fraction(1)).kind for make in SMALL.values()}
    assert kinds == set(CHANNELS)


@pytest.mark.parametrize("name", SMALL)
def test_privacy_by_enumeration(name: str) -> None:
    for epsilon in EPSILONS:
        channel = SMALL[name](epsilon)
        ratio = largest_ratio(channel, [*channel.states()])
        assert ratio == channel.ratio, epsilon
        assert ratio <= exp_floor(epsilon), epsilon


def wasted(channel: Channel, parts: int) -> Fraction:
    """How much of e^epsilon may be given up.

    A window's threshold is a multiple of 2^24 times its cells, a unary channel has few digits, and the rare digits of
    additive noise are rounded, as are the rare shares of picks.
    """
    if isinstance(channel, Mixture):
        return max(wasted(part, parts) for part in channel.parts)
    if isinstance(channel, Unary):
        return Fraction(1, 2**11)
    if isinstance(channel, Picks):  # the shares of many held items are small, and rounded
        return Fraction(1, 2**18)
    return Fraction(1, 2**13 if isinstance(channel, Windowed) else parts)


@pytest.mark.parametrize("name", SMALL)
def test_little_of_epsilon_is_wasted(name: str) -> None:
    for epsilon in EPSILONS:
        channel = SMALL[name](epsilon)
        assert channel.ratio > exp_floor(epsilon) * (1 - wasted(channel, 2**44)), epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", DESIGNED)
def test_privacy_at_real_sizes(name: str, epsilon: Fraction) -> None:
    channel = DESIGNED[name](epsilon)
    assert 1 < channel.ratio <= exp_floor(epsilon)
    assert channel.ratio > exp_floor(epsilon) * (1 - wasted(channel, 2**40))
    if isinstance(channel, Windowed):  # list the laws of some states, those at the ends among them
        states = [*channel.states()]
        chosen = states[:: max(1, len(states) // 7)] + states[-2:]
        assert largest_ratio(channel, chosen) == channel.ratio


@pytest.mark.parametrize("name", SMALL)
def test_a_law_adds_up_to_one(name: str) -> None:
    for epsilon in EPSILONS:
        channel = SMALL[name](epsilon)
        for state in channel.states():
            law = channel.law(state)
            whole = math.lcm(*(probability.denominator for probability in law.values()))  # integers are faster to add
            weights = [probability.numerator * (whole // probability.denominator) for probability in law.values()]
            assert sum(weights) == whole, epsilon
            assert min(weights) > 0, epsilon
            for output in law:
                channel.alphabet.check(output)


@pytest.mark.parametrize("name", SMALL)
def test_decoded_values_are_exactly_unbiased(name: str) -> None:
    for epsilon in EPSILONS:
        check_unbiased(SMALL[name](epsilon))


def check_unbiased(channel: Channel) -> None:
    """Fail unless the mean of what is decoded is the truth, for every state, exactly."""
    laws = {state: channel.law(state) for state in channel.states()}
    decoded = {output: channel.decode(output) for output in set().union(*laws.values())}
    unit = math.lcm(*(value.denominator for values in decoded.values() for value in values))
    wholes = {output: [int(value * unit) for value in values] for output, values in decoded.items()}
    for state, law in laws.items():
        whole = math.lcm(*(probability.denominator for probability in law.values()))
        sums = [0] * len(channel.truth(state))  # integers are much faster to add than fractions
        for output, probability in law.items():
            weight = probability.numerator * (whole // probability.denominator)
            for target, value in enumerate(wholes[output]):
                sums[target] += weight * value
        means = [Fraction(total, whole * unit) for total in sums]
        if isinstance(channel, Additive):
            # Only the far tails are missing: those beyond the reach, whose mean excess is known.
            assert abs(means[0] - channel.truth(state)[0]) <= tail_bias(channel)
        else:
            assert tuple(means) == channel.truth(state)


def tail_bias(channel: Additive) -> Fraction:
    """The mean by which noise exceeds the reach: the sum over z of P(noise > reach + z), on the scale [-1, 1]."""
    b = 1 / channel.ratio * (1 + Fraction(1, 2**10))  # rare digits are rounded
    # One period beyond the reach has at most b^(reach/steps) of the mass of the first, and so on.
    periods = channel.reach // channel.steps
    return Fraction(2, channel.steps) * channel.steps * b**periods / (1 - b) ** 2


@pytest.mark.parametrize("epsilon", [Fraction("0.05"), Fraction(1), Fraction(8)])
@pytest.mark.parametrize("name", ["laplace", "scdf", "staircase"])
def test_the_tails_that_are_cut_off_are_negligible_in_real_plans(name: str, epsilon: Fraction) -> None:
    channel = DESIGNED[name](epsilon)
    assert isinstance(channel, Additive)
    assert tail_bias(channel) < Fraction(1, 2**34)


@pytest.mark.parametrize(("name", "epsilon"), FEW)
def test_variance_is_that_of_the_law(name: str, epsilon: Fraction) -> None:
    channel = SMALL[name](epsilon)
    if isinstance(channel, Additive):
        longer = int(30 / epsilon) * channel.steps  # longer tails
        channel = Additive(channel.runs, decays_of(epsilon, channel.steps, longer), longer)
    for state in islice(channel.states(), 5):
        if state is None or (isinstance(state, tuple) and None in state):
            continue
        if isinstance(channel, Ladder):  # its variance is of the unclipped mean, on the scale from -1 to 1
            at = len(channel.knots) - 2
            truth = 2 * channel.truth(state)[at] - 1
            values = {y: 2 * channel.decode(y)[at] - 1 for y in channel.law(state)}
        else:
            truth = channel.truth(state)[0]
            values = {y: channel.decode(y)[0] for y in channel.law(state)}
        law = channel.law(state).items()
        variance = sum((p * (values[y] - truth) ** 2 for y, p in law), Fraction(0))
        if isinstance(channel, Mixture):
            # Its states combine states of parts that stand for different inputs; compare with the parts.
            variance = sum(
                (
                    share * part.variance(part.truth(inner)[0])
                    for share, part, inner in zip(channel.shares, channel.parts, state, strict=True)  # type: ignore[call-overload]
                ),
                Fraction(0),
            )
            spread = [part.truth(inner)[0] for part, inner in zip(channel.parts, state, strict=True)]  # type: ignore[call-overload]
            if len(set(spread)) > 1:
                continue
            variance /= WORD
        if isinstance(channel, Additive):
            assert abs(variance - channel.variance(truth)) < Fraction(1, 10**6)
        elif isinstance(channel, Cube):
            # Its variance is that of the reports about an attribute; of all reports it is larger.
            assert variance == (channel.variance(truth) + truth**2) / channel.share - truth**2
        elif isinstance(channel, Corners) and truth == 0:  # not near: the variance of a near one is larger
            assert variance < channel.variance(truth)
        elif isinstance(channel, Rows):
            assert variance == membership_variance(channel, state)
        elif isinstance(channel, Cells):
            assert variance == channel.variance_of(0, truth) <= channel.variance(truth)
        else:
            assert variance == channel.variance(truth)


def membership_variance(channel: Rows, state: Any) -> Fraction:
    """Of the first group: its row is named with probability P or Q. (`variance` is of the number: test_rows.py.)"""
    chance = channel.p if state[0] == 0 else channel.q
    return chance * (1 - chance) / (channel.p - channel.q) ** 2


@pytest.mark.parametrize(("name", "epsilon"), FEW)
def test_the_worst_variance_is_a_maximum_that_is_reached(name: str, epsilon: Fraction) -> None:
    channel = SMALL[name](epsilon)
    shares = channel.kind in ("subset", "unary", "picks", "geometry") or (
        isinstance(channel, Cells) and None not in channel.sizes
    )
    low = 0 if shares else -1
    points = [low + Fraction(i * (1 - low), 251) for i in range(252)]
    largest = max(channel.variance(t) for t in points)
    assert largest <= channel.worst_variance
    assert float(largest) > float(channel.worst_variance) * (1 - 1e-4)
    for beyond in (Fraction(low) - Fraction(1, 10**9), 1.0000001):
        with pytest.raises(ValueError, match="t must be"):
            channel.variance(beyond)


# -- rounding of the input


@pytest.mark.parametrize("name", ["duchi", "window-16-3", "window-uneven", "laplace", "staircase", "signs-1"])
def test_rounding_keeps_the_mean(name: str) -> None:
    """The share of words that round up is the position between the two states: to about 2^-53, of windows to 2^-24."""
    channel = SMALL[name](Fraction(2))
    words, error = (ROUNDING, Fraction(1, 2**23)) if isinstance(channel, Window) else (WORD, Fraction(1, 2**51))
    for u in (0.0, 1e-17, 0.1, 0.25, 1 / 3, 0.5, 0.731, 0.999999, 1.0):
        low = channel.state([u], ListedCoins([WORD - 1]))  # the largest word never rounds up, unless it must
        high = channel.state([u], ListedCoins([0]))
        bottom, top = channel.truth(low)[0], channel.truth(high)[0]
        target = 2 * Fraction(u) - 1
        share = channel.rounding([u]).get(high, Fraction(0)) if high != low else Fraction(1)
        assert abs(bottom + share * (top - bottom) - target) < error
        edge = int(share * words)
        assert channel.state([u], ListedCoins([max(edge - 1, 0)])) == high
        assert channel.state([u], ListedCoins([min(edge, words - 1)])) == low


@pytest.mark.parametrize(
    "name", ["window-9-2-optional", "ladder-5-2-optional", "mixture", "mixture-optional", "grr-5", "oue-6", "signs-2"]
)
def test_rounding_is_known_exactly(name: str) -> None:
    """Over words that are evenly spread, each state occurs as often as `rounding` says."""
    channel = SMALL[name](Fraction(2))
    inputs: list[list[Any]] = [[0.0], [0.3], [0.77], [1.0]]
    if channel.kind in ("subset", "unary"):
        inputs = [[0], [1]]
    elif "optional" in name:
        inputs.append([None])
    elif name == "signs-2":
        inputs = [[0.0, 1.0], [0.3, 0.8]]
    n = 64 if len(inputs[0]) == 2 else 512
    spread = ROUNDING if channel.kind in ("window", "mixture", "ladder") else WORD
    words = [(2 * i + 1) * spread // (2 * n) for i in range(n)]
    for values in inputs:
        exact = channel.rounding(values)
        assert sum(exact.values()) == 1
        lists = [[a, b] for a in words for b in words] if len(values) == 2 else [[a] for a in words]
        found = Counter(channel.state(values, ListedCoins(drawn)) for drawn in lists)
        assert set(found) <= set(exact)
        for state, probability in exact.items():
            assert abs(found[state] / len(lists) - probability) <= 2 / n


@pytest.mark.parametrize("name", [*SMALL, *DESIGNED])
def test_whatever_the_float_the_state_is_one_of_the_channels(name: str) -> None:
    """Even a position outside [0, 1] cannot make a state that no other input has."""
    channel = {**SMALL, **DESIGNED}[name](Fraction(1))
    # The last three have tests of their own.
    if channel.kind in ("subset", "unary", "picks", "geometry", "cells", "rows", "corners"):
        return
    size = len(channel.truth(0)) if channel.kind in ("signs", "cube") else 1
    few = size < 8
    states = set(channel.states()) if few else set()
    for u in (-1e300, -1.0, -4e-8, -0.0, 0.0, 5e-324, 0.5, 1.0, 1.0000001, 2.0, 1e300):
        for word in (0, 1 << 63, WORD - 1):
            state = channel.state([u] * size, ListedCoins([word] * size))
            assert state in states if few else isinstance(state, int) and 0 <= state < 1 << size


@pytest.mark.parametrize("name", SMALL)
def test_states_that_do_not_exist_are_refused(name: str) -> None:
    channel = SMALL[name](Fraction(1))
    one = isinstance(channel, Corners) and channel.near == 1  # then (0,) is a state
    for state in (-1, 10**6, "x", 0.5, (-1,) if one else (0,), (0, 0, 0), True):
        for method in (channel.law, channel.truth):
            with pytest.raises(PlanError):
                method(state)


@pytest.mark.parametrize("name", SMALL)
def test_the_same_words_give_the_same_output(name: str) -> None:
    channel = SMALL[name](Fraction(1))
    for state in islice(channel.states(), 4):
        outputs = {channel.draw(state, SeededCoins(11)) for _ in range(3)}
        assert len(outputs) == 1


# -- outputs on the wire


@pytest.mark.parametrize("name", SMALL)
def test_outputs_travel(name: str) -> None:
    channel = SMALL[name](Fraction(1))
    alphabet = channel.alphabet
    coins = SeededCoins(3)
    for state in islice(channel.states(), 6):
        for _ in range(20):
            output = channel.draw(state, coins)
            data = alphabet.pack(output)
            assert len(data) == alphabet.width
            assert alphabet.unpack(data) == output
            assert alphabet.from_json(json.loads(json.dumps(output))) == output


@pytest.mark.parametrize("name", SMALL)
@given(junk=st.one_of(st.none(), st.booleans(), st.floats(), st.text(), st.lists(st.integers(-3, 30)), st.integers()))
def test_junk_outputs_are_refused(name: str, junk: object) -> None:
    alphabet = SMALL[name](Fraction(1)).alphabet
    try:
        output = alphabet.from_json(junk)
    except ReportError:
        with pytest.raises(ReportError):
            SMALL[name](Fraction(1)).decode(junk)  # type: ignore[arg-type]
        return
    assert alphabet.unpack(alphabet.pack(output)) == output


# -- channels in a plan


@pytest.mark.parametrize("name", [*SMALL, *DESIGNED])
def test_a_channel_reads_back(name: str) -> None:
    channel = {**SMALL, **DESIGNED}[name](Fraction(2))
    again = from_json(json.loads(json.dumps(channel.to_json())))
    assert again == channel
    assert again.ratio == channel.ratio


@pytest.mark.parametrize("name", SMALL)
def test_every_field_of_a_channel_is_checked(name: str) -> None:
    channel = SMALL[name](Fraction(2))
    values = channel.to_json()
    junks: list[Any] = [None, 7, "x", [], [values], {}, values | {"extra": 1}, values | {"kind": "other"}]
    for junk in junks:
        with pytest.raises(PlanError):
            from_json(junk)
    junks = [None, -1, 0, True, 1.5, "", "-1", "01", "x", str(WORD), str(10**30), [], [[]], {}, 10**30]
    for field in values:
        for junk in junks:
            try:
                changed = from_json(values | {field: junk})
            except PlanError:
                continue
            assert changed.to_json() == values | {field: junk}  # nothing was silently mended


BROKEN: dict[str, tuple[str, dict[str, object], str]] = {
    "threshold of no multiple": ("window-5-2", {"threshold": "12345678901234567891"}, "must divide"),
    "window as wide as all": ("window-5-2", {"width": 5}, "width"),
    "levels too few": ("window-uneven", {"levels": [-1, 1]}, "one level per cell"),
    "levels lopsided": ("window-uneven", {"levels": [-9, -3, -2, -1, 1, 2, 3, 8]}, "antisymmetric"),
    "levels fall": ("window-uneven", {"levels": [-9, -3, -2, 1, -1, 2, 3, 9]}, "not decrease"),
    "levels flat": ("window-uneven", {"levels": [0] * 8}, "larger sum"),
    "levels huge": ("window-uneven", {"levels": [-(2**31), -3, -2, -1, 1, 2, 3, 2**31]}, "level"),
    "window less likely": ("duchi", {"threshold": str(WORD // 4)}, "likelier"),
    "set of all": ("subset-9", {"weight": 9}, "weight"),
    "set less likely": ("grr-5", {"threshold": str(WORD // 10)}, "likelier"),
    "bits swapped": ("oue-6", {"true": "5", "other": "6"}, "likelier"),
    "weights rise": ("laplace", {"runs": [[3, 5], [1, 6]]}, "decrease"),
    "weights fall too fast": ("laplace", {"runs": [[3, 10**9], [1, 1]]}, "next period"),
    "reach too short": ("laplace", {"reach": 1}, "reach"),
    "signs less likely": ("signs-5", {"threshold": "77"}, "likelier"),
    "corners less likely": ("corners-4-2", {"threshold": str(WORD // 4)}, "likelier"),
    "corners near but one": ("corners-3-3", {"near": 4}, "near"),
    "cube less likely": ("cube-4-3-2", {"threshold": "77"}, "likelier"),
    "cube of too many": ("cube-4-3-2", {"sample": 5}, "sample"),
    "cube of half": ("cube-5-4-3", {"agree": 2}, "agree"),
    "cells of all": ("cells-sets-2-3", {"weight": 6}, "weight"),
    "cells of none": ("cells-sets-2-3", {"weight": 0}, "weight"),
    "rows less likely": ("rows-4-2-3-1", {"threshold": "77"}, "likelier"),
    "rows of all": ("rows-4-2-3-1", {"weight": 4}, "weight"),
    "one row": ("rows-2-1-2-1", {"rows": 1}, "number of rows"),
    "too many rows": ("rows-2-1-2-1", {"rows": 4098}, "number of rows"),
    "rows too long": ("rows-4-2-3-1", {"size": 16385}, "65536 cells"),
    "rows with too few levels": ("rows-3-2-4-2-uneven", {"levels": [-1, 1]}, "one level per cell"),
    "rows with lopsided levels": ("rows-3-2-4-2-uneven", {"levels": [-9, -3, 3, 8]}, "antisymmetric"),
    "rows with levels that fall": ("rows-3-2-4-2-uneven", {"levels": [-9, 3, -3, 9]}, "not decrease"),
    "rows with flat levels": ("rows-3-2-4-2-uneven", {"levels": [0] * 4}, "larger sum"),
    "rows as wide as all": ("rows-3-2-4-2-uneven", {"width": 4}, "width"),
    "geometry less likely": ("geometry-13-3-3", {"threshold": str(WORD // 8)}, "likelier"),
    "geometry of no field": ("geometry-13-3-3", {"order": 6}, "prime"),
    "geometry of a power that is too large": ("geometry-13-3-3", {"order": 169, "size": 20000}, "power"),
    "geometry of huge order": ("geometry-13-3-3", {"order": 2053, "size": 4000000}, "order"),
    "geometry of two digits": ("geometry-13-3-3", {"digits": 2, "size": 4}, "digits"),
    "geometry of more digits than needed": ("geometry-13-3-3", {"digits": 4}, "size"),
    "geometry with too many points": ("geometry-13-3-3", {"digits": 22, "size": 4000000}, "points"),
    "geometry with too many categories": ("geometry-13-3-3", {"size": 14}, "size"),
    "cells less likely": ("cells-4-3", {"threshold": "77"}, "likelier"),
    "cells too many": ("cells-4-3", {"sizes": [64, 65]}, "4096"),
    "cells of nothing": ("cells-4-3", {"sizes": []}, "attributes"),
    "one category in cells": ("cells-4-3", {"sizes": [4, 1]}, "categories"),
    "shares do not add up": ("mixture", {"shares": ["1", "2"]}, "add up"),
    "other bit never": ("oue-6", {"other": "0"}, "other bits"),
    "true bit never": ("oue-6", {"true": "0"}, "true bit"),
    "one category": ("oue-6", {"size": 1}, "size"),
    "too many categories": ("oue-6", {"size": 4098}, "size"),
    "too many categories in sets": ("subset-9", {"size": 4098}, "size"),
    "threshold with a leading zero": ("grr-2", {"threshold": "01"}, "leading zeros"),
    "a share of nothing": ("mixture", {"shares": ["0", str(WORD - 1)]}, "share of a part"),
    "ladder less likely": ("ladder-6-3", {"threshold": str(6 << 24)}, "likelier"),
    "ladder of two knots": ("ladder-6-3", {"knots": [0, 1]}, "3 to 129 knots"),
    "ladder of too many knots": ("ladder-6-3", {"knots": [*range(130)]}, "3 to 129 knots"),
    "ladder that begins above 0": ("ladder-6-3", {"knots": [1, 2, 3, 4, 8, 16]}, "rise from 0"),
    "ladder with a step of nothing": ("ladder-6-3", {"knots": [0, 1, 1, 4, 8, 16]}, "rise from 0"),
    "ladder with a step down": ("ladder-6-3", {"knots": [0, 2, 1, 4, 8, 16]}, "rise from 0"),
    "ladder too high": ("ladder-6-3", {"knots": [0, 1, 2, 4, 8, 2**44 + 1]}, "knot of a ladder"),
    "ladder as wide as all": ("ladder-6-3", {"width": 6}, "width"),
    "ladder with a threshold of no multiple": ("ladder-6-3", {"threshold": "12345678901234567891"}, "must divide"),
    "ladder with a rest of no multiple": ("ladder-6-3", {"threshold": str(WORD // 4 * 3 // 3 * 3)}, "must divide"),
    "one part": (
        "mixture",
        {"shares": [str(WORD - 1)], "parts": [small_window(Fraction(1), 7, 2).to_json()]},
        "2 to 8",
    ),
    "nine parts": ("mixture", {"parts": [small_window(Fraction(1), 7, 2).to_json()] * 9}, "2 to 8"),
    "a part of another kind": ("mixture", {"parts": [grr(Fraction(1), 2).to_json()] * 2}, "window"),
    "steps too many": ("laplace", {"runs": [[4096, 2], [1, 1]], "reach": 8000, "decays": ["1", "1"]}, "4096 steps"),
    "reach too long": ("laplace", {"reach": 32769}, "32768"),
    "size too large": ("window-5-2", {"size": 32769}, "32768"),
    "shares too many": ("mixture", {"shares": ["1", "2", "3"]}, "one share per part"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_channel_does_not_load(case: str) -> None:
    name, change, rule = BROKEN[case]
    with pytest.raises(PlanError, match=rule):
        from_json(SMALL[name](Fraction(1)).to_json() | change)


def test_limits_are_reached() -> None:
    half = WORD // 2
    assert Window(32768, 16384, half + (1 << 38), "even").alphabet.size == 32768
    assert Additive(((1, 1),), decays_of(Fraction(1, 1000), 1, 32768), 32768).alphabet.size == 1 + 2 * 32768
    assert Additive(((4096, 1),), (1, 1), 4096).steps == 4096
    eight = Mixture((WORD // 8,) * 8, (small_window(Fraction(1), 7, 2),) * 8)
    assert len(eight.parts) == 8


def test_constructors_refuse_what_json_cannot_say() -> None:
    window = small_window(Fraction(1), 7, 2)
    broken: list[Callable[[], object]] = [
        lambda: Mixture([WORD // 2, WORD // 2], (window, window)),  # type: ignore[arg-type]
        lambda: Mixture((WORD // 2, WORD // 2), [window, window]),  # type: ignore[arg-type]
        lambda: Mixture((WORD // 2, WORD // 2), (window, grr(Fraction(1), 2))),  # type: ignore[arg-type]
        lambda: Subset(5, 1, WORD),
        lambda: Subset(5, 1, True),
        lambda: Subset(5, 1, 1.5),  # type: ignore[arg-type]
        lambda: Window(5, 2, 0),
        lambda: Window(5, 2, window.threshold, [1, 2]),  # type: ignore[arg-type]
        lambda: Additive([(1, 1)], (1, 1), 2),  # type: ignore[arg-type]
        lambda: Additive(([1, 1],), (1, 1), 2),  # type: ignore[arg-type]
    ]
    for make in broken:
        with pytest.raises(PlanError):
            make()


def broken_twin(channel: Channel) -> Channel:
    """The same channel with a threshold that is too high by one part in a thousand."""
    values = channel.to_json()
    values["threshold"] = str(int(values["threshold"]) + WORD // ROUNDING // 2000 * 2 * ROUNDING)
    return from_json(values)


@pytest.mark.parametrize(
    "name",
    [
        "duchi",
        "grr-5",
        "subset-9",
        "signs-5",
        "cube-4-3-2",
        "corners-4-2",
        "geometry-9-4-3",
        "geometry-15-2-4",
        "cells-4-3",
        "cells-sets-2-3",
        "rows-4-2-3-1",
        "ladder-3-1",
    ],
)
def test_the_exact_check_catches_a_threshold_that_is_too_high(name: str) -> None:
    channel = broken_twin(SMALL[name](Fraction(1)))
    assert largest_ratio(channel, [*channel.states()]) > exp_floor(Fraction(1))
