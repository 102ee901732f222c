"""Heavy hitters of other packages beside `hush.frequent`, on the same strings. `python -m experiments.words_peers`.

The strings are those of `experiments.words`: 100,000 random texts of 8 characters out of 64, by Zipf's law with
exponent 1.1. **F1** compares the first 10 and 32 texts that are found with the most frequent ones. **False** is how
many of the first 32 nobody holds. **Bytes** are those that a report needs, written as short as its parts allow. Times
are processor time on one core: **device** for one report, **server** for all of them.

pure-ldp 1.2.0 has three heavy hitters: PEM, TreeHist and SFP. multi-freq-ldpy 0.2.5 has none. Their default oracle,
local hashing, compares each report with each string that the alphabet can write: `--lengths` of such strings show
where it stops. The other runs use the two oracles of the package that do not: Apple's count mean sketch (CMS), and
the one with one bit (HCMS).

`experiments.peers` runs their cases. A child may use 4 GiB and `LIMIT` seconds.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from experiments.peers import MEASURED, MEMORY, MILLION, Row, ask, keep, parse, parser

KEPT = MEASURED / "words-peers.json"
SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
LENGTH = 8
DISTINCT = 100_000
EPSILONS = (4.0, 2.0)
HASHES, WIDTH = 128, 1024  # of a sketch: a size that the code of the package names; more hashes take longer
ASKED = 64  # texts that a peer keeps from level to level: twice as many as are compared
LIMIT = 1500  # seconds for a case of a peer
Array = Any


def people(n: int, length: int = LENGTH) -> tuple[list[str], Array]:
    """Return the strings, and which of them each of n people holds."""
    rng = np.random.default_rng([0, 24])
    shares = 1 / np.arange(1, DISTINCT + 1) ** 1.1
    texts = ["".join(row[:length]) for row in np.array(list(SIGNS))[rng.integers(0, 64, (DISTINCT, LENGTH))]]
    return texts, rng.choice(DISTINCT, n, p=shares / shares.sum())


def scores(found: list[str], texts: list[str], held: Array) -> Row:
    """Compare what was found with the truth."""
    truth = Counter({texts[i]: int(count) for i, count in enumerate(np.bincount(held, minlength=DISTINCT)) if count})
    order = [text for text, _ in truth.most_common(32)]
    row: Row = {}
    for top in (10, 32):
        mine = found[:top]
        row[f"f1_{top}"] = 2 * len(set(mine) & set(order[:top])) / (top + len(mine)) if mine else 0.0
    return row | {"returned": len(found[:32]), "false": sum(text not in truth for text in found[:32])}


# -- the peers, in their own environment


def oracle(name: str, epsilon: float) -> tuple[Any, Any, int]:
    """Return an oracle's client and server, and the bytes of its report; None for the package's default."""
    if name == "default":
        return None, None, 8  # a hash value, and a seed of 32 bits
    from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer

    bit = name == "HCMS"
    server = CMSServer(epsilon, HASHES, WIDTH, is_hadamard=bit)
    client = CMSClient(epsilon, server.get_hash_funcs(), WIDTH, is_hadamard=bit)
    return client, server, 3 if bit else WIDTH // 8 + 2  # (a bit, its place and) the number of the hash


def parties(method: str, name: str, epsilon: float, length: int) -> tuple[Any, Any, int]:
    """Return a heavy hitter's client and server, and the bytes of a report."""
    from pure_ldp.heavy_hitters.apple_sfp import SFPClient, SFPServer
    from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer
    from pure_ldp.heavy_hitters.treehistogram import TreeHistClient, TreeHistServer

    client, server, size = oracle(name, epsilon)

    def place(text: str) -> int:
        number = 0
        for sign in text:
            number = 64 * number + SIGNS.index(sign)
        return number

    given: Row = {"epsilon": epsilon, "max_string_length": length, "fragment_length": 1}
    # Sketches hash the text. The default oracle wants its number.
    given["index_mapper"] = place if name == "default" else (lambda text: text)
    signs = list(SIGNS)
    if method == "PEM":
        start = {"start_length": 1 if length > 2 else 0}
        sender = PEMClient(**given, **start, alphabet=signs, fo_client=client)
        return sender, PEMServer(**given, **start, alphabet=signs, fo_server=server), size + 1  # the level
    if method == "TreeHist":
        sender = TreeHistClient(**given, alphabet=signs, fo_client=client)
        return sender, TreeHistServer(**given, alphabet=signs, fo_server=server), 2 * size
    sender = SFPClient(**given, alphabet=set(SIGNS), fo_client=client)
    return sender, SFPServer(**given, alphabet=set(SIGNS), fo_server=server), 2 * size + 1  # the place of the fragment


def child(method: str, name: str, epsilon: float, n: int, length: int) -> Row:
    """Run a case of a peer."""
    import warnings

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    texts, held = people(n, length)
    start = time.process_time()
    client, server, size = parties(method, name, epsilon, length)
    made = time.process_time()
    randomised = 0.0
    for first in range(0, n, 1000):  # as many reports of a sketch as fit into memory
        before = time.process_time()
        reports = [client.privatise(texts[i]) for i in held[first : first + 1000]]
        randomised += time.process_time() - before
        for report in reports:
            server.aggregate(report)
    found, shares = server.find_heavy_hitters(k=ASKED)
    taken = time.process_time() - made - randomised
    order = [text for _, text in sorted(zip(shares, found, strict=True), reverse=True)]
    times = {"client_us": 1e6 * randomised / n, "server_s": taken + made - start, "bytes": size}
    return scores(order, texts, held) | times


# -- hush


def ours(epsilon: float, n: int) -> Row:
    """Run hush on the same strings, in one round."""
    import hush
    from hush import batch

    texts, held = people(n)
    text = hush.Text("word", LENGTH, SIGNS, case="keep", bits=50)
    plan = hush.design(hush.Schema([text]), epsilon)
    column = np.array(texts, dtype=object)[held]
    batch.randomise(plan, {"word": column[:100]})  # compile
    start = time.process_time()
    reports = batch.randomise(plan, {"word": column}, threads=1)
    sent = time.process_time()
    found = hush.frequent(batch.tally(plan, reports, threads=1), "word", 32)
    done = time.process_time()
    size = max(-(-(q.channel.alphabet.size - 1).bit_length() // 8) for q in plan.questions) + 1  # and the question
    times = {"client_us": 1e6 * (sent - start) / n, "server_s": done - sent, "bytes": size}
    return {"people": n} | scores([row.category for row in found], texts, held) | times


def main() -> None:
    """Run the command."""
    asked = parser(__doc__, KEPT)
    asked.add_argument("--people", type=int, default=MILLION)
    asked.add_argument("--lengths", type=int, nargs="*", default=(2, 3, 4, 8), help="lengths for the default oracle")
    options = parse(asked, child)
    if options is None:
        return
    n = options.people
    rows: list[Row] = []

    def theirs(method: str, name: str, epsilon: float, n: int, length: int) -> Row:
        return ask(options.python, "experiments.words_peers", (method, name, epsilon, n, length), n, LIMIT)

    def note(name: str, epsilon: float, length: int, found: Row) -> None:
        rows.append({"name": name, "epsilon": epsilon, "length": length} | found)
        print(json.dumps(rows[-1]), flush=True)
        if options.keep:
            keep(KEPT, rows)

    def sketched(oracle: str) -> None:
        for epsilon in EPSILONS:
            for method in ("PEM", "TreeHist", "SFP"):
                print(f"pure-ldp, {method}, {oracle}, epsilon {epsilon:g}", file=sys.stderr, flush=True)
                found = theirs(method, oracle, epsilon, n, LENGTH)
                note(f"pure-ldp, {method}, {oracle}", epsilon, LENGTH, found)

    for epsilon in EPSILONS:
        note("hush", epsilon, LENGTH, ours(epsilon, n))
    sketched("HCMS")
    for length in options.lengths:  # each report is compared with 64^length strings, so a few must do
        print(f"pure-ldp, PEM, local hashing, {length} characters", file=sys.stderr, flush=True)
        few = max(12, min(1000, 64**3 * 40 // 64**length))
        note("pure-ldp, PEM, local hashing", 4.0, length, theirs("PEM", "default", 4.0, few, length))
    sketched("CMS")


if __name__ == "__main__":
    main()
