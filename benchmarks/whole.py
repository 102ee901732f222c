"""From records to estimates, in one process that does nothing else, so that its peak memory means something.

`batch.py` starts it. Records come in pieces; each is randomised and tallied, and at the end everything is estimated.
The result is JSON: processor seconds of each step, memory before, the generator's memory, and the peak.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path

from census import PIECE, Census, schema
from measure import SILENCE, progress

import hush
import hush.batch

UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
STATUS = Path("/proc/self/status")


def memory(name: str) -> int:
    """Return the memory that this process has now (VmRSS), or the most that it had (VmHWM), in bytes.

    Linux lets a child inherit its parent's peak in `getrusage`, so there the process is asked about itself. Elsewhere
    both are the peak.
    """
    if STATUS.exists():
        fields = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
        return int(fields[name].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def main() -> None:
    """Run n records through."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--collect", action="store_true", help="count reports at once, without keeping a table of them")
    options = parser.parse_args()
    plan = hush.design(schema(), epsilon=1.0, k=1)
    tally = hush.batch.tally(plan, hush.batch.randomise(plan, Census(1000).draw(1000), threads=options.threads))
    hush.batch.collect(plan, Census(1000).draw(1000), threads=options.threads)
    hush.estimate(tally)
    before = memory("VmRSS")  # with everything loaded and compiled
    seconds = dict.fromkeys(("generate", "randomise", "tally", "estimate"), 0.0)
    clock, began = time.process_time(), time.perf_counter()

    def lap(step: str) -> None:
        nonlocal clock
        now = time.process_time()
        seconds[step] += now - clock
        clock = now

    census, tally = Census(), hush.Tally(plan)
    spoken, done = time.monotonic(), 0
    for piece in census.pieces(options.n):
        lap("generate")
        if options.collect:
            counted = hush.batch.collect(plan, piece, threads=options.threads)
            lap("randomise")
        else:
            reports = hush.batch.randomise(plan, piece, threads=options.threads)
            lap("randomise")
            counted = hush.batch.tally(plan, reports, threads=options.threads)
            del reports
        tally = tally + counted
        lap("tally")
        done += len(piece["age"])
        if time.monotonic() - spoken > SILENCE:
            spoken = time.monotonic()
            progress(f"  {done / 1e6:.0f} of {options.n / 1e6:.0f} million records")
    estimates = hush.estimate(tally)
    lap("estimate")
    errors = [abs(row.point - census.truth(row.attribute, row.category)) / row.stderr for row in estimates]
    result = {
        "n": options.n,
        "threads": options.threads,
        "collect": options.collect,
        "piece": PIECE,
        "seconds": seconds,
        "wall": time.perf_counter() - began,
        "before": before,
        "generator": census.bytes,
        "peak": memory("VmHWM"),
        "estimates": len(errors),
        "largest_error": max(errors),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
