"""Mechanisms and designs side by side, on a table of one's own: how far off their estimates are.

A simulation. For every design and epsilon, everybody in the table is randomised, the reports are counted and the
estimates are compared with the true means and shares of the table, several times. The error is the root of the average
squared difference, over the repetitions and, for shares, over the categories.

**Not private.** The errors are computed from raw data, so they are as private as the table. They are for the people who
may see it, to choose a design for others whom they do not know yet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hush.batch.columns import Encoded, encode
from hush.batch.engine import thread_count
from hush.batch.files import People, Progress
from hush.batch.outlines import outline
from hush.batch.simulated import source_for
from hush.core.design import design
from hush.core.plan import Plan
from hush.core.schema import MISSING, Attribute, Categorical, Choices, Numeric, Schema
from hush.errors import DesignError, PlanError
from hush.server.estimates import Estimates, estimate
from hush.show.rows import Rows
from hush.show.tables import Table, number

if TYPE_CHECKING:
    import altair as alt

Array = np.ndarray[Any, Any]
Truth = dict[tuple[str, str | int | None], float]
WARNING = (
    "These errors were computed from raw data, so they are not private: keep them where the data are. "
    "Nothing was sent or kept."
)
MAX_REPETITIONS = 10_000


@dataclass(frozen=True)
class Design:
    """A way to collect: the options of `hush.design`, and how estimates are made."""

    words: str
    options: Mapping[str, Any] = field(default_factory=dict)
    estimator: str = "ratio"


def _of_paper(words: str, numeric: str, k: str, estimator: str = "paper") -> Design:
    return Design(words, {"numeric": numeric, "categorical": "oue", "k": k}, estimator)


DESIGNS: Mapping[str, Design] = {
    "hush": Design("the default of hush: minimax and subset, the best k"),
    "weighted": Design("the same, with one question, drawn by its error", {"k": "weighted"}),
    "hybrid": _of_paper("Wang et al. (2019): the Hybrid mechanism and OUE", "hybrid", "paper"),
    "piecewise": _of_paper("Wang et al. (2019): the Piecewise mechanism and OUE", "piecewise", "paper"),
    "duchi": _of_paper("Duchi et al. for all numbers at once and OUE; epsilon is split", "duchi-multi", "all", "ratio"),
    "laplace": _of_paper("Laplace and OUE; epsilon is split", "laplace", "all", "ratio"),
    "scdf": _of_paper("SCDF and OUE; epsilon is split", "scdf", "all", "ratio"),
    "staircase": _of_paper("Staircase and OUE; epsilon is split", "staircase", "all", "ratio"),
}
"""The designs that `compare` knows by name."""
USUAL = ("hush", "hybrid", "piecewise", "duchi", "laplace")


@dataclass(frozen=True)
class Compared:
    """The error of one design at one epsilon: of a mean, of the shares of a category, or of the share of missing.

    `error` is on the attribute's own scale for a mean, and from 0 to 1 for shares; `stderr` is its standard error.
    """

    attribute: str
    category: None
    target: str
    design: str
    epsilon: float
    error: float
    stderr: float
    repetitions: int


class Comparison(Rows[Compared]):
    """The errors of several designs, with the number of people, and the designs that this table does not allow."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "target": str,
        "design": str,
        "epsilon": float,
        "error": float,
        "stderr": float,
        "repetitions": int,
    }

    def __init__(
        self, rows: Iterable[Compared] = (), *, people: int = 0, impossible: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(rows)
        self.people, self.impossible = people, dict(impossible or {})

    def table(self) -> Table:
        """Return them with a column for each epsilon."""
        epsilons = sorted({row.epsilon for row in self})
        found: dict[tuple[str, str, str], dict[float, Compared]] = {}
        for row in self:
            found.setdefault((row.attribute, row.target, row.design), {})[row.epsilon] = row
        shown = [(*key, *(_cell(rows.get(epsilon)) for epsilon in epsilons)) for key, rows in found.items()]
        notes = [f"{name} is left out: {why}." for name, why in self.impossible.items()]
        if self:
            times = f"{self[0].repetitions} repetition{'s' if self[0].repetitions > 1 else ''}"
            notes.append(f"Typical errors (root mean square ± standard error) of {times} with {self.people:,} people.")
        notes.append(WARNING)
        heads = (f"epsilon {epsilon:g}" for epsilon in epsilons)
        return Table(("attribute", "estimate", "design", *heads), shown, texts=3, notes=tuple(notes))

    def plot(self) -> alt.VConcatChart:
        """Draw the errors against epsilon, as an Altair chart. Needs `pip install 'hush-ldp[plot]'`."""
        from hush import plots

        return plots.comparison(self)


def _cell(row: Compared | None) -> str:
    if row is None or math.isnan(row.error):
        return "unknown"
    return number(row.error) + ("" if math.isnan(row.stderr) else f" ±{number(float(f'{row.stderr:.1g}'))}")


def compare(
    data: Any,
    epsilons: Sequence[float],
    *,
    schema: Schema | None = None,
    designs: Sequence[str] | Mapping[str, Mapping[str, Any]] = USUAL,
    repetitions: int = 10,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run designs on a table, or files of people, and return how far off their estimates are.

    designs: names among `hush.batch.comparing.DESIGNS`, or a mapping from names of your own to options of
    `hush.design`. A design that does not fit the schema is left out, with the reason in `impossible`.

    Without a schema it is taken from the table (`hush.outline`). The same seed gives the same errors. The result is
    computed from raw data, so it is not private.
    """
    known = _designs(designs)
    if type(repetitions) is not int or not 1 <= repetitions <= MAX_REPETITIONS:
        raise DesignError(f"repetitions must be a whole number from 1 to {MAX_REPETITIONS:,}")
    if seed is not None and (type(seed) is not int or seed < 0):
        raise DesignError("seed must be None, or a whole number from 0 on")
    if isinstance(epsilons, int | float) or not len(epsilons):
        raise DesignError("epsilons must be a list of numbers, such as [0.5, 1, 2, 4]")
    wanted = outline(data).schema() if schema is None else schema
    # One mechanism reports all numbers together, so they must be neighbours. The order changes no error.
    wanted = Schema(sorted(wanted.attributes, key=lambda attribute: not isinstance(attribute, Numeric)))
    plans, impossible = _plans(wanted, dict.fromkeys(map(float, epsilons)), known)
    people = _encoded(wanted, data)
    truth = _truth(people)
    workers, total = thread_count(threads), len(plans) * repetitions
    rows: list[Compared] = []
    for place, ((name, epsilon), plan) in enumerate(plans.items()):
        squares: dict[tuple[str, str], list[float]] = {}
        for repetition in range(repetitions):
            if progress is not None:
                progress(place * repetitions + repetition, total, f"{name}, epsilon {epsilon:g}")
            words = source_for(None if seed is None else f"{seed}/compare/{name}/{epsilon}/{repetition}")
            tally = _collected(words, plan, people, workers)
            found = estimate(tally, estimator=known[name].estimator, refuse=False)  # type: ignore[arg-type]
            for key, square in _squares(wanted, found, truth).items():
                squares.setdefault(key, []).append(square)
        for (attribute, target), values in squares.items():
            rows.append(Compared(attribute, None, target, name, epsilon, *_root(values), repetitions))
    order = {name: place for place, name in enumerate(wanted.names)}
    rows.sort(key=lambda row: (order[row.attribute], row.target))
    return Comparison(rows, people=people.rows, impossible=impossible)


def _designs(given: Sequence[str] | Mapping[str, Mapping[str, Any]]) -> dict[str, Design]:
    if isinstance(given, Mapping):
        return {name: Design("", options) for name, options in given.items()}
    if isinstance(given, str) or not given or not all(name in DESIGNS for name in given):
        raise DesignError(f"designs must be some of: {', '.join(DESIGNS)}")
    return {name: DESIGNS[name] for name in given}


def _plans(
    schema: Schema, epsilons: Iterable[float], known: Mapping[str, Design]
) -> tuple[dict[tuple[str, float], Plan], dict[str, str]]:
    """Return the plans, and the reason why a design has none."""
    plans: dict[tuple[str, float], Plan] = {}
    impossible: dict[str, str] = {}
    for epsilon in epsilons:
        design(schema, epsilon)  # an epsilon out of range is nobody's fault but the caller's
        for name, one in known.items():
            try:
                plans[name, epsilon] = design(schema, epsilon, **one.options)
            except (DesignError, PlanError) as error:
                impossible[name] = str(error)
    plans = {key: plan for key, plan in plans.items() if key[0] not in impossible}
    if not plans:
        raise DesignError("; ".join(f"{name}: {why}" for name, why in impossible.items()))
    return plans, impossible


def _encoded(schema: Schema, data: Any) -> Encoded:
    if isinstance(data, str) or hasattr(data, "__fspath__") or isinstance(data, list | tuple):
        import pyarrow as pa

        return encode(schema, pa.Table.from_batches(People(schema, data).batches()))
    return encode(schema, data)


def _collected(words: Any, plan: Plan, people: Encoded, threads: int) -> Any:
    from hush.batch import _collect_from

    return _collect_from(words, plan, people, threads)


def _truth(people: Encoded) -> Truth:
    """Return the true means of the present numbers, clipped as the schema clips them, and the true shares."""
    found: Truth = {}
    for place, attribute in enumerate(people.schema.attributes):
        values = np.concatenate([batch.arrays[place] for batch in people.batches])
        if isinstance(attribute, Numeric):
            present = values[~np.isnan(values)]
            found[attribute.name, None] = _mean(np.clip(present, attribute.low, attribute.high))
            if attribute.optional:
                found[attribute.name, MISSING] = 1 - len(present) / len(values)
        elif isinstance(attribute, Choices):
            for index, label in enumerate(attribute.values):
                found[attribute.name, label] = float((values[:, index] == 1).mean())
            if attribute.optional:
                found[attribute.name, MISSING] = float((values[:, 0] == 2).mean())
        else:
            counts = np.bincount(values, minlength=len(attribute.labels))
            found |= {
                (attribute.name, label): float(count) / len(values)
                for label, count in zip(attribute.labels, counts, strict=True)
            }
    return found


def _mean(values: Array) -> float:
    return math.fsum(values) / len(values) if len(values) else math.nan


def _squares(schema: Schema, found: Estimates, truth: Truth) -> dict[tuple[str, str], float]:
    """Return the squared error of each target; for shares the average over the categories."""
    squares: dict[tuple[str, str], list[float]] = {}
    for row in found:
        square = (row.point - truth[row.attribute, row.category]) ** 2
        squares.setdefault((row.attribute, _target(schema[row.attribute], row.category)), []).append(square)
    return {target: math.fsum(values) / len(values) for target, values in squares.items()}


def _target(attribute: Attribute, category: object) -> str:
    if isinstance(attribute, Categorical | Choices):
        return "shares"
    return "mean" if category is None else f"share of {MISSING}"


def _root(squares: Sequence[float]) -> tuple[float, float]:
    """Return the root of the mean, and its standard error by the slope of the root."""
    n = len(squares)
    mean = math.fsum(squares) / n
    if n < 2 or not mean > 0:
        return math.sqrt(mean) if mean >= 0 else math.nan, math.nan
    variance = math.fsum((square - mean) ** 2 for square in squares) / (n - 1)
    return math.sqrt(mean), math.sqrt(variance / n) / (2 * math.sqrt(mean))
