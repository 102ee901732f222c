"""The way from requests to a collector's store: many submissions, one commit (`hush.collector.queues`)."""

from __future__ import annotations

from collections.abc import Callable

from hush.collector.queues import Queue
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.collector.submissions import Batch, Gradient, Handed, Opened, Result, Submission, Withdrawal

Done = Callable[[Submission, Result | Exception], None]


class Intake(Queue[Submission, Result]):
    """The queue in front of a collector's store."""

    def __init__(
        self,
        store: Store,
        *,
        most: int = Settings.queue,
        most_bytes: int = Settings.queue_bytes,
        watch: Callable[[int, float], None] | None = None,
    ) -> None:
        super().__init__(store, _size, most=most, most_bytes=most_bytes, watch=watch)


def _size(submission: Submission) -> int:
    """Return about how many bytes a submission takes while it waits."""
    if isinstance(submission, Batch):
        return 512 + len(submission.body) + submission.vector.nbytes + 64 * len(submission.ids)
    if isinstance(submission, Handed):
        return 512 + submission.vector.nbytes
    if isinstance(submission, Withdrawal):
        return 512
    if isinstance(submission, Opened):
        return 512 + submission.vector.nbytes + 1024 * len(submission.found)
    if isinstance(submission, Gradient):
        return 512 + (0 if submission.vector is None else submission.vector.nbytes) + 64 * len(submission.ids)
    return 1024 + 40 * sum(len(output) for _, output in submission.report.answers if isinstance(output, tuple))
