"""Private labels: a server knows the features of people, and each person reports a label through a channel, once.

The label has the plan's epsilon. The features are *not* protected. In return any model can be trained for as many
passes as it takes, as the reports stay the same.

A report says of each class whether it supports it. The true class is supported with probability p, every other one with
probability q, so that ((1 if supported) - q)/(p - q) has the mean 1 for the true class and 0 for the others. Two ways
follow:

- **Values.** Any regressor that minimises squares, given these values as targets, learns the probability of each class.
- **Likelihood.** A report is `ratio` times as likely under a class that it supports as under another, exactly. So the
  probability of a report, given probabilities of the classes, is proportional to 1 + (ratio - 1) * (the probability of
  all supported classes). A network maximises its logarithm (`hush.learn.torch.ReportLoss`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.validation import check_is_fitted, validate_data

from hush import batch
from hush.batch.reports import row_arrays
from hush.core.channels.alphabet import Symbols
from hush.core.channels.indicator import Indicator
from hush.core.columnar import WORD_BITS
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.schema import Categorical
from hush.errors import DesignError, PlanError, ReportError
from hush.server.intervals import proportion

Array = np.ndarray[Any, Any]

MAX_CLASSES = 1024


@dataclass(frozen=True)
class Accuracy:
    """How often predictions agree with the labels that people reported: an estimate and its interval."""

    value: float
    low: float
    high: float
    people: int

    def __str__(self) -> str:
        return f"accuracy {self.value:.4f}, between {self.low:.4f} and {self.high:.4f}, from {self.people:,} reports"


class PrivateLabel:
    """The reports of a plan about one label, as a model needs them.

    The plan asks one question about one categorical attribute that everybody has:
    `hush.design(hush.Schema([hush.Categorical("label", [...])]), 1.0)`.
    """

    def __init__(self, plan: Plan) -> None:
        if not isinstance(plan, Plan):
            raise PlanError("private labels need a Plan first")
        attributes = plan.schema.attributes
        if len(attributes) != 1 or len(plan.questions) != 1 or not isinstance(attributes[0], Categorical):
            raise PlanError("a plan of private labels has one categorical attribute, the label, and nothing else")
        label, channel = attributes[0], plan.questions[0].channel
        if label.optional:
            raise PlanError(
                f"attribute {label.name!r}: a label must not be optional; give no answer a class of its own"
            )
        if not isinstance(channel, Indicator) or channel.size > MAX_CLASSES:
            raise PlanError(
                f"attribute {label.name!r}: a label has at most {MAX_CLASSES} classes, by a channel for one"
            )
        self.plan = plan
        self.classes: tuple[Any, ...] = tuple(label.labels)
        self._channel = channel

    @property
    def ratio(self) -> Fraction:
        """How many times as likely a report is under a class that it supports, exactly. At most e^epsilon."""
        return self._channel.ratio

    @cached_property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The exact probabilities that a report supports the true class, and that it supports another."""
        return self._channel.p, self._channel.q

    def supports(self, reports: Any) -> Array:
        """Return a row for each report: 1 for the classes that it supports, 0 for the others. The order is kept.

        `reports`: an Arrow table of `hush.batch`, a sequence of `hush.Report`, or what this function has returned.
        """
        if isinstance(reports, np.ndarray):
            return self._checked(reports)
        if isinstance(reports, pa.Table | pa.RecordBatch):
            return self._from_table(pa.table(reports))
        if not isinstance(reports, Sequence) or not all(isinstance(report, Report) for report in reports):
            raise ReportError("reports must be an Arrow table, a list of hush.Report, or an array of supports")
        found = np.zeros((len(reports), len(self.classes)), dtype=np.uint8)
        for row, report in zip(found, reports, strict=True):
            if report.plan.id != self.plan.id:
                raise ReportError("this report belongs to another plan")
            output = report.answers[0][1]
            row[list(output) if isinstance(output, tuple) else output] = 1
        return found

    def likelihood(self, reports: Any) -> Array:
        """Return the likelihood of each report under each class: `ratio` where it supports it, 1 elsewhere."""
        return np.where(self.supports(reports), float(self.ratio), 1.0)

    def values(self, reports: Any) -> Array:
        """Return values whose mean is 1 for the true class and 0 for every other: targets for a regressor."""
        p, q = self.chances
        low, step = float(-q / (p - q)), float(1 / (p - q))
        return np.where(self.supports(reports), low + step, low)

    def log_loss(self, probabilities: Any, reports: Any) -> float:
        """Return the mean of -log(likelihood of the report), given probabilities of the classes for each person.

        No other probabilities have a smaller expected loss than the true ones. Factors that depend on the reports
        alone are left out.
        """
        likelihood = self.likelihood(reports)
        given = np.asarray(probabilities, dtype=np.float64)
        if given.shape != likelihood.shape:
            raise DesignError(
                f"probabilities must be an array of {likelihood.shape[0]} rows and {len(self.classes)} columns"
            )
        return float(-np.mean(np.log(np.sum(likelihood * given, axis=1))))

    def accuracy(self, predicted: Any, reports: Any, *, level: float = 0.95) -> Accuracy:
        """Estimate how often predictions are right, from reports of people that the model was not trained with."""
        if not isinstance(level, float) or not 0 < level < 1:
            raise DesignError("level must be a number between 0 and 1, such as 0.95")
        supports = self.supports(reports)
        index = self._indices(predicted)
        if len(index) != len(supports) or not len(index):
            raise DesignError("there must be one prediction for each report, and at least one")
        count, n = int(supports[np.arange(len(index)), index].sum()), len(index)
        p, q = map(float, self.chances)
        low, high = (min(max((end - q) / (p - q), 0.0), 1.0) for end in proportion(count, n, level))
        return Accuracy((count / n - q) / (p - q), low, high, n)

    def _indices(self, predicted: Any) -> Array:
        """Return the indices of predicted classes."""
        places = {label: index for index, label in enumerate(self.classes)}
        try:
            return np.array([places[label] for label in np.asarray(predicted).tolist()], dtype=np.intp)
        except (KeyError, TypeError):
            raise DesignError(f"predictions must be classes of {self.plan.schema.attributes[0].name!r}") from None

    def _checked(self, supports: Array) -> Array:
        """Return supports that were made before, if they may be such."""
        if supports.ndim != 2 or supports.shape[1] != len(self.classes) or supports.dtype != np.uint8:
            raise ReportError(
                f"supports must be an array of bytes with {len(self.classes)} columns, one for each class"
            )
        if supports.size and supports.max() > 1:
            raise ReportError("supports must be 0 or 1")
        return supports

    def _from_table(self, table: pa.Table) -> Array:
        """Return supports from reports in columns, after all rules for them were checked."""
        people = batch.tally(self.plan, table).reports
        size = len(self.classes)
        found = np.zeros((people, size), dtype=np.uint8)
        outputs = [row_arrays(self.plan, part)[2] for part in table.to_batches()]
        output = np.concatenate(outputs) if outputs else np.zeros(0, dtype=np.int64)
        if isinstance(self._channel.alphabet, Symbols):
            found[np.arange(people), output.astype(np.intp)] = 1
            return found
        words = output.astype(np.int64).view(np.uint64).reshape(people, -1)
        for member in range(size):
            part, bit = divmod(member, WORD_BITS)
            found[:, member] = words[:, part] >> np.uint64(bit) & np.uint64(1)
        return found


class PrivateLabelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier for private labels by a regressor of scikit-learn, with its interface.

    `plan` is the plan of the reports, and `regressor` any regressor that minimises squares: gradient-boosted trees if
    none is given. It is trained with the unbiased values of each class; of two classes, with those of the second alone.
    `fit(X, reports)` takes one report for each row of X.
    """

    def __init__(self, plan: Plan, regressor: Any = None) -> None:
        self.plan = plan
        self.regressor = regressor

    def fit(self, X: Any, y: Any) -> PrivateLabelClassifier:  # noqa: N803
        """Train with features in the clear and one report about the label for each person."""
        regressor = HistGradientBoostingRegressor() if self.regressor is None else self.regressor
        if not is_regressor(regressor):
            raise DesignError("regressor must be a regressor of scikit-learn, such as HistGradientBoostingRegressor()")
        label = PrivateLabel(self.plan)
        values = label.values(y)
        features = validate_data(self, X, ensure_all_finite=False, dtype=None)
        if len(features) != len(values):
            raise DesignError(f"there must be one report for each row: {len(features)} rows, {len(values)} reports")
        self.classes_ = np.array(label.classes)
        fitted = range(1, 2) if len(label.classes) == 2 else range(len(label.classes))
        self.regressors_ = [clone(regressor).fit(features, values[:, index]) for index in fitted]
        return self

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """Return the probability of each class: what the regressors say, brought between 0 and 1."""
        check_is_fitted(self)
        features = validate_data(self, X, reset=False, ensure_all_finite=False, dtype=None)
        found = np.column_stack([regressor.predict(features) for regressor in self.regressors_])
        if found.shape[1] == 1:
            found = np.column_stack([1 - found, found])
        found = np.clip(found, 0.0, 1.0)
        total = found.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, found / np.where(total > 0, total, 1.0), 1.0 / found.shape[1]))

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the likeliest class of each row."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Estimate how often predictions are right from the reports of held-out people, who need no other epsilon."""
        if sample_weight is not None:
            raise DesignError("sample_weight: every report counts once, so there are no weights")
        return PrivateLabel(self.plan).accuracy(self.predict(X), y).value
