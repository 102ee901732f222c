"""Other people's clients, each used as its own documentation says. `peers.py` runs this file in their environment.

It is a small server: a line of JSON asks for one case and one size, a line of JSON answers with the processor seconds
of one run. So hush and a peer can take turns, though they live in two environments. It must not import hush.

The cases "by hand" are what somebody would write with numpy in an afternoon: whole columns, floats, numpy's generator.
They are here so that there is always somebody to compare with, and because they are faster than the packages. They are
for measuring only: floats and a statistical generator protect nobody (`docs/audit.md`).
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Run = Callable[[], object]
EPSILON = 1.0


def numbers(n: int) -> Array:
    return np.random.default_rng().uniform(-1.0, 1.0, n)


def categories(n: int, size: int) -> Array:
    return np.random.default_rng().integers(0, size, n)


# -- by hand


def piecewise_by_hand(n: int, _: int) -> Run:
    values, generator = numbers(n), np.random.default_rng()
    root = math.exp(EPSILON / 2)
    reach = (root + 1) / (root - 1)

    def run() -> object:
        left = (reach + 1) / 2 * values - (reach - 1) / 2
        place = generator.random(n)
        inside = generator.random(n) < root / (root + 1)
        # Outside the window there are two pieces of total length reach + 1: what lies right of the left one is shifted.
        outside = place * (reach + 1) - reach
        outside += (outside > left) * (reach - 1)
        return np.where(inside, left + place * (reach - 1), outside)

    return run


def duchi_by_hand(n: int, _: int) -> Run:
    values, generator = numbers(n), np.random.default_rng()
    gain = (math.exp(EPSILON) + 1) / (math.exp(EPSILON) - 1)
    return lambda: np.where(generator.random(n) < 0.5 + values / (2 * gain), gain, -gain)


def grr_by_hand(n: int, size: int) -> Run:
    values, generator = categories(n, size), np.random.default_rng()
    keep = math.exp(EPSILON) / (math.exp(EPSILON) + size - 1)

    def run() -> object:
        others = generator.integers(0, size - 1, n)
        others += others >= values
        return np.where(generator.random(n) < keep, values, others)

    return run


def oue_by_hand(n: int, size: int) -> Run:
    values, generator = categories(n, size), np.random.default_rng()
    rows = np.arange(n)

    def run() -> object:
        bits = generator.random((n, size), dtype=np.float32) < 1 / (math.exp(EPSILON) + 1)
        bits[rows, values] = generator.random(n) < 0.5
        return np.packbits(bits, axis=1)

    return run


# -- packages


def multi_freq_grr(n: int, size: int) -> Run:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    values = categories(n, size)
    return lambda: [GRR_Client(value, size, EPSILON) for value in values]


def multi_freq_subset(n: int, size: int) -> Run:
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    values = categories(n, size)
    return lambda: [SS_Client(value, size, EPSILON) for value in values]


def multi_freq_oue(n: int, size: int) -> Run:
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    values = categories(n, size)
    return lambda: [UE_Client(value, size, EPSILON, True) for value in values]


def pure_grr(n: int, size: int) -> Run:
    from pure_ldp.frequency_oracles import DEClient

    client, values = DEClient(EPSILON, size), (categories(n, size) + 1).tolist()
    return lambda: [client.privatise(value) for value in values]


def pure_oue(n: int, size: int) -> Run:
    from pure_ldp.frequency_oracles import UEClient

    client, values = UEClient(EPSILON, size, use_oue=True), (categories(n, size) + 1).tolist()
    return lambda: [client.privatise(value) for value in values]


def opendp_grr(n: int, size: int) -> Run:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    chance = math.exp(EPSILON) / (math.exp(EPSILON) + size - 1)
    client = dp.m.make_randomized_response(list(range(size)), chance)
    values = categories(n, size).tolist()
    return lambda: [client(value) for value in values]


def opendp_bits(n: int, size: int) -> Run:
    """OpenDP has no OUE; its bit vectors are flipped symmetrically, which is the nearest that it offers."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    flip = 2 / (1 + math.exp(EPSILON / 2))
    client = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=flip)
    one_hot = np.packbits(np.eye(size, dtype=np.uint8), axis=1)
    vectors = [one_hot[value].tobytes() for value in categories(n, size)]
    return lambda: [client(vector) for vector in vectors]


def trasgo_grr(n: int, size: int) -> Run:
    from trasgodp.categorical import dp_randomized_response_kary_array

    labels = np.array([f"v{i}" for i in range(size)])[categories(n, size)]
    return lambda: dp_randomized_response_kary_array(labels, EPSILON)


CASES: dict[str, dict[str, Callable[[int, int], Run]]] = {
    "by hand": {
        "piecewise": piecewise_by_hand,
        "duchi": duchi_by_hand,
        "grr": grr_by_hand,
        "oue": oue_by_hand,
    },
    "multi-freq-ldpy": {"grr": multi_freq_grr, "subset": multi_freq_subset, "oue": multi_freq_oue},
    "pure-ldp": {"grr": pure_grr, "oue": pure_oue},
    "opendp": {"grr": opendp_grr, "oue": opendp_bits},
    "trasgodp": {"grr": trasgo_grr},
}


class Case:
    """A case at a size that takes about so many seconds, or the largest that is allowed, and then often enough."""

    def __init__(self, peer: str, channel: str, size: int, seconds: float, most: int) -> None:
        make = CASES[peer][channel]
        self.n = 1000
        while True:
            self._run = make(self.n, size)
            self._run()  # compiles
            start = time.process_time()
            self._run()
            taken = max(time.process_time() - start, 1e-6)
            if taken > seconds / 3 or self.n >= most:
                break
            self.n = min(most, int(self.n * min(100.0, max(2.0, 0.8 * seconds / taken))))
        self._loops = max(1, round(seconds / taken))

    def seconds(self) -> float:
        """Return the processor time of one run."""
        start = time.process_time()
        for _ in range(self._loops):
            self._run()
        return (time.process_time() - start) / self._loops


def main() -> None:
    """Answer questions until there are no more."""
    replies, sys.stdout = sys.stdout, sys.stderr  # a package that prints must not be taken for an answer
    asked, case = "", None
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if case is None or line != asked:
                asked, case = line, Case(**question)
            reply: dict[str, Any] = {"n": case.n, "seconds": case.seconds(), "version": version(question["peer"])}
        except Exception as error:  # noqa: BLE001 - whatever a package raises is the reason why it is left out
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies, flush=True)


def version(peer: str) -> str:
    """Return the version of what was run."""
    return importlib.metadata.version("numpy" if peer == "by hand" else peer)


if __name__ == "__main__":
    main()
