"""The privacy of a gradient, exactly: small rounds whose whole law is listed in rational arithmetic.

A device does all its float work first: a gradient, its length, its rotation, a record of numbers from -1 to 1. What is
enumerated here is everything after that, for the records that real people of a real round have: the random rounding to
signs, the coordinates drawn, and the corner reported. Vectors are padded to four or six dimensions, not 64, so that
it can be done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from hush import Plan, PlanError, RecordError, Round
from hush.core.channels import Channel, Coins, Corners, Cube, Output, State
from hush.core.plan import Question
from hush.core.training import rotations
from hush.core.training.training import gradient_schema
from hush.device.gradient import gradient_record
from tests.cases import branches, exp_floor, small_cube
from tests.learn.cases import first, person

Law = dict[Output, Fraction]

PEOPLE = [
    ([1.0, 1.0, 1.0], 1),
    ([-1.0, -1.0, -1.0], 1),  # the opposite gradient, but for the intercept
    ([1.0, 1.0, 1.0], -1),
    ([0.3, -0.2, 0.1], 1),  # interior: shorter than the radius
    ([0.3, -0.2, 0.1], -1),
    ([0.0, 0.0, 0.0], 1),
    ([1.0, -1.0, 0.0], -1),
    ([1e-9, 0.0, 1.0], 1),
]
SHAPES = [(1, 1), (2, 2), (3, 2), (3, 3), (4, 3), (4, 4)]  # signs reported, and how many must agree
EPSILONS = [Fraction(1, 2), Fraction(1), Fraction(4)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotations, "MIN_SIZE", 4)


def small_round(epsilon: Fraction, sample: int, agree: int, **changes: object) -> Round:
    """A round of vector gradients in four dimensions with a channel of this shape."""
    round_ = first(epsilon=float(epsilon), radius=0.7, **changes)
    names = round_.plan.schema.names
    assert len(names) == 4
    plan = replace(round_.plan, questions=(Question(names, small_cube(epsilon, 4, sample, agree)),))
    return replace(round_, plan=plan)


@cache
def drawn(channel: Channel, state: State) -> Law:
    """The law of the sampler itself: every path that it can take."""
    return branches(lambda coins: channel.draw(state, coins))


def report_law(plan: Plan, record: dict[str, float]) -> Law:
    """The exact law of a report, the rounding of the record included."""
    channel = plan.questions[0].channel
    law: Law = {}
    for state, weight in channel.rounding(plan.schema.encode(record)).items():
        for output, probability in drawn(channel, state).items():
            law[output] = law.get(output, Fraction(0)) + weight * probability
    return law


def largest_ratio(laws: list[Law]) -> Fraction:
    """The largest quotient of one report's probabilities under two people; infinite ones are not for Fractions."""
    assert all(law.keys() == laws[0].keys() for law in laws)
    return max(max(law[output] for law in laws) / min(law[output] for law in laws) for output in laws[0])


def laws_of(round_: Round) -> list[Law]:
    return [report_law(round_.plan, gradient_record(round_, person(x), y)) for x, y in PEOPLE]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_report_is_more_than_e_to_the_epsilon_likelier_for_anybody(
    shape: tuple[int, int], epsilon: Fraction
) -> None:
    round_ = small_round(epsilon, *shape)
    laws = laws_of(round_)
    assert all(sum(law.values()) == 1 for law in laws)
    found = largest_ratio(laws)
    assert found <= round_.plan.ratio <= exp_floor(epsilon)
    assert found == round_.plan.ratio  # the first two people have opposite signs at full length: nothing is given away


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("weights", [(0.5, -2.0, 0.1, 1.0), (30.0, -30.0, 30.0, 30.0)])
def test_nor_at_other_weights_or_for_other_losses(weights: tuple[float, ...]) -> None:
    for loss in ("logistic", "hinge"):
        round_ = replace(small_round(Fraction(2), 3, 2, loss=loss), weights=weights)
        assert largest_ratio(laws_of(round_)) <= round_.plan.ratio <= exp_floor(Fraction(2))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_the_designed_plan_is_private_too(epsilon: float) -> None:
    round_ = first(epsilon=epsilon, radius=0.7)
    assert isinstance(round_.plan.questions[0].channel, Corners | Cube)
    assert largest_ratio(laws_of(round_)) == round_.plan.ratio <= exp_floor(Fraction(epsilon))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_decoded_report_is_the_record_on_average(shape: tuple[int, int], epsilon: Fraction) -> None:
    """Exactly, up to the resolution of the rounding: chances are multiples of 2^-53, and a number from -1 to 1 is held
    as (1 + t)/2, itself rounded to a float. Together that is less than 2^-51."""
    round_ = small_round(epsilon, *shape)
    channel = round_.plan.questions[0].channel
    for x, y in PEOPLE:
        record = gradient_record(round_, person(x), y)
        law = report_law(round_.plan, record)
        for j, value in enumerate(record.values()):
            mean = sum((chance * channel.decode(output)[j] for output, chance in law.items()), Fraction(0))
            assert abs(mean - Fraction(value)) < Fraction(1, 2**51)
            if value in (-1.0, 0.0, 1.0):
                assert mean == Fraction(value)


@pytest.mark.parametrize("shape", [(5, 1, 1), (6, 1, 1), (6, 2, 2), (5, 3, 2)])
def test_a_few_signs_of_more_dimensions(shape: tuple[int, int, int]) -> None:
    """The channel alone, for signs of all lengths: interior ones mix corners, which only brings laws together."""
    channel = small_cube(Fraction(2), *shape)
    schema = gradient_schema(shape[0])
    plan = Plan(schema, Fraction(2), 1, (Question(schema.names, channel),))
    signs = [1, -1, 1, 1, -1, -1][: shape[0]]
    previous = Fraction(1)
    for length in (0.0, 0.25, 0.5, 1.0):
        laws = [report_law(plan, {f"g{j}": side * length * sign for j, sign in enumerate(signs)}) for side in (-1, 1)]
        found = largest_ratio(laws)
        assert found <= plan.ratio <= exp_floor(Fraction(2))
        assert found > previous or length == 0.0
        previous = found
    assert previous == plan.ratio


# -- twins


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_threshold_one_step_too_high_is_refused(shape: tuple[int, int]) -> None:
    round_ = small_round(Fraction(1), *shape)
    channel = round_.plan.questions[0].channel
    assert isinstance(channel, Cube)
    leaky = replace(channel, threshold=channel.threshold + 1)
    assert leaky.ratio > exp_floor(Fraction(1)) * (1 - Fraction(1, 10**60))
    with pytest.raises(PlanError, match="costs more than epsilon"):
        replace(round_.plan, questions=(Question(round_.plan.schema.names, leaky),))


class Eager(Cube):
    """Says the right numbers about itself, but takes the near corners a little too often: by 1 %."""

    def draw(self, state: State, coins: Coins) -> Output:
        more = Cube(self.size, self.sample, self.agree, self.threshold + self.threshold // 100)
        return more.draw(state, coins)


class Telling(Cube):
    """Reports the dimensions at the end only if the first sign is a plus: a set that depends on the input."""

    def draw(self, state: State, coins: Coins) -> Output:
        assert isinstance(state, int)
        output = super().draw(state, coins)
        assert isinstance(output, tuple)
        return output if state & 1 else tuple(member for member in range(0, 2 * self.sample, 2))


def mutants(channel: Cube) -> Iterator[Cube]:
    for kind in (Eager, Telling):
        yield kind(channel.size, channel.sample, channel.agree, channel.threshold)


@pytest.mark.usefixtures("small")
def test_channels_that_leak_are_caught_by_the_same_enumeration() -> None:
    round_ = small_round(Fraction(1), 2, 2)
    channel = round_.plan.questions[0].channel
    assert isinstance(channel, Cube)
    caught = []
    for mutant in mutants(channel):
        plan = replace(round_.plan, questions=(Question(round_.plan.schema.names, mutant),))
        laws = [report_law(plan, gradient_record(round_, person(x), y)) for x, y in PEOPLE]
        outputs = set().union(*laws)
        full = [{output: law.get(output, Fraction(0)) for output in outputs} for law in laws]
        impossible = any(not law[output] for law in full for output in outputs)
        caught.append(impossible or largest_ratio(full) > exp_floor(Fraction(1)))
    assert caught == [True, True]


@pytest.mark.usefixtures("small")
def test_a_gradient_that_was_not_clipped_is_refused() -> None:
    """Lengths above the radius have no place in the channel: were the clipping forgotten, the schema would notice."""
    round_ = small_round(Fraction(1), 2, 2)
    record = gradient_record(round_, person([1.0, 1.0, 1.0]), 1)
    assert max(map(abs, record.values())) == 1.0
    with pytest.raises(RecordError):
        round_.plan.schema.encode({name: 1.5 * value for name, value in record.items()})
