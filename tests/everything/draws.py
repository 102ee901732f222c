"""Collections of a crowd, by the hundred: the reports that devices would send, counted.

People are drawn from the crowd, and `hush.batch` makes their reports: it gives those of devices, word for word. The
words come from a seed, so that a finding can be repeated. A relay's own reports come from the blanket of the plan.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import hush
from hush.batch import _randomise_from
from hush.batch.columns import encode
from hush.batch.simulated import SimulatedSource
from hush.core.blanket import ChannelBlanket, blanket_of
from hush.core.columnar import parts
from hush.server.tally import Tally
from hush.testing import SeededCoins
from tests.everything.crowds import Crowd

Array = np.ndarray[Any, Any]


def people(crowd: Crowd, n: int, rng: np.random.Generator) -> Array:
    """Return which records n people have."""
    return rng.choice(len(crowd.records), n, p=np.asarray(crowd.shares) / sum(crowd.shares))


def columns(schema: hush.Schema, crowd: Crowd, who: Array) -> dict[str, pa.Array]:
    """Return the columns of people with these records."""
    found = {}
    for item in schema.attributes:
        values: list[Any] = [record[item.name] for record in crowd.records]
        kind = pa.list_(pa.string()) if isinstance(item, hush.Choices) else None
        if isinstance(item, hush.Numeric) and not item.whole:
            kind = pa.float64()
        found[item.name] = pa.array(values, kind).take(pa.array(who))
    return found


def reports(plan: hush.Plan, crowd: Crowd, who: Array, seed: str) -> Iterator[pa.Table]:
    """Yield the reports of everybody, one table for each row of `who`."""
    table = pa.table(columns(plan.schema, crowd, who.ravel()))
    apart = max(parts(plan)) > 1  # then people have different numbers of rows, and ids tell them apart
    made = _randomise_from(SimulatedSource(seed), plan, encode(plan.schema, table, False), 1, apart).combine_chunks()
    ends = np.arange(0, len(who) + 1) * who.shape[1] * plan.k
    if apart:
        ids = np.frombuffer(made["report"].chunk(0).buffers()[1], "V16")[: made.num_rows]
        starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
        ends = np.append(starts[:: who.shape[1]], made.num_rows)
        made = made.drop_columns(["report"])
    for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        yield made.slice(start, end - start)


def tallies(plan: hush.Plan, crowd: Crowd, n: int, runs: int, seed: str) -> Iterator[Tally]:
    """Yield the tallies of some collections of n people each."""
    rng = np.random.default_rng(random.Random(f"people {seed}").getrandbits(64))
    step = max(1, min(runs, 400_000 // n))
    for start in range(0, runs, step):
        who = people(crowd, n * min(step, runs - start), rng).reshape(-1, n)
        for table in reports(plan, crowd, who, f"{seed} {start}"):
            yield hush.batch.tally(plan, table, threads=1)


def own_counts(plan: hush.Plan, number: int, rng: np.random.Generator) -> Tally:
    """Return the tally of a relay's own reports."""
    blanket = blanket_of(plan)
    if plan.k > 1 and plan.k < len(plan.questions):
        found, coins = Tally(plan), SeededCoins(int(rng.integers(1 << 62)))
        for _ in range(number):
            for index, output in blanket.draw(coins):
                plan.questions[index].channel.alphabet.count(found.counts[index], output)
                found.answered[index] += 1
            found.reports += 1
        return found
    chances = [float(chance) for chance in blanket.answered]
    answered = [number] * len(chances) if plan.k == len(chances) else rng.multinomial(number, chances).tolist()
    counts = [_outputs(channel, n, rng) for channel, n in zip(blanket.channels, answered, strict=True)]
    return Tally(plan, number, answered, counts)


def _outputs(channel: ChannelBlanket, n: int, rng: np.random.Generator) -> list[int]:
    """Return the counts of n answers of a channel's blanket."""
    size = channel.channel.alphabet.size
    if not channel.least:  # uniform over all sets
        weight = round(channel.members[0])
        sets = rng.random((n, size)).argpartition(weight - 1, axis=1)[:, :weight]
        return [int(count) for count in np.bincount(sets.ravel(), minlength=size)]
    found = [0] * size
    law = np.fromiter(channel.law.values(), float)
    for output, count in zip(channel.law, rng.multinomial(n, law / law.sum()).tolist(), strict=True):
        for member in (output,) if isinstance(output, int) else output:
            found[member] += count
    return found
