"""Tallies of liars: legal reports, but such as no crowd sends. Every estimator says something sensible, or refuses.

    python -m tests.everything.hostile --cases 200

Each call must give rows with low <= the point moved into the domain <= high, all finite, or refuse in words: with
`needed` in the row, or with an EstimateError. Anything else is a finding.
"""

from __future__ import annotations

import argparse
import math
import random
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.progress import track

import hush
from hush.core.blanket import blanket_of
from hush.core.channels import Channel, Output, Picks
from hush.core.plan import Plan
from hush.errors import EstimateError, PlanError
from hush.server.estimates import MAX_LEVEL, estimated
from hush.server.relations.pairs import Together
from hush.server.relations.related import related
from hush.server.tally import Tally
from hush.testing import SeededCoins
from tests.everything.plans import case

SMALL = 3000  # outputs of an alphabet that are listed
NUMBERS = (1, 2, 3, 10, 1000)


def outputs(channel: Channel, world: random.Random) -> list[Output]:
    """Return some outputs that a liar would choose: those that say most, the rarest, and any."""
    alphabet, coins = channel.alphabet, SeededCoins(world.getrandbits(60))
    states = []
    for state in channel.states():
        states.append(state)
        if len(states) == 40:
            break
    found: list[Output] = [channel.draw(world.choice(states), coins) for _ in range(6)]
    if alphabet.outputs > SMALL:
        return found
    listed = list(alphabet.listed())
    found += [listed[0], listed[-1], world.choice(listed)]
    try:
        said = {output: channel.decode(output) for output in listed[:: max(1, len(listed) // 200)]}
        for target in range(len(next(iter(said.values())))):
            ordered = sorted(said, key=lambda output, target=target: said[output][target])  # type: ignore[misc]
            found += [ordered[0], ordered[-1]]
            if len(found) > 30:
                break
        law = channel.law(states[0])
        found.append(min(law, key=law.__getitem__))
    except (NotImplementedError, PlanError):
        pass
    return found


def tallies(plan: Plan, world: random.Random) -> Iterator[tuple[str, Tally]]:
    """Yield tallies of liars, with what they do."""
    known = [outputs(question.channel, world) for question in plan.questions]
    yield "nobody", Tally(plan)
    for number in NUMBERS:
        yield f"{number} alike", _tally(plan, [[world.choice(some)] for some in known], number, world)
        yield f"{number} of two kinds", _tally(plan, [world.sample(some, 2) for some in known], number, world)
        yield f"{number} of any kind", _tally(plan, known, number, world)
    yield "one question alone", _tally(plan, known, 500, world, world.randrange(len(known)))
    try:
        blanket_of(plan)
    except PlanError:
        return
    for number, own in ((3, 2), (10, 40), (1000, 900), (5, 5000)):
        found = _tally(plan, [[world.choice(some)] for some in known], number, world)
        if world.random() < 0.5:  # liars behind a relay, or liars in its place
            coins = SeededCoins(world.getrandbits(60))
            for _ in range(min(own, 60)):
                for index, output in blanket_of(plan).draw(coins):
                    plan.questions[index].channel.alphabet.count(found.counts[index], output)
                    found.answered[index] += 1
                found.reports += 1
        yield (
            f"{number} alike and own ones",
            Tally(plan, found.reports, found.answered, found.counts, min(own, found.reports)),
        )


def _tally(plan: Plan, some: list[list[Output]], number: int, world: random.Random, alone: int | None = None) -> Tally:
    """Return the tally of so many liars; `alone`: the question that all of them answer, among others if they must."""
    found = Tally(plan)
    questions = range(len(plan.questions))
    for _ in range(number):
        asked = world.sample(questions, plan.k)
        if alone is not None and alone not in asked:
            asked[0] = alone
        for index in asked:
            plan.questions[index].channel.alphabet.count(found.counts[index], world.choice(some[index]))
            found.answered[index] += 1
        found.reports += 1
    return found


Call = Callable[[], Iterable[Any]]


def calls(tally: Tally, other: Tally, world: random.Random) -> Iterator[tuple[str, Call]]:
    """Yield everything that can be asked of a tally, and of two."""
    plan = tally.plan
    level = world.choice((0.5, 0.95, 0.95, 0.999, MAX_LEVEL))
    yield "estimate", lambda: hush.estimate(tally, level=level)
    yield "estimate, not refused", lambda: hush.estimate(tally, refuse=False)
    yield "estimate together", lambda: hush.estimate(tally, simultaneous=True)
    yield "estimate top", lambda: hush.estimate(tally, top=2)
    yield "estimate by the paper", lambda: hush.estimate(tally, estimator="paper")
    yield "estimate projected", lambda: _silent(hush.estimate(tally).project().clip())
    yield "estimate with tails", lambda: hush.estimate(tally, tail=world.choice((1.5, 3.0)))
    yield "raw estimates", lambda: _silent(estimated(tally, level))
    yield "manipulation", lambda: hush.manipulation(tally, world.choice((0, 1, 5, 10**6)))
    yield "change", lambda: hush.change(tally, other, level=level)
    yield "change back", lambda: hush.change(other, tally, simultaneous=True)
    yield "shifts", lambda: hush.shifts(tally, 3)
    for item in plan.schema.attributes:
        if isinstance(item, hush.Numeric):
            yield "distribution", lambda item=item: _distribution(tally, item.name)  # type: ignore[misc]
        if isinstance(item, hush.Text):
            yield "frequent", lambda item=item: hush.frequent(tally, item.name)  # type: ignore[misc]
        if isinstance(item, hush.Choices):
            yield "nothing", lambda item=item: hush.nothing(tally, item.name)  # type: ignore[misc]
            yield "pairs", lambda item=item: _pairs(plan, item.name, world)  # type: ignore[misc]
    for relation in related(plan):
        yield from _relations(tally, relation.kind, relation.attribute, relation.by, level)


def _relations(tally: Tally, kind: str, one: str, by: Any, level: float) -> Iterator[tuple[str, Call]]:
    if kind == "table":
        for shares in ("all", "rows", "columns"):
            yield f"table {shares}", lambda s=shares: hush.crosstab(tally, one, by, shares=s, level=level)  # type: ignore[misc]
        yield "table together", lambda: hush.crosstab(tally, one, by, simultaneous=True, pooled=False)
        for remedy in ("pooled", "proper", "shrunk"):
            yield f"table {remedy}", lambda r=remedy: _silent(hush.consistent(tally, r).crosstab(one, by))  # type: ignore[misc]
    if kind == "means":
        for pooled in (True, False):
            yield "means", lambda p=pooled: hush.means(tally, one, by=by, pooled=p, level=level)  # type: ignore[misc]
            yield "differences", lambda p=pooled: hush.means(tally, one, by=by, pooled=p).differences()  # type: ignore[misc]
    if kind == "association":
        yield "association", lambda: hush.association(tally, one, by, level=level)
    if kind == "moments":
        yield "moments", lambda: hush.association(tally, one, by, method="moments", level=level)
    if kind == "range":
        yield "below", lambda: hush.below(tally, one, level=level)
        yield "below together", lambda: hush.below(tally, one, simultaneous=True)
        yield "quantiles", lambda: hush.quantiles(tally, one, (0.001, 0.5, 0.9), level=level)


def _silent(rows: Iterable[Any]) -> list[Any]:
    """Return nothing: the points of these rows need not lie in their intervals."""
    for row in rows:
        assert not math.isinf(row.point)
    return []


def _distribution(tally: Tally, name: str) -> list[Any]:
    found = hush.distribution(tally, name)
    assert all(0 <= share <= 1 for share in found.shares)
    assert abs(math.fsum(found.shares) - 1) < 1e-6
    assert all(math.isfinite(found.quantile(q)) for q in (0.0, 0.1, 0.5, 1.0))
    return []


def _pairs(plan: Plan, name: str, world: random.Random) -> list[Any]:
    for index, question in enumerate(plan.questions):
        if isinstance(question.channel, Picks) and question.attributes == (name,):
            found = Together(plan, name)
            for output in outputs(question.channel, world)[: world.randrange(1, 9)]:
                found.add((output,) if isinstance(output, int) else output)
            return list(found.pairs(world.choice((0.5, 0.95, 0.999))))
        assert index >= 0
    raise EstimateError("its values are asked apart")


def bounds_of(schema: hush.Schema, row: Any) -> tuple[float, float] | None:
    """Return the domain of a row, or None if it has no interval."""
    kind = type(row).__name__
    item: Any = schema[row.attribute]
    low, high = (item.low, item.high) if isinstance(item, hush.Numeric) else (0.0, 1.0)
    if kind in ("Estimate", "Change"):
        ends = (low, high) if row.category is None else (0.0, 1.0)
        if kind == "Estimate" and row.floor is not None:
            ends = row.floor, row.ceiling
        return ends if kind == "Estimate" else (ends[0] - ends[1], ends[1] - ends[0])
    if kind == "Related":
        if row.category is not None:
            return 0.0, 1.0
        if row.group is None:
            return -1.0, 1.0
        return (low - high, high - low) if " - " in str(row.group) and row.point < low else (low, high)
    if kind == "Quantile":
        return low, high
    return (0.0, 1.0) if kind in ("Below", "FrequentText") else None


def faults(schema: hush.Schema, rows: Iterable[Any]) -> Iterator[str]:
    """Say what is wrong with rows."""
    listed = list(rows)
    for row in listed:
        ends = bounds_of(schema, row)
        if ends is None:
            shift = getattr(row, "shift", 0.0)
            if math.isnan(shift) or shift < 0:
                yield f"a shift of {shift}"
            continue
        if math.isnan(row.low) or math.isnan(row.high) or math.isinf(row.low) or math.isinf(row.high):
            yield f"ends are {row.low} and {row.high}"
        elif not row.low <= row.high:
            yield f"low {row.low} is above high {row.high}"
        point = getattr(row, "point", getattr(row, "share", math.nan))
        if math.isinf(point):
            yield "an infinite point"
        elif math.isnan(point):
            if getattr(row, "needed", 1) is None:
                yield "no point, and no reason"
        elif type(row).__name__ != "Related" or row.group is None or " - " not in str(row.group):
            spare = 1e-9 * (ends[1] / 2 - ends[0] / 2)
            if not row.low - spare <= min(max(point, ends[0]), ends[1]) <= row.high + spare:
                yield f"the point {point} is not from {row.low} to {row.high}"
        stderr = getattr(row, "stderr", 0.0)
        if math.isnan(stderr) or stderr < 0:
            yield f"a standard error of {stderr}"
        if getattr(row, "needed", None) is not None and row.needed <= getattr(row, "answers", 0):
            yield f"{row.needed} answers are needed, and there are {row.answers}"
    for text in (str(rows), getattr(rows, "_repr_html_", str)()):
        if listed and any(word in text.lower().split() for word in ("nan", "inf", "-inf", "none")):
            yield f"the text has a word for no number: {text[:200]}"


def search(seeds: Iterable[int], tell: Callable[[str], None] = print) -> tuple[int, Counter[str]]:
    """Return how many calls were made on tallies of liars, and the findings."""
    made, found = 0, Counter[str]()
    for seed in seeds:
        try:
            plan = case(seed).design()
        except hush.DesignError:
            continue
        world = random.Random(f"liars {seed}")
        some = list(tallies(plan, world))
        for what, tally in some:
            for name, call in calls(tally, world.choice(some)[1], world):
                made += 1
                try:
                    rows = call()
                    wrong = list(faults(plan.schema, rows))
                except EstimateError:
                    continue
                except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    wrong = [f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {error}"]
                for fault in wrong[:1]:
                    if not found[f"{name}: {fault.split(':')[0][:40]}"]:
                        tell(f"case {seed}, {what}: {name}: {fault[:300]}")
                    found[f"{name}: {fault.split(':')[0][:40]}"] += 1
    return made, found


def main() -> None:
    """Search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=20)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.cases)
    made, found = search(track(seeds, "cases"))
    print(f"{made:,} calls, {sum(found.values()):,} findings of {len(found)} kinds")


if __name__ == "__main__":
    main()
