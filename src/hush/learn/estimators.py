"""Linear models by private gradients, in the shape of scikit-learn: a simulation of users.

`fit(X, y)` plays a whole training: every row of X is one person, who answers once, with their whole epsilon, through
the same channel as on a device; the estimator then holds what the server would know. This is how to find out what
could be learnt at some epsilon from so many people, and to compare mechanisms. **It protects nobody by itself**, as
it is given the data in the clear; for real people `hush.learn.Round`, `gradient` and `step` do the same over a
network. That is also why there is a `random_state`: it makes a simulation repeatable, and no device has one.

Nothing about the features is learnt in the clear. Numbers are scaled from `feature_range`, or by a `schema`, which
are public; what lies outside is clipped, as a device would. Centre, scale and typical lengths come from a pilot: a
few per cent of the people answer private questions about them, and take part in nothing else.
"""

from __future__ import annotations

import math
import secrets
import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from hush.batch.engine import thread_count
from hush.errors import DesignError, RecordError
from hush.learn import pilot as pilots
from hush.learn import rules, simulation, statistics
from hush.learn.features import Features, Part
from hush.learn.losses import Loss, loss_named
from hush.learn.matrices import feature_matrix, scale_rows
from hush.learn.progress import Progress
from hush.learn.rounds import Round
from hush.learn.simulation import People
from hush.learn.training import VECTOR, Training
from hush.schema import MAX_ATTRIBUTES, Schema

Array = np.ndarray[Any, Any]

PILOT = 0.05
LEAST_PILOT = 500  # people; fewer would say nothing but noise
CHECKS = 10  # times that held-out people are asked, in early stopping
PATIENCE = 3  # checks without improvement


@dataclass(frozen=True)
class Outcome:
    """One fitted training: coefficients of the features, intercept, and how it went."""

    coefficients: Array
    intercept: float
    training: Training
    method: str
    rounds: int
    pilot: pilots.Pilot | None
    losses: tuple[tuple[int, float, float], ...]
    noise: dict[str, float] | None


class _PrivateModel(BaseEstimator):  # type: ignore[misc]
    """What the three models share. See `LogisticRegression` for the parameters."""

    _loss: str

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        gradient: str = VECTOR,
        alpha: float = 1e-4,
        fit_intercept: bool = True,
        schema: Schema | None = None,
        feature_range: Any = (-1.0, 1.0),
        rounds: int | str = "auto",
        step: float | str = "auto",
        radius: float | str = "auto",
        bound: float = 1.0,
        k: int | str = "best",
        pilot: float | str = "auto",
        tail: float | str = "auto",
        box: float | None = None,
        selection: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        threads: int | None = None,
        progress: bool | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.gradient = gradient
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.schema = schema
        self.feature_range = feature_range
        self.rounds = rounds
        self.step = step
        self.radius = radius
        self.bound = bound
        self.k = k
        self.pilot = pilot
        self.tail = tail
        self.box = box
        self.selection = selection
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.threads = threads
        self.progress = progress
        self.random_state = random_state

    # -- features

    def _features(self, X: Any, *, reset: bool) -> Array:  # noqa: N803
        """Return features in [-1, 1], as a float32 matrix."""
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise DesignError("schema must be a hush.Schema, or None")
            if reset:
                self.n_features_in_ = len(self.schema)
                self.feature_names_in_ = np.array(self.schema.names, dtype=object)
            return feature_matrix(Features(self.schema), X)
        values = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=2 if reset else 1
        )
        low, span = self._range(values.shape[1])
        scaled = np.empty(values.shape, dtype=np.float32)
        outside = scale_rows(values, low, 2.0 / span, scaled)
        if outside and reset:
            warnings.warn(
                f"{outside} of {scaled.size} values lie outside feature_range and are clipped; state public bounds of "
                "the features, in feature_range or as a schema",
                stacklevel=3,
            )
        return scaled

    def _range(self, d: int) -> tuple[Array, Array]:
        """Return the public lower ends and spans of the features."""
        try:
            ends = np.asarray(self.feature_range, dtype=np.float64)
        except (TypeError, ValueError):
            ends = np.empty(0)
        if ends.shape == (2,):
            ends = np.tile(ends, (d, 1))
        if ends.shape != (d, 2) or not np.isfinite(ends).all() or not (ends[:, 0] < ends[:, 1]).all():
            raise DesignError(f"feature_range must be (low, high), or one such pair for each of the {d} features")
        return ends[:, 0], ends[:, 1] - ends[:, 0]

    def _parts(self, d: int) -> tuple[Part, ...]:
        if self.schema is not None:
            return Features(self.schema).parts
        return tuple(Part(j, j + 1, True) for j in range(d))

    def _more_training(self) -> dict[str, Any]:
        """Return what one model has and the others do not."""
        return {}

    # -- training

    def _seed(self) -> str | None:
        """Return what makes a simulation repeatable, or None for words of the operating system."""
        if self.random_state is None:
            return None
        return str(check_random_state(self.random_state).randint(0, 2**31 - 1))

    def _deal(self, x: Array, y: Array, seed: str | None) -> tuple[Array, Array]:
        """Return the people in random order, as nobody knows who comes when."""
        entropy = None if seed is None else int(seed)
        order = np.random.default_rng(entropy).permutation(len(x))
        return x[order], y[order]

    def _fit(self, x: Array, y: Array, seed: str | None) -> Outcome:
        """Train one model on people in random order."""
        loss = loss_named(self._loss)
        threads = thread_count(self.threads)
        draft = self._draft(x.shape[1], seed)
        people = simulation.people_of(replace(draft, projection=None), x, y)
        found, people = self._ask_pilot(draft, people, loss, seed, threads)
        training = self._planned(draft, people, found, loss)
        if training.projection is not None:
            people = simulation.people_of(training, people.x[:, : training.dimensions], people.y)
        noise = self._compare(training, len(people))
        if noise is not None and noise["statistics"] < noise["gradients"]:
            plain = replace(training, centre=None, scale=None, start=None)
            source = simulation.source_for(None if seed is None else f"{seed}/products")
            weights = statistics.fit(plain, people.x, people.y, source, threads)
            coefficients, intercept = plain.model(weights.tolist())
            return Outcome(np.array(coefficients), intercept, plain, "statistics", 1, found, (), noise)
        round_, losses = self._run(training, people, seed, threads)
        coefficients, intercept = training.model(round_.result)
        done = round_.number - 1
        return Outcome(np.array(coefficients), intercept, training, "gradients", done, found, losses, noise)

    def _draft(self, d: int, seed: str | None) -> Training:
        """Return a training that has what is known before the pilot."""
        if _plain(self.alpha, "alpha") < 0:
            raise DesignError("alpha must be at least 0")
        return Training(
            title=type(self).__name__,
            loss=self._loss,
            dimensions=d,
            epsilon=_plain(self.epsilon, "epsilon"),
            rounds=1,
            step=1.0,
            gradient=self.gradient,
            bound=_plain(self.bound, "bound"),
            k=int(self.k) if isinstance(self.k, Integral) else self.k,
            penalty=_plain(self.alpha, "alpha"),
            box=None if self.box is None else _plain(self.box, "box"),
            intercept=bool(self.fit_intercept),
            seed=secrets.token_hex(8) if seed is None else seed,
            **self._more_training(),
        )

    def _ask_pilot(
        self, draft: Training, people: People, loss: Loss, seed: str | None, threads: int
    ) -> tuple[pilots.Pilot | None, People]:
        """Ask a few people about the features; return what they say, and everybody else."""
        share = self.pilot
        if share == "auto":
            share = PILOT if self.gradient == VECTOR else 0.0
        share = _plain(share, "pilot")
        if not 0 <= share < 1:
            raise DesignError('pilot must be "auto", or a number from 0 to below 1')
        count = int(share * len(people))
        if count < LEAST_PILOT:
            return None, people
        parts = self._parts(draft.dimensions)
        found = pilots.ask(people.some(0, count), parts, loss, draft, threads=threads, seed=seed)
        return found, people.some(count, len(people))

    def _planned(self, draft: Training, people: People, found: pilots.Pilot | None, loss: Loss) -> Training:
        """Return the training with its rounds, steps and clipping, by the rules unless they are given."""
        n, epsilon, vector = len(people), draft.epsilon, draft.gradient == VECTOR
        if found is None:
            parts = self._parts(draft.dimensions)
            length = math.sqrt(len(parts) + draft.intercept)
            gradient = loss.slope_at_zero * length
        else:
            length, gradient = found.length, found.gradient
            start = loss.constant(found.target)
            draft = replace(draft, centre=found.centre, scale=found.scale)
            if draft.intercept and draft.projection is None:
                draft = replace(draft, start=(0.0,) * draft.dimensions + (start,))
        radius = gradient * (loss.clip if found is not None else 1.0)
        if self.radius != "auto":
            radius = _plain(self.radius, "radius")
        held = int(_plain(self.validation_fraction, "validation_fraction") * n) if self.early_stopping else 0
        plan = rules.schedule(max(n - held, 1), draft.width, epsilon, curvature=loss.curvature, length=length)
        rounds = plan.rounds if vector else rules.rounds_for(max(n - held, 1), draft.width, epsilon)
        if self.rounds != "auto":
            rounds = _whole(self.rounds, "rounds")
        group = max(n - held, 1) / rounds
        box, decay = draft.box, not vector
        if self.step == "auto":
            step = plan.step * plan.rounds / rounds if vector else 1.0
        elif self.step == "theorem":
            step, decay = rules.theorem_step(draft.width, group, epsilon), True
            box = 1.0 if box is None else box
        else:
            step = _plain(self.step, "step")
        tail = (0.5 if vector else 0.0) if self.tail == "auto" else _plain(self.tail, "tail")
        return replace(
            draft,
            rounds=rounds,
            step=step,
            radius=radius,
            decay=decay,
            box=box,
            tail=tail,
            selection=self._selected(group, draft),
        )

    def _selected(self, group: float, draft: Training) -> tuple[int, int, float] | None:
        """Return n1, n2 and tau of the attribute selection."""
        if self.selection is None:
            return None
        if not isinstance(self.selection, tuple | list) or len(self.selection) not in (2, 3):
            raise DesignError("selection must be (n1, n2) or (n1, n2, tau)")
        first, second = (_whole(value, "n1 and n2, of the selection,") for value in self.selection[:2])
        if len(self.selection) == 3:
            return first, second, _plain(self.selection[2], "tau, of the selection,")
        return first, second, rules.selection_threshold(draft.width, max(first * group, 1.0), draft.epsilon)

    def _compare(self, training: Training, people: int) -> dict[str, float] | None:
        """Return the noise of sufficient statistics and of gradients, where there is a choice."""
        return None

    def _run(
        self, training: Training, people: People, seed: str | None, threads: int
    ) -> tuple[Round, tuple[tuple[int, float, float], ...]]:
        """Run the rounds; with early stopping, until held-out people see no improvement."""
        held = 0
        if self.early_stopping:
            held = int(_plain(self.validation_fraction, "validation_fraction") * len(people))
            if not 0 < held < len(people):
                raise DesignError("validation_fraction must leave people to train and people to check")
        checker = _Checker(training, people.some(0, held), seed, threads)
        with Progress("training", training.rounds, self.progress) as progress:

            def watch(round_: Round) -> bool:
                progress.advance()
                return held > 0 and checker.stops(round_)

            last = simulation.train(training, people.some(held, len(people)), seed=seed, threads=threads, watch=watch)
        return checker.best or last, tuple(checker.losses)

    def _keep(self, outcomes: list[Outcome]) -> None:
        """Set the attributes that all models have."""
        self.n_iter_ = max(outcome.rounds for outcome in outcomes)
        self.method_ = outcomes[0].method
        self.outcomes_ = outcomes

    def describe(self) -> str:
        """Return how the model was trained, in words."""
        check_is_fitted(self)
        return "\n".join(_described(outcome) for outcome in self.outcomes_)


class _Checker:
    """Early stopping: asks held-out people, a new group at each check, how large the loss is."""

    def __init__(self, training: Training, people: People, seed: str | None, threads: int) -> None:
        self._people, self._seed, self._threads = people, seed, threads
        self._every = max(1, training.rounds // CHECKS)
        self._asked = self._since = 0
        self._lowest = math.inf
        self.best: Round | None = None
        self.losses: list[tuple[int, float, float]] = []

    def stops(self, round_: Round) -> bool:
        """Return whether training has stopped to improve."""
        size = len(self._people) // CHECKS
        if (round_.number - 1) % self._every or size == 0 or self._asked + size > len(self._people):
            return False
        group = self._people.some(self._asked, self._asked + size)
        self._asked += size
        source = simulation.source_for(None if self._seed is None else f"{self._seed}/loss/{round_.number}")
        point, error = simulation.held_out_loss(round_, group, source, self._threads)
        self.losses.append((round_.number - 1, point, error))
        if point < self._lowest:
            self._since = 0 if point < self._lowest - error else self._since + 1
            self._lowest, self.best = point, round_
        else:
            self._since += 1
        return self._since >= PATIENCE


class _PrivateClassifier(ClassifierMixin, _PrivateModel):  # type: ignore[misc]
    """A classifier: two classes, or more by one model for each, learnt from its own share of the people."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # what a few hundred people tell at epsilon 1 is mostly noise
        return tags

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
        """Simulate a training in which every row of X is one person. y holds two or more classes."""
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
            outcomes = [self._fit(x, np.where(codes == 1, 1.0, -1.0), seed)]
        else:
            outcomes = []
            for index in range(len(self.classes_)):
                start, end = (len(x) * i // len(self.classes_) for i in (index, index + 1))
                own = None if seed is None else f"{seed}{index:03}"
                outcomes.append(self._fit(x[start:end], np.where(codes[start:end] == index, 1.0, -1.0), own))
        self._keep(outcomes)
        self.coef_ = np.array([outcome.coefficients for outcome in outcomes])
        self.intercept_ = np.array([outcome.intercept for outcome in outcomes])
        return self

    def decision_function(self, X: Any) -> Array:  # noqa: N803
        """Return the score of each row: one number, or one for each of more than two classes."""
        check_is_fitted(self)
        scores = self._features(X, reset=False) @ self.coef_.T + self.intercept_
        return np.asarray(scores[:, 0] if len(self.classes_) == 2 else scores)

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the class of each row."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])


class LogisticRegression(_PrivateClassifier):
    """Logistic regression from randomised gradients: a simulation in which every row is one person.

    epsilon: the privacy of every person. gradient: "vector" (the default), or how Wang et al. report a gradient, as k
    of d numbers: hybrid, piecewise, duchi, laplace, minimax, duchi-multi, and the other numeric mechanisms;
    coordinates are then clipped to [-bound, bound]. alpha: the L2 penalty.

    schema: how to read the columns of a table; without one X is a matrix of numbers whose public bounds are
    feature_range, one pair for all or one for each column.

    rounds, step, radius, tail: by the rules of `hush.learn.rules` if "auto". With a mechanism for coordinates "auto"
    is the paper's way: steps of 1/sqrt(t), no averaging; step="theorem" is that of its commented-out theorem. pilot:
    the share of people who only say how features are spread. box: keeps the weights in [-box, box]. selection: (n1,
    n2) or (n1, n2, tau), the paper's attribute selection. early_stopping: validation_fraction of the people only tell
    their loss, and training stops when it no longer falls.

    random_state makes the simulation repeatable; real devices have no such thing.

    After `fit`: coef_ and intercept_ are for features in [-1, 1] (`hush.learn.Features`), n_iter_ is the number of
    rounds, `describe()` says what was done.
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
    """A linear support vector machine (hinge loss) from randomised gradients: a simulation, as `LogisticRegression`."""

    _loss = "hinge"


class LinearRegression(RegressorMixin, _PrivateModel):  # type: ignore[misc]
    """Linear regression from randomised gradients: a simulation, as `LogisticRegression`, which has the parameters.

    target_range: the public bounds of the target; what lies outside is clipped. method: "gradients", "statistics"
    (one round, in which people report products of features and target), or "auto", which takes the one whose
    predicted noise is smaller; `method_` and `describe()` say which. projection: the number of dimensions that
    features are projected to at random, as in Wang et al.
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
        selection: Any = None,
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
            selection=selection,
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
        tags.regressor_tags.poor_score = True  # what a few hundred people tell at epsilon 1 is mostly noise
        return tags

    def _more_training(self) -> dict[str, Any]:
        wanted = self.projection
        return {"projection": None if wanted is None else _whole(wanted, "projection"), "cap": 1.0}

    def _compare(self, training: Training, people: int) -> dict[str, float] | None:
        if self.method not in ("auto", "gradients", "statistics"):
            raise DesignError("method must be auto, gradients or statistics")
        if self.method == "statistics":
            if training.projection is not None:
                raise DesignError("sufficient statistics are for features as they are, without a projection")
            if statistics.product_count(training.width, training.intercept) > MAX_ATTRIBUTES:
                raise DesignError(f"sufficient statistics are for few features, not {training.dimensions}")
            return {"statistics": 0.0, "gradients": math.inf}
        if self.method == "gradients" or training.gradient != VECTOR or training.projection is not None:
            return None
        return statistics.expected_noise(training, people)

    def _target_ends(self) -> tuple[float, float]:
        try:
            ends = np.asarray(self.target_range, dtype=np.float64)
        except (TypeError, ValueError):
            ends = np.empty(0)
        if ends.shape != (2,) or not np.isfinite(ends).all() or not ends[0] < ends[1]:
            raise DesignError("target_range must be (low, high)")
        return float(ends[0]), float(ends[1])

    def fit(self, X: Any, y: Any) -> LinearRegression:  # noqa: N803
        """Simulate a training in which every row of X is one person. y holds numbers."""
        x = self._features(X, reset=True)
        targets = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y")
        _check_lengths(x, targets)
        low, high = self._target_ends()
        scaled = (targets - low) * (2.0 / (high - low)) - 1.0
        outside = int(np.count_nonzero(np.abs(scaled) > 1.0 + 1e-9))
        if outside:
            warnings.warn(
                f"{outside} of {len(scaled)} targets lie outside target_range and are clipped; state its public bounds",
                stacklevel=2,
            )
        seed = self._seed()
        x, scaled = self._deal(x, np.clip(scaled, -1.0, 1.0), seed)
        outcome = self._fit(x, scaled, seed)
        self._keep([outcome])
        half = (high - low) / 2
        self.coef_ = outcome.coefficients * half
        self.intercept_ = outcome.intercept * half + (low + high) / 2
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the predicted target of each row, on its own scale."""
        check_is_fitted(self)
        return np.asarray(self._features(X, reset=False) @ self.coef_ + self.intercept_)


def _plain(value: object, name: str) -> float:
    """Return a parameter as a plain float."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise DesignError(f"{name} must be a finite number")
    return float(value)


def _whole(value: object, name: str) -> int:
    """Return a parameter as a plain integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise DesignError(f"{name} must be an integer of at least 1")
    return int(value)


def _check_lengths(x: Array, y: Array) -> None:
    if len(x) != len(y):
        raise RecordError(f"there are {len(x)} rows of features and {len(y)} targets")


def _described(outcome: Outcome) -> str:
    training = outcome.training
    lines = [
        f"{training.title}: {training.dimensions} features, epsilon {training.epsilon:g} a person, who answers once"
    ]
    if outcome.pilot is not None:
        lines.append(f"  pilot: {outcome.pilot.asked} people told how the features are spread")
    if outcome.noise is not None:
        ratio = outcome.noise["gradients"] / outcome.noise["statistics"]
        if math.isfinite(ratio) and ratio > 0:
            lines.append(f"  predicted noise of gradients over that of sufficient statistics: {ratio:.3g}")
    if outcome.method == "statistics":
        lines.append("  one round of sufficient statistics")
    else:
        clip = f"length {training.radius:.3g}" if training.gradient == VECTOR else f"coordinates {training.bound:.3g}"
        size = f"{'1/sqrt(t) times ' if training.decay else ''}{training.step:.3g}"
        lines.append(f"  {outcome.rounds} rounds of {training.gradient} gradients, clipped ({clip}), steps of {size}")
    for number, point, error in outcome.losses:
        lines.append(f"  after round {number}: held-out loss {point:.4f} +- {error:.4f}")
    return "\n".join(lines)
