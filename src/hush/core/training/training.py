"""The public description of a training, fixed before it starts: features, label, loss, rounds, steps, channel.

All of it may be chosen freely without affecting the privacy of a report: a report is as private as the plan of its
round, whatever the person was asked about. The schema and the label also decide who can answer at all. A record is
checked against them and nothing else of a training, and a ledger keeps them (`hush.core.training.descriptions`).
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from hush.core import codec
from hush.core.plan import MAX_EPSILON, MIN_EPSILON, Plan
from hush.core.schema import MAX_ATTRIBUTES, Numeric, Record, Schema
from hush.core.training.features import Features, Part
from hush.core.training.labels import Label, check_label
from hush.core.training.losses import Loss, loss_named
from hush.core.training.maps import Lift, Map, RandomMap, TableMap, lift
from hush.core.training.rotations import padded, projection
from hush.errors import DesignError

if TYPE_CHECKING:
    from hush.core.training.courses import Course

VECTOR = "vector"
# The numeric mechanisms of `hush.core.design`, which a device does not load: a test compares the two lists.
MECHANISMS = (
    *("minimax", "hybrid", "piecewise", "piecewise-sub", "duchi", "laplace", "scdf", "staircase"),
    *("duchi-multi", "cube"),
)
GRADIENTS = (VECTOR, *MECHANISMS)
MAX_ROUNDS = 1 << 20
MAX_NAME = 128
LARGEST = 1e40  # for a weight, and for a feature once it is centred and scaled: no product of them overflows
SIZES = (
    1e-100,
    1e100,
)  # least and largest of a centre or a scale, so that no feature is subnormal before it is flushed
_TINY = 1e-150  # no product of two larger numbers is subnormal


@dataclass(frozen=True)
class Training:
    """A training, before its first round.

    `schema` describes a record: names, bounds, categories. `hush.Features` turns a record into numbers from -1 to 1,
    using this public knowledge only. The model predicts the `label`. For the squared loss the label is a number, as in
    Numeric("income", 0, 5000): the lower bound becomes -1 and the upper 1. For the logistic and the hinge loss it has
    two classes, as in Categorical("bought", ["no", "yes"]): the first becomes -1 and the second 1. A device refuses
    records and labels that do not fit. A boolean is neither a number nor a class: declare two strings or integers.

    With `intercept`, a constant 1 is one more feature. `centre` is subtracted from the features, which are then divided
    by `scale`. `ordered` names categories whose values are listed in their order: the place of the value is then one
    more feature. A label of more than two classes has one training for each: `against` is the place of the class that
    this training tells apart from all others. `gradient` is "vector", for gradients of length at most `radius`, or the
    name of a numeric mechanism, for coordinates in [-bound, bound]; each person then reports k of them. The step of
    round t is `step`, divided by sqrt(t) if `decay`. `box` keeps the weights in [-box, box]. The outcome is the average
    of the weights over the last `tail` share of the rounds (0: the last weights); with `rising`, the n-th of them
    counts n times. `projection` is the number of features after a random projection. `selection` = (n1, n2, tau): after
    a round of n1 groups, n2 rounds ask only about the coordinates whose gradient is larger than tau. `start` are the
    first weights. `cap` bounds the loss that held-out people report. `seed` makes the public random matrices. A device
    takes part once under a title, whatever the seed: a new training needs a new title. `map` adds public functions of
    the features as further features (`hush.RandomMap`, `hush.TableMap`).
    """

    title: str
    loss: str
    schema: Schema
    label: Label
    epsilon: float
    rounds: int
    step: float
    gradient: str = VECTOR
    radius: float = 1.0
    bound: float = 1.0
    k: int | str = "best"
    penalty: float = 1e-4
    decay: bool = False
    box: float | None = None
    tail: float = 0.5
    rising: bool = False
    intercept: bool = True
    ordered: tuple[str, ...] = ()
    centre: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None
    projection: int | None = None
    selection: tuple[int, int, float] | None = None
    start: tuple[float, ...] | None = None
    cap: float = 2.0
    against: int | None = None
    map: Map | None = None
    seed: str = field(default_factory=lambda: os.urandom(8).hex())

    def __post_init__(self) -> None:
        for name in ("title", "seed"):
            value = getattr(self, name)
            if type(value) is not str or not value or len(value) > MAX_NAME or not value.isprintable():
                raise DesignError(f"the {name} of a training must be 1 to {MAX_NAME} printable characters")
        if not isinstance(self.schema, Schema):
            raise DesignError("the schema of a training must be a hush.Schema")
        check_label(self.label, self.schema, loss_named(self.loss), self.against)
        codec.integer(self.dimensions, 1, MAX_ATTRIBUTES - 1, DesignError, "the number of features")
        codec.integer(self.rounds, 1, MAX_ROUNDS, DesignError, "the number of rounds")
        for name in ("epsilon", "step", "radius", "bound", "cap"):
            _number(getattr(self, name), name, above=0.0)
        if not MIN_EPSILON <= self.epsilon <= MAX_EPSILON:
            raise DesignError(f"epsilon must be from {float(MIN_EPSILON)} to {float(MAX_EPSILON)}")
        _number(self.penalty, "penalty", least=0.0)
        _number(self.tail, "tail", least=0.0)
        if self.tail > 1:
            raise DesignError("tail must be at most 1")
        if self.box is not None:
            _number(self.box, "box", above=0.0)
        for name in ("decay", "intercept", "rising"):
            if type(getattr(self, name)) is not bool:
                raise DesignError(f"{name} must be true or false")
        if self.gradient not in GRADIENTS:
            raise DesignError(f"gradient must be one of: {', '.join(GRADIENTS)}")
        if self.k not in ("best", "paper"):
            codec.integer(self.k, 1, MAX_ATTRIBUTES, DesignError, "k, unless it is 'best' or 'paper',")
        if self.projection is not None:
            codec.integer(self.projection, 1, self.dimensions, DesignError, "the projection")
        if self.selection is not None:
            _check_selection(self.selection)
        if self.map is not None:
            self._check_map()
        for name, size in (("centre", self.dimensions), ("scale", self.dimensions), ("start", self.width)):
            _check_numbers(getattr(self, name), size, name)
        if not all(x == 0 or _is_plain(abs(x)) for x in self.centre or ()):
            raise DesignError("centre needs numbers that are 0, or from {:g} to {:g} in size".format(*SIZES))
        if not all(map(_is_plain, self.scale or ())):
            raise DesignError("scale needs numbers from {:g} to {:g}".format(*SIZES))

    def _check_map(self) -> None:
        if not isinstance(self.map, RandomMap | TableMap):
            raise DesignError("the map of a training must be a hush.RandomMap or a hush.TableMap")
        if self.projection is not None:
            raise DesignError("a training has a map or a projection, not both")
        codec.integer(self.width, 1, MAX_ATTRIBUTES, DesignError, "the number of features and units")
        self.map.table(self.parts)

    @classmethod
    def design(
        cls,
        schema: Schema,
        label: Label,
        *,
        epsilon: float,
        people: int,
        loss: str | None = None,
        title: str = "training",
        pilot: float | None = None,
        rounds: int | None = None,
        step: float | None = None,
        radius: float | None = None,
        tail: float | None = None,
        **settings: Any,
    ) -> Course:
        """Return the whole course of a training: pilot, rounds, channel, and who takes part in what.

        All of it is public before anybody answers. A collector runs it by itself (`hush serve --training COURSE.json`):
        the first people answer the pilot, which decides about scales, clipping, the start, rounds and steps, and all
        others answer one round each. Loss: "logistic" or "hinge" for classes, "squared" for numbers; by default the
        first or the last of these. A label with more than two classes has one training for each, and people // classes
        people in each. `pilot` is the share of people who answer first. It, `rounds`, `step`, `radius` and `tail` are
        chosen by rules unless they are given. `settings` are further fields of a training, as `ordered` or `penalty`.

        Warns if there are too few people to learn much.
        """
        from hush.core.design.courses import designed

        wishes = {"rounds": rounds, "step": step, "radius": radius, "tail": tail}
        return designed(schema, label, loss, epsilon, people, title, pilot, wishes, settings)

    # -- sizes

    @property
    def loss_function(self) -> Loss:
        """The loss itself."""
        return loss_named(self.loss)

    @cached_property
    def _features(self) -> Features:
        return Features(self.schema, self.ordered)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The groups of features that belong together."""
        return self._features.parts

    @property
    def dimensions(self) -> int:
        """How many features there are: a number is one, a category with k values is k - 1, or k if it is ordered."""
        return len(self._features.names)

    @property
    def width(self) -> int:
        """How many weights there are."""
        return self.projection if self.projection is not None else self.dimensions + self.unit_count + self.intercept

    @property
    def unit_count(self) -> int:
        """How many units the map has; 0 if there is no map."""
        return 0 if self.map is None else self.map.units

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features, and of the units of the map behind them: those that `model` has a number for."""
        return (*self._features.names, *(f"unit {i}" for i in range(1, self.unit_count + 1)))

    def units(self, number: int) -> int:
        """Return how many groups take part in a round: 1, or n1 in those that select coordinates."""
        return self.selection[0] if self.selection is not None and self.is_wide(number) else 1

    def is_wide(self, number: int) -> bool:
        """Return whether a round asks about all coordinates."""
        return self.selection is None or (number - 1) % (1 + self.selection[1]) == 0

    # -- features

    @cached_property
    def matrix(self) -> list[list[float]] | None:
        """The public projection, if there is one."""
        if self.projection is None:
            return None
        return projection(self.seed, self.projection, self.dimensions + self.intercept)

    def plain(self, record: Record) -> list[float]:
        """Return a person's features as a pilot asks about them: neither centred nor scaled. It runs on the device."""
        return self._features.of(record)

    def features(self, record: Record) -> list[float]:
        """Return the factors of the weights: a person's features, centred, scaled, with a 1 appended, projected.

        Only the schema decides whether a record is refused. Values that centre and scale make too large to compute
        with are clipped: a device that failed instead would reveal that its features are large.
        """
        values = self._scaled(self._features.of(record))
        if self.lift is not None:
            values += [flushed(value) for value in self.lift.of(values)]
        if self.intercept:
            values.append(1.0)
        if self.matrix is None:
            return values
        return [flushed(dot(row, values)) for row in self.matrix]

    def _scaled(self, values: list[float]) -> list[float]:
        if self.centre is not None:
            values = [a - b for a, b in zip(values, self.centre, strict=True)]
        if self.scale is not None:
            values = [a / b for a, b in zip(values, self.scale, strict=True)]
        return [flushed(min(max(value, -LARGEST), LARGEST)) for value in values]

    @cached_property
    def lift(self) -> Lift | None:
        """The map, for the centres and scales of this training, if there is one."""
        return None if self.map is None else lift(self.map, self.parts, self.centre, self.scale)

    def mapped(self, record: Record) -> list[float]:
        """Return the numbers that belong to the coefficients of `model`: features, and units of the map behind them."""
        values = self._features.of(record)
        return values if self.lift is None else values + self.lift.raw(self._scaled(values))

    def model(self, weights: Sequence[float]) -> tuple[list[float], float]:
        """Return coefficients of the features of the schema (`hush.Features`), and the intercept.

        With a map, coefficients of its units follow. The score of a record is the sum of `mapped(record)` times the
        coefficients, and the intercept.
        """
        found = list(weights)
        if self.matrix is not None:
            found = [math.fsum(column) for column in zip(*_scaled(self.matrix, found), strict=True)]
        intercept = found.pop() if self.intercept else 0.0
        found, more = found[: len(found) - self.unit_count], found[len(found) - self.unit_count :]
        if self.scale is not None:
            found = [w / s for w, s in zip(found, self.scale, strict=True)]
        if self.centre is not None:
            intercept -= math.fsum(c * w for c, w in zip(self.centre, found, strict=True))
        if self.lift is not None:
            more = [w * factor for w, factor in zip(more, self.lift.factor, strict=True)]
            intercept -= math.fsum(c * w for c, w in zip(self.lift.centre, more, strict=True))
        return found + more, intercept

    # -- plans

    @property
    def family(self) -> str:
        """The beginning of the titles of all plans of this training.

        Each person answers one of these plans, and none of another training with the same name (`names`).
        """
        return f"{self.title} [{self.seed}]: "

    @property
    def branch(self) -> str:
        """The part of a title that says which class is told apart; empty if there are two classes, or none."""
        return "" if self.against is None else f"class {self.against + 1}, "

    @property
    def name(self) -> str:
        """The name of this training in a collector: its title, and the class if there is a training for each."""
        return self.title if self.against is None else f"{self.title} (class {self.against + 1})"

    def round_title(self, number: int) -> str:
        """Return the title of the plan of a round."""
        return f"{self.family}{self.branch}round {number}"

    def fits(self, plan: Plan, number: int, coordinates: int) -> bool:
        """Return whether a plan asks the questions of this round, for its epsilon.

        The channel need not be the best one, and this method designs nothing: a device uses it to check the plan that
        a server sends, and a server could otherwise make it search for the best channel of a thousand coordinates.
        """
        size = padded(coordinates) if self.gradient == VECTOR else coordinates
        right = plan.title == self.round_title(number) and plan.cost == cost_of(self.epsilon)
        return right and plan.after is None and plan.schema == gradient_schema(size)


@lru_cache(maxsize=64)
def gradient_schema(size: int) -> Schema:
    """Return the schema of gradients: `size` numbers from -1 to 1."""
    return Schema([Numeric(f"g{j}", -1, 1) for j in range(size)])


def cost_of(epsilon: float) -> Fraction:
    """Return epsilon as the decimal number that the user wrote."""
    return Fraction(repr(float(epsilon)))


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the sum of products, added from left to right: the work does not depend on the numbers.

    `math.fsum`, and `sum` from Python 3.12 on, are more precise, but their work depends on which numbers are larger.
    """
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def flushed(value: float) -> float:
    """Return 0 for numbers so small that processors may be slow with them: the time would reveal such numbers."""
    return value if abs(value) > _TINY else 0.0


def _scaled(matrix: list[list[float]], factors: Sequence[float]) -> list[list[float]]:
    return [[factor * entry for entry in row] for row, factor in zip(matrix, factors, strict=True)]


def is_number(value: object) -> bool:
    """Return whether a value is a finite number that a float can hold, and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _number(value: Any, name: str, *, above: float = -math.inf, least: float = -math.inf) -> None:
    if not is_number(value) or not above < value or value < least:
        raise DesignError(
            f"{name} must be a finite number {f'above {above:g}' if above == 0 else f'of at least {least:g}'}"
        )


def _check_selection(selection: object) -> None:
    if type(selection) is not tuple or len(selection) != 3:
        raise DesignError("selection needs three numbers: n1, n2 and tau")
    codec.integer(selection[0], 1, MAX_ROUNDS, DesignError, "n1, of the selection,")
    codec.integer(selection[1], 1, MAX_ROUNDS, DesignError, "n2, of the selection,")
    _number(selection[2], "tau, of the selection,", least=0.0)


def _is_plain(size: float) -> bool:
    return SIZES[0] <= size <= SIZES[1]


def _check_numbers(values: object, size: int, name: str) -> None:
    if values is None:
        return
    if type(values) is not tuple or len(values) != size:
        raise DesignError(f"{name} needs {size} numbers")
    for value in values:
        if not is_number(value):
            raise DesignError(f"{name} needs finite numbers")
