"""Linear models from private gradients, with the interface of scikit-learn: a simulation of users.

`fit(X, y)` simulates a whole training: every row of X is one person, who answers once, with their whole epsilon,
through the same channel as on a device. The estimator then holds what the server would know. Use it to find out what
can be learnt at some epsilon from a given number of people, and to compare mechanisms. **It protects nobody by
itself**, because it takes the data in the clear; for real people `hush.Round`, `gradient` and `step` do the same over a
network. That is also why there is a `random_state`: it makes a simulation repeatable, and no device has one.

Nothing about the features is learnt in the clear. Numbers are scaled by `feature_range` or by a `schema`, which are
public. A table is checked by its schema, as a record is on a device. Without a schema, values outside the range are
clipped, as on a device whose schema declares `out_of_range="clip"`. Centre, scale and typical lengths come from a
pilot: a few per cent of the people answer private questions about them, and take part in nothing else.
"""

from __future__ import annotations

import warnings
from typing import Any

try:
    import numpy as np
    from sklearn.base import ClassifierMixin, RegressorMixin
    from sklearn.utils import assert_all_finite
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"hush.learn.simulate needs {error.name}: pip install 'hush-ldp[learn]'", name=error.name
    ) from None

from hush.core.schema import MAX_ATTRIBUTES, Categorical, Numeric, Schema
from hush.core.training.labels import TARGETS, Label
from hush.core.training.training import VECTOR, Training
from hush.errors import DesignError, RecordError
from hush.learn import statistics
from hush.learn.matrices import scaled_rows
from hush.learn.models import PrivateModel
from hush.learn.parameters import pairs, whole

Array = np.ndarray[Any, Any]


class _PrivateClassifier(ClassifierMixin, PrivateModel):  # type: ignore[misc]
    """A classifier for two classes; for more, each class has its own model, learnt from its own share of the people."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # reports of a few hundred people at epsilon 1 are mostly noise
        return tags

    def fit(self, X: Any, y: Any, **unknown: Any) -> Any:  # noqa: N803
        """Simulate a training in which every row of X is one person. y holds two or more classes."""
        _refuse(unknown)
        x = self._features(X, reset=True)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        _check_lengths(x, labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("a classifier needs at least two classes, and this target has one class")
        seed = self._seed()
        x, codes = self._deal(x, codes, seed)
        if len(self.classes_) == 2:
            outcomes = [self._fit(x, _targets(codes == 1), seed)]
        else:
            outcomes = []
            for index in range(len(self.classes_)):
                start, end = (len(x) * i // len(self.classes_) for i in (index, index + 1))
                own = None if seed is None else f"{seed}{index:03}"
                outcomes.append(self._fit(x[start:end], _targets(codes[start:end] == index), own))
        self._keep(outcomes, len(x))
        self.coef_ = np.array([outcome.coefficients for outcome in outcomes])
        self.intercept_ = np.array([outcome.intercept for outcome in outcomes])
        return self

    def _label(self, name: str) -> Label:
        return Categorical(name, [0, 1])  # 1 is the second of two `classes_`; of more, the one against the others

    def _live_label(self, name: str) -> Label:
        classes = self.classes_.tolist()
        if not all(type(value) in (int, str) for value in classes):
            raise DesignError("a live training has classes that are strings or integers: say which, as label=")
        return Categorical(name, classes)

    def decision_function(self, X: Any) -> Array:  # noqa: N803
        """Return the score of each row: one number, or one for each of more than two classes."""
        check_is_fitted(self)
        if self.map is not None:
            scores = np.column_stack([self._scores(X, outcome) for outcome in self.outcomes_])
        else:
            scores = self._features(X, reset=False) @ self.coef_.T + self.intercept_
        return np.asarray(scores[:, 0] if len(self.classes_) == 2 else scores)

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the class of each row."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])


class LogisticRegression(_PrivateClassifier):
    """Logistic regression from randomised gradients: a simulation in which every row is one person.

    epsilon: the privacy of every person. gradient: "vector" (the default), or a numeric mechanism, which reports a
    gradient as k of d numbers, as in Wang et al.: hybrid, piecewise, duchi, laplace, minimax, duchi-multi and the
    others. Coordinates are then clipped to [-bound, bound]. alpha: the L2 penalty.

    schema: describes the columns of a table. Without a schema, X is a matrix of numbers, and feature_range has their
    public bounds: one pair for all columns, or one for each.

    rounds, step, radius, tail: "auto" takes them from the rules in `hush.server.rules`. With a mechanism of coordinates
    "auto" follows the paper: steps of 1/sqrt(t), no averaging; step="theorem" is the step of its commented-out theorem.
    pilot: the share of people who only report how features are spread ("auto": 10 %, of more than 500,000 people 5 %).
    ordered: the names of categories in the schema whose values are listed in their order; the place of a value is then
    one more feature. tail: the share of the last rounds whose weights are averaged, equally; "auto" averages all of
    them, the later ones with more weight. box: keeps the weights in [-box, box]. selection: (n1, n2) or (n1, n2, tau),
    the paper's attribute selection. map: a public map (`hush.RandomMap`, `hush.TableMap`), whose units are further
    features; coef_ then has their coefficients behind those of the features. early_stopping: a share
    validation_fraction of the people only report their loss, and training stops when it no longer falls.

    random_state makes the simulation repeatable; real devices have no such parameter.

    After `fit`: coef_ and intercept_ are for features in [-1, 1] (`hush.Features`), n_iter_ is the number of
    rounds, and `describe()` describes the training.
    """

    _loss = "logistic"

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """Return the probability of each class."""
        scores = self.decision_function(X)
        chances = 1.0 / (1.0 + np.exp(-np.clip(scores, -500, 500)))
        if chances.ndim == 1:
            return np.column_stack([1.0 - chances, chances])
        chances = np.maximum(chances, 1e-300)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> Array:  # noqa: N803
        """Return the logarithm of the probability of each class."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))


class LinearSVC(_PrivateClassifier):
    """A linear support vector machine (hinge loss) from randomised gradients, simulated as in `LogisticRegression`."""

    _loss = "hinge"


class LinearRegression(RegressorMixin, PrivateModel):  # type: ignore[misc]
    """Linear regression from randomised gradients, simulated as in `LogisticRegression`, which explains the parameters.

    target_range: the public bounds of the target; targets outside are clipped. method: "gradients", "statistics"
    (one round, in which people report products of features and target), or "auto", which takes the method with the
    smaller predicted noise; `method_` and `describe()` name it. projection: the number of dimensions after a random
    projection of the features, as in Wang et al.
    """

    _loss = "squared"

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        gradient: str = VECTOR,
        alpha: float = 1e-4,
        fit_intercept: bool = True,
        schema: Schema | None = None,
        feature_range: Any = (-1.0, 1.0),
        target_range: Any = (-1.0, 1.0),
        method: str = "auto",
        rounds: int | str = "auto",
        step: float | str = "auto",
        radius: float | str = "auto",
        bound: float = 1.0,
        k: int | str = "best",
        pilot: float | str = "auto",
        tail: float | str = "auto",
        box: float | None = None,
        ordered: Any = (),
        selection: Any = None,
        map: Any = None,  # noqa: A002 - as in `Training`
        projection: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        threads: int | None = None,
        progress: bool | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            epsilon,
            gradient=gradient,
            alpha=alpha,
            fit_intercept=fit_intercept,
            schema=schema,
            feature_range=feature_range,
            rounds=rounds,
            step=step,
            radius=radius,
            bound=bound,
            k=k,
            pilot=pilot,
            tail=tail,
            box=box,
            ordered=ordered,
            selection=selection,
            map=map,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            threads=threads,
            progress=progress,
            random_state=random_state,
        )
        self.target_range = target_range
        self.method = method
        self.projection = projection

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # reports of a few hundred people at epsilon 1 are mostly noise
        return tags

    def _label(self, name: str) -> Label:
        ((low, high),) = self._target_ends().tolist()
        return Numeric(name, low, high, out_of_range="clip")

    def _target_ends(self) -> Array:
        return pairs(self.target_range, 1, "target_range must be (low, high)")

    def _more_training(self) -> dict[str, Any]:
        wanted = self.projection
        return {"projection": None if wanted is None else whole(wanted, "projection"), "cap": 1.0}

    def _method_for(self, training: Training, people: int) -> tuple[str, dict[str, float] | None]:
        if self.method not in ("auto", "gradients", "statistics"):
            raise DesignError("method must be auto, gradients or statistics")
        if self.method == "statistics":
            if training.projection is not None or training.map is not None:
                raise DesignError("sufficient statistics are for features as they are, without a projection or a map")
            if statistics.product_count(training.width, training.intercept) > MAX_ATTRIBUTES:
                raise DesignError(f"sufficient statistics are for few features, not {training.dimensions}")
            return "statistics", None
        if self.method == "gradients" or training.gradient != VECTOR or training.projection is not None:
            return "gradients", None
        if training.map is not None:
            return "gradients", None
        noise = statistics.expected_noise(training, people)
        return min(noise, key=noise.__getitem__), noise

    def fit(self, X: Any, y: Any, **unknown: Any) -> LinearRegression:  # noqa: N803
        """Simulate a training in which every row of X is one person. y holds numbers."""
        _refuse(unknown)
        x = self._features(X, reset=True)
        targets = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y")
        _check_lengths(x, targets)
        ends = self._target_ends()
        scaled, outside = scaled_rows(targets[:, None], ends)
        if outside:
            warnings.warn(
                "some targets lie outside target_range and are clipped; state its public bounds", stacklevel=2
            )
        seed = self._seed()
        outcome = self._fit(*self._deal(x, scaled[:, 0], seed), seed)
        self._keep([outcome], len(x))
        ((low, high),) = ends.tolist()
        half = (high - low) / 2
        self.coef_ = outcome.coefficients * half
        self.intercept_ = outcome.intercept * half + (low + high) / 2
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the predicted target of each row, on its own scale."""
        check_is_fitted(self)
        if self.map is not None:
            ((low, high),) = self._target_ends().tolist()
            return np.asarray(self._scores(X, self.outcomes_[0]) * (high - low) / 2 + (low + high) / 2)
        return np.asarray(self._features(X, reset=False) @ self.coef_ + self.intercept_)


def _targets(second: Array) -> Array:
    """Return the targets of two classes, by the rule of `hush.core.training.labels`."""
    return np.array(TARGETS, dtype=np.float64)[second.astype(np.intp)]


def _refuse(unknown: dict[str, Any]) -> None:
    """Refuse weights of people, with the reason, and every other parameter that `fit` does not know."""
    if "sample_weight" in unknown:
        raise DesignError(
            "sample_weight is refused: the weight of a person would multiply what the person reports, so the noise "
            "would have to hide the largest weight; draw people by their weights instead"
        )
    if unknown:
        raise TypeError(f"fit() got an unexpected keyword argument {next(iter(unknown))!r}")


def _check_lengths(x: Array, y: Array) -> None:
    if len(x) != len(y):
        raise RecordError(f"there are {len(x)} rows of features and {len(y)} targets")
