"""A naive Bayes classifier from private relations: one round, any number of classes, intervals for what it knows.

Every person answers one question: about one feature together with the class, as a cell of their table, with the whole
epsilon. That is an ordinary plan, so every client and collector can ask it. The tables give the chance of each class
given each feature; the classifier multiplies these, as if the features were independent within a class.

**Where it wins.** There are no rounds, no steps and no pilot, and all classes are learnt from the same reports, while
gradients need a training, with people of its own, for each class. A table also sees curves and jumps of a number,
which a line does not. **Where it loses.** Features that say the same thing count twice, and each feature has only its
share of the people: with many features that depend on each other, a line is better (docs/learning-figures.md).

**Noise.** Let f be the share of a cell, r and c those of its row and column, brought to the simplex: a product of raw
ones would add noise that the standard error below does not know. A feature counts by its lift f/(rc), and noise in f is
worst where rc is small. So the part of a table beyond independence, f - rc, is shrunk by the share of its size that
noise explains (James and Stein 1961, as in `hush.server.relations.consistent`), and the lift is taken as
(rc + s + shrunk part)/(rc + s), where s is the standard error of the shrunk part: cells that nobody could tell from
noise have a lift near 1. A cell is no smaller than 0, so no lift is below s/(rc + s).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hush.batch.columns import encode
from hush.core.design.plans import design
from hush.core.plan import Plan
from hush.core.schema import Attribute, Categorical, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.core.views import Bands
from hush.errors import DesignError, EstimateError
from hush.server.relations.consistent import shrinkage
from hush.server.relations.crosstabs import Grid, tabulated
from hush.server.simplex import simplex
from hush.server.tally import Tally

Array = np.ndarray[Any, Any]

EVEN = 8  # bands of a number, as wide as each other
HALVED = 3  # times that the first of them is halved: many numbers lie near their lower bound
LEAST = 1e-6  # the smallest lift, where nothing is noisy


def usual_bands(number: Numeric) -> list[float]:
    """Return the cuts of a number's bands: eight of equal width, and the first of them halved three times."""
    width = number.high - number.low
    shares = [1 / (EVEN * 2**i) for i in range(HALVED, 0, -1)] + [i / EVEN for i in range(1, EVEN)]
    cuts = [number.low + share * width for share in shares]
    if number.whole:
        cuts = sorted({float(math.floor(cut)) for cut in cuts if math.floor(cut) >= number.low})
    return [cut for cut in cuts if cut < number.high]


def one_round(
    schema: Schema,
    label: Categorical,
    epsilon: float,
    *,
    bands: Mapping[str, Sequence[float]] | None = None,
    title: str = "",
) -> Plan:
    """Return the plan of a classifier: each person is asked about one feature and the label, together.

    `schema` has the features. `bands` are the cuts of numbers, where those of `usual_bands` do not suit; the data must
    not choose them.
    """
    if not isinstance(schema, Schema):
        raise DesignError("the schema must be a hush.Schema")
    if not isinstance(label, Categorical) or label.optional or label.other:
        raise DesignError("the label must be a category that everybody has, as Categorical('bought', ['no', 'yes'])")
    if label.name in schema.names:
        raise DesignError(f"the label {label.name!r} must not be one of the features")
    for one in schema.attributes:
        if isinstance(one, Text | Choices):
            raise DesignError(f"attribute {one.name!r}: a feature is a number or a category")
    cuts = {one.name: usual_bands(one) for one in schema.attributes if isinstance(one, Numeric)}
    return design(
        Schema([*schema.attributes, label]),
        epsilon,
        relations=[(name, label.name, "table") for name in schema.names],
        bands=cuts | dict(bands or {}),
        singles=0.0,
        title=title,
    )


class NaiveBayes:
    """A classifier from the tally of such a plan. It needs nothing but the tally, and costs no further privacy.

    `classes` are those of the label, in the order of the schema. `lifts` has a matrix for each feature: a row for each
    value or band, a column for each class, and in it how many times likelier the class is than it is for everybody.
    """

    def __init__(self, tally: Tally, label: str) -> None:
        if not isinstance(tally, Tally):
            raise EstimateError("NaiveBayes(tally, label) needs a Tally")
        attribute = tally.plan.schema[label]
        if not isinstance(attribute, Categorical):
            raise EstimateError(f"attribute {label!r}: the label must be a category")
        self.label, self.classes = label, tuple(attribute.labels)
        self.schema = Schema([one for one in tally.plan.schema.attributes if one.name != label])
        grids = [tabulated(tally, name, label) for name in self.schema.names]
        self.shares = _positive(simplex(grids[0].margins[1]))
        self.lifts = {name: _lifts(grid, self.shares) for name, grid in zip(self.schema.names, grids, strict=True)}
        self._cuts = {
            view.of[0]: np.array([_position(self.schema[view.of[0]], cut) for cut in view.cuts])
            for question in tally.plan.questions
            for view in question.views
            if isinstance(view, Bands) and len(question.views) == 2
        }

    def scores(self, table: Any) -> Array:
        """Return the logarithms of the chances of the classes, but for a constant: a row for each row of a table."""
        encoded = encode(self.schema, table)
        found = np.tile(np.log(self.shares), (encoded.rows, 1))
        start = 0
        for batch in encoded.batches:
            for attribute, array in zip(self.schema.attributes, batch.arrays, strict=True):
                rows = np.log(self.lifts[attribute.name])
                found[start : start + batch.rows] += rows[self._codes(attribute, array)]
            start += batch.rows
        return found

    def predict(self, table: Any) -> Array:
        """Return the likeliest class of each row."""
        return np.asarray(np.array(self.classes)[self.scores(table).argmax(axis=1)])

    def predict_proba(self, table: Any) -> Array:
        """Return the chances of the classes. Features that depend on each other make them too extreme."""
        scores = self.scores(table)
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def _codes(self, attribute: Attribute, array: Array) -> Array:
        if isinstance(attribute, Categorical):
            return np.asarray(array, dtype=np.intp)
        assert isinstance(attribute, Numeric)
        cuts = self._cuts[attribute.name]
        places = (np.asarray(array, dtype=np.float64) - attribute.low) / (attribute.high - attribute.low)
        missing = np.isnan(places)
        codes = np.searchsorted(cuts, np.clip(np.nan_to_num(places), 0.0, 1.0), side="left")
        return np.where(missing, len(cuts) + 1, codes)


def _position(attribute: Attribute, cut: float) -> float:
    assert isinstance(attribute, Numeric)
    return (cut - attribute.low) / (attribute.high - attribute.low)


def _positive(shares: Sequence[float]) -> Array:
    found = np.maximum(np.array(shares), LEAST)
    return np.asarray(found / found.sum())


def _lifts(grid: Grid, classes: Array) -> Array:
    """Return the lifts of a table: rows are values of the feature, columns classes."""
    rows = np.array(simplex(grid.margins[0]))
    points = np.array(grid.points)
    expected = np.outer(rows, classes)
    beyond = points - expected
    factor = shrinkage(grid, grid.points)
    error = factor * math.sqrt(grid.noise(1 / points.size))
    lifts = (expected + error + factor * beyond) / np.maximum(expected + error, LEAST)
    return np.asarray(np.maximum(lifts, np.maximum(error / np.maximum(expected + error, LEAST), LEAST)))
