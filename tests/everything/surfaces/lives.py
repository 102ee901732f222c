"""The life of a made-up plan: its folder, its people, their reports, and a tally."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hush
from hush.batch import _randomise_from, encode
from hush.core.blanket import blanket_of
from hush.errors import PlanError
from hush.server.tally import Tally
from hush.testing import SeededStreams
from tests.everything.crowds import Crowd, Record, crowd
from tests.everything.draws import columns, own_counts, people
from tests.everything.plans import Case

MOST = 400
"""So many people answer at most. What more of them change is a matter of numbers: see `tests.everything.coverage`."""


@dataclass
class Life:
    """A case in a folder of its own, with as many people as it says, up to `MOST`."""

    case: Case
    folder: Path
    noted: dict[str, float] = field(default_factory=dict)
    """Processor time that each surface took."""

    @cached_property
    def plan(self) -> hush.Plan:
        return self.case.design()

    @cached_property
    def crowd(self) -> Crowd:
        return crowd(self.case.schema, f"{self.case.seed}")

    @property
    def seed(self) -> str:
        return f"a life for everything {self.case.seed}"

    @cached_property
    def answering(self) -> int:
        return min(self.case.people, MOST)

    def records(self, number: int) -> list[Record]:
        """Return the records of some people."""
        rng = np.random.default_rng(self.case.seed)
        return [self.crowd.records[int(place)] for place in people(self.crowd, number, rng)]

    @cached_property
    def table(self) -> pa.Table:
        """The people, as a table."""
        who = people(self.crowd, self.answering, np.random.default_rng(self.case.seed))
        return pa.table(columns(self.case.schema, self.crowd, who))

    @cached_property
    def reports(self) -> pa.Table:
        """Their reports, the same in every run."""
        return self._reported(self.table, 0)

    def _reported(self, table: pa.Table, seed: int) -> pa.Table:
        words = SeededStreams(2 * self.case.seed + seed)
        return _randomise_from(words, self.plan, encode(self.plan, table), threads=1, ids=True)

    @cached_property
    def own(self) -> int:
        """How many reports a relay has added, if a relay may take the plan."""
        try:
            blanket_of(self.plan)
        except PlanError:
            return 0
        return min(self.case.own * self.case.batches, 2000)

    @cached_property
    def tally(self) -> Tally:
        """The tally, with a relay's own reports if the case has a relay."""
        return self._with_own(hush.batch.tally(self.plan, self.reports, threads=1))

    @cached_property
    def other(self) -> Tally:
        """The tally of a second collection of a quarter of these people, or of one of them."""
        some = self.table.slice(0, max(1, self.answering // 4))
        return self._with_own(hush.batch.tally(self.plan, self._reported(some, 1), threads=1))

    def _with_own(self, tally: Tally) -> Tally:
        if not self.own:
            return tally
        total = tally + own_counts(self.plan, self.own, np.random.default_rng(self.case.seed))
        return Tally(self.plan, total.reports, total.answered, total.counts, self.own)

    def lay_out(self) -> None:
        """Write the files that commands take."""
        self.folder.mkdir(parents=True, exist_ok=True)
        listed = {"attributes": self.case.schema.to_json()}
        (self.folder / "schema.json").write_text(json.dumps(listed), encoding="utf-8")
        (self.folder / "plan.json").write_text(self.plan.to_json(), encoding="utf-8")
        (self.folder / "tally.json").write_text(self.tally.to_json(), encoding="utf-8")
        (self.folder / "other.json").write_text(self.other.to_json(), encoding="utf-8")
        (self.folder / "nobody.json").write_text(Tally(self.plan).to_json(), encoding="utf-8")
        pq.write_table(self.table, self.folder / "people.parquet")


def strict(text: str | bytes) -> Any:
    """Return a JSON value. Numbers that JSON does not have are refused, as browsers do."""

    def refuse(word: str) -> Any:
        message = f"{word} is no number of JSON"
        raise ValueError(message)

    return json.loads(text, parse_constant=refuse)
