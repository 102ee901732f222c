"""The distinguishing attack: a proven lower bound of epsilon, from outputs alone.

If a randomiser is epsilon-LDP, then P[output in E | a] <= e^epsilon * P[output in E | b] for every event E. So any
event whose two probabilities are bounded, one from below and one from above, bounds epsilon from below.

An attack chooses the event on one half of the outputs. On one quarter it ranks the cells of every feature by how much
likelier they are under a; on another quarter it chooses the best feature and the best cut. On the other half, which the
choice has never seen, it bounds the event's probabilities by Clopper and Pearson. So the bound holds whatever the
choice tried; the attacks of an audit share only the probability that one of them errs. Attacks assume that calls are
independent and alike: a randomiser that remembers cannot be audited by calling it again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import NormalDist
from typing import Any

from hush.planning.audits.features import Feature, Kind, features, has_low_bits
from hush.server.binomial import lower_bound, upper_bound


@dataclass(frozen=True)
class Sample:
    """Outputs of one input. `name` describes the input to people."""

    name: str
    input: object
    outputs: Sequence[Any]

    @property
    def ranking(self) -> Sequence[Any]:
        """The quarter on which cells are ranked."""
        return self.outputs[::4]

    @property
    def choosing(self) -> Sequence[Any]:
        """The quarter on which an event is chosen."""
        return self.outputs[1::4]

    @property
    def measured(self) -> Sequence[Any]:
        """The half on which its probability is bounded."""
        return [*self.outputs[2::4], *self.outputs[3::4]]


@dataclass(frozen=True)
class Attack:
    """An event that `hits[0]` of `draws` outputs of the first input met, and `hits[1]` of the second's.

    `lower` is a lower bound of epsilon. `kind` and `looked_at` describe the event.
    """

    first: str
    second: str
    kind: Kind
    looked_at: str
    hits: tuple[int, int]
    draws: int
    lower: float

    def __str__(self) -> str:
        ours, theirs = (f"{hits:,}" for hits in self.hits)
        return (
            f"{self.looked_at} distinguishes {self.first} from {self.second} ({ours} hits against {theirs}, "
            f"of {self.draws:,} each): epsilon is at least {math.floor(self.lower * 1000) / 1000:.3f}"
        )


Hints = Callable[[Sample, Sample], Sequence[Feature]]


def number_of_attacks(samples: Sequence[Sample]) -> int:
    """Return the largest number of bounds that `attacks` will give: their errors add up."""
    kinds = 1 + has_low_bits(output for sample in samples for output in sample.outputs)
    return len(samples) * (len(samples) - 1) * kinds


def attacks(samples: Sequence[Sample], miss: float, hints: Hints | None = None) -> tuple[Attack, ...]:
    """Attack every ordered pair of inputs. Each bound errs with probability `miss` at most.

    `hints` may supply further features for a pair, such as the true likelihood ratio.
    """
    found = []
    low_bits = has_low_bits(output for sample in samples for output in sample.outputs)
    kinds: tuple[Kind, ...] = ("values", "low bits") if low_bits else ("values",)
    for a, b in permutations(samples, 2):
        candidates = features(a.ranking, b.ranking, (a.input, b.input))
        candidates += hints(a, b) if hints else []
        for kind in kinds:
            chosen = [feature for feature in candidates if feature.kind == kind]
            if chosen:
                found.append(_attack(a, b, chosen, miss))
    return tuple(found)


def _attack(a: Sample, b: Sample, candidates: Sequence[Feature], miss: float) -> Attack:
    z = NormalDist().inv_cdf(1 - miss / 2)
    best, event, chosen = -math.inf, frozenset[Any](), candidates[0]
    for feature in candidates:
        bound, cells = _best_cut(a, b, feature, z)
        if bound > best:
            best, event, chosen = bound, cells, feature
    hits = [sum(chosen.cell(output) in event for output in sample.measured) for sample in (a, b)]
    draws = [len(sample.measured) for sample in (a, b)]
    low, high = lower_bound(hits[0], draws[0], miss / 2), upper_bound(hits[1], draws[1], miss / 2)
    lower = max(0.0, math.log(low / high)) if low > 0 else 0.0
    return Attack(a.name, b.name, chosen.kind, chosen.name, (hits[0], hits[1]), draws[0], lower)


def _best_cut(a: Sample, b: Sample, feature: Feature, z: float) -> tuple[float, frozenset[Any]]:
    """Return the set of cells that promises the largest bound, among the likeliest cells under a."""
    ours, theirs = (Counter(map(feature.cell, sample.ranking)) for sample in (a, b))
    order = sorted(ours | theirs, key=lambda cell: (ours[cell] + 0.5) / (theirs[cell] + 0.5), reverse=True)
    met, missed = (Counter(map(feature.cell, sample.choosing)) for sample in (a, b))
    n = len(a.choosing)
    best, cut, hits, misses = -math.inf, 0, 0, 0
    for index, cell in enumerate(order, 1):
        hits += met[cell]
        misses += missed[cell]
        low, high = _wilson(hits, n, -z), _wilson(misses, n, z)
        if low > 0 and math.log(low / high) > best:
            best, cut = math.log(low / high), index
    return best, frozenset(order[:cut])


def _wilson(count: int, n: int, z: float) -> float:
    """Return a quick bound of a probability, good enough for choosing."""
    share = count / n
    margin = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (share + z * z / (2 * n) + margin) / (1 + z * z / n)
