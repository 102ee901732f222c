"""hush beside other packages that randomise on the client, in one run. `make bench` runs it.

The packages live in an environment of their own, `.venv-peers`, which is made here if the network allows; one that does
not install or import is listed with the reason. hush runs in this process, a peer in a child, and they take turns. Each
is called as it is meant to be called: hush with a column, checks included; a peer with a column if it takes one, else
with one user after the other. Times are processor time per user, the best of several turns.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import venv
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from measure import ROOT, machine, progress, write
from peer_cases import CASES, EPSILON

import hush
import hush.batch

sys.path.append(str(ROOT / "docs"))

import speed_tables  # a neighbour, not a part of the package

HOME = ROOT / ".venv-peers"
PYTHON = HOME / ("Scripts" if sys.platform == "win32" else "bin") / "python"
REQUIREMENTS = {
    "multi-freq-ldpy": ["multi-freq-ldpy==0.2.5"],
    # It imports scikit-learn and statsmodels and does not say so, and it fails with newer versions of the others.
    "pure-ldp": ["pure-ldp==1.2.0", "scikit-learn", "statsmodels", "numpy<2.2", "xxhash<4"],
    "opendp": ["opendp==0.16.0"],
    "trasgodp": ["trasgodp==2.1.0"],
}
Row = dict[str, Any]

SIZES = {"piecewise": [0], "duchi": [0], "grr": [16, 64], "subset": [16, 64], "oue": [64]}
USERS = 1_000_000
MOST = {"oue": 100_000}  # by hand, a user takes 64 floats of 4 bytes
REPEATS = 5


def install(peer: str) -> str | None:
    """Install a peer, unless it is there already. Return why it failed, or None."""
    stamp = HOME / f"ready-{peer}"
    wanted = "\n".join(REQUIREMENTS[peer])
    if stamp.exists() and stamp.read_text() == wanted:
        return None
    if not PYTHON.exists():
        progress("making an environment for the peers")
        venv.create(HOME, with_pip=True, clear=True)
    progress(f"installing {peer}")
    patience = ["--retries", "1", "--timeout", "10"]  # without a network, to fail soon
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *patience]
    try:
        done = subprocess.run([*pip, *REQUIREMENTS[peer]], capture_output=True, text=True, timeout=600, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return "did not install within 10 minutes"
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return _plain(f"did not install: {errors[-1] if errors else 'no reason given'}")
    stamp.write_text(wanted)
    return None


def _plain(text: str) -> str:
    """Return a message without addresses and folders, which belong to one machine, and not too long."""
    return re.sub(r"\S*(?:/\S+){2,}", "...", text).replace("|", "/")[:160]


class Child:
    """A process that runs cases of `peer_cases.py` on demand."""

    def __init__(self, python: Path | str) -> None:
        script = Path(__file__).with_name("peer_cases.py")
        self._process = subprocess.Popen(  # noqa: S603
            [str(python), str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=script.parent,
        )

    def ask(self, **question: Any) -> dict[str, Any]:
        """Run a case once and return what it took, or the error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        reply: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        return reply

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)


def plan_for(channel: str, size: int) -> hush.Plan:
    """Return a plan with one attribute and this channel."""
    if size:
        schema = hush.Schema([hush.Categorical("x", list(range(size)))])
        return hush.design(schema, EPSILON, categorical=channel)
    return hush.design(hush.Schema([hush.Numeric("x", -1, 1)]), EPSILON, numeric=channel)


def compare(child: Child, peer: str, channel: str, size: int, seconds: float) -> Row:
    """Let hush and a peer take turns; return the best of both in nanoseconds per user, or why there is none."""
    row: Row = {"peer": peer, "channel": channel, "size": size}
    progress(f"{channel}{f', K = {size}' if size else ''}: {peer}")
    plan = plan_for(channel, size)
    generator = np.random.default_rng()
    column = generator.integers(0, size, USERS) if size else generator.uniform(-1.0, 1.0, USERS)
    question = {"peer": peer, "channel": channel, "size": size, "seconds": seconds, "most": MOST.get(channel, USERS)}
    hush.batch.randomise(plan, {"x": column[:1000]}, threads=1)  # compiles
    ours = theirs = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        hush.batch.randomise(plan, {"x": column}, threads=1)
        ours = min(ours, (time.process_time() - start) / USERS)
        reply = child.ask(**question)
        if "error" in reply:
            return row | {"skipped": _plain(reply["error"])}
        theirs = min(theirs, reply["seconds"] / reply["n"])
    return row | {"version": reply["version"], "n": reply["n"], "ns": theirs * 1e9, "hush_ns": ours * 1e9}


def visit(peer: str, seconds: float) -> list[Row]:
    """Return all comparisons with a peer."""
    with Child(PYTHON if peer in REQUIREMENTS else sys.executable) as child:
        return [compare(child, peer, channel, size, seconds) for channel, size in cases(peer)]


def skip(peer: str, reason: str) -> list[Row]:
    """Return the rows of a peer that could not be installed."""
    return [{"peer": peer, "channel": channel, "size": size, "skipped": reason} for channel, size in cases(peer)]


def cases(peer: str) -> list[tuple[str, int]]:
    """Return what a peer is compared on: channels, each with some numbers of categories (0 for numbers)."""
    return [(channel, size) for channel in CASES[peer] for size in SIZES[channel]]


def main() -> None:
    """Compare with everybody, print tables, and write them to benchmarks/results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="also write docs/measured/peers.json, for the documents")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long one run of a peer takes, about")
    options = parser.parse_args()
    results: dict[str, Any] = {"command": "python benchmarks/peers.py", "machine": machine(), "rows": []}
    for peer in CASES:
        reason = install(peer) if peer in REQUIREMENTS else None
        results["rows"] += skip(peer, reason) if reason else visit(peer, options.seconds)
    write("peers", results, options.keep)
    print(speed_tables.heading(results), speed_tables.peers(results), sep="\n\n")


if __name__ == "__main__":
    main()
