"""Vectors of trainings: rounds and stages, people, words, and the reports that they give."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from hush.core.calendar import Date
from hush.core.channels import Corners
from hush.core.coins import Coins
from hush.core.design.courses import stage_plan
from hush.core.design.rounds import check_of, round_plan
from hush.core.exact import WORD
from hush.core.kinds import Boolean, Integer
from hush.core.schema import Categorical, Numeric, Schema
from hush.core.training.checks import Asked, Check
from hush.core.training.directions import pointed
from hush.core.training.losses import exponential, softplus
from hush.core.training.maps import RandomMap
from hush.core.training.rotations import rotate, seeded_signs
from hush.core.training.rounds import Round
from hush.core.training.stages import Stage, clipped, shrunk, stage_names
from hush.core.training.training import Training
from hush.device.gradient import gradient_record, loss_record
from hush.device.pilot import pilot_record
from hush.device.randomise import randomise_from
from hush.testing import ListedCoins, RecordedCoins, SeededCoins
from spec.good import person, vector
from spec.maps import table
from spec.twins import TWINS, fused_shrunk, twin

PEOPLE = Schema(
    [
        Numeric("age", 18, 90),
        Numeric("income", 0, 100_000, out_of_range="clip", optional=True),
        Categorical("système", ["linux", "mac", "ウィンドウズ"], other=True),
        Categorical("school", [1, 2, 3, 5], optional=True),
        Boolean("smokes"),
        Integer("children", 0, 10, out_of_range="clip"),
        Date("born", "1920-01-01", "2010-12-31", optional=True),
    ]
)
BOUGHT = Categorical("bought", ["no", "yes"])
SPENT = Numeric("spent", 0, 500)
ORDERED: dict[str, Any] = {"ordered": ("school",)}
CRAFTED: dict[str, tuple[tuple[str, int], ...]] = {
    "logistic": (
        ("fused sums of products", 62),
        ("fused sums of products", 64),
        ("sums that are rounded once", 28),
        ("sums that are rounded once", 40),
        ("sums from the last to the first", 28),
        ("sums from the last to the first", 40),
        ("another exponential", 9),
        ("another exponential", 11),
    ),
    "hinge": (
        ("fused sums of products", 70),
        ("fused sums of products", 99),
        ("sums that are rounded once", 41),
        ("sums that are rounded once", 50),
        ("sums from the last to the first", 6),
        ("sums from the last to the first", 10),
    ),
    "squared": (
        ("fused sums of products", 6),
        ("fused sums of products", 14),
        ("sums that are rounded once", 3),
        ("sums that are rounded once", 6),
        ("sums from the last to the first", 3),
        ("sums from the last to the first", 6),
    ),
    "one": (
        ("butterflies from the largest distance on", 6),
        ("butterflies from the largest distance on", 8),
    ),
    "two": (
        ("fused sums of products", 77),
        ("fused sums of products", 98),
        ("another exponential", 0),
        ("another exponential", 1),
    ),
    "wide": (
        ("fused sums of products", 5),
        ("fused sums of products", 21),
        ("sums that are rounded once", 5),
        ("sums that are rounded once", 9),
        ("sums from the last to the first", 5),
        ("sums from the last to the first", 9),
    ),
    "classes": (
        ("fused sums of products", 10),
        ("fused sums of products", 32),
        ("sums that are rounded once", 32),
        ("sums that are rounded once", 40),
        ("sums from the last to the first", 17),
        ("sums from the last to the first", 24),
        ("another exponential", 0),
        ("another exponential", 1),
        ("fused squares", 2),
    ),
    "projected": (
        ("fused sums of products", 15),
        ("fused sums of products", 18),
        ("sums that are rounded once", 14),
        ("sums that are rounded once", 23),
        ("sums from the last to the first", 23),
        ("sums from the last to the first", 30),
        ("another exponential", 0),
        ("another exponential", 1),
    ),
    "selected": (
        ("fused sums of products", 27),
        ("fused sums of products", 77),
        ("sums that are rounded once", 54),
        ("sums that are rounded once", 116),
        ("sums from the last to the first", 54),
        ("sums from the last to the first", 83),
        ("another exponential", 0),
        ("another exponential", 1),
        ("butterflies from the largest distance on", 36),
    ),
}
"""People whose reports show a twin (`spec.twins`), by phase. `python -m spec.trainings` finds them."""


def training(schema: Schema = PEOPLE, label: Any = BOUGHT, **changes: Any) -> Training:
    """A training with a fixed seed."""
    given: dict[str, Any] = {"title": "who buys", "epsilon": 1.0, "rounds": 20, "step": 0.5, "seed": "5eed"}
    given["loss"] = "logistic" if isinstance(label, Categorical) else "squared"
    return Training(schema=schema, label=label, **(given | changes))


def numbers(seed: int, count: int, reach: float) -> tuple[float, ...]:
    """Numbers from -reach to reach."""
    pick = SeededCoins(seed)
    return tuple(reach * (pick.below(2**53) / 2**52 - 1) for _ in range(count))


def round_of(own: Training, number: int = 1, weights: Any = None, coordinates: Any = None) -> Round:
    """A round of a training, with these weights or some."""
    held = numbers(number, own.width, 1.5) if weights is None else weights
    chosen = tuple(range(own.width)) if coordinates is None else coordinates
    return Round(own, number, held, chosen, held, 0, round_plan(own, number, len(chosen)))


def estimates(seed: int, count: int) -> tuple[tuple[float, float], ...]:
    """Estimates and their standard errors, for which a fused difference in `shrunk` is another number."""
    pick = SeededCoins(seed)
    found: list[tuple[float, float]] = []
    while len(found) < count:
        point, error = pick.below(2**53) / 2**53 - 0.5, pick.below(2**53) / 2**54
        if clipped(shrunk(point, error), -1.0, 1.0) != fused_shrunk(point, error):
            found.append((point, error))
    return tuple(found)


def stages_of(own: Training, name: str) -> dict[str, Asked]:
    """All stages of a pilot."""
    found: dict[str, Asked] = {}
    known: tuple[Any, ...] = ()
    for index, stage in enumerate(stage_names(own)):
        plan = stage_plan(own, stage)
        found[f"{name}-{stage}"] = Stage(own, stage, known, plan)
        rows = sum(len(one.labels) if isinstance(one, Categorical) else 1 for one in plan.schema.attributes)
        known = (*known, estimates(80 + index, rows))
    return found


def tinies(two: Schema) -> dict[str, Asked]:
    """Weights, a slope and means that count as 0. The person in the middle shows it: features and target are 0."""
    large = training(
        two, SPENT, gradient="hybrid", bound=1e-40, intercept=False, centre=(1e-10, 0.5), scale=(1e-40, 1.0)
    )
    both = replace(large, bound=1e-115, centre=(1e-60, 1e-10), scale=(1.0, 1e-50))
    means = training(two, SPENT)
    known = (((9e-101, 0.0), (-1e-310, 0.0), (1.1e-100, 0.0)),)
    return {
        "tiny-weights": round_of(large, 1, (9e-101, -5e-324)),
        "tiny-slope": round_of(both, 1, (1.1e-100, 0.0)),
        "tiny-spreads": Stage(means, "spreads", known, stage_plan(means, "spreads")),
    }


def phases() -> dict[str, Asked]:
    """A round, stage or check for each file."""
    one = Schema([Numeric("x", -1, 1)])
    two = Schema([Numeric("x", 0, 1), Numeric("y", -2, 3)])
    wide = Schema([Numeric("x", -1, 1), Categorical("c", range(80))])
    centred = training(**ORDERED)
    d = centred.dimensions
    spread: dict[str, Any] = {
        "centre": numbers(7, d, 0.5),
        "scale": tuple(1.0625 + x for x in numbers(8, d, 1.0)),
        "radius": 1.75,
    }
    far = (1e100, -1e39, 0.25, 1e-100, 0.0, -1e100, *(0.0,) * (d - 6))
    tiny = (1e-100, 1e-99, 1e100, 1.0, 1e-40, 1e100, *(1.0,) * (d - 6))
    huge = tuple((-1e40, 1e40, 1e-160, 3e39)[j % 4] for j in range(d + 1))
    classes = Categorical("way", ["foot", "bike", "car"])
    found: dict[str, Asked] = {
        "logistic": round_of(replace(centred, **spread), 3),
        "hinge": round_of(training(loss="hinge", epsilon=4.0, radius=4.0, **ORDERED), 20),
        "squared": round_of(training(label=SPENT, epsilon=2.0, radius=2.5), 2),
        "one": round_of(training(one, loss="hinge", intercept=False, epsilon=2.0), 5, (0.25,)),
        "two": round_of(training(two, intercept=False, seed="é" * 128), 1),
        "wide": round_of(training(wide, label=SPENT, epsilon=3.0, radius=3.0), 1),
        "classes": round_of(training(two, classes, against=1, title="Wege ☂"), 12),
        "cube": round_of(training(two, epsilon=12.0), 4),
        "projected": round_of(training(projection=5, **ORDERED), 6, numbers(6, 5, 9.0)),
        "selected": round_of(training(selection=(2, 5, 0.1)), 2, None, (0, 3, 4, 11)),
        "coordinates": round_of(training(two, gradient="hybrid", bound=0.5, epsilon=4.0), 9),
        "signs": round_of(training(two, SPENT, gradient="duchi-multi", bound=0.75), 9),
        "far": round_of(training(centre=far[: d - 1], scale=tiny[: d - 1]), 1, huge[:d]),
    }
    for name in ("logistic", "hinge", "squared", "classes", "far"):
        now = found[name]
        assert isinstance(now, Round)
        found[f"check-{name}"] = check_of(now)
    far_off = training(two, SPENT, cap=1e200, epsilon=4.0)  # what is tiny beside the cap counts as 0
    found["check-cap"] = check_of(round_of(far_off, 2, (1e40, 3e25, 1e-160)))
    waves = replace(centred, map=RandomMap(40, 6, seed="waves"), **spread)
    units: dict[str, Training] = {
        "map-waves": waves,
        "map-plain": training(two, SPENT, map=RandomMap(5, seed="waves"), intercept=False),
        "map-relu": training(label=SPENT, map=table(d - 1, 12, "relu"), radius=90.0, cap=200.0),
        "map-table": replace(waves, map=table(d, 9, "wave"), epsilon=4.0),
    }
    found |= {name: round_of(own, 2) for name, own in units.items()}
    found["check-map"] = check_of(round_of(waves, 7))
    found["check-relu"] = check_of(round_of(units["map-relu"], 7))
    found |= tinies(two)
    found |= stages_of(centred, "classes-pilot") | stages_of(training(two, SPENT), "number-pilot")
    return found


def answer(phase: Asked, record: dict[str, Any], label: object) -> dict[str, Any]:
    """What a device reports on: a record of the phase's plan."""
    fresh = replace(phase, training=replace(phase.training))  # nothing is remembered from another arithmetic
    make: Any = pilot_record if isinstance(fresh, Stage) else gradient_record
    if isinstance(fresh, Check):
        make = loss_record
    found: dict[str, Any] = make(fresh, record, label)
    return found


def made(phase: Asked, record: dict[str, Any], label: Any, source: Coins) -> dict[str, Any]:
    """A vector."""
    asked = answer(phase, record, label)
    coins = RecordedCoins(source)
    report = randomise_from(coins, phase.plan, asked)
    held = vector(record, coins.words, report)
    return {"record": held.pop("record"), "label": label, "asked": [value + 0 for value in asked.values()]} | held


def differing(phase: Asked, right: list[float], wrong: list[float]) -> list[int] | None:
    """Words with which two records of a corners channel give different reports; None if there are none."""
    channel = phase.plan.questions[0].channel
    if not isinstance(channel, Corners) or right == wrong:
        return None
    near, other = ([j for j, value in enumerate(values) if value] for values in (right, wrong))
    if len(near) < channel.near or len(other) < channel.near:
        return None
    edge = 0
    for rank, (j, i) in enumerate(zip(near, other, strict=True)):
        low, high = sorted(math.ceil((one[j] + 1) / 2 * 2**53) for one in (right, wrong))
        if j == i and low == high:
            continue
        edge = low if j == i else 0
        # In the middle of the words that give this rank, far from those that are drawn again.
        return [edge << 11, 0, WORD // 3, ((2 * rank + 1) * WORD) // (2 * channel.near), 1, 2]
    return None


def someone(own: Training, number: int) -> tuple[dict[str, Any], Any]:
    """A record and a label: the first three at corners of the domain, and all others inside."""
    pick, corner = SeededCoins(3000 + number), number if number < 3 else None
    label = person(Schema([own.label]), pick, corner)
    return person(own.schema, pick, corner), label[own.label.name]


def words_against(phase: Asked, name: str, number: int) -> list[int] | None:
    """Words with which this person's report shows a twin, or None."""
    record, label = someone(phase.training, number)
    right = list(answer(phase, record, label).values())
    with twin(name):
        wrong = list(answer(phase, record, label).values())
    return differing(phase, right, wrong)


def crafted(phase: Asked, chosen: Iterable[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """Vectors that a device with another arithmetic gets wrong."""
    for name, number in chosen:
        words = words_against(phase, name, number)
        assert words is not None, "python -m spec.trainings finds people anew"
        yield made(phase, *someone(phase.training, number), ListedCoins(words))


def bad(own: Training) -> Iterator[dict[str, Any]]:
    """Records and labels that do not fit."""
    record, label = someone(own, 0)
    name = own.schema.names[0]
    yield {"why": "no record", "record": {}, "label": label}
    yield {"why": "another name", "record": record | {"other": 1}, "label": label}
    yield {"why": "out of range", "record": record | {name: 1e9}, "label": label}
    yield {"why": "a text for a number", "record": record | {name: "1"}, "label": label}
    yield {"why": "a boolean for a number", "record": record | {name: True}, "label": label}
    yield {"why": "no number", "record": record | {name: {"number": "NaN"}}, "label": label}
    yield {"why": "no label", "record": record, "label": None}
    yield {"why": "a label of another type", "record": record, "label": True}
    yield {"why": "a label that is not declared", "record": record, "label": "perhaps"}
    yield {"why": "a label out of range", "record": record, "label": 1000}


def vectors(name: str, phase: Asked) -> dict[str, Any]:
    """The whole file of one phase."""
    good = [made(phase, *someone(phase.training, number), SeededCoins(number)) for number in range(10)]
    return {
        "about": f"{name}: see spec/training.md",
        "phase": phase.to_json(),
        "good": [*good, *crafted(phase, CRAFTED.get(name, ()))],
        "bad": [*bad(phase.training)],
    }


def arithmetic() -> dict[str, Any]:
    """Exponentials, logarithms, signs, rotations and directions by themselves."""
    points = (0.0, 1.0, -1.0, 0.5, 63.99, -63.99, 64.0, 65.0, -1e300, 1e-300, 0.1, *numbers(1, 40, 64.0))
    signs = []
    for purpose, seed, count in (
        *(("rotation", "5eed/1", 128), ("projection", "5eed", 13), ("rotation", "é" * 128 + "/20", 2048)),
        *(("rotation", "x" * length, 8) for length in (121, 122, 123, 258)),  # where blocks of SHAKE-256 end
    ):
        bits = sum((sign > 0) << i for i, sign in enumerate(seeded_signs(purpose, seed, count)))
        text = bits.to_bytes((count + 7) // 8, "little").hex()
        signs.append({"purpose": purpose, "seed": seed, "count": count, "bits": text})
    lengths = enumerate((1, 2, 7, 64, 65, 80, 100, 128))
    rotated = [
        {"seed": f"5eed/{i}", "vector": [*numbers(i, n, 2.0)], "turned": rotate(numbers(i, n, 2.0), f"5eed/{i}")}
        for i, n in lengths
    ]
    # The coordinates of one rotated number are multiples of 1/8: whether they are equal is decided by their rounding.
    alone = [rotate((x,), f"5eed/{i}") for i, x in enumerate(numbers(11, 12, 1.0))]
    zero, ties = (0.0,) * 64, tuple(float(j % 3 - 1) for j in range(64))
    near = [
        {"vector": [*values], "size": size, "near": m, "record": [x + 0 for x in pointed(values, size, m)]}
        for values in (zero, ties, numbers(3, 64, 1e-120), numbers(5, 64, 9e-151), numbers(4, 64, 1e40), *alone)
        for size, m in ((0.75, 1), (1.0, 5))
    ]
    return {
        "about": "the arithmetic of trainings: see spec/training.md",
        "exponential": [{"x": x, "value": exponential(x)} for x in points],
        "softplus": [{"x": x, "value": softplus(x)} for x in (*points, *numbers(2, 40, 3.0))],
        "signs": signs,
        "rotated": rotated,
        "pointed": near,
    }


def trainings() -> dict[str, dict[str, Any]]:
    """Every file of a phase, by name."""
    return {f"training-{name}": vectors(name, phase) for name, phase in phases().items()}


def main() -> None:
    """Look for people whose reports show a twin, two for each twin and phase."""
    for name, phase in phases().items():
        found = []
        for one in TWINS:
            hits = [number for number in range(120) if words_against(phase, one, number)]
            found += [(one, number) for number in hits[:2]]
        if found:
            sys.stdout.write(f"    {json.dumps(name)}: [{', '.join(map(repr, found))}],\n")


if __name__ == "__main__":
    main()
