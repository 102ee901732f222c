"""Early stopping: held-out people report their loss privately, and training ends when it no longer falls."""

from __future__ import annotations

import math

from hush.core.training.rounds import Round
from hush.core.training.training import Training
from hush.learn import simulation
from hush.learn.simulation import People

CHECKS = 10  # times that held-out people are asked
PATIENCE = 3  # checks without improvement


class Checker:
    """Asks held-out people, a new group at each check. `best` is the round with the least loss so far."""

    def __init__(self, training: Training, people: People, seed: str | None, threads: int) -> None:
        self._people, self._seed, self._threads = people, seed, threads
        self._every = max(1, training.rounds // CHECKS)
        self._asked = self._since = 0
        self._lowest = math.inf
        self.best: Round | None = None
        self.losses: list[tuple[int, float, float]] = []

    def stops(self, round_: Round) -> bool:
        """Return whether training has stopped improving."""
        size = len(self._people) // CHECKS
        if (round_.number - 1) % self._every or size == 0 or self._asked + size > len(self._people):
            return False
        group = self._people.some(self._asked, self._asked + size)
        self._asked += size
        source = simulation.source_for(None if self._seed is None else f"{self._seed}/loss/{round_.number}")
        point, error = simulation.held_out_loss(round_, group, source, self._threads)
        self.losses.append((round_.number - 1, point, error))
        if point < self._lowest:
            self._since = 0 if point < self._lowest - error else self._since + 1
            self._lowest, self.best = point, round_
        else:
            self._since += 1
        return self._since >= PATIENCE
