"""Rounds, stages and checks that must be refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from hush.core import codec
from hush.core.design.rounds import check_of
from hush.core.schema import Categorical, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.core.training.labels import to_json
from hush.core.training.maps import RandomMap
from hush.core.training.rounds import Round
from spec.maps import table
from spec.trainings import BOUGHT, ORDERED, PEOPLE, SPENT, phases, round_of, stages_of, training

Change = tuple[str, dict[str, Any]]


def of_trainings() -> Iterator[Change]:
    """Fields of a training that break a rule."""
    for name in ("title", "seed"):
        yield f"an empty {name}", {name: ""}
        yield f"a {name} that is not printable", {name: "a\nb"}
        yield f"a long {name}", {name: "x" * 129}
        yield f"a {name} that is no text", {name: 1}
    yield "an unknown loss", {"loss": "absolute"}
    yield "a loss for numbers", {"loss": "squared"}
    yield "a loss in a list", {"loss": ["logistic"]}
    yield "a label that is a number", {"label": to_json(SPENT)}
    yield "a label of three classes", {"label": to_json(Categorical("bought", ["no", "yes", "later"]))}
    yield "a class told apart, of two", {"against": 0}
    yield "an optional label", {"label": to_json(Categorical("bought", ["no", "yes"], optional=True))}
    yield "a label with others", {"label": to_json(Categorical("bought", ["no", "yes"], other=True))}
    yield "a label among the features", {"label": to_json(Categorical("smokes", ["no", "yes"]))}
    yield "a label without targets", {"label": BOUGHT.to_json()}
    yield "other targets", {"label": {"attribute": BOUGHT.to_json(), "targets": [1, -1]}}
    yield "targets of 0 and 1", {"label": {"attribute": BOUGHT.to_json(), "targets": [0, 1]}}
    for one in (Choices("c", ["a", "b"], most=1), Text("t", 8)):
        yield f"{one.kind} as a feature", {"schema": Schema([*PEOPLE.attributes, one]).to_json()}
    yield "no schema", {"schema": []}
    yield "ordered names a number", {"ordered": ["age"]}
    yield "ordered names nothing", {"ordered": ["shoe"]}
    yield "ordered names one twice", {"ordered": ["school", "school"]}
    yield "ordered is no list", {"ordered": "school"}
    yield "ordered is null", {"ordered": None}
    for value in (0, 1048577, 1.5, "3", None, True):
        yield f"rounds of {value}", {"rounds": value}
    for name in ("step", "radius", "bound", "cap", "epsilon"):
        for value in (0, -1, "1", None, True):
            yield f"{name} of {value}", {name: value}
    yield "epsilon above 16", {"epsilon": 16.5}
    yield "another epsilon than the plan's", {"epsilon": 0.5}
    for value in (-0.5, 1.5, None, False):
        yield f"a tail of {value}", {"tail": value}
    for value in (-1, "0", True):
        yield f"a penalty of {value}", {"penalty": value}
    for value in (0, -1, "1", False):
        yield f"a box of {value}", {"box": value}
    for name in ("decay", "rising", "intercept"):
        yield f"{name} is a number", {name: 1}
    yield "an unknown gradient", {"gradient": "gauss"}
    yield "a gradient of another plan", {"gradient": "hybrid"}
    for value in ("some", 0, 1025, None, True):
        yield f"k of {value}", {"k": value}
    width = training(**ORDERED).dimensions
    for name in ("centre", "scale"):
        yield f"{name} too short", {name: [1.0] * (width - 1)}
        yield f"{name} too long", {name: [1.0] * (width + 1)}
        yield f"{name} with a text", {name: ["1"] * width}
        yield f"{name} with a boolean", {name: [True] * width}
        yield f"{name} is a number", {name: 1.0}
    yield "a scale of 0", {"scale": [0.0] * width}
    yield "a negative scale", {"scale": [-1.0] * width}
    for value in (9e-101, 1.1e100, 5e-324, 1.7e308):
        yield f"a scale of {value}", {"scale": [1.0] * (width - 1) + [value]}
        yield f"a centre of {value}", {"centre": [0.0] * (width - 1) + [value]}
        yield f"a centre of {-value}", {"centre": [0.0] * (width - 1) + [-value]}
    yield "a start without the intercept", {"start": [0.0] * width}
    for value in (0, width + 1, "1", True):
        yield f"a projection to {value}", {"projection": value}
    for item in ([1, 1], [0, 1, 0.5], [1, 0, 0.5], [1, 1, -1], [1.5, 1, 0], [1, 1, "0"], "112", [1, 1, 0, 0]):
        yield f"a selection of {item}", {"selection": item}
    yield "without an intercept, as many weights", {"intercept": False}
    yield "another title than the plan's", {"title": "who sells"}
    yield "another seed than the plan's", {"seed": "0"}


def of_rounds(width: int) -> Iterator[Change]:
    """Fields of a round that break a rule."""
    for value in (0, 22, 4, "3", None, True):
        yield f"number {value}", {"number": value}
    for value in (-1, 21, "0", None):
        yield f"averaged over {value}", {"averaged": value}
    for name in ("weights", "average"):
        yield f"{name} too short", {name: [0.0] * (width - 1)}
        yield f"{name} too long", {name: [0.0] * (width + 1)}
        yield f"{name} too large", {name: [1.1e40] + [0.0] * (width - 1)}
        yield f"{name} with a text", {name: ["0"] * width}
        yield f"{name} with null", {name: [None] * width}
        yield f"{name} is null", {name: None}
    for item in ([], [0, 0], [1, 0], [-1], [width], ["0"], [0.5], [True], None, 0):
        yield f"coordinates {item}", {"coordinates": item}
    for value in (3, 5, "4", None, True):
        yield f"version {value}", {"hush": value}
    yield "no plan", {"plan": None}
    yield "a stage as well", {"stage": "means"}


def of_plans(plan: dict[str, Any]) -> Iterator[Change]:
    """Fields of plans that do not belong to the round, or are no plans."""
    title, schema, question = plan["title"], plan["schema"], plan["questions"][0]
    yield "the plan of another round", {"title": title.replace("round 3", "round 4")}
    yield "the plan of another training", {"title": f"x{title}"}
    yield "a plan without a title", {"title": ""}
    yield "a lower epsilon than the channel's", {"epsilon": "0.5"}
    yield "a higher epsilon than the training's", {"epsilon": "2.0"}
    yield "numbers of another range", {"schema": [schema[0] | {"low": -2.0}, *schema[1:]]}
    yield "numbers that are clipped", {"schema": [schema[0] | {"out_of_range": "clip"}, *schema[1:]]}
    yield "numbers in another order", {"schema": [schema[1], schema[0], *schema[2:]]}
    yield "a plan with another field", {"more": 1}
    channel = question["channel"]
    louder = channel | {"threshold": str(int(channel["threshold"]) + (1 << 60))}
    yield "a channel that gives away more", {"questions": [question | {"channel": louder}]}


def of_stages(known: list[Any]) -> Iterator[Change]:
    """Fields of the stage `spreads` that break a rule."""
    yield "an unknown stage", {"stage": "sums"}
    yield "another stage", {"stage": "means"}
    yield "a later stage", {"stage": "shares"}
    yield "no stage", {"stage": None}
    yield "no estimates", {"known": []}
    yield "estimates of later stages", {"known": [*known, known[0]]}
    yield "an estimate is missing", {"known": [known[0][:-1]]}
    yield "an estimate too many", {"known": [[*known[0], [0.0, 1.0]]]}
    yield "an estimate without its error", {"known": [[[one[0]] for one in known[0]]]}
    yield "estimates that are texts", {"known": [[["0", "1"] for _ in known[0]]]}
    yield "estimates that are null", {"known": [[None for _ in known[0]]]}
    yield "known is null", {"known": None}
    yield "a round as well", {"number": 1}
    yield "version 3", {"hush": 3}


def of_checks(right: dict[str, Any]) -> Iterator[Change]:
    """Fields of a check that break a rule."""
    width, plan = len(right["weights"]), right["plan"]
    for value in (0, 22, 4, "3", None, True):
        yield f"check {value}", {"check": value}
    for item in ([0.0] * (width - 1), [0.0] * (width + 1), [1.1e40] + [0.0] * (width - 1), ["0"] * width, None):
        yield "bad weights of a check", {"weights": item}
    for value in (3, 5, "4", None):
        yield f"a check of version {value}", {"hush": value}
    yield "a stage and a check", {"stage": "means"}
    yield "a round and a check", {"number": 3}
    yield "a check with an average", {"average": right["weights"]}
    yield "a check without a plan", {"plan": None}
    loss = plan["schema"][0]
    for change in ({"high": 2.5}, {"low": -1.0}, {"name": "g0"}, {"out_of_range": "clip"}, {"optional": True}):
        yield "a loss of another range or name", {"plan": plan | {"schema": [loss | change]}}
    yield "the plan of another check", {"plan": plan | {"title": plan["title"].replace("loss 3", "loss 4")}}
    yield "the plan of a round", {"plan": plan | {"title": plan["title"].replace("loss 3", "round 3")}}
    yield "a check that costs more", {"plan": plan | {"epsilon": "2.0"}}


def of_maps() -> Iterator[Change]:
    """Fields of a random map that break a rule."""
    value: Any
    for value in (0, 1001, 1000, "5", None, True, 5.5, [5]):
        yield f"{value} units", {"units": value}
    for value in (0, 65, "6", None, True):
        yield f"{value} inputs", {"inputs": value}
    for value in (0, -1, 1.1e6, "20", None, True):
        yield f"a strength of {value}", {"strength": value}
    for value in ("", "a\nb", "x" * 129, 1, None):
        yield "a bad seed of a map", {"seed": value}
    for value in ("table", "python", None, 1):
        yield f"a random map of kind {value}", {"kind": value}
    yield "a map with another field", {"more": 1}


def of_tables(d: int) -> Iterator[Change]:
    """Fields of a table of units that break a rule."""
    value: Any
    for value in ("exp", "cos", None, 1):
        yield f"the activation {value}", {"activation": value}
    for value in (0, -1, 1.1e6, "20", None):
        yield f"a strength of {value}", {"strength": value}
    for value in ("random", "python", None):
        yield f"a table of kind {value}", {"kind": value}
    unit = [[0], [1.0], 0.0]
    for why, units in {
        "no units": [],
        "units that are no list": 7,
        "a unit that is no list": [7],
        "a unit that is null": [None],
        "many units": [unit] * 1001,
        "many weights": [[[*range(d)], [1.0] * d, 0.0]] * (65536 // d + 1),
        "a large weight": [[[0], [1.1e6], 0.0]],
        "a weight that is a boolean": [[[0], [True], 0.0]],
        "a weight that is a text": [[[0], ["1"], 0.0]],
        "a large bias": [[[0], [1.0], -1.1e6]],
        "no bias": [[[0], [1.0], None]],
        "too few weights": [[[0, 1], [1.0], 0.0]],
        "too many weights": [[[0], [1.0, 1.0], 0.0]],
        "no places": [[[], [], 0.0]],
        "a place twice": [[[0, 0], [1.0, 1.0], 0.0]],
        "places in another order": [[[1, 0], [1.0, 1.0], 0.0]],
        "a negative place": [[[-1], [1.0], 0.0]],
        "a place behind the last": [[[d], [1.0], 0.0]],
        "a place that is a boolean": [[[False], [1.0], 0.0]],
        "a place that is a fraction": [[[0.5], [1.0], 0.0]],
        "a short unit": [[[0], [1.0]]],
        "a long unit": [[[0], [1.0], 0.0, 0.0]],
        "another number of units": [unit, unit],
    }.items():
        yield why, {"units": units}


def flat(of: int, place: tuple[str, ...], changes: Iterable[Change]) -> Iterator[dict[str, Any]]:
    """Changes of one field of a good text, as they stand in the file."""
    for why, change in changes:
        ((name, value),) = change.items()
        yield {"why": why, "of": of, "at": [*place, name], "value": value}


def bad_phases() -> dict[str, Any]:
    """Good texts, and changes of one place in one of them."""
    right = json.loads(phases()["logistic"].to_json())
    stage = json.loads(stages_of(training(**ORDERED), "x")["x-spreads"].to_json())
    now = phases()["logistic"]
    assert isinstance(now, Round)
    check = json.loads(check_of(now).to_json())
    waves = training(map=RandomMap(4, seed="waves"), **ORDERED)
    tables = replace(waves, map=table(waves.dimensions, 3, "relu"))
    units = [json.loads(round_of(own, 1).to_json()) for own in (waves, tables)]
    mapped = [one["training"]["map"] for one in units]
    single = Schema([Numeric("x", -1, 1), Categorical("c", ["a"], optional=True)])
    alone = json.loads(round_of(training(single), 1).to_json())
    many = Schema([Categorical("c", range(1025))]).to_json()
    bad = [
        *flat(0, ("training",), of_trainings()),
        *flat(0, (), of_rounds(len(right["weights"]))),
        *flat(0, ("plan",), of_plans(right["plan"])),
        *(
            {"why": "a plan that follows another", "of": of, "at": ["plan", "after"], "value": "5" * 64}
            for of in (0, 1, 3)
        ),
        *flat(1, (), of_stages(stage["known"])),
        *flat(2, ("training",), [("one value in order", {"ordered": ["c"]}), ("too many features", {"schema": many})]),
        *flat(3, (), of_checks(check)),
        *flat(3, ("training",), [("another cap than the plan's", {"cap": 2.5})]),
        *({"why": f"a check without {name}", "of": 3, "at": [name]} for name in check),
        *flat(4, ("training", "map"), of_maps()),
        *flat(5, ("training", "map"), of_tables(waves.dimensions)),
        *flat(4, ("training",), [("a map and a projection", {"projection": 2}), ("map is null", {"map": None})]),
        *flat(4, ("training",), [("map is a list", {"map": []}), ("map is a text", {"map": "waves"})]),
        *({"why": f"a random map without {name}", "of": 4, "at": ["training", "map", name]} for name in mapped[0]),
        *({"why": f"a table without {name}", "of": 5, "at": ["training", "map", name]} for name in mapped[1]),
        {"why": "the weights of units that are not there", "of": 4, "at": ["training", "map"]},
        {"why": "a list", "of": 0, "at": [], "value": []},
        {"why": "null", "of": 0, "at": [], "value": None},
        *({"why": f"without {name}", "of": 0, "at": [name]} for name in right),
        *({"why": f"a training without {name}", "of": 0, "at": ["training", name]} for name in right["training"]),
    ]
    return {
        "about": "rounds, stages and checks that must be refused: see spec/training.md",
        "good": [codec.dump(value) for value in (right, stage, alone, check, *units)],
        "bad": bad,
    }


def changed(text: str, case: dict[str, Any]) -> str:
    """The text that a case stands for: one place has another value, or is gone."""
    whole = {"": json.loads(text)}
    path: list[str] = ["", *case["at"]]
    last = path.pop()
    place: Any = whole
    for name in path:
        place = place[name]
    if "value" in case:
        place[last] = case["value"]
    else:
        del place[last]
    return codec.dump(whole[""])
