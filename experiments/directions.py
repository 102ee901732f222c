"""The noise of three ways to report the direction of a gradient: corners, cube, and PrivUnit as a yardstick.

    python -m experiments.directions

For each epsilon and each number of dimensions: the variance of one coordinate of one decoded unit vector. Both channels
of hush are exact, from order statistics of a random direction (`hush.core.training.directions`); PrivUnit is continuous
and not float-safe, and hush does not offer it. A training takes the better of the first two.
"""

from __future__ import annotations

from fractions import Fraction

from experiments import privunit
from hush.core.design.directions import corners, direction
from hush.core.design.joint import cube
from hush.core.training.directions import noise

EPSILONS = ("0.1", "0.5", "1", "2", "4", "6", "8", "10", "12", "16")
SIZES = (64, 128, 256, 1024)


def rows() -> list[list[str]]:
    """Return the table: dimensions, epsilon, m, the three variances, and the channel that is taken."""
    found = []
    for size in SIZES:
        for text in EPSILONS:
            epsilon = Fraction(text)
            near = corners(epsilon, size)
            unit = 1 / (privunit.best(size, float(epsilon)).m ** 2 * size)
            values = [noise(near), noise(cube(epsilon, size)), unit]
            taken = direction(epsilon, size).kind
            found.append([str(size), text, str(near.near), *(f"{value:.4g}" for value in values), taken])
    return found


def main() -> None:
    """Print the table."""
    print("| D | eps | m | corners | cube | PrivUnit | taken |")
    print("|---" * 7 + "|")
    for row in rows():
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
