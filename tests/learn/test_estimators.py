"""The estimators: what scikit-learn expects of them, what they refuse, and that they learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from hush import Categorical, DesignError, Features, HushError, Numeric, RecordError, Round, Schema
from hush.core.training.rotations import kappa, rotate_back
from hush.learn import progress
from hush.learn.simulate import LinearRegression, LinearSVC, LogisticRegression
from hush.server import rules
from tests.learn.cases import Array

MODELS = [LogisticRegression, LinearSVC, LinearRegression]


def known(n: int, d: int, regression: bool, noise: float = 0.1) -> tuple[Array, Array, Array]:
    """People whose targets follow known weights (the same every time), and those weights."""
    rng = np.random.default_rng(7)
    weights = np.array([(-1.0) ** j * (1 + j % 3) for j in range(d)])
    x = rng.uniform(-1, 1, (n, d)).astype(np.float32)
    if regression:
        weights *= (0.9 - noise) / np.abs(weights).sum()
        return x, x @ weights + 0.1 + rng.choice([-noise, noise], n), weights
    return x, np.where(rng.random(n) < 1 / (1 + np.exp(-(x @ weights + 0.3))), 1, -1), weights


def cosine(a: Array, b: Array) -> float:
    return float(np.ravel(a) @ b / np.linalg.norm(a) / np.linalg.norm(b))


# -- what scikit-learn expects


@pytest.mark.filterwarnings("ignore:.*are clipped; state.*:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([model() for model in MODELS])  # type: ignore[untyped-decorator]
def test_it_is_an_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("model", MODELS)
def test_a_model_survives_pickling_and_cloning(model: Any) -> None:
    x, y, _ = known(3000, 4, model is LinearRegression)
    fitted = model(3.0, random_state=4, rounds=5, projection=2).fit(x, y) if model is LinearRegression else None
    fitted = fitted or model(3.0, random_state=4, rounds=5).fit(x, y)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    np.testing.assert_array_equal(again.predict(x), fitted.predict(x))
    assert again.describe() == fitted.describe()
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    assert not hasattr(fresh, "coef_")
    np.testing.assert_array_equal(fresh.fit(x, y).coef_, fitted.coef_)


def test_models_take_part_in_pipelines_and_searches() -> None:
    x, y, _ = known(4000, 3, False)
    pipeline = make_pipeline(FunctionTransformer(np.tanh), LogisticRegression(4.0, random_state=0, rounds=10))
    assert pipeline.fit(x, y).score(x, y) > 0.6
    scores = cross_val_score(LogisticRegression(4.0, random_state=0, rounds=10), x, y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.6
    search = GridSearchCV(LinearSVC(random_state=0, rounds=10), {"epsilon": [0.01, 8.0]}, cv=2).fit(x, y)
    assert search.best_params_ == {"epsilon": 8.0}


def test_random_states() -> None:
    x, y, _ = known(3000, 3, False)
    one, same, other = (LogisticRegression(2.0, random_state=state).fit(x, y).coef_ for state in (5, 5, 6))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    unseeded = [LogisticRegression(2.0).fit(x, y).coef_ for _ in range(2)]
    assert not np.array_equal(*unseeded)
    generator = LogisticRegression(2.0, random_state=np.random.RandomState(5)).fit(x, y)
    np.testing.assert_array_equal(generator.coef_, one)
    threads = LogisticRegression(2.0, random_state=5, threads=1).fit(x, y)
    np.testing.assert_array_equal(threads.coef_, one)


def test_probabilities_sum_to_one() -> None:
    x, y, _ = known(3000, 3, False)
    two = LogisticRegression(8.0, random_state=0).fit(x, y)
    chances = two.predict_proba(x)
    assert chances.shape == (3000, 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(two.predict(x), two.classes_[chances.argmax(axis=1)])
    np.testing.assert_allclose(np.exp(two.predict_log_proba(x)), chances)
    three = LogisticRegression(8.0, random_state=0).fit(x, np.arange(3000) % 3)
    chances = three.predict_proba(x)
    assert chances.shape == (3000, 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(three.predict(x), chances.argmax(axis=1))


# -- they learn


def learnt(model: Any, epsilon: float, n: int = 200_000) -> tuple[float, float]:
    """The cosine with the true weights, and how much of the score of the truth is lost."""
    regression = model is LinearRegression
    x, y, weights = known(n, 10, regression)
    found = model(epsilon, random_state=0).fit(x, y)
    assert found.method_ == "gradients"
    if regression:
        best = 1 - np.mean((y - x @ weights - 0.1) ** 2) / np.var(y)
    else:
        best = np.mean(np.where(x @ weights + 0.3 > 0, 1, -1) == y)
    return cosine(found.coef_, weights), float(best - found.score(x, y))


@pytest.mark.parametrize("model", MODELS)
def test_known_weights_are_found_again(model: Any) -> None:
    """At epsilon 4 nearly as well as without privacy, at epsilon 1 with more noise. Both are seeded."""
    direction, lost = learnt(model, 4.0)
    assert direction > 0.997
    assert lost < 0.003
    direction, lost = learnt(model, 1.0)
    assert direction > 0.95
    assert lost < 0.03


@pytest.mark.parametrize("model", MODELS)
def test_a_wrong_rotation_learns_nothing(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: the server turns back by the rotation of another round."""

    def decode(now: Round, means: Any) -> list[float]:
        scale = now.training.radius / kappa(len(means))
        return [scale * value for value in rotate_back(means, f"other {now.number}", len(now.coordinates))]

    direction, lost = learnt(model, 4.0, 60_000)
    assert direction > 0.99
    assert lost < 0.01
    monkeypatch.setattr("hush.server.step.decode", decode)
    direction, lost = learnt(model, 4.0, 60_000)
    assert direction < 0.8
    assert lost > 0.05


@pytest.mark.parametrize("gradient", ["hybrid", "laplace", "duchi-multi", "cube"])
def test_the_mechanisms_for_coordinates_learn_too(gradient: str) -> None:
    x, y, weights = known(60_000, 5, False)
    found = LogisticRegression(4.0, gradient=gradient, rounds=40, random_state=0).fit(x, y)
    assert cosine(found.coef_, weights) > (0.9 if gradient == "laplace" else 0.98)
    assert f"rounds of {gradient} gradients, clipped (coordinates 1), steps of 1/sqrt(t) times 1" in found.describe()


def test_three_classes() -> None:
    rng = np.random.default_rng(2)
    centres = np.array([[0.6, 0.0], [-0.5, 0.5], [-0.3, -0.6]])
    codes = rng.integers(0, 3, 200_000)
    x = np.clip(centres[codes] + rng.normal(size=(200_000, 2)) * 0.25, -1, 1).astype(np.float32)
    names = np.array(["a", "b", "c"])
    found = LogisticRegression(2.0, random_state=0, rounds=60).fit(x, names[codes])
    assert found.classes_.tolist() == ["a", "b", "c"]
    assert found.coef_.shape == (3, 2)
    assert found.score(x, names[codes]) > 0.95
    assert len(found.outcomes_) == 3
    assert len({outcome.training.family for outcome in found.outcomes_}) == 3  # each has people of its own


def test_projection_selection_and_the_theorem() -> None:
    x, y, _ = known(20_000, 30, True)
    projected = LinearRegression(4.0, projection=8, random_state=0).fit(x, y)
    assert projected.coef_.shape == (30,)
    assert projected.outcomes_[0].training.width == 8
    x, y, _ = known(20_000, 10, False)
    chosen = LogisticRegression(4.0, gradient="hybrid", selection=(3, 2), step="theorem", random_state=0).fit(x, y)
    own = chosen.outcomes_[0].training
    assert own.selection[:2] == (3, 2)
    assert (own.box, own.decay) == (1.0, True)
    assert np.abs(chosen.coef_).max() <= 1.0
    given = LogisticRegression(4.0, selection=[1, 1, 0.25], random_state=0).fit(x, y)
    assert given.outcomes_[0].training.selection == (1, 1, 0.25)


# -- sufficient statistics


def noisy(n: int, d: int) -> tuple[Array, Array, Array]:
    return known(n, d, True, noise=0.8)


def test_statistics_for_few_dimensions_gradients_for_many() -> None:
    """Where targets are noisy, gradients are long, and the products of one feature say more."""
    x, y, _ = noisy(20_000, 1)
    few = LinearRegression(4.0, random_state=0).fit(x, y)
    assert few.method_ == "statistics"
    assert few.n_iter_ == 1
    assert "one round of sufficient statistics" in few.describe()
    assert "predicted noise" in few.describe()
    x, y, _ = noisy(4000, 60)
    many = LinearRegression(4.0, random_state=0).fit(x, y)
    assert many.method_ == "gradients"
    assert "rounds of vector gradients, clipped (length" in many.describe()
    x, y, _ = known(20_000, 2, True)
    assert LinearRegression(4.0, random_state=0).fit(x, y).method_ == "gradients"  # short gradients, little noise


@pytest.mark.parametrize("method", ["statistics", "gradients"])
def test_a_method_may_be_forced(method: str) -> None:
    x, y, weights = known(200_000, 3, True)
    found = LinearRegression(4.0, method=method, random_state=0).fit(x, y)
    assert found.method_ == method
    assert method in found.describe()
    assert "predicted noise" not in found.describe(), "nothing was compared"
    np.testing.assert_allclose(found.coef_, weights, atol=0.1)
    assert found.intercept_ == pytest.approx(0.1, abs=0.05)


def test_statistics_without_an_intercept() -> None:
    x, y, weights = known(200_000, 3, True)
    found = LinearRegression(4.0, method="statistics", fit_intercept=False, random_state=0).fit(x, y - 0.1)
    np.testing.assert_allclose(found.coef_, weights, atol=0.1)
    assert found.intercept_ == 0.0


# -- features


SCHEMA = Schema(
    [
        Numeric("age", 0, 100),
        Numeric("income", 0, 1000, out_of_range="clip", optional=True),
        Categorical("os", ["linux", "mac", "other"]),
    ]
)


def table(n: int) -> tuple[dict[str, Array], Array]:
    rng = np.random.default_rng(3)
    income = rng.uniform(-100, 1100, n).astype(object)
    income[rng.random(n) < 0.2] = None
    columns = {"age": rng.uniform(0, 100, n), "income": income, "os": rng.choice(["linux", "mac", "other"], n)}
    return columns, np.where((columns["os"] == "mac") ^ (rng.random(n) < 0.1), "yes", "no")


def test_tables_of_any_kind_with_a_schema() -> None:
    columns, y = table(20_000)
    arrow = pa.table({name: pa.array(array.tolist()) for name, array in columns.items()})
    frames: list[Any] = [columns, arrow, pd.DataFrame(columns).astype({"income": "Float64"})]
    found = [LogisticRegression(8.0, schema=SCHEMA, random_state=0, rounds=20).fit(frame, y) for frame in frames]
    for model, frame in zip(found, frames, strict=True):
        np.testing.assert_array_equal(model.coef_, found[0].coef_)
        np.testing.assert_array_equal(model.predict(frame), found[0].predict(columns))
        assert model.n_features_in_ == 3
        assert model.feature_names_in_.tolist() == ["age", "income", "os"]
    assert found[0].score(columns, y) > 0.85
    assert Features(SCHEMA).names == ("age", "income", "income=(missing)", "os=linux", "os=mac")
    assert int(np.argmax(np.abs(found[0].coef_[0]))) == 4
    with pytest.raises(RecordError, match="'os'"):
        found[0].predict({**columns, "os": np.array(["windows"] * 20_000)})


def test_numbers_that_follow_each_other_do_not_ruin_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve features are nearly one: steps along it are twelve times as long. With fewer rounds they go astray."""
    rng = np.random.default_rng(3)
    hidden = rng.uniform(-0.8, 0.8, (20_000, 1))
    x = np.clip(hidden + 0.1 * rng.normal(size=(20_000, 12)), -1, 1)
    y = np.clip(0.5 * hidden[:, 0] + 0.3 * x[:, 0] + 0.1 * rng.normal(size=20_000), -1, 1)

    def explained() -> float:
        model = LinearRegression(8.0, random_state=1, method="gradients").fit(x[:15_000], y[:15_000])
        return float(model.score(x[15_000:], y[15_000:]))

    assert explained() > 0.85
    monkeypatch.setattr(rules, "FIRM", 1)
    assert explained() < 0.5


def test_every_feature_may_have_its_own_range() -> None:
    x, y, _ = known(2000, 2, False)
    plain = LogisticRegression(8.0, random_state=0).fit(x, y)
    stretched = np.column_stack([100 * x[:, 0] + 50, x[:, 1] / 4])
    ranges = [(-50, 150), (-0.25, 0.25)]
    other = LogisticRegression(8.0, random_state=0, feature_range=ranges).fit(stretched, y)
    # Features differ in their last bits, so a coin of a few people falls otherwise.
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=0.02, atol=0.02)


def test_values_out_of_range_are_clipped_with_a_warning() -> None:
    x, y, _ = known(2000, 2, False)
    wide = x.copy()
    wide[:10, 0] = 7.0
    edge = np.where(wide > 1, 1.0, wide)
    with pytest.warns(UserWarning, match="^some values lie outside feature_range"):
        clipped = LogisticRegression(8.0, random_state=0).fit(wide, y)
    np.testing.assert_array_equal(clipped.coef_, LogisticRegression(8.0, random_state=0).fit(edge, y).coef_)
    np.testing.assert_array_equal(clipped.predict(wide), clipped.predict(edge))
    x, y, _ = known(2000, 2, True)
    with pytest.warns(UserWarning, match="^some targets lie outside target_range"):
        LinearRegression(8.0, random_state=0, target_range=(0, 1)).fit(x, y)


def test_targets_have_their_own_scale() -> None:
    x, y, weights = known(100_000, 3, True)
    found = LinearRegression(4.0, random_state=0, target_range=(0, 200), method="gradients").fit(x, 100 + 100 * y)
    np.testing.assert_allclose(found.coef_, 100 * weights, atol=6)
    assert found.intercept_ == pytest.approx(110, abs=5)


# -- bad parameters


BAD: list[tuple[str, Any]] = [
    *(("epsilon", value) for value in (0, -1.0, 17.0, 1e-5, "1", None, float("nan"), True)),
    *(("gradient", value) for value in ("float", None, 3)),
    *(("alpha", value) for value in (-1.0, "x", float("inf"))),
    ("schema", "age"),
    *(("feature_range", value) for value in ((1, 0), (0, 0), (0, float("inf")), [(0, 1)], "ab", None, (0, 1, 2))),
    *(("rounds", value) for value in (0, -1, 2.5, True, "many")),
    *(("step", value) for value in (0.0, -1.0, "fast", None)),
    *(("radius", value) for value in (0.0, "short", float("nan"))),
    *(("k", value) for value in (0, 2.5, "most")),
    *(("pilot", value) for value in (1.0, -0.1, "some", None)),
    *(("tail", value) for value in (1.5, -0.5, "all")),
    *(("box", value) for value in (0.0, -1.0, "small")),
    *(("selection", value) for value in (5, (1,), (0, 1), (1, 1, -0.5), ("a", 1), (1, 2.5), (1, 2, 3, 4))),
    *(("threads", value) for value in (0, 1.5)),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_bad_parameters_are_refused_in_words(name: str, value: Any) -> None:
    x, y, _ = known(100, 3, False)
    with pytest.raises(HushError) as caught:
        LogisticRegression(
            **{"random_state": 0, "gradient": "hybrid" if name in ("k", "bound") else "vector", name: value}
        ).fit(x, y)
    wanted = "n1" if name == "selection" else name
    assert wanted in str(caught.value) or name in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"target_range": (1, 0)}, "target_range"),
        ({"target_range": ("a", "b")}, "target_range"),
        ({"method": "magic"}, "method"),
        ({"projection": 2.7}, "projection"),
        ({"projection": 0}, "projection"),
        ({"projection": 4}, "projection"),
        ({"projection": 2, "method": "statistics"}, "without a projection"),
        ({"bound": 0.0}, "bound"),
        ({"early_stopping": True, "validation_fraction": 0.0}, "validation_fraction"),
        ({"early_stopping": True, "validation_fraction": 1.5}, "validation_fraction"),
        ({"early_stopping": True, "validation_fraction": "x"}, "validation_fraction"),
    ],
)
def test_bad_parameters_of_regressions_are_refused_in_words(parameters: dict[str, Any], word: str) -> None:
    x, y, _ = known(100, 3, True)
    with pytest.raises(DesignError, match=word):
        LinearRegression(random_state=0, **parameters).fit(x, y)


def test_statistics_of_too_many_features_are_refused() -> None:
    x, y, _ = known(50, 60, True)
    with pytest.raises(DesignError, match="few features"):
        LinearRegression(method="statistics").fit(x, y)


def test_too_many_features_are_refused() -> None:
    x = np.zeros((10, 1024), dtype=np.float32)
    with pytest.raises(DesignError, match="the number of features must be an integer from 1 to 1023"):
        LogisticRegression().fit(x, np.arange(10) % 2)


def test_bad_targets_are_refused() -> None:
    x, y, _ = known(50, 3, False)
    with pytest.raises(ValueError, match="one class"):
        LogisticRegression().fit(x, np.ones(50))
    with pytest.raises(ValueError, match="NaN"):
        LogisticRegression().fit(x, np.full(50, np.nan))
    with pytest.raises(RecordError, match="50 rows of features and 49 targets"):
        LinearSVC().fit(x, y[:-1])
    with pytest.raises(ValueError, match="NaN"):
        LinearRegression().fit(x, np.full(50, np.nan))


# -- how it goes


def test_early_stopping_stops_and_says_why() -> None:
    """Steps that are far too long: the held-out loss stops falling at once."""
    x, y, _ = known(60_000, 5, False)
    found = LogisticRegression(2.0, random_state=0, early_stopping=True, step=20.0).fit(x, y)
    (outcome,) = found.outcomes_
    assert 1 <= len(outcome.losses) < 10
    assert found.n_iter_ < outcome.training.rounds
    assert found.n_iter_ == min(outcome.losses, key=lambda loss: loss[1])[0]
    for number, point, error in outcome.losses:
        assert number % (outcome.training.rounds // 10) == 0
        assert f"after round {number}: held-out loss {point:.4f} +- {error:.4f}" in found.describe()
    whole = LogisticRegression(2.0, random_state=0, step=20.0).fit(x, y)
    assert whole.outcomes_[0].losses == ()
    assert whole.n_iter_ == whole.outcomes_[0].training.rounds


def test_the_description_says_what_was_done() -> None:
    x, y, _ = known(20_000, 5, False)
    text = LogisticRegression(2.0, random_state=0, rounds=7).fit(x, y).describe()
    assert text.startswith("LogisticRegression: 5 features, epsilon 2 a person, who answers once\n  pilot: ")
    assert "  7 rounds of vector gradients, clipped (length " in text
    assert "pilot" not in LogisticRegression(2.0, random_state=0, pilot=0.0).fit(x, y).describe()


def test_progress_is_shown_on_standard_error_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if standard error were a terminal: elsewhere rich draws no bar
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    x, y, _ = known(2000, 3, False)
    LogisticRegression(2.0, random_state=0, progress=True).fit(x, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "training" in shown.err
    for quiet in (False, None):  # None: only where somebody is watching
        LogisticRegression(2.0, random_state=0, progress=quiet).fit(x, y)
        assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(progress, "PATIENCE", 60.0)  # and only if it takes long
    LogisticRegression(2.0, random_state=0, progress=True).fit(x, y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("model", MODELS)
def test_weights_of_people_are_refused_with_a_reason(model: Any) -> None:
    x, y = np.zeros((10, 2)), np.arange(10) % 2
    with pytest.raises(DesignError, match="would multiply what the person reports"):
        model().fit(x, y, sample_weight=np.ones(10))
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        model().fit(x, y, weights=np.ones(10))
