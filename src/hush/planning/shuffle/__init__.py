"""Shuffling: what a crowd adds to the promise of every single report. `docs/shuffle.md` explains it.

- `fixed`: numbers in fixed point, with stated errors.
- `integrals`: the expectation that the theorem needs, enclosed between two fractions.
- `profiles`: the theorem: delta for an epsilon, from above and from below.
- `contrasts`: the exact probabilities of a plan, as the theorem needs them.
- `losses`: several batches.
- `searches`, `crowds`, `designs`: epsilons for a delta, local epsilons for a central one.
"""

from __future__ import annotations

from hush.planning.shuffle.crowds import Shuffled, compose, shuffle

__all__ = ["Shuffled", "compose", "shuffle"]
