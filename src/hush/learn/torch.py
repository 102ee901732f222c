"""Private labels in PyTorch: a loss whose targets are reports. See `hush.learn.labels`.

label = PrivateLabel(plan)
loss = ReportLoss(plan)
supports = torch.from_numpy(label.supports(reports))  # once; then split it as you split the features
loss(network(features), supports).backward()
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch import nn

from hush.core.plan import Plan
from hush.errors import DesignError
from hush.learn.labels import PrivateLabel

if TYPE_CHECKING:
    from torch import Tensor


class ReportLoss(nn.Module):  # type: ignore[misc]
    """The mean of -log(likelihood of a report), given a logit for each class.

    With true labels it would be `CrossEntropyLoss`. The true probabilities minimise its expectation.
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        label = PrivateLabel(plan)
        self._classes, self._log_ratio = len(label.classes), math.log(label.ratio)

    def forward(self, logits: Tensor, supports: Tensor) -> Tensor:
        """Return the loss of a batch: logits and `PrivateLabel.supports`, a row for each person."""
        if logits.shape != supports.shape or logits.ndim != 2 or logits.shape[1] != self._classes:
            raise DesignError(f"logits and supports must have one row for each person and {self._classes} columns")
        likely = nn.functional.log_softmax(logits, dim=1) + self._log_ratio * supports.to(logits.dtype)
        return -likely.logsumexp(dim=1).mean()
