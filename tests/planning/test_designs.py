"""One way to make a plan: for an epsilon, or for a central promise and a local one."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import hush
from hush.core.design import design as design_local
from hush.planning.shuffle.designs import Designs

FOUR = hush.Schema([hush.Categorical("c", ["a", "b", "d", "e"])])
CROWD: dict[str, Any] = {"central": 0.5, "delta": 1e-6, "crowd": 2000}


def mixed() -> hush.Schema:
    labels = ["x", "y", "z"]
    pair = [hush.Categorical("b", labels), hush.Categorical("c", labels)]
    return hush.Schema([hush.Numeric("a", 0, 100), *pair])


def test_an_epsilon_alone_is_a_local_promise() -> None:
    assert hush.design(FOUR, 1.5, k=1, title="t") == design_local(FOUR, 1.5, k=1, title="t")


def test_both_functions_have_the_same_wishes() -> None:
    """The public function lists the wishes again, for the sake of editors, and adds those about people and crowds."""
    public, local = (dict(inspect.signature(f).parameters) for f in (hush.design, design_local))
    added = [public.pop(name) for name in ("central", "delta", "crowd", "own", "local", "people", "margins")]
    assert all(one.default is None for one in added)
    assert public.pop("insist").default is False
    assert public.pop("epsilon").default is None
    assert local.pop("epsilon").default is inspect.Parameter.empty
    assert list(public) == list(local)
    assert [one.default for one in public.values()] == [one.default for one in local.values()]


def test_the_epsilon_is_the_largest_that_keeps_the_promise() -> None:
    plan = hush.design(FOUR, **CROWD)
    assert hush.shuffle(plan, crowd=2000, delta=1e-6).epsilon <= 0.5
    more = hush.design(FOUR, round(plan.epsilon + 0.001, 3))
    assert hush.shuffle(more, crowd=2000, delta=1e-6).epsilon > 0.5 * (1 - 2e-4)


WISHES: dict[str, dict[str, Any]] = {
    "k": {"k": 2},
    "all": {"k": "all"},
    "weighted": {"k": "weighted", "importance": {"a": 4.0}},
    "joint": {"joint": [["b", "c"]]},
    "relations": {"relations": [("b", "c"), ("a", "b")], "singles": 0.5},
    "ranges": {"ranges": {"a": 16}},
    "bands": {"relations": [("a", "b", "table")], "bands": {"a": [20.0, 50.0]}},
    "channels": {"numeric": "duchi", "categorical": "oue"},
    "additive": {"numeric": "laplace"},
    "named": {"title": "spring", "after": "0" * 64},
}


@pytest.mark.parametrize("name", WISHES)
def test_every_wish_goes_with_a_central_promise(name: str) -> None:
    plan = hush.design(mixed(), central=0.5, delta=1e-6, crowd=20_000, local=2.0, **WISHES[name])
    assert plan == hush.design(mixed(), 2.0, **WISHES[name])
    assert hush.shuffle(plan, crowd=20_000, delta=1e-6).epsilon <= 0.5


@pytest.mark.parametrize("own", [20, 60])
def test_own_reports_instead_of_a_crowd(own: int) -> None:
    plan = hush.design(FOUR, central=1.0, delta=1e-6, own=own)
    assert hush.shuffle(plan, own=own, delta=1e-6).epsilon <= 1.0
    more = hush.design(FOUR, round(plan.epsilon + 0.001, 3))
    assert more.epsilon < 6
    assert hush.shuffle(more, own=own, delta=1e-6).epsilon > 1 - 2e-4


def test_a_relay_must_be_able_to_draw_own_reports() -> None:
    """A table of all sets of 24 categories is too large to list."""
    many = hush.Schema([hush.Categorical("c", [str(i) for i in range(24)])])
    wish: dict[str, Any] = {"central": 0.5, "delta": 1e-6, "local": 0.5, "categorical": "oue"}
    with pytest.raises(hush.DesignError, match="a relay cannot add reports of its own"):
        hush.design(many, own=10, **wish)
    assert hush.design(many, crowd=10, **wish).epsilon == 0.5


def test_a_search_that_starts_from_others_finds_the_same() -> None:
    """`people_needed` designs for many crowds: each starts between those that it knows."""
    known = Designs(lambda epsilon: hush.design(FOUR, epsilon), 0.5, 1e-6)
    for crowd in (500, 50_000, 2000):
        alone = Designs(lambda epsilon: hush.design(FOUR, epsilon), 0.5, 1e-6)
        assert known.best(crowd=crowd).epsilon == alone.best(crowd=crowd).epsilon
    local = [known.best(crowd=n).epsilon for n in (500, 2000, 50_000)]
    assert local == sorted(local)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({}, "give epsilon; or central"),
        ({"epsilon": 1.0, "central": 1.0, "delta": 1e-6, "crowd": 9}, "either epsilon or central"),
        ({"central": 1.0, "crowd": 9}, "delta is missing"),
        ({"epsilon": 1.0, "delta": 1e-6}, "give central too"),
        ({"epsilon": 1.0, "crowd": 9}, "give central too"),
        ({"epsilon": 1.0, "local": 2.0}, "give central too"),
        ({"central": 1.0, "delta": 1e-6}, "either crowd"),
        ({"central": 1.0, "delta": 1e-6, "crowd": 9, "own": 9}, "either crowd"),
        ({"central": 1.0, "delta": 2.0, "crowd": 9}, "delta must be"),
        ({"central": "1", "delta": 1e-6, "crowd": 9}, "central must be"),
        ({"central": 1.0, "delta": 1e-6, "crowd": 9, "local": 99.0}, "local must be"),
        ({"central": 1.0, "delta": 1e-6, "crowd": 9, "k": 7}, "k "),
    ],
)
def test_refusals(arguments: dict[str, Any], rule: str) -> None:
    with pytest.raises(hush.DesignError, match=rule):
        hush.design(FOUR, **arguments)
    with pytest.raises(hush.DesignError, match="Schema"):
        hush.design("c", central=1.0, delta=1e-6, crowd=9)  # type: ignore[arg-type]
