"""The browser client refuses the plans that Python refuses, and no others."""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import Any

import pytest

from hush import HushError, Plan
from hush.core import codec
from tests.web import drafts, edges
from tests.web.replaying import (
    BUILT,
    ask,
    block_plans,
    client_of,
    ladder_plans,
    needs_node,
    related_plans,
    small_plans,
    some_plans,
)

pytestmark = needs_node


def changes(text: str, pick: random.Random) -> list[str]:
    """Return the canonical text of a plan with one thing changed: most are bad, some are not."""
    result = []
    paths = [path for path, _ in leaves(json.loads(text))]
    for path in pick.sample(paths, min(len(paths), 24)):
        copy = json.loads(text)
        at = copy
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = changed(at[path[-1]], pick)
        result.append(codec.dump(copy))
    copy = json.loads(text)
    del copy[pick.choice(list(copy))]
    result.append(codec.dump(copy))
    return [*result, codec.dump(json.loads(text) | {"extra": None})]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [leaf for key, item in items for leaf in leaves(item, (*path, key))]
    return [(path, value)]


def changed(value: Any, pick: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return pick.choice((value + 1, value - 1, 2 * value, -value, float(value), str(value), None, 0))
    if isinstance(value, float):
        return pick.choice((value + 1, value - 1, value * 2, int(value), None, 1e-320, 1e17, 1e-5))
    if isinstance(value, str) and value.isdigit():
        number = int(value)
        step = pick.choice((1, -1, 1 << 24, -(1 << 24), 1 << 40, -(1 << 40), 0, -number, number))
        return pick.choice((str(number + step), str(number + step), "0" + value, int(value), str(1 << 64)))
    if isinstance(value, str):
        choices = ("", "even", "window", "subset", "constructor", "\u200b", "\x7f", " ", "é", "\ud800", "0.9", "16.0")
        return pick.choice((*choices, value + "x", value.upper(), None, 1, 1e3, "(missing)", "1.00", "nan"))
    return pick.choice((0, "", [], {}, [1], [1, 1]))


def refusal(text: str) -> str:
    """Why Python refuses a plan."""
    try:
        Plan.from_json(text)
    except HushError as error:
        return str(error) or "refused"
    return ""


def test_the_same_plans_are_refused(tmp_path: Path) -> None:
    pick = random.Random(9)
    texts = [
        text
        for plan in small_plans()[::3]
        + some_plans(32, seed=4)
        + block_plans()[::5]
        + related_plans(16, seed=5)
        + ladder_plans(8, seed=5)
        for text in changes(plan.to_json(), pick)
    ]
    # The surrogate has no UTF-8: it reaches JavaScript as the escape that JSON allows.
    answers = ask(tmp_path / "cases", [{"action": "plan", "text": text} for text in texts])
    refused = 0
    for text, answer in zip(texts, answers, strict=True):
        expected = refusal(text)
        assert bool(answer) == bool(expected), (text[:2000], answer, expected)
        refused += bool(expected)
        # Nothing is refused for its spelling that Python refuses for what it says, so that each check was met itself.
        if "canonical" in answer:
            assert any(word in expected for word in ("float", "integer", "version")), (text[:2000], expected)
    assert len(texts) - refused >= 50
    assert refused >= 500


def test_limits_are_the_same(tmp_path: Path) -> None:
    texts = list(edges.plans())
    answers = ask(tmp_path / "cases", [{"action": "plan", "text": text} for text in texts])
    taken = 0
    for text, answer in zip(texts, answers, strict=True):
        assert bool(answer) == bool(refusal(text)), (text[:1500], answer, refusal(text))
        taken += not answer
    assert taken >= 80
    assert len(texts) - taken >= 150


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        (r'32768,"reach"', '32769,"reach"'),
        (r"\(\w+>>1\)\+1", "0"),  # how many must agree in a cube
        (r"1e-300", "1e-301"),
        (r"<<192n<=", "<<191n<="),  # the privacy check
        (r"\]>(\w)\[1\],", r"]>=\1[1],"),  # a fair coin says nothing, and is no channel
        (r"2\*\*52-1", "2**52"),
        (r"<<BigInt\(64\*(\w+)\)>=", r"<<BigInt(64*\1+1)>="),  # the last decay
        (r"(\w+\*\w+)>=(\w+\*\w+)\)&&", r"\1>\2)&&"),  # weights that do not fall on
        (r"32-Math\.clz32", "33-Math.clz32"),  # how many decays there are
        (r"<=65536", "<=65538"),  # the cells of a rows channel
        (r'("product"\?\w+<=\w+:\w+)<1', r"\1<=1"),  # the position of a cut
        (r"2\*\*-20", "2**-21"),  # the reach of a product
        (r"=129,", "=130,"),  # the knots of a ladder
        (r"2\*\*44", "2**45"),
        (r"!\w\[0\]&&(\w+\(\w\),\"knots)", r"\1"),  # the first knot
        (r",64,\"after\"", ',63,"after"'),
        (r"&&(\w)>0&&\w<\w,\"unit", r'&&\1>0,"unit'),
        (r"(\w)===null\|\|\w===\"log\"&&", r"\1===null||"),  # a unit on a linear scale
        (r"\.size===\w\.length,\"views", r'.size>0,"views'),  # a view twice
    ],
)
def test_a_limit_that_is_wrong_is_noticed(tmp_path: Path, what: str, instead: str) -> None:
    text, changes = re.subn(what, instead, BUILT.read_text(encoding="utf-8"))
    assert changes == 1
    broken = client_of(tmp_path, text)
    lines = [{"action": "plan", "text": plan} for plan in small_texts()]
    assert ask(tmp_path / "right", lines) != ask(tmp_path / "wrong", lines, broken)


def small_texts() -> list[str]:
    """The shorter plans on the edges, and one that costs a little more than it says."""
    costly = drafts.text([drafts.category(2)], drafts.subset(threshold=drafts.HALF + drafts.HALF // 2), epsilon="1.0")
    return [text for text in edges.plans() if len(text) < 20_000] + [costly]


def test_privacy_is_checked_to_the_last_step(tmp_path: Path) -> None:
    """The largest threshold that Python takes is taken, and one step more is refused."""
    lines = []
    for plan in small_plans() + some_plans(24, seed=6) + related_plans(4, seed=6):
        worst = max(range(len(plan.questions)), key=lambda index: plan.questions[index].channel.ratio)
        channel: Any = plan.questions[worst].channel
        if channel.kind == "mixture":
            continue  # its parts are windows
        name = {"unary": "other", "additive": "decays", "picks": "shares"}.get(channel.kind, "threshold")
        unit = -1 if name != "threshold" else 1
        if channel.kind in ("window", "ladder"):
            unit = math.lcm(channel.width, channel.cells_outside) << 24

        def stepped(steps: int) -> str:
            values = json.loads(plan.to_json())  # noqa: B023
            found = values["questions"][worst]["channel"]  # noqa: B023
            at: Any = name  # noqa: B023
            if at == "decays":  # the last but one: of the periods within reach it makes the last ones rarer
                found, at = found[at], -2
            if at == "shares":  # from sets without held items to those that are the likeliest
                found, at = found[at], 0
                likeliest = channel.chances_of.index(max(channel.chances_of))  # noqa: B023
                found[likeliest] = str(int(found[likeliest]) + steps)
            found[at] = str(int(found[at]) + steps * unit)  # noqa: B023
            return codec.dump(values)

        good, bad = 0, 1
        while not refusal(stepped(bad)):
            good, bad = bad, 2 * bad
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (good, middle) if refusal(stepped(middle)) else (middle, bad)
        lines += [{"action": "plan", "text": stepped(good)}, {"action": "plan", "text": stepped(bad)}]
    assert len(lines) > 150
    answers = ask(tmp_path / "cases", lines)
    assert not any(answers[::2])
    assert all(answers[1::2])
