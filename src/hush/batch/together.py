"""Pairs of choices from reports in columns: the answers that have each of two values are counted a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa

from hush.batch.counting import Counts
from hush.batch.reports import report_batches, row_arrays
from hush.core.columnar import parts
from hush.core.owned import Owned
from hush.core.plan import Plan
from hush.errors import ReportError
from hush.server.relations.pairs import Together
from hush.server.tally import Tally

_ROWS = 1 << 14  # rows whose bits are held at once


def pairs(
    plan: Plan,
    reports: Iterable[pa.RecordBatch],
    attribute: str,
    *,
    values: Sequence[str] | None = None,
    owned: Owned | None = None,
) -> tuple[Together, Tally]:
    """Count the pairs of an attribute of choices, and everything else of the same reports. Every row is checked.

    Reports among which are a relay's own are refused: pairs of people alone cannot be told from theirs here. `owned`
    learns how many there are while the reports are read; without it, the batches say it.
    """
    found, counts = Together(plan, attribute, values), Counts(plan)
    pieces = parts(plan)[found.question]
    places = np.array(sorted(found.places))
    both = np.zeros((len(places), len(places)), dtype=np.int64)
    said = Owned()
    for batch in reports if owned is not None else report_batches(plan, reports, said):
        arrays = row_arrays(plan, batch)
        counts.add(*arrays)
        outputs = arrays[2][arrays[0] == found.question].astype("<i8")
        if len(outputs) % pieces:
            raise ReportError(
                "the parts of a set must be in one record batch, as `hush randomise` and a collector write"
            )
        words = outputs.reshape(-1, pieces)
        found.answers += len(words)
        for start in range(0, len(words), _ROWS):
            rows = words[start : start + _ROWS].view(np.uint8)
            bits = np.unpackbits(rows, axis=1, bitorder="little")[:, places].astype(np.float32)
            both += (bits.T @ bits).astype(np.int64)  # exact: no number is above the rows of one step
    for row, place in enumerate(places.tolist()):
        found.alone[place] = int(both[row, row])
    for (i, one), (j, other) in combinations(enumerate(places.tolist()), 2):
        found.both[one, other] = int(both[i, j])
    tally = counts.tally()
    own = (owned or said).total(tally.reports)
    if own:
        raise ReportError(
            f"{own} of these {tally.reports} reports are a relay's own, and pairs are counted among reports of people "
            "alone: the plan's tally has all other estimates"
        )
    return found, tally
