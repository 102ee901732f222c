"""Trees from private relations, beside naive Bayes and a line, at equal people and epsilon.

    python -m experiments.trees [--data FOLDER] [--keep]

A table of a feature and the class shows no interaction of two features. Three methods look for them. Every person
answers one question of one ordinary plan, with the whole epsilon, so a method with several rounds divides the people.

- *tree*: a decision tree that grows by a level in each round. A person's place is their node together with their class;
  the server gets a table of each feature by place, and splits each node where Gini's impurity falls most. Another round
  asks the people for leaf and class.
- *split naive Bayes*: a tree of one level, and naive Bayes within its two leaves. The tables of both rounds are pooled,
  and what the leaves add to those of everybody is shrunk like the tables themselves.
- *augmented naive Bayes* (Friedman, Geiger and Goldszmidt 1997): each feature may depend on one other, its parent. A
  quarter of the people give the shares of all values, by which values become three groups of about equal size; a
  quarter give the tables of all pairs, from which the parents follow (Chow and Liu 1968); the others give the table of
  each feature by the group of its parent and the class.

Made-up people are those of `experiments/bayes.py` and *branches*, whose class follows a tree of three levels: the case
that suits a tree as *classes* suits naive Bayes. The sizes of the trees and of the groups were chosen on them. With a
data folder also Adult and br_like, 250,000 people at most. Three repetitions, each with other people. "No privacy" is
the same method with exact tables. Results of naive Bayes and of the line are those of docs/measured/bayes.json, but for
*branches*. With --keep, results go to docs/measured/trees.json at once.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

import hush  # noqa: E402
from experiments import bayes, made_up  # noqa: E402
from hush import batch  # noqa: E402
from hush.learn.bayes import usual_bands  # noqa: E402
from hush.server.relations.crosstabs import tabulated  # noqa: E402
from hush.server.simplex import simplex  # noqa: E402

Array = np.ndarray[Any, Any]
Noisy = tuple[Array, float]  # shares of a table, and the variance of one of them

KEPT = Path(__file__).parent.parent / "docs" / "measured" / "trees.json"
EPSILONS = (None, 1.0, 2.0, 4.0)
GROUPS = 3
TINY = 1e-9


@dataclass(frozen=True)
class People:
    """People as codes: a column for each feature, the number of its values, and the class."""

    columns: dict[str, Array]
    sizes: dict[str, int]
    numbers: frozenset[str]
    y: Array
    classes: int

    def of(self, index: Array) -> People:
        """Return some of them."""
        columns = {name: column[index] for name, column in self.columns.items()}
        return People(columns, self.sizes, self.numbers, self.y[index], self.classes)

    def parts(self, *shares: float) -> list[People]:
        """Divide them; tasks are shuffled already."""
        ends = (np.cumsum(shares)[:-1] / sum(shares) * len(self.y)).astype(int)
        return [self.of(index) for index in np.split(np.arange(len(self.y)), ends)]


def coded(task: made_up.Task) -> People:
    """Return the people of a task, numbers by the bands of naive Bayes."""
    columns, sizes, numbers = {}, {}, set()
    for one in task.schema.attributes:
        values = task.columns[one.name]
        if isinstance(one, hush.Numeric):
            cuts = usual_bands(one)
            columns[one.name], sizes[one.name] = np.searchsorted(cuts, values, side="left"), len(cuts) + 1
            numbers.add(one.name)
        else:
            assert isinstance(one, hush.Categorical)
            columns[one.name], sizes[one.name] = np.searchsorted(np.array(one.labels), values), len(one.labels)
    classes, y = np.unique(task.y, return_inverse=True)
    return People(columns, sizes, frozenset(numbers), y, len(classes))


def tables(
    pairs: dict[tuple[str, str], tuple[int, int]], columns: dict[str, Array], epsilon: float | None
) -> list[Noisy]:
    """Return tables of pairs of columns: from one report of each person, or exactly if epsilon is None."""
    if epsilon is None:
        return [
            (np.bincount(columns[a] * m + columns[b], minlength=k * m).reshape(k, m) / len(columns[a]), 0.0)
            for (a, b), (k, m) in pairs.items()
        ]
    sizes = {name: size for names, both in pairs.items() for name, size in zip(names, both, strict=True)}
    schema = hush.Schema([hush.Categorical(name, list(range(size))) for name, size in sizes.items()])
    plan = hush.design(schema, epsilon, relations=[(a, b, "table") for a, b in pairs], singles=0.0)
    tally = batch.collect(plan, {name: columns[name] for name in sizes})
    grids = [tabulated(tally, a, b) for a, b in pairs]
    return [(np.array(grid.points), grid.noise(1 / np.size(grid.points))) for grid in grids]


def by_place(people: People, places: Array, count: int, epsilon: float | None) -> dict[str, Noisy]:
    """Return a table of each feature by place and class."""
    width = count * people.classes
    pairs = {(name, "place"): (size, width) for name, size in people.sizes.items()}
    found = tables(pairs, {**people.columns, "place": places * people.classes + people.y}, epsilon)
    return dict(zip(people.sizes, found, strict=True))


def shares(codes: Array, size: int, epsilon: float | None) -> Array:
    """Return the shares of the values of one column."""
    if epsilon is None:
        return np.bincount(codes, minlength=size) / len(codes)
    plan = hush.design(hush.Schema([hush.Categorical("value", list(range(size)))]), epsilon)
    return np.array([row.point for row in hush.estimate(batch.collect(plan, {"value": codes}))])


def positive(raw: Array) -> Array:
    """Return shares that are positive and have the sum one."""
    found = np.maximum(np.array(simplex(raw.ravel().tolist())), TINY).reshape(raw.shape)
    return np.asarray(found / found.sum())


def kept_part(beyond: Array, variance: float, freedom: int) -> float:
    """Return by how much a difference is shrunk (James and Stein 1961)."""
    size = float((beyond**2).sum())
    return max(0.0, 1 - max(freedom - 2, 1) * variance / size) if size > 0 else 0.0


def lifts(points: Array, expected: Array, variance: float, freedom: int) -> Array:
    """Return how many times likelier cells are than expected, as `hush.learn.bayes` does."""
    factor = kept_part(points - expected, variance, freedom)
    error = factor * variance**0.5
    bottom = np.maximum(expected + error, TINY)
    found = (expected + error + factor * (points - expected)) / bottom
    return np.asarray(np.maximum(found, np.maximum(error / bottom, 1e-6)))


@dataclass
class Tree:
    """Splits by level: for each node, a feature and which of its values go right."""

    levels: list[dict[int, tuple[str, Array]]] = field(default_factory=list)

    def leaves(self, people: People) -> Array:
        """Return the leaf of each person."""
        at = np.zeros(len(people.y), dtype=int)
        for level in self.levels:
            below = 2 * at
            for node, (name, right) in level.items():
                here = at == node
                below[here] += right[people.columns[name][here]]
            at = below
        return at

    def grow(self, people: People, found: dict[str, Noisy]) -> None:
        """Add a level, by the tables of all features by node and class."""
        level: dict[int, tuple[str, Array]] = {}
        classes = people.classes
        best = dict.fromkeys(range(2 ** len(self.levels)), 0.0)
        for name, (points, variance) in found.items():
            expected = np.outer(positive(points.sum(axis=1)), positive(points.sum(axis=0)))
            freedom = (points.shape[0] - 1) * (points.shape[1] - 1)
            factor = kept_part(points - expected, variance, freedom)
            shrunk = expected + factor * (points - expected)
            for node in best:
                table = shrunk[:, node * classes : (node + 1) * classes]
                gain, right = split(table, factor**2 * variance, name in people.numbers)
                if gain > best[node]:
                    best[node], level[node] = gain, (name, right)
        self.levels.append(level)


def split(table: Array, variance: float, number: bool) -> tuple[float, Array]:
    """Return by how much the best division of a feature's values lowers Gini's impurity, and what goes right.

    Values of a number keep their order; those of a category are ordered by the share of a class, each in turn. The
    variance of the sums is taken off their squares, and sides that could be empty are left out.
    """
    size, classes = table.shape
    best, right = 0.0, np.zeros(size, dtype=int)
    whole, least = table.sum(axis=0), (variance * table.size) ** 0.5 + TINY
    orders = [np.arange(size)]
    if not number:
        bottom = np.maximum(table.sum(axis=1), 0) + variance**0.5 + TINY
        orders = [np.argsort((table[:, c] + variance**0.5 * whole[c]) / bottom) for c in range(classes)]
    for order in orders:
        below = np.cumsum(table[order], axis=0)[:-1]
        above, many = whole - below, np.arange(1, size)
        left, other = below.sum(axis=1), above.sum(axis=1)
        usable = (left > least) & (other > least)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = ((below**2).sum(axis=1) - many * classes * variance) / left
            gain += ((above**2).sum(axis=1) - (size - many) * classes * variance) / other
            gain -= ((whole**2).sum() - size * classes * variance) / whole.sum()
        gain = np.where(usable, gain, 0.0)
        if len(gain) and gain.max() > best:
            best, right = float(gain.max()), np.zeros(size, dtype=int)
            right[order[gain.argmax() + 1 :]] = 1
    return best, right


def tree(some: People, other: People, epsilon: float | None, depth: int) -> Array:
    """Return the classes of other people by a decision tree."""
    *rounds, last = some.parts(*[1.0] * (depth + 1))
    grown = Tree()
    for people in rounds:
        grown.grow(people, by_place(people, grown.leaves(people), 2 ** len(grown.levels), epsilon))
    count, classes = 2**depth, some.classes
    points = shares(grown.leaves(last) * classes + last.y, count * classes, epsilon).reshape(count, classes)
    return np.asarray(points.argmax(axis=1)[grown.leaves(other)])


def within(points: Array, variance: float, base: Array, groups: Array) -> Array:
    """Return the logarithms of the lifts of a feature's values in groups, beyond those of everybody.

    `points` are shares by value, group and class; `base` are the chances of values by class; `groups` the shares of
    groups and classes.
    """
    freedom = (points.shape[0] - 1) * (points.shape[1] - 1) * points.shape[2]
    return np.asarray(np.log(lifts(points, base[:, None, :] * groups, variance, freedom)))


def everybody(points: Array, variance: float, classes: Array) -> tuple[Array, Array]:
    """Return the logarithms of the lifts of a table by class, and the chances of values by class."""
    rows = positive(points.sum(axis=1))
    found = lifts(points, np.outer(rows, classes), variance, (points.shape[0] - 1) * (points.shape[1] - 1))
    chances = rows[:, None] * found
    return np.log(found), chances / chances.sum(axis=0)


def split_bayes(some: People, other: People, epsilon: float | None, depth: int) -> Array:
    """Return the classes of other people by naive Bayes, with depth 1 within the two leaves of a tree."""
    classes, grown = some.classes, Tree()
    rounds: list[dict[str, Noisy]] = []
    for people in some.parts(*[1.0, 3.0][: depth + 1]):
        if rounds:
            grown.grow(people, rounds[0])
        rounds.append(by_place(people, grown.leaves(people), 2 ** len(grown.levels), epsilon))
    at, count = grown.leaves(other), 2**depth
    groups = positive(np.mean([points.sum(axis=0) for points, _ in rounds[-1].values()], axis=0)).reshape(count, -1)
    scores = np.log(groups)[at]
    for name, (points, variance) in rounds[-1].items():
        cube = points.reshape(-1, count, classes)
        whole, noise = cube.sum(axis=1), variance * count
        if depth:
            first, own = rounds[0][name]
            weight = noise / (noise + own) if own else 0.5
            whole, noise = weight * first + (1 - weight) * whole, noise * own / (noise + own) if own else 0.0
        base, chances = everybody(whole, noise, groups.sum(axis=0))
        scores += base[other.columns[name]]
        if depth:
            scores += within(cube, variance, chances, groups)[other.columns[name], at]
    return np.asarray(scores.argmax(axis=1))


def parents(columns: dict[str, Array], epsilon: float | None) -> dict[str, str | None]:
    """Return the tree of features in which neighbours tell most of each other, as the parent of each."""
    names = list(columns)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    tell = {}
    for pair, (points, variance) in zip(
        pairs, tables(dict.fromkeys(pairs, (GROUPS, GROUPS)), columns, epsilon), strict=True
    ):
        expected = np.outer(positive(points.sum(axis=1)), positive(points.sum(axis=0)))
        factor = kept_part(points - expected, variance, (GROUPS - 1) ** 2)
        table = positive(expected + factor * (points - expected))
        tell[frozenset(pair)] = float((table * np.log(table / np.outer(table.sum(axis=1), table.sum(axis=0)))).sum())
    found: dict[str, str | None] = {names[0]: None}
    while len(found) < len(names):
        edges = [(a, b) for a in names if a not in found for b in found]
        child, parent = max(edges, key=lambda edge: tell[frozenset(edge)])
        found[child] = parent
    return found


def augmented(some: People, other: People, epsilon: float | None, _: int) -> Array:
    """Return the classes of other people by naive Bayes in which each feature may depend on one other."""
    first, second, third = some.parts(1, 1, 2)
    groups, classes = {}, some.classes
    for one, (name, size) in zip(first.parts(*[1.0] * len(some.sizes)), some.sizes.items(), strict=True):
        ends = np.cumsum(positive(shares(one.columns[name], size, epsilon)))
        groups[name] = np.minimum(ends * GROUPS - TINY, GROUPS - 1).astype(int)
    above = parents({name: groups[name][column] for name, column in second.columns.items()}, epsilon)
    columns, pairs = dict(third.columns), {}
    for name, parent in above.items():
        group = 0 if parent is None else groups[parent][third.columns[parent]]
        columns[f"above {name}"] = group * classes + third.y
        pairs[name, f"above {name}"] = (some.sizes[name], classes * (1 if parent is None else GROUPS))
    found = dict(zip(above, tables(pairs, columns, epsilon), strict=True))
    known = positive(np.mean([p.reshape(len(p), -1, classes).sum(axis=(0, 1)) for p, _ in found.values()], axis=0))
    scores = np.tile(np.log(known), (len(other.y), 1))
    for name, (points, variance) in found.items():
        cube = points.reshape(len(points), -1, classes)
        base, chances = everybody(cube.sum(axis=1), variance * cube.shape[1], known)
        scores += base[other.columns[name]]
        parent = above[name]
        if parent is not None:
            more = within(cube, variance, chances, positive(cube.sum(axis=0)))
            scores += more[other.columns[name], groups[parent][other.columns[parent]]]
    return np.asarray(scores.argmax(axis=1))


METHODS: dict[str, tuple[Callable[[People, People, float | None, int], Array], int]] = {
    "naive Bayes": (split_bayes, 0),
    "tree, 2 levels": (tree, 2),
    "tree, 4 levels": (tree, 4),
    "split naive Bayes": (split_bayes, 1),
    "augmented naive Bayes": (augmented, 0),
}


def branches(people: int, seed: int = 1) -> made_up.Task:
    """Six numbers and four categories, four of which decide, in a tree of three levels."""
    generator = np.random.default_rng([seed, 9])
    columns: dict[str, Any] = {f"n{j}": generator.uniform(-1, 1, people) for j in range(6)}
    attributes: list[Any] = [hush.Numeric(name, -1, 1) for name in columns]
    for j, size in enumerate((2, 3, 5, 8)):
        columns[f"c{j}"] = generator.integers(0, size, people)
        attributes.append(hush.Categorical(f"c{j}", list(range(size))))
    left = np.where(columns["n1"] > -0.2, np.where(columns["c0"] > 0, 0.15, 0.6), 0.8)
    chances = np.where(columns["n0"] > 0.1, np.where(columns["c2"] < 2, 0.85, 0.2), left)
    y = np.where(generator.random(people) < chances, 1, -1)
    return made_up.Task("branches", hush.Schema(attributes), columns, y)


def tasks(folder: Path | None) -> Iterator[made_up.Task]:
    """Yield all tasks."""
    yield branches(bayes.PEOPLE * 10 // 9 + 10)
    for make in bayes.tasks(folder):
        yield make()


def measured(task: made_up.Task, epsilon: float | None) -> dict[str, list[float]]:
    """Return the shares of misclassified people of each method, in each repetition."""
    people, tests = coded(task), len(task) // 10
    count = min(bayes.PEOPLE, len(task) - tests)
    found: dict[str, list[float]] = {}
    for repetition in range(bayes.REPETITIONS):
        other, some = (
            people.of(np.arange(start, start + many) % len(task))
            for start, many in ((repetition * tests, tests), ((repetition + 1) * tests, count))
        )
        for name, (method, depth) in METHODS.items():
            if name != "naive Bayes" or epsilon is None:
                wrong = float(np.mean(method(some, other, epsilon, depth) != other.y))
                found.setdefault(name, []).append(wrong)
        if task.name == "branches" and epsilon is not None:
            for name, error in zip(("naive Bayes", "line"), bayes.errors(task, epsilon, repetition), strict=True):
                found.setdefault(name, []).append(error)
    return found


def main() -> None:
    """Measure, and print or keep each result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of real microdata, with column_sets.json")
    parser.add_argument("--keep", action="store_true", help="write docs/measured/trees.json, for the documents")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # few people: no pilot
    rows: list[dict[str, Any]] = []
    for task in tasks(options.data):
        for epsilon in EPSILONS:
            for method, errors in measured(task, epsilon).items():
                rows.append(bayes.row_of(task, epsilon, method, errors))
                print(*rows[-1].values(), flush=True)
            if options.keep:
                KEPT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
