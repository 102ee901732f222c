"""The common part of the three models: parameters, features, and the planning and simulation of a training."""

from __future__ import annotations

import math
import secrets
import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from hush.batch.engine import thread_count
from hush.core import codec
from hush.core.schema import MAX_ATTRIBUTES, Numeric, Schema
from hush.core.training.features import Features
from hush.core.training.labels import Label
from hush.core.training.losses import Loss, loss_named
from hush.core.training.rounds import Round
from hush.core.training.training import VECTOR, Training
from hush.errors import DesignError
from hush.learn import pilot as pilots
from hush.learn import rules, simulation, statistics
from hush.learn.matrices import feature_matrix, scaled_rows
from hush.learn.outcomes import Outcome
from hush.learn.parameters import pairs, plain, whole
from hush.learn.pilot import Pilot
from hush.learn.progress import Progress
from hush.learn.simulation import People
from hush.learn.stopping import Checker

Array = np.ndarray[Any, Any]

PILOT = 0.05
LEAST_PILOT = 500  # people; the answers of fewer would be mostly noise


class PrivateModel(BaseEstimator):  # type: ignore[misc]
    """The common part of the three models. See `LogisticRegression` for the parameters."""

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
        scaled, outside = scaled_rows(values, self._ranges(values.shape[1]))
        if outside and reset:
            warnings.warn(
                "some values lie outside feature_range and are clipped; state public bounds of the features, in "
                "feature_range or as a schema",
                stacklevel=3,
            )
        return scaled

    def _ranges(self, d: int) -> Array:
        rule = f"feature_range must be (low, high), or one such pair for each of the {d} features"
        return pairs(self.feature_range, d, rule)

    def _described(self, d: int) -> Schema:
        """Return the schema of one row on a device. With `feature_range` it clips, as `fit` does."""
        if self.schema is not None:
            return self.schema
        codec.integer(d, 1, MAX_ATTRIBUTES - 1, DesignError, "the number of features")
        ends = self._ranges(d).tolist()
        return Schema([Numeric(f"x{j}", low, high, out_of_range="clip") for j, (low, high) in enumerate(ends)])

    def _label(self, name: str) -> Label:
        """Return the label of the training, under this name."""
        raise NotImplementedError

    def _more_training(self) -> dict[str, Any]:
        """Return the parameters that only this model has."""
        return {}

    # -- training

    def _seed(self) -> str | None:
        """Return the seed of a repeatable simulation, or None for words of the operating system."""
        if self.random_state is None:
            return None
        return str(check_random_state(self.random_state).randint(0, 2**31 - 1))

    def _deal(self, x: Array, y: Array, seed: str | None) -> tuple[Array, Array]:
        """Return the people in random order, because real people answer in an unknown order."""
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
        method, noise = self._method_for(training, len(people))
        if method == "statistics":
            plain = replace(training, centre=None, scale=None, start=None)
            source = simulation.source_for(None if seed is None else f"{seed}/products")
            weights = statistics.fit(plain, people.x, people.y, source, threads)
            coefficients, intercept = plain.model(weights.tolist())
            return Outcome(np.array(coefficients), intercept, plain, method, 1, found, (), noise)
        round_, losses = self._run(training, people, seed, threads)
        coefficients, intercept = training.model(round_.result)
        done = round_.number - 1
        return Outcome(np.array(coefficients), intercept, training, method, done, found, losses, noise)

    def _draft(self, d: int, seed: str | None) -> Training:
        """Return a training with all that is known before the pilot."""
        if plain(self.alpha, "alpha") < 0:
            raise DesignError("alpha must be at least 0")
        schema, name = self._described(d), "target"
        while name in schema.names:
            name += "_"
        return Training(
            title=type(self).__name__,
            loss=self._loss,
            schema=schema,
            label=self._label(name),
            epsilon=plain(self.epsilon, "epsilon"),
            rounds=1,
            step=1.0,
            gradient=self.gradient,
            bound=plain(self.bound, "bound"),
            k=int(self.k) if isinstance(self.k, Integral) else self.k,
            penalty=plain(self.alpha, "alpha"),
            box=None if self.box is None else plain(self.box, "box"),
            intercept=bool(self.fit_intercept),
            seed=secrets.token_hex(8) if seed is None else seed,
            **self._more_training(),
        )

    def _ask_pilot(
        self, draft: Training, people: People, loss: Loss, seed: str | None, threads: int
    ) -> tuple[Pilot | None, People]:
        """Ask a few people about the features. Return the result, and the other people."""
        share = self.pilot
        if share == "auto":
            share = PILOT if self.gradient == VECTOR else 0.0
        share = plain(share, "pilot")
        if not 0 <= share < 1:
            raise DesignError('pilot must be "auto", or a number from 0 to below 1')
        count = int(share * len(people))
        if count < LEAST_PILOT:
            return None, people
        parts = Features(draft.schema).parts
        found = pilots.ask(people.some(0, count), parts, loss, draft, threads=threads, seed=seed)
        return found, people.some(count, len(people))

    def _planned(self, draft: Training, people: People, found: Pilot | None, loss: Loss) -> Training:
        """Return the training with its rounds, steps and clipping: those that were given, or those of the rules."""
        epsilon, vector = draft.epsilon, draft.gradient == VECTOR
        if found is None:
            length = math.sqrt(len(Features(draft.schema).parts) + draft.intercept)
            gradient = loss.slope_at_zero * length
        else:
            length, gradient = found.length, found.gradient
            start = loss.constant(found.target)
            draft = replace(draft, centre=found.centre, scale=found.scale)
            if draft.intercept and draft.projection is None:
                draft = replace(draft, start=(0.0,) * draft.dimensions + (start,))
        radius = gradient * (loss.clip if found is not None else 1.0)
        if self.radius != "auto":
            radius = plain(self.radius, "radius")
        n = max(len(people) - self._held_out(people), 1)
        plan = rules.schedule(n, draft.width, epsilon, curvature=loss.curvature, length=length)
        rounds = plan.rounds if vector else rules.rounds_for(n, draft.width, epsilon)
        if self.rounds != "auto":
            rounds = whole(self.rounds, "rounds")
        group = n / rounds
        box, decay = draft.box, not vector
        if self.step == "auto":
            step = plan.step * plan.rounds / rounds if vector else 1.0
        elif self.step == "theorem":
            step, decay = rules.theorem_step(draft.width, group, epsilon), True
            box = 1.0 if box is None else box
        else:
            step = plain(self.step, "step")
        tail = (0.5 if vector else 0.0) if self.tail == "auto" else plain(self.tail, "tail")
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

    def _held_out(self, people: People) -> int:
        """Return the number of people who only check."""
        return int(plain(self.validation_fraction, "validation_fraction") * len(people)) if self.early_stopping else 0

    def _selected(self, group: float, draft: Training) -> tuple[int, int, float] | None:
        """Return n1, n2 and tau of the attribute selection."""
        if self.selection is None:
            return None
        if not isinstance(self.selection, tuple | list) or len(self.selection) not in (2, 3):
            raise DesignError("selection must be (n1, n2) or (n1, n2, tau)")
        first, second = (whole(value, "n1 and n2, of the selection,") for value in self.selection[:2])
        if len(self.selection) == 3:
            return first, second, plain(self.selection[2], "tau, of the selection,")
        return first, second, rules.selection_threshold(draft.width, max(first * group, 1.0), draft.epsilon)

    def _method_for(self, training: Training, people: int) -> tuple[str, dict[str, float] | None]:
        """Return "gradients" or "statistics", and the noise of both if they were compared."""
        return "gradients", None

    def _run(
        self, training: Training, people: People, seed: str | None, threads: int
    ) -> tuple[Round, tuple[tuple[int, float, float], ...]]:
        """Run the rounds; with early stopping, until held-out people see no improvement."""
        held = self._held_out(people)
        if self.early_stopping and not 0 < held < len(people):
            raise DesignError("validation_fraction must leave people to train and people to check")
        checker = Checker(training, people.some(0, held), seed, threads)
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
        """Describe in words how the model was trained."""
        check_is_fitted(self)
        return "\n".join(map(str, self.outcomes_))
