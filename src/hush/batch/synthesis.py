"""Made-up records that look like the people of a tally: their tables are those that the tally's answers support.

Only the tally is used, so made-up records cost no privacy, however many there are. They show pairs of attributes as the
*shrunk* tables do (`hush.server.relations.consistent`), with all noise of these; what three attributes have in common
beyond their pairs is made up.

**Start.** The spanning tree of the tables with the largest mutual information is the best model of its kind (Chow and
Liu 1968): the first attribute is drawn from its shares, every further one given its neighbour in the tree.

**Update.** Then all tables are visited several times (as by Zhang et al., PrivSyn, 2021). Records of cells that have
too many move to cells that have too few: half of them by copying a whole record of that cell, which keeps its other
relations, half by changing the two values only. The share of the excess that moves falls from visit to visit, so
that tables which pull in different directions come to rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from hush.batch.dated import values
from hush.core.calendar import Counted
from hush.core.channels import Rows, Subset, Unary
from hush.core.looking import View
from hush.core.schema import OTHER, Attribute, Categorical, Choices, Numeric
from hush.core.views import Bands, Value
from hush.errors import EstimateError
from hush.server.relations.consistent import consistent
from hush.server.relations.crosstabs import tables as tables_of
from hush.server.relations.margins import margin
from hush.server.simplex import simplex
from hush.server.tally import Tally

Array = np.ndarray[Any, Any]
Tables = dict[tuple[int, int], Array]
MAX_PEOPLE = 1 << 27
_ROUNDS = 30
_RATES = (0.9, 0.05)  # the part of the excess that moves, in the first and the last visit
_COPIES = 0.5  # of the moving records


def synthesise(tally: Tally, people: int, seed: int | None = None) -> pa.Table:
    """Make up records whose tables are the consistent (shrunk) tables of a tally, as an Arrow table.

    It costs no privacy: only the tally is used. The plan needs tables (`relations=[("education", "region"), ...]`).
    Attributes that are in no table are drawn from their own shares. A number that tables see through bands gets a
    uniform value within its band; numbers without bands are left out. Missing values are null. Whatever three
    attributes have in common beyond their pairs is made up, and records are no better than the tables: use
    `hush.crosstab` for shares with intervals. The same seed makes the same records.
    """
    if not isinstance(tally, Tally):
        raise EstimateError("synthesise(tally, people) needs a Tally")
    if type(people) is not int or not 1 <= people <= MAX_PEOPLE:
        raise EstimateError(f"people must be a whole number from 1 to {MAX_PEOPLE:,}")
    if seed is not None and (type(seed) is not int or seed < 0):
        raise EstimateError("seed must be None, or a whole number from 0 on")
    if not tables_of(tally):
        raise EstimateError('the plan has no tables: design it with relations, such as relations=[("a", "b")]')
    for attribute in tally.plan.schema.attributes:
        if isinstance(attribute, Choices):
            raise EstimateError(f"attribute {attribute.name!r}: choices cannot be synthesised")
    rng = np.random.default_rng(seed)
    found = consistent(tally, "shrunk")
    views = dict(_alone(tally)) | {view: np.array(shares) for view, shares in found.margins.items()}
    places = {view: place for place, view in enumerate(views)}
    tables: Tables = {}
    for (first, second), cells in found.tables.items():
        one, other = places[first], places[second]
        tables[min(one, other), max(one, other)] = np.array(cells) if one < other else np.array(cells).T
    records = _start(list(views.values()), tables, people, rng)
    _update(records, tables, rng)
    return _arrow(tally, list(views), records, rng)


def _alone(tally: Tally) -> Iterator[tuple[View, Array]]:
    """Return the shares of attributes that are in no table, as far as any question asks about them."""
    known = {view.of[0] for pair in tables_of(tally) for view in pair}
    for attribute in tally.plan.schema.attributes:
        if attribute.name not in known:
            view = _view(tally, attribute)
            if view is not None:
                yield view, np.array(simplex(margin(tally, view).points))


def _view(tally: Tally, attribute: Attribute) -> View | None:
    """Return how the plan sees the shares of an attribute: its categories, or its finest bands; None if it does not."""
    best: Bands | None = None
    for index, question in enumerate(tally.plan.questions):
        for view in question.views[:1]:
            if view.of != (attribute.name,) or not tally.answered[index]:
                continue
            if isinstance(view, Value) and isinstance(attribute, Categorical):
                return view
            shares = isinstance(question.channel, Subset | Unary | Rows)
            if isinstance(view, Bands) and shares and (best is None or len(view.cuts) > len(best.cuts)):
                best = view
    return best


def _mutual(table: Array) -> float:
    """Return the mutual information of a table."""
    independent = np.outer(table.sum(1), table.sum(0))
    there = (table > 0) & (independent > 0)
    return float((table[there] * np.log(table[there] / independent[there])).sum())


def _tree(size: int, tables: Tables) -> Iterator[tuple[int | None, int]]:
    """Return the places in an order of drawing, each with the neighbour on which it depends (or None)."""
    edges = sorted(((_mutual(table), pair) for pair, table in tables.items()), key=lambda edge: (-edge[0], edge[1]))
    joined: set[int] = set()
    while len(joined) < size:
        reach = next((pair for _, pair in edges if (pair[0] in joined) != (pair[1] in joined)), None)
        if reach is None:  # the first of its part of the graph
            new, old = next(place for place in range(size) if place not in joined), None
        else:
            old, new = reach if reach[0] in joined else reach[::-1]
        joined.add(new)
        yield old, new


def _start(margins: Sequence[Array], tables: Tables, people: int, rng: np.random.Generator) -> Array:
    """Return records drawn along the tree: one row for each view."""
    records = np.zeros((len(margins), people), np.int16)
    for old, new in _tree(len(margins), tables):
        if old is None:
            records[new] = _spread(margins[new], people, rng)
            continue
        table = tables[old, new] if old < new else tables[new, old].T
        for value, row in enumerate(table):
            who = np.nonzero(records[old] == value)[0]
            records[new, who] = _spread(row if row.sum() > 0 else margins[new], len(who), rng)
    return records


def _spread(shares: Array, people: int, rng: np.random.Generator) -> Array:
    """Return values in random order whose numbers are as close to the shares as whole numbers can be."""
    wanted = np.maximum(shares, 0) / np.maximum(shares, 0).sum() * people
    counts = np.floor(wanted).astype(np.int64)
    rest = wanted - counts
    more = rng.permutation(len(shares))  # equal rests are decided at random
    more = more[np.argsort(-rest[more], kind="stable")][: people - int(counts.sum())]
    counts[more] += 1
    return rng.permutation(np.repeat(np.arange(len(shares), dtype=np.int16), counts))


def _update(records: Array, tables: Tables, rng: np.random.Generator) -> None:
    """Move records towards all tables, in place."""
    for visit in range(_ROUNDS):
        first, last = _RATES
        rate = first + (last - first) * visit / (_ROUNDS - 1)
        for pair in rng.permutation(np.array(list(tables))).tolist():
            _visit(records, pair[0], pair[1], tables[pair[0], pair[1]], rate, rng)


def _visit(records: Array, one: int, other: int, table: Array, rate: float, rng: np.random.Generator) -> None:
    """Move a part of the records in cells of one table that have too many to cells that have too few."""
    people, size = records.shape[1], table.size
    columns = table.shape[1]
    cells = records[one] * np.int16(columns) + records[other]  # at most 4096: a cells channel has no more
    have = np.bincount(cells, minlength=size)
    lack = table.ravel() / table.sum() * people - have
    leaving = np.minimum((rate * np.maximum(-lack, 0)).astype(np.int64), have)
    total = int(leaving.sum())
    if not total:
        return
    order = rng.permutation(people)
    order = order[np.argsort(cells[order], kind="stable")]  # by cell, in random order within each
    begins = np.concatenate([[0], np.cumsum(have)])
    moving = np.concatenate([order[begins[cell] : begins[cell] + leaving[cell]] for cell in range(size)])
    moving = rng.permutation(moving)
    target = _spread(np.maximum(lack, 0), total, rng).astype(np.int64)
    copied = (rng.random(total) < _COPIES) & (have[target] > 0)
    source = begins[target] + (rng.random(total) * have[target]).astype(np.int64)
    records[:, moving[copied]] = records[:, order[np.minimum(source[copied], people - 1)]]
    records[one, moving[~copied]] = target[~copied] // columns
    records[other, moving[~copied]] = target[~copied] % columns


def _arrow(tally: Tally, views: Sequence[View], records: Array, rng: np.random.Generator) -> pa.Table:
    """Return the records with the schema's own values, in the schema's order."""
    schema = tally.plan.schema
    columns: dict[str, pa.Array] = {}
    for view, row in sorted(zip(views, records, strict=True), key=lambda pair: schema.names.index(pair[0].of[0])):
        attribute = schema[view.of[0]]
        if isinstance(attribute, Numeric):
            assert isinstance(view, Bands)
            columns[attribute.name] = _numbers(attribute, view, row, rng)
        else:
            assert isinstance(attribute, Categorical)  # choices have no relations
            values = pa.array([*attribute.values, *[OTHER] * attribute.other, *[None] * attribute.optional])
            columns[attribute.name] = values.take(pa.array(row))
    return pa.table(columns)


def _numbers(number: Numeric, view: Bands, row: Array, rng: np.random.Generator) -> pa.Array:
    """Return uniform values within the bands, each above the lower cut and not above the upper one."""
    edges = [number.low, *view.cuts, number.high]
    lows = np.array([math.nextafter(low, math.inf) if band else low for band, low in enumerate(edges[:-1])])
    spans = np.array([high - low for low, high in pairwise(edges)])
    gone = row >= len(spans)
    band = np.where(gone, 0, row)
    drawn = np.minimum(np.array(edges)[band] + spans[band] * rng.random(len(row)), np.array(edges[1:])[band])
    drawn = np.maximum(drawn, lows[band])
    drawn = np.ceil(drawn) if number.whole else drawn  # a cut is the last value of its band
    return values(number, drawn, gone) if isinstance(number, Counted) else pa.array(drawn, mask=gone)
