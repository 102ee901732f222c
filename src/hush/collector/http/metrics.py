"""Numbers for Prometheus, in its text format. None of them is about one person.

A reader may ask twice a second, send as much as they like in between, and know about when somebody answers. So each
number is of one of two sorts (`docs/operate.md` has a table).

**About people**: whatever moves when a report comes, and so every number of submissions, of reports, of commits, of
submissions that wait, and of refusals. These follow the rule of `hush.collector.reveals`: they are as old as the tally
that readers see may be, and counts are rounded down to a multiple of `least`. Counts of 0 are left out, as the mere
presence of a label says something. With rounding, answers that refuse nothing are left out: a reader can cause as many
of them as they like, so they could stop one before a step, and see somebody else (who fetches a plan, say) take it.
Counted reports have their own metric.

**About the collector**, exact and at once: its own failures (5xx), which show that somebody asked, and neither what for
nor whether a report was counted in the end; refusals that no device meets, whatever it sends (`NOBODYS`); what
`/readyz` tells anybody at once, that the queue is full or a commit takes too long; and when the process began. Time of
the processor, memory, open connections and the size of the store would move with one report, and are not shown at all.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from typing import NamedTuple

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
NOBODYS = frozenset({405, 431})  # another method than the address takes; headers larger than any device's

Lines = dict[str, list[str]]


class Family(NamedTuple):
    """A metric: its name, its type, and its meaning."""

    name: str
    kind: str
    help: str


FAMILIES = (
    Family("hush_submissions_total", "counter", "Submissions by plan, kind and outcome."),
    Family("hush_reports_total", "counter", "Reports that were counted."),
    Family("hush_refused_total", "counter", "Sealed reports that did not open, or came twice in a batch."),
    Family("hush_responses_total", "counter", "Responses by status."),
    Family("hush_waiting", "gauge", "Submissions that wait for a commit."),
    Family("hush_commit_seconds", "histogram", "How long commits take."),
    Family("hush_committed_total", "counter", "Submissions in commits."),
    Family("hush_queue_full", "gauge", "1 if the queue takes nothing more now."),
    Family("hush_commit_late", "gauge", "1 if a commit takes longer than /readyz waits."),
    Family("process_start_time_seconds", "gauge", "When the process began, in seconds since 1970."),
)


class Metrics:
    """Counts since the start of a process. The intake's thread calls `note_commit`, the loop everything else."""

    def __init__(self, least: int = 1) -> None:
        self._least = max(least, 1)
        self._start = time.time()
        self.submissions: Counter[tuple[str, str, str]] = Counter()  # plan, kind, outcome
        self.reports: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.responses: Counter[int] = Counter()
        self._commits = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0
        self._committed = 0
        self._seen_seconds = 0.0

    def note_commit(self, submissions: int, seconds: float) -> None:
        """Count one commit."""
        self._commits[bisect_left(BUCKETS, seconds)] += 1
        self._seconds += seconds
        before, self._committed = self._committed, self._committed + submissions
        if self._down(before) != self._down(self._committed):  # a sum cannot be rounded: it would move every time
            self._seen_seconds = self._seconds

    def _down(self, count: int) -> int:
        return count - count % self._least

    def of_people(self, waiting: int) -> Lines:
        """Return the lines about people, by the name of their metric. Readers see those of an earlier moment."""
        plans = [
            (f'plan="{_escaped(plan)}",kind="{kind}",outcome="{outcome}"', count)
            for (plan, kind, outcome), count in sorted(self.submissions.items())
        ]
        answers = [
            (f'status="{status}"', count)
            for status, count in sorted(self.responses.items())
            if not _is_own(status) and (self._least == 1 or status >= 400)
        ]
        return {
            "hush_submissions_total": self._rounded("hush_submissions_total", plans),
            "hush_reports_total": self._rounded("hush_reports_total", _by_plan(self.reports)),
            "hush_refused_total": self._rounded("hush_refused_total", _by_plan(self.refused)),
            "hush_responses_total": self._rounded("hush_responses_total", answers),
            "hush_waiting": [f"hush_waiting {self._down(waiting)}"],
            "hush_commit_seconds": self._histogram(),
            "hush_committed_total": [f"hush_committed_total {self._down(self._committed)}"],
        }

    def _rounded(self, name: str, counts: list[tuple[str, int]]) -> list[str]:
        return [f"{name}{{{labels}}} {seen}" for labels, count in counts if (seen := self._down(count))]

    def _histogram(self) -> list[str]:
        lines, total = [], 0
        for bound, count in zip((*BUCKETS, "+Inf"), self._commits, strict=True):
            total += count
            lines.append(f'hush_commit_seconds_bucket{{le="{bound}"}} {self._down(total)}')
        lines.append(f"hush_commit_seconds_sum {self._seen_seconds:.6f}")
        return [*lines, f"hush_commit_seconds_count {self._down(total)}"]

    def text(self, people: Lines, *, full: bool, late: bool) -> str:
        """Return everything in the text format: what is about people as it is given, and the collector as it is now.

        `full`: whether the queue is. `late`: whether a commit takes longer than `/readyz` waits.
        """
        now = {
            "hush_responses_total": [
                f'hush_responses_total{{status="{status}"}} {count}'
                for status, count in sorted(self.responses.items())
                if _is_own(status)
            ],
            "hush_queue_full": [f"hush_queue_full {full:d}"],
            "hush_commit_late": [f"hush_commit_late {late:d}"],
            "process_start_time_seconds": [f"process_start_time_seconds {self._start:.3f}"],
        }
        lines = []
        for name, kind, meaning in FAMILIES:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *people.get(name, ()), *now.get(name, ())]
        return "\n".join(lines) + "\n"


def _is_own(status: int) -> bool:
    """Return whether answers with a status are about the collector, and not about people."""
    return status >= 500 or status in NOBODYS


def _by_plan(counts: Counter[str]) -> list[tuple[str, int]]:
    return [(f'plan="{_escaped(plan)}"', count) for plan, count in sorted(counts.items())]


def _escaped(label: str) -> str:
    """Return the value of a label: names of trainings may have quotes."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
