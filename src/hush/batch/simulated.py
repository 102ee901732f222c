"""Words for simulations: fresh ones, or those of a seed, which protect nobody."""

from __future__ import annotations

import hashlib

from hush.batch.keystream import CounterStream, Keystream, Source, Stream


class SimulatedSource:
    """Words made from a seed, so that a simulation can be repeated. They protect nobody: the people are simulated.

    All streams are of one fixed kind: choosing the fastest would depend on timing, and could change with every run.
    """

    def __init__(self, seed: str) -> None:
        self._key = hashlib.sha256(f"hush simulation {seed}".encode()).digest()

    def stream(self, number: int) -> Stream:
        """Return the stream of this number, from its beginning."""
        return CounterStream(self._key, number)


def source_for(seed: str | None) -> Source:
    """Return words for one round: fresh ones, or those of a seed."""
    return Keystream() if seed is None else SimulatedSource(seed)
