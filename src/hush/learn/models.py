"""The common part of the three models: parameters, features, and the planning and simulation of a training."""

from __future__ import annotations

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
from hush.core.design.courses import course_of
from hush.core.design.directions import people_needed
from hush.core.schema import MAX_ATTRIBUTES, Numeric, Schema
from hush.core.training.courses import THEOREM, Course, Wishes, pilot_people
from hush.core.training.features import Features
from hush.core.training.labels import Label
from hush.core.training.rounds import Round
from hush.core.training.training import VECTOR, Training
from hush.errors import DesignError
from hush.learn import pilot as pilots
from hush.learn import simulation, statistics
from hush.learn.matrices import feature_matrix, scaled_rows
from hush.learn.outcomes import Outcome
from hush.learn.parameters import pairs, plain, whole
from hush.learn.progress import Progress
from hush.learn.simulation import People
from hush.learn.stopping import Checker
from hush.server import rules
from hush.server.pilot import Pilot

Array = np.ndarray[Any, Any]

ROWS = 100_000  # whose units are computed at a time


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
        ordered: Any = (),
        selection: Any = None,
        map: Any = None,  # noqa: A002 - as in `Training`
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
        self.ordered = ordered
        self.selection = selection
        self.map = map
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
            return feature_matrix(Features(self.schema, self._in_order()), X)
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

    def _scores(self, X: Any, outcome: Outcome) -> Array:  # noqa: N803
        """Return the scores of rows under one of the fitted trainings."""
        x, training = self._features(X, reset=False), outcome.training
        coefficients = outcome.coefficients.astype(np.float32)
        if training.map is None:
            return np.asarray(x @ coefficients + outcome.intercept)
        found = []
        view = simulation.View.of(replace(training, map=None, start=None, intercept=False))
        for part in np.array_split(x, len(x) // ROWS + 1):
            units = simulation.lifted(training, (part - view.centre) * view.inverse)
            found.append(part @ coefficients[: training.dimensions] + units @ coefficients[training.dimensions :])
        return np.asarray(np.concatenate(found) + outcome.intercept)

    def _in_order(self) -> tuple[str, ...]:
        """Return the names of the categories whose values are in order."""
        if isinstance(self.ordered, str) or not isinstance(self.ordered, tuple | list):
            raise DesignError("ordered must be a list of names of categories")
        if self.ordered and self.schema is None:
            raise DesignError("ordered names categories of a schema")
        return tuple(self.ordered)

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
        threads = thread_count(self.threads)
        draft = self._draft(x.shape[1], seed)
        people = simulation.people_of(replace(draft, projection=None), x, y)
        found, people = self._ask_pilot(draft, people, seed, threads)
        training = self._planned(draft, people, found)
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
            ordered=self._in_order(),
            map=self.map,
            seed=secrets.token_hex(8) if seed is None else seed,
            **self._more_training(),
        )

    def _ask_pilot(
        self, draft: Training, people: People, seed: str | None, threads: int
    ) -> tuple[Pilot | None, People]:
        """Ask a few people about the features. Return the result, and the other people."""
        count = pilot_people(len(people), draft.gradient, self._pilot_share())
        if not count:
            return None, people
        found = pilots.ask(people.some(0, count), draft, threads=threads, seed=seed)
        return found, people.some(count, len(people))

    def _pilot_share(self) -> float | None:
        """Return the share of people who are asked first, if it was given."""
        if self.pilot == "auto":
            return None
        share = plain(self.pilot, "pilot")
        if not 0 <= share < 1:
            raise DesignError('pilot must be "auto", or a number from 0 to below 1')
        return share

    def _wishes(self) -> Wishes:
        """Return the settings that were given."""
        step = self.step if self.step in ("auto", THEOREM) else plain(self.step, "step")
        return Wishes(
            None if self.rounds == "auto" else whole(self.rounds, "rounds"),
            None if step == "auto" else step,
            None if self.radius == "auto" else plain(self.radius, "radius"),
            None if self.tail == "auto" else plain(self.tail, "tail"),
        )

    def _planned(self, draft: Training, people: People, found: Pilot | None) -> Training:
        """Return the training with its rounds, steps and clipping: those that were given, or those of the rules."""
        n = max(len(people) - self._held_out(people), 1)
        training = rules.planned(draft, n, found, self._wishes())
        return replace(training, selection=self._selected(n / training.rounds, draft))

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

    def _keep(self, outcomes: list[Outcome], people: int) -> None:
        """Set the attributes that all models have."""
        self.n_iter_ = max(outcome.rounds for outcome in outcomes)
        self.method_ = outcomes[0].method
        self.people_ = people
        self.outcomes_ = outcomes

    def describe(self) -> str:
        """Describe in words how the model was trained."""
        check_is_fitted(self)
        lines = [str(outcome) for outcome in self.outcomes_]
        training = self.outcomes_[0].training
        needed = len(lines) * people_needed(training.epsilon, training.width)
        if self.people_ < needed and training.gradient == VECTOR and self.method_ == "gradients":
            lines.append(f"  {self.people_} people are few: with about {needed}, a gradient is as long as its noise")
        return "\n".join(lines)

    def training(self, *, title: str = "training", label: Label | None = None, people: int | None = None) -> Course:
        """Return the live training that this simulation was about: a course, for `hush serve --training`.

        Its pilot, rounds and steps follow the same rules by the same code, from what live people report. Nothing that
        was learnt from the simulated people goes into it. label: how devices know the target; by default it has
        the name "target" and the classes or the bounds of the simulation. people: how many will take part, by default
        as many as were simulated.
        """
        check_is_fitted(self)
        if self.method_ != "gradients":
            raise DesignError('sufficient statistics are simulated only: choose method="gradients" for a live training')
        if self.early_stopping:
            raise DesignError("a live training runs all its rounds: simulate it without early_stopping")
        own = self.outcomes_[0].training
        label = self._live_label(own.label.name) if label is None else label
        many = len(self.outcomes_)
        draft = replace(
            self._draft(own.dimensions, None),
            title=title,
            label=label,
            selection=own.selection,
            against=0 if many > 1 else None,
        )
        people = self.people_ if people is None else whole(people, "people")
        return course_of(draft, people // many, pilot=self._pilot_share(), wishes=self._wishes())

    def _live_label(self, name: str) -> Label:
        """Return the label with which devices take part."""
        return self._label(name)
