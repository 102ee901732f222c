"""The Flower mod: exact, once, and nothing but the report leaves. Skipped where Flower is not installed."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="Flower is not installed: pip install 'hush-ldp[flower]'", exc_type=ImportError)

from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message, Metadata, MetricRecord, RecordDict

from hush import DesignError, Ledger, randomise
from hush.core.training import rotations
from hush.learn import flower
from hush.learn.flower import HushMod, decoded, vector_plan, vector_record
from tests.cases import branches, exp_floor

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Flower itself

START = [np.zeros((2, 3), dtype=np.float32), np.ones(2, dtype=np.float32)]


def message(kind: str = "train", number: int = 1, arrays: Any = START) -> Message:
    content = RecordDict({"arrays": ArrayRecord(arrays), "config": ConfigRecord({"server-round": number})})
    about = Metadata(1, "1", 1, 7, "", "", time.time(), 3600.0, kind)  # a server makes it
    return Message(content=content, metadata=about)


def node(number: int = 7) -> Context:
    return Context(run_id=1, node_id=number, node_config={}, state=RecordDict(), run_config={})


def app(update: float | Callable[[], float]) -> Any:
    """A client whose training adds a number to every weight, and who talks about its data."""

    def train(msg: Message, context: Context) -> Message:
        step = update if isinstance(update, float) else update()
        new = ArrayRecord([array.numpy() + np.float32(step) for array in msg.content["arrays"].values()])
        told = MetricRecord({"num-examples": 12345, "loss": 0.25})
        return Message(RecordDict({"arrays": new, "metrics": told}), reply_to=msg)

    return train


@pytest.fixture
def mod(tmp_path: Path) -> HushMod:
    return HushMod("keyboard", radius=2.0, epsilon=4.0, ledger=Ledger(tmp_path / "ledger", cap=8.0))


def test_only_the_report_leaves(mod: HushMod) -> None:
    reply = mod(message(), node(), app(0.5))
    assert not reply.has_error()
    assert dict(reply.content["metrics"]) == {"num-examples": 1}
    assert list(reply.content) == ["arrays", "metrics"]
    arrays = [array.numpy() for array in reply.content["arrays"].values()]
    assert [(array.shape, array.dtype) for array in arrays] == [((2, 3), np.float32), ((2,), np.float32)]
    # A report has one length, whatever it says, but for the coordinates that padding takes away.
    assert np.linalg.norm(np.concatenate([array.ravel() for array in arrays]) - np.r_[np.zeros(6), np.ones(2)]) > 0


def test_a_second_round_is_refused_and_the_same_one_gets_the_same_reply(mod: HushMod) -> None:
    first = mod(message(number=1), node(), app(0.5))
    again = mod(message(number=1), node(), app(-0.5))  # another update, but the report is that of the first
    for one, other in zip(first.content["arrays"].values(), again.content["arrays"].values(), strict=True):
        assert (one.numpy() == other.numpy()).all()
    second = mod(message(number=2), node(), app(0.5))
    assert second.has_error()
    assert second.error.reason == flower.ONCE


def test_the_app_is_not_asked_again_so_neither_its_time_nor_its_failures_tell(mod: HushMod, tmp_path: Path) -> None:
    def never(*_: object) -> Message:
        raise AssertionError("the app was asked")

    first = mod(message(number=1), node(), app(0.5))
    again = mod(message(number=1), node(), never)
    for one, other in zip(first.content["arrays"].values(), again.content["arrays"].values(), strict=True):
        assert (one.numpy() == other.numpy()).all()
    assert mod(message(number=2), node(), never).error.reason == flower.ONCE
    assert mod(message(number=1, arrays=[np.zeros(100)]), node(), never).error.reason == flower.ONCE
    poor = HushMod("keyboard", radius=2.0, epsilon=4.0, ledger=Ledger(tmp_path / "poor", cap=1.0))
    assert poor(message(), node(), never).error.reason == flower.ONCE


@pytest.mark.parametrize("kind", ["evaluate", "query"])
def test_other_messages_are_refused_before_the_app_sees_them(mod: HushMod, kind: str) -> None:
    def never(*_: object) -> Message:
        raise AssertionError("the app was asked")

    assert mod(message(kind), node(), never).error.reason == flower.ONLY


def test_whether_the_app_fails_says_nothing_about_its_data(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It counts as no update: a device that refused would say something, and Flower sends what is raised."""

    def fails(*_: object) -> Message:
        raise ValueError("the income 4711 is too large")

    def tells(msg: Message, context: Context) -> Message:
        told = [np.full(array.numpy().shape, "income 4711") for array in msg.content["arrays"].values()]
        return Message(RecordDict({"arrays": ArrayRecord(told)}), reply_to=msg)

    def other(msg: Message, context: Context) -> Message:
        return Message(RecordDict({"arrays": ArrayRecord([np.zeros(3)])}), reply_to=msg)

    def refuses(msg: Message, context: Context) -> Message:
        return Message(Error(2, "income 4711"), reply_to=msg)

    for number, bad in enumerate([fails, tells, other, refuses, app(math.nan), app(math.inf)]):
        ledger = Ledger(tmp_path / f"{number}", cap=8.0)
        reply = HushMod("keyboard", radius=2.0, epsilon=4.0, ledger=ledger)(message(), node(), bad)
        assert not reply.has_error()
        assert dict(reply.content["metrics"]) == {"num-examples": 1}
    assert [record.message for record in caplog.records if record.name == flower.__name__] == 4 * [flower.FAILED]


def test_what_is_too_large_is_refused(mod: HushMod) -> None:
    assert mod(message(arrays=[np.zeros(1025)]), node(), app(0.1)).error.reason == flower.WEIGHTS
    for settings in ({"radius": 0.0, "epsilon": 1.0}, {"radius": 1.0, "epsilon": 100.0}):
        with pytest.raises(DesignError):
            HushMod("keyboard", ledger=lambda _: None, **settings)  # type: ignore[arg-type, return-value]
    assert mod.people_needed(100) > 50_000


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_reports_are_private_exactly(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every path of the sampler, for vectors of every kind, in four dimensions."""
    monkeypatch.setattr(rotations, "MIN_SIZE", 4)
    plan = vector_plan.__wrapped__(epsilon, 3, "private")
    channel = plan.questions[0].channel

    def law(vector: list[float]) -> dict[Any, Fraction]:
        found: dict[Any, Fraction] = {}
        record = plan.schema.encode(vector_record(vector, 1.0, "seed", plan))
        for state, weight in channel.rounding(record).items():
            for output, chance in branches(partial(channel.draw, state)).items():
                found[output] = found.get(output, Fraction(0)) + weight * chance
        return found

    laws = [law(vector) for vector in ([0.0] * 3, [1.0, 0, 0], [-1.0, 0, 0], [5.0, -3.0, 1e200], [0.1, 0.2, -0.3])]
    for output in laws[0]:
        assert max(one[output] for one in laws) <= exp_floor(Fraction(epsilon)) * min(one[output] for one in laws)


def test_decoded_reports_are_right_on_average() -> None:
    """1,000 nodes with the same update: the error of the mean is that of the channel. With 6 standard errors in each of
    8 coordinates, a false alarm has a chance below 1e-7. The twin's reports are decoded with another rotation."""
    plan, vector, n = vector_plan(4.0, 8, "mean"), [0.3, -0.2, 0.1, 0.0, 0.4, -0.4, 0.2, 0.1], 1000
    sums, twins = np.zeros(8), np.zeros(8)
    squares = np.zeros(8)
    for i in range(n):
        report = randomise(plan, vector_record(vector, 1.0, f"{i}", plan))
        found = np.array(decoded(report, 1.0, f"{i}", 8))
        sums += found
        squares += found**2
        twins += np.array(decoded(report, 1.0, f"{i + 1}", 8))
    errors = np.sqrt(squares) / n
    # The finite rotation leaves a bias of about 0.01 of the length (`hush.core.training.directions`).
    assert (np.abs(sums / n - vector) < 6 * errors + 0.02).all()
    assert (np.abs(twins / n - vector) > 6 * errors + 0.02).any()


@pytest.mark.skipif(find_spec("ray") is None, reason="Flower's simulations need Ray: pip install 'flwr[simulation]'")
def test_real_clients_of_flower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three nodes in Flower's own simulation, FedAvg, two rounds: the first moves the model, the second is refused."""
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    folder = str(tmp_path)

    def ledger(context: Context) -> Ledger:
        return Ledger(Path(folder) / f"{context.node_id}", cap=8.0)

    client = ClientApp(mods=[HushMod("keyboard", radius=2.0, epsilon=8.0, ledger=ledger)])

    @client.train()  # type: ignore[untyped-decorator]
    def train(msg: Message, context: Context) -> Message:
        new = ArrayRecord([array.numpy() + np.float32(0.5) for array in msg.content["arrays"].values()])
        told = MetricRecord({"num-examples": 12345})
        return Message(RecordDict({"arrays": new, "metrics": told}), reply_to=msg)

    server = ServerApp()

    @server.main()  # type: ignore[untyped-decorator]
    def main(grid: Any, context: Context) -> None:
        strategy = FedAvg(min_train_nodes=3, min_available_nodes=3, fraction_evaluate=0.0)
        seen: list[dict[str, Any]] = []
        genuine = strategy.aggregate_train

        def aggregate(number: int, replies: Any) -> Any:
            listed = list(replies)
            seen.append(
                {
                    "errors": [reply.error.reason for reply in listed if reply.has_error()],
                    "metrics": [dict(reply.content["metrics"]) for reply in listed if not reply.has_error()],
                }
            )
            return genuine(number, listed)

        strategy.aggregate_train = aggregate
        result = strategy.start(grid=grid, initial_arrays=ArrayRecord(START), num_rounds=2)
        moved = [array.numpy().tolist() for array in result.arrays.values()]
        (Path(folder) / "result.json").write_text(json.dumps({"seen": seen, "arrays": moved}), encoding="utf-8")

    few: Any = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100 << 20}
    run_simulation(
        server, client, 3, backend_config={"init_args": few, "client_resources": {"num_cpus": 1, "num_gpus": 0}}
    )
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    first, second = result["seen"]
    assert first == {"errors": [], "metrics": [{"num-examples": 1}] * 3}
    assert second == {"errors": [flower.ONCE] * 3, "metrics": []}
    assert np.abs(np.array(result["arrays"][0])).max() > 0
