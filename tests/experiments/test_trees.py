"""Trees from relations, with exact tables: splits, parents and predictions that can be checked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from experiments.trees import People, Tree, augmented, by_place, coded, parents, split, split_bayes, tree
from experiments.trees import branches as made_branches


def wrong(method: Any, depth: int, some: People, other: People) -> float:
    return float(np.mean(method(some, other, None, depth) != other.y))


def crossed(n: int, seed: int) -> People:
    """The class is whether a and b differ, for nine tenths of the people; a and b agree a bit more often than not."""
    world = np.random.default_rng(seed)
    a, c = (world.random(n) < 0.5).astype(int), world.integers(0, 3, n)
    b = np.where(world.random(n) < 0.1, a, world.integers(0, 2, n))
    y = np.where(world.random(n) < 0.1, a, a ^ b)
    return People({"a": a, "b": b, "c": c}, {"a": 2, "b": 2, "c": 3}, frozenset(), y, 2)


def test_a_split_is_the_cut_of_a_number_or_the_set_of_a_category() -> None:
    table = np.array([[0.2, 0.05], [0.05, 0.2], [0.2, 0.05], [0.05, 0.2]])
    gain, right = split(table, 0.0, number=False)
    assert right.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])
    np.testing.assert_allclose(gain, 2 * (0.4**2 + 0.1**2) / 0.5 - 0.5)
    gain, right = split(table, 0.0, number=True)
    assert right.tolist() in ([0, 1, 1, 1], [0, 0, 0, 1])
    assert split(np.full((4, 2), 0.125), 0.0, number=True)[0] == 0.0
    assert split(table, 1.0, number=False)[0] == 0.0  # all of it may be noise


def test_leaves_follow_the_splits() -> None:
    people = crossed(40_000, 1)
    grown = Tree()
    for nodes in (1, 2):
        grown.grow(people, by_place(people, grown.leaves(people), nodes, None))
    assert grown.levels[0][0][0] == "a"
    assert [grown.levels[1][node][0] for node in (0, 1)] == ["b", "b"]
    columns = people.columns
    assert len(set(zip(grown.leaves(people).tolist(), columns["a"].tolist(), columns["b"].tolist(), strict=True))) == 4


def test_trees_see_what_naive_bayes_does_not() -> None:
    """Of a tenth of the people the class is a, and a bit less than half of them have a wrong one: 5 % at best."""
    some, other = crossed(40_000, 1), crossed(10_000, 2)
    assert min(wrong(split_bayes, 0, some, other), wrong(tree, 1, some, other)) > 0.35
    assert wrong(tree, 2, some, other) < 0.07
    assert wrong(split_bayes, 1, some, other) < 0.07
    assert wrong(augmented, 0, some, other) < 0.07


def test_parents_are_those_that_tell_most() -> None:
    world = np.random.default_rng(3)
    first = world.integers(0, 3, 20_000)
    columns = {"one": first}
    for before, name in (("one", "two"), ("two", "three")):
        columns[name] = np.where(world.random(20_000) < 0.3, world.integers(0, 3, 20_000), columns[before])
    assert parents({name: columns[name] for name in ("one", "three", "two")}, None) == {
        "one": None,
        "two": "one",
        "three": "two",
    }


def test_branches_need_a_tree() -> None:
    people = coded(made_branches(30_000))
    other, some = people.parts(1, 9)
    assert wrong(tree, 4, some, other) < 0.3 < 0.33 < wrong(split_bayes, 0, some, other)
