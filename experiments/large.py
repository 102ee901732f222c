"""Very many categories: sets, points and hashes by exact variance, bytes and time. `python -m experiments.large`.

**Variance** is exact, from the integers of the channels: the total over all categories of what a report adds, as a
multiple of that of the best subset channel (whose reports would have K bits). Local hashing (OLH) has the variance of
optimised unary encoding, 4e^eps/(e^eps - 1)^2, if everybody draws a hash function of their own. Hadamard response has
(coth(eps/2))^2. **Bytes** are those of the answer alone. **Decoding** was measured here, on one core, for a tally of a
million reports. OLH has no tally: its server compares each report with each category, so its time is estimated from a
million comparisons.
"""

from __future__ import annotations

import math
import random
import sys
import time
from fractions import Fraction

from hush.core.channels import Geometry
from hush.core.design.categorical import geometry, least_variance, total_variance
from hush.show.tables import Table

SIZES = (1000, 4096, 10_000, 100_000, 1_000_000)
EPSILONS = ("1", "2", "4")
REPORTS = 1_000_000


def decode_seconds(channel: Geometry) -> float:
    """Return the processor time of reading all shares from a tally of uniform points."""
    pick = random.Random(1)  # noqa: S311
    counts = [0] * channel.points
    for _ in range(REPORTS):
        counts[pick.randrange(channel.points)] += 1
    start = time.process_time()
    channel.totals(counts)
    return time.process_time() - start


def hashing_seconds(size: int) -> float:
    """Return the processor time of reading all shares from as many reports of local hashing, from a part of them."""
    pick = random.Random(2)  # noqa: S311
    factors = [pick.getrandbits(61) | 1 for _ in range(1000)]
    start = time.process_time()
    for factor in factors:
        sum(1 for value in range(1000) if (factor * value >> 40) % 8 == 3)
    return (time.process_time() - start) / 1e6 * size * REPORTS


def row(size: int, epsilon: str) -> tuple[str, ...]:
    """Return the line of one case."""
    e = math.exp(float(epsilon))
    channel, least = geometry(Fraction(epsilon), size), least_variance(Fraction(epsilon), size)
    per = float(least) / size
    return (
        f"{size:,}",
        epsilon,
        f"{channel.order}, {channel.digits}",
        f"{channel.points:,}",
        f"{float(total_variance(channel) / least):.3f}",
        f"{4 * e / (e - 1) ** 2 / per:.3f}",
        f"{1 / math.tanh(float(epsilon) / 2) ** 2 / per:.2f}",
        f"{-(-size // 8):,}",
        str(channel.alphabet.width),
        f"{decode_seconds(channel):.2f}",
        f"{hashing_seconds(size):,.0f}",
    )


def main() -> None:
    """Print the table."""
    columns = (
        *("categories", "epsilon", "q, t", "points", "points / sets", "OLH / sets", "Hadamard / sets"),
        *("bytes of a set", "of a point", "decode s", "OLH decode s"),
    )
    rows = [row(size, epsilon) for size in SIZES for epsilon in EPSILONS]
    sys.stdout.write(Table(columns, rows, texts=0).text() + "\n")


if __name__ == "__main__":
    main()
