"""Numbers for Prometheus, in its text format. None of them is about a person."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """What a process has done since it started. `note_commit` is called by the intake's thread, the rest by the
    loop.
    """

    def __init__(self) -> None:
        self.submissions: Counter[tuple[str, str, str]] = Counter()  # plan, kind, outcome
        self.reports: Counter[str] = Counter()
        self.responses: Counter[int] = Counter()
        self._commits = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0
        self._committed = 0

    def note_commit(self, submissions: int, seconds: float) -> None:
        """Count one commit."""
        self._commits[bisect_left(BUCKETS, seconds)] += 1
        self._seconds += seconds
        self._committed += submissions

    def text(self, waiting: int) -> str:
        """Return everything in the text format of Prometheus."""
        lines = [
            "# HELP hush_submissions_total Submissions by plan, kind and outcome.",
            "# TYPE hush_submissions_total counter",
        ]
        for (plan, kind, outcome), count in sorted(self.submissions.items()):
            lines.append(f'hush_submissions_total{{plan="{_escaped(plan)}",kind="{kind}",outcome="{outcome}"}} {count}')
        lines += ["# HELP hush_reports_total Reports that were counted.", "# TYPE hush_reports_total counter"]
        for plan, count in sorted(self.reports.items()):
            lines.append(f'hush_reports_total{{plan="{_escaped(plan)}"}} {count}')
        lines += ["# HELP hush_responses_total Responses by status.", "# TYPE hush_responses_total counter"]
        for status, count in sorted(self.responses.items()):
            lines.append(f'hush_responses_total{{status="{status}"}} {count}')
        lines += [
            "# HELP hush_waiting Submissions that wait for a commit.",
            "# TYPE hush_waiting gauge",
            f"hush_waiting {waiting}",
            "# HELP hush_commit_seconds How long commits take.",
            "# TYPE hush_commit_seconds histogram",
        ]
        total = 0
        for bound, count in zip((*BUCKETS, "+Inf"), self._commits, strict=True):
            total += count
            lines.append(f'hush_commit_seconds_bucket{{le="{bound}"}} {total}')
        lines += [f"hush_commit_seconds_sum {self._seconds:.6f}", f"hush_commit_seconds_count {total}"]
        lines += [
            "# HELP hush_committed_total Submissions in commits.",
            "# TYPE hush_committed_total counter",
            f"hush_committed_total {self._committed}",
        ]
        return "\n".join(lines) + "\n"


def _escaped(label: str) -> str:
    """Return the value of a label: names of trainings may have quotes."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
