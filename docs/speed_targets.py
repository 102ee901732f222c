"""The targets of docs/speed.md, judged from what the benchmarks measured, and the reasons in words.

A target that is missed is either out of reach on the machine, because the keystream alone is too slow for it, or the
engine's to meet. The numbers decide which, so that a slow keystream is not an excuse for a slow engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from speed_tables import MEASURED, Results, Row, kept, number, table

COPY_LIMIT = 5.0
MINIMAX_LIMIT = 7.0
WORK_LIMIT = 2.0
RESPONSE_LIMIT = 10.0
THREADS_LIMIT = 1.8  # "near twice"
PACKAGES = ("multi-freq-ldpy", "pure-ldp")
NOISE = 0.1  # by which runs of the same code were seen to differ


class Target(NamedTuple):
    """A limit, what was measured, and what an engine would measure that only drew words (None: it needs none)."""

    text: str
    limit: float
    at_least: bool
    measured: float
    words_alone: float | None

    def meets(self, value: float) -> bool:
        """Return whether a value is within the limit."""
        return value >= self.limit if self.at_least else value <= self.limit

    @property
    def verdict(self) -> str:
        """Whether it is met; if not, whether the words alone are too slow already; and whether it was close."""
        close = ", close" if abs(self.measured / self.limit - 1) <= NOISE else ""
        if self.meets(self.measured):
            return f"met{close}"
        return f"missed{close}" + ("" if self.reachable else "; out of reach")

    @property
    def reachable(self) -> bool:
        """Whether an engine that only drew words would meet it."""
        return self.words_alone is None or self.meets(self.words_alone)


def _words_ns(row: Row) -> float:
    return float(row["words"] * row["word_ns"])


def _numeric_rows(results: Results, *channels: str) -> list[Row]:
    """Return the rows of numeric channels that targets are about: those of 10 million values."""
    return [row for row in results["numeric"] if row["channel"] in channels and row["n"] == 10_000_000]


def _of_copy(results: Results, limit: float, *channels: str) -> Target:
    """Judge the slowest of some numeric channels as a ratio to copy."""
    slowest = max(_numeric_rows(results, *channels), key=lambda row: row["ns"] / row["copy_ns"])
    names = ", ".join(f"`{name}`" for name in channels)
    ratio, alone = slowest["ns"] / slowest["copy_ns"], _words_ns(slowest) / slowest["copy_ns"]
    return Target(f"{names}: at most {limit:g} times copy", limit, False, ratio, alone)


def _own_work(rows: Sequence[Row]) -> Target:
    """Judge the most work beside the keystream that a channel has for one value, in words."""
    ratio = max((row["ns"] - _words_ns(row)) / row["word_ns"] for row in rows)
    name = rows[0]["channel"]
    name = name if name.startswith("`") else f"`{name}`"
    name += f", K = {rows[0]['size']}" if "size" in rows[0] else ""
    return Target(f"{name}: own work at most the price of {WORK_LIMIT:g} words", WORK_LIMIT, False, ratio, None)


def _gains(batch: Results, others: Results, channel: str, limit: float, peers: Sequence[str]) -> Iterator[Target]:
    """Judge a channel against the fastest of some peers that have it."""
    measured = _numeric_rows(batch, channel) + [row for row in batch["categorical"] if row["channel"] == channel]
    words = {row.get("size", 0): _words_ns(row) for row in measured}
    rows = [
        row
        for row in others["rows"]
        if row["channel"] == channel and "skipped" not in row and any(row["peer"].startswith(peer) for peer in peers)
    ]
    if rows:
        worst = min(rows, key=lambda row: row["ns"] / row["hush_ns"])
        who = " and ".join("numpy by hand" if peer == "by hand" else peer for peer in peers)
        text = f"`{channel}`: at least {limit:g} times as fast as {who}"
        yield Target(text, limit, True, worst["ns"] / worst["hush_ns"], worst["ns"] / words[worst["size"]])


def _of_response(row: Row, response_ns: float) -> Target:
    """Judge points of a long list as a ratio to randomised response with 64 categories."""
    text = f"`{row['channel']}`, K = {row['size']:,}: at most {RESPONSE_LIMIT:g} times `grr`, K = 64"
    beside = row.get("response_ns", response_ns)  # in turns with it, if the run has that
    return Target(text, RESPONSE_LIMIT, False, row["ns"] / beside, _words_ns(row) / beside)


def _threads(batch: Results) -> Iterator[Target]:
    """Judge how much faster two threads count, by the clock."""
    walls = {(row["design"], row["threads"]): row["wall_ns"] for row in batch["tallies"]}
    for design, threads in walls:
        if threads == 2:
            gain = walls[design, 1] / walls[design, 2]
            text = f"tally, {design}: two threads at least {THREADS_LIMIT:g} times as fast as one"
            yield Target(text, THREADS_LIMIT, True, gain, None)


def judged(batch: Results, others: Results) -> list[Target]:
    """Return every target."""
    categorical = {(row["channel"], row["size"]): row for row in batch["categorical"]}
    oue, sets = categorical["oue", 64], categorical["subset", 64]
    rows = [_of_copy(batch, COPY_LIMIT, "piecewise", "duchi"), _of_copy(batch, MINIMAX_LIMIT, "minimax")]
    # No package with the Piecewise Mechanism was found, so that numpy by hand stands in.
    rows += _gains(batch, others, "piecewise", 10.0, ["by hand"])
    rows += _gains(batch, others, "grr", 100.0, PACKAGES)
    rows += _gains(batch, others, "subset", 100.0, PACKAGES)
    rows.append(Target("`oue`, K = 64: at most 25 ns per user", 25.0, False, oue["ns"], _words_ns(oue)))
    rows.append(Target("`oue`, K = 64: at most 3 ns per user to count", 3.0, False, oue["tally_ns"], None))
    rows.append(Target("`subset`, K = 64: at most 40 ns per user", 40.0, False, sets["ns"], _words_ns(sets)))
    rows += [_own_work(_numeric_rows(batch, name)) for name in ("piecewise", "duchi", "hybrid", "minimax")]
    rows += [_own_work([categorical[key]]) for key in (("grr", 64), ("subset", 64), ("oue", 64))]
    rows += [_own_work([row]) for row in batch.get("joint", ())]
    grr = categorical["grr", 64]["ns"]
    rows += [_of_response(row, grr) for row in batch["categorical"] if row["channel"] == "geometry"]
    for row in batch["records"]:
        text = f"records, {row['design']}: at least 20 million per second and core"
        rows.append(Target(text, 20.0, True, 1e3 / row["ns"], 1e3 / _words_ns(row)))
    for row in batch["tallies"]:
        if row["threads"] == 1 and "subset" not in row["design"]:
            rows.append(Target(f"tally of symbols, {row['design']}: at most 2 ns per row", 2.0, False, row["ns"], None))
    return [*rows, *_threads(batch)]


def targets(batch: Results, others: Results) -> str:
    """Every target, met or missed."""
    rows = [
        [row.text, number(row.measured), "-" if row.words_alone is None else number(row.words_alone), row.verdict]
        for row in judged(batch, others)
    ]
    return table(["target", "measured", "with the words alone", ""], rows)


def reasons(batch: Results, others: Results) -> str:
    """Say in words what the verdicts come from."""
    rows_judged = judged(batch, others)
    missed = [row for row in rows_judged if not row.meets(row.measured)]
    beyond = sum(not row.reachable for row in missed)
    rows = _numeric_rows(batch, "piecewise", "duchi", "minimax")
    word, copy = min(row["word_ns"] for row in rows), min(row["copy_ns"] for row in rows)
    said = [
        f"Missed: {len(missed)} of {len(rows_judged)} targets. In this run one word costs "
        f"{word:.2f} ns and copying one value {copy:.2f} ns. "
        + (
            f"For {beyond} of those missed the words alone already take too long: no engine that draws them from this "
            "keystream could meet them on this machine."
            if beyond
            else "None is out of reach: what takes too long is the engine's own work."
        )
    ]
    shares = [100 * _words_ns(row) / row["ns"] for row in rows]
    own = [(row["ns"] - _words_ns(row)) / row["copy_ns"] for row in rows]
    main = "is" if min(shares) > 50 else "is not"
    text = (
        f"**The keystream {main} the main cost.** Words are {min(shares):.0f} to {max(shares):.0f} % of the time of "
        f"`piecewise`, `duchi` and `minimax` at 10 million values. The rest is the engine's own work: {min(own):.0f} "
        f"to {max(own):.0f} times copy, without any words."
    )
    if min(own) > COPY_LIMIT:
        text += " Were AES free, the targets against copy would be missed all the same."
    said.append(text)
    slower = [
        f"`{row['channel']}`" + (f" with K = {row['size']}" if row["size"] else "")
        for row in others["rows"]
        if row["peer"] == "by hand" and "skipped" not in row and row["ns"] < row["hush_ns"]
    ]
    if slower:
        said.append(f"numpy by hand is faster than hush for {', '.join(slower)}.")
    return "\n\n".join(said)


def latest(name: str) -> Results:
    """Return the latest run of a benchmark, or the kept one if there is none."""
    path = MEASURED.parent.parent / "benchmarks" / "results" / f"{name}.json"
    found: Results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else kept(name)
    return found


TABLES: dict[str, Callable[[], str]] = {
    "targets": lambda: targets(kept("batch"), kept("peers")),
    "reasons": lambda: reasons(kept("batch"), kept("peers")),
}

if __name__ == "__main__":  # the end of `make bench`
    print(targets(latest("batch"), latest("peers")))
