"""Hashing oracles of other packages beside hush's points, on the same question. `python -m experiments.large_peers`.

Each of n people holds one of K categories, by Zipf's law. **Variance** is n times the mean squared error of all shares:
the noise that one report adds. So a peer's run with few people compares with hush's run with many. **Bytes** are those
of a report as the package makes it. **Server** is the processor time to read all shares from a million reports,
scaled up from the reports of the run. A case that takes longer than the limit is said to stop there.

`experiments.peers` runs their cases. Each package is used as its documentation says.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.peers import MEASURED, MILLION, Row, ask, keep, parse, parser

KEPT = MEASURED / "large-peers.json"
SIZES = (1000, 10_000, 100_000)
EPSILONS = (1.0, 4.0)
LIMIT = 150  # seconds for a case of a peer
WORK = 2_000_000  # comparisons of a report with a category that a peer is asked for at most
Array = Any


def people(n: int, size: int) -> tuple[Array, Array]:
    """Return the categories of n people, and the shares."""
    shares = 1 / np.arange(1, size + 1) ** 1.1
    shares /= shares.sum()
    chosen = np.minimum(np.searchsorted(np.cumsum(shares), np.random.default_rng(1).random(n)), size - 1)
    return chosen, np.bincount(chosen, minlength=size) / n


# -- the peers, in their own environment


def pure_ldp_hashing(chosen: Array, size: int, epsilon: float) -> tuple[Array, float, float, int]:
    """pure-ldp: optimised local hashing."""
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer

    client, server = LHClient(epsilon=epsilon, d=size, use_olh=True), LHServer(epsilon=epsilon, d=size, use_olh=True)
    start = time.process_time()
    reports = [client.privatise(int(value) + 1) for value in chosen]
    sent = time.process_time()
    for report in reports:
        server.aggregate(report)
    found = np.array(server.estimate_all(range(1, size + 1), suppress_warnings=True)) / len(chosen)
    return found, sent - start, time.process_time() - sent, 8  # a hash value, and a seed of 32 bits


def pure_ldp_hadamard(chosen: Array, size: int, epsilon: float) -> tuple[Array, float, float, int]:
    """pure-ldp: Hadamard response."""
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer

    server = HadamardResponseServer(epsilon, size)
    client = HadamardResponseClient(epsilon, size, server.get_hash_funcs())
    start = time.process_time()
    reports = [client.privatise(int(value) + 1) for value in chosen]
    sent = time.process_time()
    for report in reports:
        server.aggregate(report)
    found = np.array([server.estimate(value, suppress_warnings=True) for value in range(1, size + 1)]) / len(chosen)
    return found, sent - start, time.process_time() - sent, 4


def multi_freq_hashing(chosen: Array, size: int, epsilon: float) -> tuple[Array, float, float, int]:
    """multi-freq-ldpy: optimised local hashing. It removes negative shares and scales the others, which is biased."""
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client

    start = time.process_time()
    reports = [LH_Client(int(value), size, epsilon) for value in chosen]
    sent = time.process_time()
    found = LH_Aggregator_MI(reports, size, epsilon)
    return found, sent - start, time.process_time() - sent, 9  # a hash value, and a seed of 63 bits


CASES = {
    "pure-ldp, local hashing": pure_ldp_hashing,
    "pure-ldp, Hadamard": pure_ldp_hadamard,
    "multi-freq-ldpy, local hashing": multi_freq_hashing,
}


QUICK = ("pure-ldp, Hadamard",)  # does not compare every report with every category


def child(name: str, size: int, epsilon: float, n: int) -> Row:
    """Run a case of a peer."""
    chosen, truth = people(n, size)
    CASES[name](chosen[:2] % 16, 16, epsilon)  # import, and compile
    found, client, server, length = CASES[name](chosen, size, epsilon)
    error = float(n * np.mean((np.asarray(found) - truth) ** 2))
    return {"variance": error, "client_us": 1e6 * client / n, "server_s": server * MILLION / n, "bytes": length}


# -- hush


def ours(size: int, epsilon: float) -> Row:
    """Run hush on as many people as the table speaks of."""
    import hush
    from hush import batch
    from hush.server.estimates import read_totals

    n = MILLION
    chosen, truth = people(n, size)
    values = hush.Listed([f"v{i}" for i in range(size)])
    plan = hush.design(hush.Schema([hush.Categorical("x", values)]), epsilon, categorical="geometry")
    column = np.array(values.values, dtype=object)[chosen]
    batch.randomise(plan, {"x": column[:100]})  # compile
    encoded = batch.encode(plan, {"x": column})
    start = time.process_time()
    reports = batch.randomise(plan, encoded, threads=1)
    sent = time.process_time()
    tally = batch.tally(plan, reports, threads=1)
    (totals,) = read_totals(tally).values()
    done = time.process_time()
    channel: Any = plan.questions[0].channel
    p, q = float(channel.p), float(channel.q)
    found = (np.asarray(totals) / n - q) / (p - q)
    error = float(n * np.mean((found - truth) ** 2))
    length = -(-(channel.points - 1).bit_length() // 8)
    return {"variance": error, "client_us": 1e6 * (sent - start) / n, "server_s": done - sent, "bytes": length}


def theirs(python: Path, name: str, size: int, epsilon: float) -> Row:
    """Run a peer in its environment, with as many people as it can take."""
    n = MILLION if name in QUICK else max(100, min(2000, WORK // size))
    return ask(python, "experiments.large_peers", (name, size, epsilon, n), n, LIMIT)


def main() -> None:
    """Run the command."""
    options = parse(parser(__doc__, KEPT), child)
    if options is None:
        return
    rows = []
    for size in SIZES:
        for epsilon in EPSILONS:
            for name in ("hush, points", *CASES):
                print(f"{name}, K = {size:,}, epsilon {epsilon:g}", file=sys.stderr, flush=True)
                found = ours(size, epsilon) if name not in CASES else theirs(options.python, name, size, epsilon)
                rows.append({"name": name, "size": size, "epsilon": epsilon} | found)
                print(json.dumps(rows[-1]), flush=True)
    if options.keep:
        keep(KEPT, rows)


if __name__ == "__main__":
    main()
