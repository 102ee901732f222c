"""Whole courses through a collector: pilot, rounds and result, without an operator; the same as in a simulation."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hush import (
    BudgetError,
    Categorical,
    CollectorError,
    Course,
    DesignError,
    Ledger,
    LedgerError,
    Numeric,
    PlanError,
    RandomMap,
    RecordError,
    Round,
    Schema,
    Stage,
    Tally,
    Training,
    advance,
    begin,
)
from hush.collector import formats
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Gradient, Outcome
from hush.collector.vectors import layout_of
from hush.device.client import Client
from hush.device.coins import SystemCoins
from hush.device.pilot import pilot, pilot_record
from hush.learn import live
from hush.learn.simulate import LinearSVC, LogisticRegression
from hush.server import course as courses
from hush.server import rules
from tests.collector.places import Place
from tests.collector.served import HASHES, TOKENS, Served, anybody, problem, serving
from tests.collector.siege import Service
from tests.learn.cases import no_word

SCHEMA = Schema(
    [
        Numeric("age", 0, 100),
        Numeric("income", 0, 100_000, out_of_range="clip"),
        Categorical("town", ["a", "b", "c"]),
        Numeric("debt", 0, 1000, optional=True),
    ]
)
BOUGHT = Categorical("target", [0, 1])
Table = dict[str, Any]


def crowd(n: int, seed: int = 1) -> tuple[Table, Any]:
    """People whose incomes are all within a small part of the range: without scales, they teach nothing."""
    world = np.random.default_rng(seed)
    debt = world.uniform(0, 1000, n)
    table: Table = {
        "age": world.uniform(20, 80, n),
        "income": np.clip(world.normal(3000, 1500, n), 0, 1e5),
        "town": world.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
        "debt": [None if missing else value for value, missing in zip(debt, world.random(n) < 0.2, strict=True)],
    }
    score = (table["income"] - 3000) / 500 - (table["age"] - 50) / 30 + (table["town"] == "b")
    return table, (score + world.logistic(size=n) > 0).astype(int)


def some(table: Table, start: int, end: int | None = None) -> Table:
    return {name: column[start:end] for name, column in table.items()}


def dealt(table: Table, order: Any) -> Table:
    return {name: [column[i] for i in order] for name, column in table.items()}


def right(course: Course, round_: Round, table: Table, labels: Any) -> float:
    """The share of people whom the model of a live training predicts."""
    people = live.people_of(course.training, table, labels)
    weights, intercept = round_.training.model(round_.result)
    return float(np.mean((people.x @ np.array(weights) + intercept > 0) == (people.y > 0)))


def seeded(model: Any, table: Table, y: Any) -> tuple[Course, Table, Any, str]:
    """The course of a fitted simulation, with its title and seed, and its people in the order of the simulation."""
    own = model.outcomes_[0].training
    course = model.training(title=own.title)
    training = replace(course.training, seed=own.seed)
    course = Training.design(
        training.schema, training.label, loss=training.loss, epsilon=training.epsilon, people=course.people,
        title=training.title, seed=own.seed, penalty=training.penalty, map=training.map,
    )  # fmt: skip
    order = np.random.default_rng(int(own.seed)).permutation(len(y))
    return course, dealt(table, order), y[order], own.seed


# -- live = simulated


@pytest.mark.filterwarnings("ignore:.*people are few")
def test_a_live_training_with_a_map_is_the_simulated_one(tmp_path: Path) -> None:
    table, y = crowd(6_000)
    model = LogisticRegression(4.0, schema=SCHEMA, map=RandomMap(20, seed="one"), random_state=1).fit(table, y)
    course, people, labels, seed = seeded(model, table, y)
    with serving(tmp_path, plans=(), trainings={}, courses=[course]) as served:
        (last,) = live._take_part(Client(served.url), course, people, labels, seed, 2, False)
        assert last.done
        history = served.client.get(f"/trainings/{course.name}/history").json()
    assert last.training.map == RandomMap(20, seed="one")
    assert history["coefficients"] == model.outcomes_[0].coefficients.tolist()
    assert history["features"][-2:] == ["unit 19", "unit 20"]
    record = {name: column[0] for name, column in table.items()}
    coefficients, intercept = last.training.model(last.result)
    score = float(np.dot(last.training.mapped(record), coefficients)) + intercept
    assert score == pytest.approx(float(model.decision_function(some(table, 0, 1))[0]), abs=1e-4)


@pytest.mark.filterwarnings("ignore:.*people are few")
@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_a_live_training_is_the_simulated_one(
    kind: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same people with the same words over HTTP and in the simulator: the same model, to the last bit.

    So nothing here is left to chance. The twin's live side forgets the scales that the pilot found: its model differs,
    and is worse.
    """
    table, y = crowd(12_000)
    model = kind(4.0, schema=SCHEMA, random_state=1).fit(table, y)
    course, people, labels, seed = seeded(model, table, y)
    with serving(tmp_path, plans=(), trainings={}, courses=[course]) as served:
        client = Client(served.url)
        assert isinstance(client.round(course.name), Stage)
        (last,) = live._take_part(client, course, people, labels, seed, 2, False)
        assert last.done
        history = served.client.get(f"/trainings/{course.name}/history").json()
    simulated = model.outcomes_[0]
    assert last.training.step == simulated.training.step
    assert (last.training.centre, last.training.scale) == (simulated.training.centre, simulated.training.scale)
    assert last.training.start == simulated.training.start
    assert last.training.model(last.result)[0] == simulated.coefficients.tolist()
    assert history["coefficients"] == simulated.coefficients.tolist()
    assert history["intercept"] == simulated.intercept
    assert history["done"]
    assert history["features"] == ["age", "income", "town=a", "town=b", "debt", "debt=(missing)"]
    assert [stage["stage"] for stage in history["pilot"]] == ["means", "spreads", "shares"]
    people_of_all = [one["people"] for one in (*history["pilot"], *history["rounds"])]
    assert sum(people_of_all) == len(y)

    def forgetful(*given: Any) -> Training:
        return replace(genuine(*given), scale=None)

    genuine = rules.planned
    monkeypatch.setattr(courses, "planned", forgetful)
    (tmp_path / "twin").mkdir()
    with serving(tmp_path / "twin", plans=(), trainings={}, courses=[course]) as served:
        (twin,) = live._take_part(Client(served.url), course, people, labels, seed, 2, False)
    assert twin.result != last.result
    fresh = crowd(20_000, 2)
    assert right(course, last, *fresh) > right(course, twin, *fresh) + 0.1
    assert right(course, last, *fresh) == pytest.approx(model.score(*fresh), abs=1e-3)


# -- restarts


def small(**changes: Any) -> Course:
    """A course of 900 people: 500 in the pilot, and 400 in 4 rounds."""
    given: dict[str, Any] = {"loss": "logistic", "epsilon": 4.0, "people": 900, "pilot": 500 / 900, "rounds": 4}
    label = changes.pop("label", BOUGHT)
    with pytest.warns(UserWarning, match="people are few"):
        return Training.design(SCHEMA, label, **(given | {"title": "small", "seed": "test"} | changes))


def bodies(course: Course, phase: Any, people: Any, pieces: int = 5) -> list[tuple[bytes, bytes]]:
    """The answers of a stage or round in a few batches: the same ones each time, with the same ids."""
    found = []
    for index in range(pieces):
        part = people.some(len(people) * index // pieces, len(people) * (index + 1) // pieces)
        table = live._reports(phase, part, f"words {index}", 1, False)
        found.append((live.stream(table), f"{phase.number + 5:08}{index:08}".encode()))
    return found


def groups_of(course: Course, phases: list[Any], people: Any) -> Any:
    """The people of the next stage or round."""
    start = sum(course.wanted(phase) for phase in phases[:-1])
    return people.some(start, start + course.wanted(phases[-1]))


def undisturbed(course: Course, people: Any) -> list[Any]:
    """All stages and rounds of a course, with no collector at all."""
    phases = [begin(course)]
    while not phases[-1].done:
        now = phases[-1]
        tally = Tally(now.plan)
        for body, id_ in bodies(course, now, groups_of(course, phases, people)):
            found = formats.batch(now.plan, live.ARROW, body, id_, False)
            tally += layout_of(now.plan).tally(found.vector)
        phases.append(advance(course, now, tally))
    return phases


def test_nothing_is_lost_or_counted_twice_however_often_it_is_killed(tmp_path: Path) -> None:
    """A real process is killed within the pilot, at the ends of stages and rounds, and within a round.

    Every batch is sent again after each kill. The stages and rounds are those of an undisturbed course, byte for byte.
    """
    course = small()
    (tmp_path / "course.json").write_text(course.to_json())
    people = live.people_of(course.training, *crowd(900))
    expected = [phase.to_json() for phase in undisturbed(course, people)]
    service = Service(str(tmp_path / "hush.db"), tmp_path, more=("--training", str(tmp_path / "course.json")))
    # the number of the stage or round, and after how many of its 5 batches the kill comes; 5: at its end
    kills = {(-2, 2), (-2, 5), (-1, 5), (0, 1), (0, 5), (1, 0), (2, 3), (3, 5), (4, 5)}
    seen: list[Any] = []

    def client() -> Client:
        if service.address is None:
            service.start()
        assert service.address is not None
        return Client("http://{}:{}".format(*service.address), timeout=60)

    try:
        while True:
            seen.append(client().round(course.name))
            assert seen[-1].to_json() == expected[len(seen) - 1]
            if seen[-1].done:
                break
            made = bodies(course, seen[-1], groups_of(course, seen, people))
            for sent in range(len(made) + 1):
                if (seen[-1].number, sent) in kills:
                    service.stop(signal.SIGKILL)
                    for body, id_ in made[:sent]:
                        assert not client().submit_training_batch(seen[-1], body, id_, live.ARROW).new
                if sent < len(made):
                    assert client().submit_training_batch(seen[-1], *made[sent], live.ARROW).new
    finally:
        service.close()
    assert len(seen) == 3 + 4 + 1
    store = SqliteStore(tmp_path / "hush.db")
    assert [past.people for past in store.history(course.name)] == [125, 125, 250, 100, 100, 100, 100]
    store.close()


def test_a_course_goes_on_where_it_was(place: Place) -> None:
    """In every store: opened anew before each batch, within stages and rounds and at their ends; and sent twice."""
    course = small()
    people = live.people_of(course.training, *crowd(900))
    expected, seen = undisturbed(course, people), []
    with place.opened() as store:
        store.add_training(course.name, begin(course), course.people, course)
    while True:
        with place.opened() as store:
            now = store.live(course.name)
            store.add_training(course.name, begin(course), course.people, course)  # again: nothing changes
        seen.append(now.round)
        assert now.course == course
        assert now.received == 0
        assert now.round.to_json() == expected[len(seen) - 1].to_json()
        if now.round.done:
            break
        assert now.wanted == course.wanted(now.round)
        for body, id_ in bodies(course, now.round, groups_of(course, seen, people)):
            found = formats.batch(now.round.plan, live.ARROW, body, id_, False)
            sent = Gradient(course.name, now.round.number, id_, found.vector)
            with place.opened() as store:
                assert store.commit([sent, sent]) == [Outcome.NEW, Outcome.REPEATED]
            with place.opened() as store:
                assert store.commit([sent]) == [Outcome.REPEATED]
    with place.opened() as store:
        assert store.commit([Gradient(course.name, 0, b"late" * 4, None)]) == [Outcome.LATE]
        assert [past.people for past in store.history(course.name)] == [125, 125, 250, 100, 100, 100, 100]
        assert [past.number for past in store.history(course.name)] == [-2, -1, 0, 1, 2, 3, 4]


# -- attacks


@pytest.fixture
def going(tmp_path: Path) -> Iterator[tuple[Served, Course]]:
    course = small()
    with serving(tmp_path, plans=(), trainings={}, courses=[course]) as served:
        yield served, course


PERSON: tuple[dict[str, Any], int] = ({"age": 41, "income": 2500.0, "town": "b", "debt": None}, 1)


def move_on(served: Served, course: Course, count: int = 1) -> None:
    """Let others end some stages or rounds."""
    phases, people = [], live.people_of(course.training, *crowd(900))
    for _ in range(count):
        phases.append(Client(served.url).round(course.name))
        for body, id_ in bodies(course, phases[-1], people.some(0, course.wanted(phases[-1]))):
            Client(served.url).submit_training_batch(phases[-1], body, id_, live.ARROW)


def test_nobody_answers_the_pilot_and_a_round(
    going: tuple[Served, Course], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, course = going
    ledger = Ledger(tmp_path / "ledger", cap=100.0)
    device = Client(served.url, ledger=ledger)
    assert device.train(course, *PERSON).new
    assert not device.train(course, *PERSON).new  # a second tab, or a retry: the same report
    assert served.client.get("/trainings").json()["trainings"] == [
        {"name": "small", "number": 0, "rounds": 0, "done": False, "wanted": 125, "received": 1, "stage": "means"}
    ]
    monkeypatch.setattr(SystemCoins, "word", no_word)
    for _ in range(4):  # the two other stages, and two rounds
        move_on(served, course)
        for check in (False, True):
            with pytest.raises((BudgetError, CollectorError)):
                device.train(course, *PERSON, check=check)
    assert ledger.spent == 4


def test_a_report_of_a_stage_that_is_over_is_late(going: tuple[Served, Course]) -> None:
    served, course = going
    client = Client(served.url)
    stage = client.round(course.name)
    (body, _), *_ = bodies(course, stage, live.people_of(course.training, *crowd(50)))
    assert client.submit_training_batch(stage, body, b"0" * 16, live.ARROW).new
    move_on(served, course)
    assert not client.submit_training_batch(stage, body, b"0" * 16, live.ARROW).new  # counted then
    with pytest.raises(CollectorError, match="over"):
        client.submit_training_batch(stage, body, b"1" * 16, live.ARROW)
    path = f"/trainings/{course.name}"
    head = {"content-type": live.ARROW, "hush-batch": (b"2" * 16).hex()}
    for place, kind in (
        ("pilot?stage=shares", "bad-request"),  # not begun
        ("pilot?stage=none", "bad-request"),
        ("pilot", "bad-request"),
        ("gradients?round=0", "bad-request"),
        ("gradients?round=1", "bad-request"),
        ("losses?round=1", "bad-request"),
        ("pilot?stage=spreads", "bad-report"),  # the plan of another stage
    ):
        problem(served.client.post(f"{path}/{place}", content=body, headers=head), kind)


def test_a_server_cannot_send_another_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the pilot decides is accepted; any other change is refused before the record is read."""
    course = small()
    device = Client("http://127.0.0.1:9", ledger=Ledger(tmp_path / "ledger", cap=100.0))
    first = begin(course)
    assert isinstance(first, Stage)
    decided = undisturbed(course, live.people_of(course.training, *crowd(900)))[3]
    assert course.leads_to(decided.training)
    for changes in (
        {"schema": Schema([Numeric("age", 0, 41), *SCHEMA.attributes[1:]])},
        {"label": Categorical("target", [1, 0])},
        {"epsilon": 4.5},
        {"loss": "hinge"},
        {"seed": "other"},
        {"ordered": ("town",)},
        {"gradient": "hybrid"},
    ):
        assert not course.leads_to(replace(decided.training, centre=None, scale=None, start=None, **changes))
        other = begin(small(**changes) if "schema" not in changes else course_like(course, **changes))
        monkeypatch.setattr(device, "round", lambda name, other=other: other)
        with pytest.raises(CollectorError, match="another training"):
            device.train(course, {}, None)
    monkeypatch.setattr(device, "round", lambda name: begin(course))
    with pytest.raises(RecordError):
        device.train("small", {}, 1)
    turned = small(label=Categorical("target", [1, 0]))
    monkeypatch.setattr(device, "round", lambda name: begin(turned))
    with pytest.raises(LedgerError, match="other features or another label"):  # by the name alone: the ledger knows
        device.train("small", {}, 1)


def course_like(course: Course, **changes: Any) -> Course:
    from hush.core.design.courses import course_of

    return course_of(replace(course.training, **changes), course.people, pilot=500 / 900, wishes=course.wishes)


def test_hostile_estimates_change_nothing_about_who_answers() -> None:
    """A server may claim that means are anywhere: a person still answers, with a report of the same plan."""
    course = small()
    stage = courses.begin(course)
    rows = len(stage.plan.schema)
    for point in (-1e308, -3.0, 0.0, 5e-324, 1e308):
        hostile = Stage(course.training, "spreads", (((point, 0.0),) * rows,), course.plans[1])
        hostile = Stage.from_json(hostile.to_json())
        for record in (PERSON[0], PERSON[0] | {"income": 1e9, "debt": 0.0}):
            found = pilot_record(hostile, record, 1)
            assert all(0 <= value <= 1 for value in found.values())
            assert len(pilot(hostile, record, 1).answers) == course.plans[1].k
    for wrong in (((float("nan"), 0.0),) * rows, ((0.0, 0.0),) * (rows + 1), ((True, 0.0),) * rows, ((0.0,),) * rows):
        with pytest.raises(DesignError):
            Stage(course.training, "spreads", (wrong,), course.plans[1])  # type: ignore[arg-type]
    with pytest.raises(PlanError):
        Stage(course.training, "means", (), course.plans[1])
    with pytest.raises(DesignError):
        Stage(course.training, "spreads", (), course.plans[1])


def test_batches_need_their_role(tmp_path: Path) -> None:
    course = small()
    settings = anybody(tokens={"submit-batch": HASHES["submit-batch"]}, stream_interval=0.05)
    with serving(tmp_path, settings, plans=(), trainings={}, courses=[course]) as served:
        stage = Client(served.url).round(course.name)
        ((body, id_),) = bodies(course, stage, live.people_of(course.training, *crowd(50)), 1)
        with pytest.raises(CollectorError, match="token"):
            Client(served.url).submit_training_batch(stage, body, id_, live.ARROW)
        allowed = Client(served.url, token=TOKENS["submit-batch"])
        assert allowed.submit_training_batch(stage, body, id_, live.ARROW).new
        assert not allowed.submit_training_batch(stage, body, id_, live.ARROW).new
        assert served.store.live(course.name).received == 50
        torn = served.client.post(
            f"/trainings/{course.name}/pilot?stage=means",
            content=body[:-9],
            headers={
                "content-type": live.ARROW,
                "hush-batch": "ab" * 16,
                "authorization": f"Bearer {TOKENS['submit-batch']}",
            },
        )
        problem(torn, "bad-report")
        assert served.store.live(course.name).received == 50


# -- several classes, and held-out people


def test_each_of_several_classes_has_its_training_and_a_person_answers_one(tmp_path: Path) -> None:
    label = Categorical("colour", ["red", "green", "blue"])
    with pytest.warns(UserWarning, match="and 3 classes: in about"):
        course = Training.design(SCHEMA, label, epsilon=4.0, people=6000, title="three", pilot=0.25, rounds=5)
    assert (course.people, course.pilot, course.classes) == (2000, 500, 3)
    assert Course.from_json(course.to_json()) == course
    table, _ = crowd(6000)
    colours = np.array(label.values)[np.digitize(table["age"], [40, 60])]
    with serving(tmp_path, plans=(), trainings={}, courses=[course]) as served:
        names = [own.name for own in course.branches()]
        assert [entry["name"] for entry in served.client.get("/trainings").json()["trainings"]] == names
        ledgers = [Ledger(tmp_path / f"ledger {i}", cap=100.0) for i in range(12)]
        for ledger in ledgers:
            device = Client(served.url, ledger=ledger)
            assert device.train(course, PERSON[0], "red").new
            assert not device.train(course, PERSON[0], "red").new
            assert ledger.spent == 4
        received = [served.store.live(name).received for name in names]
        assert sum(received) == 12
        assert sum(count > 0 for count in received) > 1  # all 12 in one: a chance of 3^-11
        found = live.take_part(Client(served.url), course, table, colours)
        assert all(round_.done for round_ in found)
    people = live.people_of(course.training, table, colours)
    scores = []
    for round_ in found:
        weights, intercept = round_.training.model(round_.result)
        scores.append(people.x @ np.array(weights) + intercept)
    assert np.mean(np.array(label.values)[np.argmax(scores, axis=0)] == colours) > 0.5  # by guessing: about 0.34


def test_held_out_people_report_the_loss_and_nothing_else(going: tuple[Served, Course], tmp_path: Path) -> None:
    served, course = going
    ledger = Ledger(tmp_path / "ledger", cap=100.0)
    device = Client(served.url, ledger=ledger)
    with pytest.raises(CollectorError, match="pilot"):
        device.train(course, *PERSON, check=True)
    assert ledger.spent == 0
    move_on(served, course, 4)
    assert device.train(course, *PERSON, check=True).new
    with pytest.raises(BudgetError):
        device.train(course, *PERSON)
    for number in range(20):
        Client(served.url).train(course, *PERSON, check=True, epsilon=8.0, person=f"held out {number}")
    move_on(served, course, 1)
    rounds = served.client.get(f"/trainings/{course.name}/history").json()["rounds"]
    assert rounds[0]["loss"] is None
    assert 0 < rounds[1]["loss"] < 2.5
    assert rounds[1]["loss_error"] > 0
    assert [one["people"] for one in rounds] == [100, 100]
