"""Trainings in the browser client, held to Python: random trainings and people, the same numbers and the same bytes."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from spec.good import person
from spec.trainings import answer

from hush.core.design.courses import stage_plan
from hush.core.design.rounds import check_of, round_plan
from hush.core.kinds import Boolean, Integer
from hush.core.schema import Attribute, Categorical, Numeric, Schema
from hush.core.training.checks import Asked
from hush.core.training.maps import RandomMap, TableMap, Unit
from hush.core.training.rounds import Round
from hush.core.training.stages import Stage, stage_names
from hush.core.training.training import Training
from hush.device.randomise import randomise_from
from hush.testing import RecordedCoins, SeededCoins
from tests.web.replaying import BUILT, ask, client_of, needs_node

pytestmark = needs_node


def attribute(pick: random.Random, name: str) -> Attribute:
    """A number or a category of any kind."""
    optional = pick.random() < 0.3
    low = pick.choice((0.0, -1.0, 0.1, -1e6, 1e-3))
    found: list[Attribute] = [
        Numeric(name, low, low + pick.choice((1.0, 0.3, 1e6)), pick.choice(("error", "clip")), optional),
        Integer(name, -3, pick.randint(-2, 40), optional=optional),
        Boolean(name, optional),
        Categorical(name, range(pick.randint(2, 9)), optional),
        Categorical(name, [f"value {i}" for i in range(pick.randint(2, 5))], optional, other=pick.random() < 0.5),
    ]
    return pick.choice(found)


def wild(pick: random.Random) -> float:
    """A number of any size."""
    return pick.choice((0.0, 1.0, pick.gauss(0, 1), pick.gauss(0, 1) * 10.0 ** pick.randint(-160, 39)))


def fair(pick: random.Random) -> float:
    """A number that may be a centre: 0, or at least 1e-100 in size."""
    found = wild(pick)
    return found if abs(found) >= 1e-100 else 0.0


def any_map(pick: random.Random, d: int) -> RandomMap | TableMap:
    """A map of a few units."""
    if pick.random() < 0.5:
        return RandomMap(pick.randint(1, 20), pick.randint(1, 8), pick.choice((0.5, 20.0)), seed=f"{pick.random()}")
    units = []
    for _ in range(pick.randint(1, 8)):
        places = tuple(sorted(pick.sample(range(d), pick.randint(1, d))))
        weights = tuple(min(max(wild(pick), -1e6), 1e6) for _ in places)
        units.append(Unit(places, weights, min(max(wild(pick), -1e6), 1e6)))
    return TableMap(tuple(units), pick.choice(("relu", "wave")))


def training(pick: random.Random) -> Training:
    """Any training."""
    schema = Schema([attribute(pick, f"a{i}") for i in range(pick.randint(1, 6))])
    loss = pick.choice(("squared", "logistic", "hinge"))
    classes = pick.randint(2, 4)
    label: Any = Numeric("y", -2, 3) if loss == "squared" else Categorical("y", range(classes))
    against = pick.randrange(classes) if loss != "squared" and classes > 2 else None
    epsilon, seed = pick.choice((0.5, 1.0, 4.0)), f"seed {pick.random()}"
    draft = Training("t", loss, schema, label, epsilon, 9, 0.5, against=against, seed=seed)
    names = [one.name for one in schema.attributes if isinstance(one, Categorical) and len(one.values) > 1]
    ordered = tuple(name for name in names if pick.random() < 0.5)
    draft = replace(draft, ordered=ordered, intercept=pick.random() < 0.7, radius=10.0 ** pick.uniform(-2, 2))
    d = draft.dimensions
    if pick.random() < 0.6:
        draft = replace(draft, centre=tuple(fair(pick) for _ in range(d)))
    if pick.random() < 0.6:
        draft = replace(draft, scale=tuple(abs(fair(pick)) or 1.0 for _ in range(d)))
    if pick.random() < 0.2:
        draft = replace(draft, projection=pick.randint(1, d))
    elif pick.random() < 0.4:
        draft = replace(draft, map=any_map(pick, d))
    return draft


def phase(pick: random.Random) -> Asked:
    """A round of any training, a stage of its pilot, or a check."""
    own = training(pick)
    if pick.random() < 0.3:
        draft = replace(own, centre=None, scale=None)
        known: tuple[Any, ...] = ()
        names = stage_names(draft)
        wanted = pick.choice(names)
        for name in names:
            plan = stage_plan(draft, name)
            if name == wanted:
                return Stage(draft, name, known, plan)
            rows = sum(len(one.labels) if isinstance(one, Categorical) else 1 for one in plan.schema.attributes)
            known = (*known, tuple((pick.choice((0.0, pick.gauss(0, 1))), abs(pick.gauss(0, 1))) for _ in range(rows)))
    chosen = sorted(pick.sample(range(own.width), pick.randint(1, own.width)))
    if pick.random() < 0.2:
        own = replace(own, gradient="duchi-multi", bound=10.0 ** pick.uniform(-2, 2))
    weights = tuple(wild(pick) for _ in range(own.width))
    number = pick.randint(1, 9)
    found = Round(own, number, weights, tuple(chosen), weights, 0, round_plan(own, number, len(chosen)))
    if pick.random() < 0.3:
        return check_of(replace(found, training=replace(own, cap=10.0 ** pick.uniform(-3, 3))))
    return found


def compared(path: Path, count: int, module: Path = BUILT) -> tuple[int, int]:
    """Return how many answers differ, and how many were compared."""
    pick = random.Random(23)
    lines: list[dict[str, Any]] = []
    expected: list[Any] = []
    for number in range(count):
        now = phase(pick)
        lines.append({"action": "phase", "text": now.to_json()})
        expected.append("")
        for i in range(6):
            source = SeededCoins(1000 * number + i)
            record = person(now.training.schema, source, None)
            label = person(Schema([now.training.label]), source, None)[now.training.label.name]
            asked = answer(now, record, label)
            coins = RecordedCoins(source)
            report = randomise_from(coins, now.plan, asked).encode().hex()
            words = "".join(f"{word:016x}" for word in coins.words)
            lines.append({"action": "take", "record": record, "label": label, "words": words})
            expected.append({"asked": [value + 0 for value in asked.values()], "report": f"{report} 0"})
    answers = ask(path, lines, module)
    return sum(a != b for a, b in zip(answers, expected, strict=True)), len(expected)


def test_the_same_numbers_and_bytes(tmp_path: Path) -> None:
    wrong, reports = compared(tmp_path / "cases", 60)
    assert wrong == 0
    assert reports == 60 * 7


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        (r"1e-150", ".1"),  # what counts as 0
        (r"for\(let (\w+)=18;", r"for(let \1=9;"),  # the terms of the exponential
        (r"=31\b", "=30"),  # the padding of SHAKE-256
        (r"\b24-32\*", "24-31*"),  # the wave
        (r"=100;", "=30;"),  # the series of a normal number
        (r"1/\(2\*(\w+)-1\)", r"1/(2*\1+1)"),  # the series of the logarithm
    ],
)
def test_a_broken_client_is_noticed(tmp_path: Path, what: str, instead: str) -> None:
    source = BUILT.with_name("training.js").read_text(encoding="utf-8")
    text, changes = re.subn(what, instead, source)
    assert changes > 0
    broken = client_of(tmp_path, BUILT.read_text(encoding="utf-8"))
    (tmp_path / "training.js").write_text(text, encoding="utf-8")
    assert compared(tmp_path / "cases", 60, broken)[0] > 0
