"""Numbers for Prometheus, in its text format. None of them is about a person.

Nor does any move by one report (`hush.collector.reveals`): counts are rounded down to a multiple of `least`. Counts
of 0 are left out, as the mere presence of a label says something. Failures of the collector itself (5xx) are exact.

With rounding, answers that refuse nothing are left out. A reader can cause as many of them as they like, so they could
stop one before a step, and see somebody else (who fetches a plan, say) take it. Counted reports have their own metric.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Counts since the start of a process. The intake's thread calls `note_commit`, the loop everything else."""

    def __init__(self, least: int = 1) -> None:
        self._least = max(least, 1)
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

    def text(self, waiting: int) -> str:
        """Return everything in the text format of Prometheus."""
        lines = [
            "# HELP hush_submissions_total Submissions by plan, kind and outcome.",
            "# TYPE hush_submissions_total counter",
        ]
        for (plan, kind, outcome), count in sorted(self.submissions.items()):
            if seen := self._down(count):
                labels = f'plan="{_escaped(plan)}",kind="{kind}",outcome="{outcome}"'
                lines.append(f"hush_submissions_total{{{labels}}} {seen}")
        lines += ["# HELP hush_reports_total Reports that were counted.", "# TYPE hush_reports_total counter"]
        for plan, count in sorted(self.reports.items()):
            if seen := self._down(count):
                lines.append(f'hush_reports_total{{plan="{_escaped(plan)}"}} {seen}')
        lines += [
            "# HELP hush_refused_total Sealed reports that did not open, or came twice in a batch.",
            "# TYPE hush_refused_total counter",
        ]
        for plan, count in sorted(self.refused.items()):
            if seen := self._down(count):
                lines.append(f'hush_refused_total{{plan="{_escaped(plan)}"}} {seen}')
        lines += ["# HELP hush_responses_total Responses by status.", "# TYPE hush_responses_total counter"]
        for status, count in sorted(self.responses.items()):
            if self._least > 1 and status < 400:
                continue
            if seen := count if status >= 500 else self._down(count):
                lines.append(f'hush_responses_total{{status="{status}"}} {seen}')
        lines += [
            "# HELP hush_waiting Submissions that wait for a commit.",
            "# TYPE hush_waiting gauge",
            f"hush_waiting {self._down(waiting)}",
            "# HELP hush_commit_seconds How long commits take.",
            "# TYPE hush_commit_seconds histogram",
        ]
        total = 0
        for bound, count in zip((*BUCKETS, "+Inf"), self._commits, strict=True):
            total += count
            lines.append(f'hush_commit_seconds_bucket{{le="{bound}"}} {self._down(total)}')
        lines += [
            f"hush_commit_seconds_sum {self._seen_seconds:.6f}",
            f"hush_commit_seconds_count {self._down(total)}",
        ]
        lines += [
            "# HELP hush_committed_total Submissions in commits.",
            "# TYPE hush_committed_total counter",
            f"hush_committed_total {self._down(self._committed)}",
        ]
        return "\n".join(lines) + "\n"


def _escaped(label: str) -> str:
    """Return the value of a label: names of trainings may have quotes."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
