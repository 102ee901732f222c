"""A device without a ledger that tries again: what the server sends meanwhile decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

import hush
from hush.core.design.courses import stage_plan
from hush.core.design.rounds import check_of
from hush.core.schema import Categorical, Schema
from hush.core.training.stages import Stage
from hush.core.training.training import Training
from hush.device import gradient as gradients
from hush.device.answered import Person
from hush.device.gradient import gradient, held_out
from hush.device.pilot import pilot
from hush.server.step import first_round

COLOURS = ["red", "green", "blue"]
numbers = count()


def course(**changes: Any) -> Training:
    """A training that no other test has answered."""
    given: dict[str, Any] = {"title": f"retry {next(numbers)}", "loss": "hinge", "intercept": False}
    given |= {"label": Categorical("y", ["no", "yes"])} | changes
    return Training(schema=Schema([Categorical("c", COLOURS)]), epsilon=1.0, rounds=3, step=1.0, **given)


def answers(colour: str) -> Iterator[tuple[hush.Report, hush.Report]]:
    """The reports to a plan, and to the same plan with other numbers around it."""
    record = {"c": colour}
    check = check_of(first_round(course()))
    for weights in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
        yield tuple(held_out(one, record, "yes", Person()) for one in (check, replace(check, weights=weights)))  # type: ignore[misc]
    round_ = first_round(course())
    for weights in ((2.0, 0.0), (0.0, 2.0)):
        yield tuple(gradient(one, record, "yes", Person()) for one in (round_, replace(round_, weights=weights)))  # type: ignore[misc]
    moved = replace(round_, training=replace(round_.training, centre=(0.5, 0.0)))
    yield gradient(round_, record, "yes", Person()), gradient(moved, iter([("c", colour)]), "yes", Person())


@pytest.mark.parametrize("colour", COLOURS)
def test_other_weights_get_the_same_report(colour: str) -> None:
    """A device that refused where its record changes would tell its values, by its silence."""
    for one, again in answers(colour):
        assert one == again


def test_a_record_that_says_who_somebody_is_by_the_weights_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    randomise = Person.randomise
    monkeypatch.setattr(Person, "randomise", lambda self, *given, own=None, **more: randomise(self, *given, **more))
    silent = set()
    for colour in COLOURS:
        check = check_of(first_round(course()))
        held_out(check, {"c": colour}, "yes", Person())
        try:
            held_out(replace(check, weights=(1.0, 0.0)), {"c": colour}, "yes", Person())
        except hush.LedgerError:
            silent.add(colour)
    assert silent == {"red"}


def test_another_person_is_still_refused() -> None:
    own = course()
    round_, check = first_round(own), check_of(first_round(course()))
    stage = Stage(own := course(), "shares", (), stage_plan(own, "shares"))
    for ask, phase in ((gradient, round_), (held_out, check), (pilot, stage)):
        one: Any = ask
        first = one(phase, {"c": "red"}, "yes", Person())
        assert one(phase, {"c": "red"}, "yes", Person()) == first
        for record, label in (({"c": "blue"}, "yes"), ({"c": "red"}, "no")):
            with pytest.raises(hush.LedgerError, match="another record"):
                one(phase, record, label, Person())


def test_a_plan_of_two_descriptions_is_refused_to_everybody() -> None:
    """Two titles and seeds may give one title of a plan. The description is public, so all refuse the second."""
    for colour in COLOURS:
        one = course(seed="x]: b [s")
        two = replace(one, title=f"{one.title} [x]: b", seed="s", schema=Schema([Categorical("c", [*COLOURS[::-1]])]))
        assert one.family == two.family
        check = check_of(first_round(one))
        held_out(check, {"c": colour}, "yes", Person())
        with pytest.raises(hush.LedgerError, match="another record"):
            held_out(replace(check, training=two), {"c": colour}, "yes", Person())


def test_a_ledger_needs_no_values(tmp_path: Any) -> None:
    ledger = hush.Ledger(tmp_path / "ledger.db", cap=1)
    check = check_of(first_round(course()))
    reports = [
        gradients.held_out(replace(check, weights=weights), {"c": "red"}, "yes", ledger)
        for weights in ((0.0, 0.0), (1.0, 0.0))
    ]
    assert reports[0] == reports[1]


def phases(own: Training) -> tuple[tuple[Any, Any], ...]:
    """A round, a check and a stage of a training, each with the function that answers it."""
    round_ = first_round(own)
    stage = Stage(own, "shares", (), stage_plan(own, "shares"))
    return (gradient, round_), (held_out, check_of(round_)), (pilot, stage)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("first", range(3))
def test_another_seed_gets_no_other_report(first: int, kept: bool, tmp_path: Any) -> None:
    """Whatever was answered first. A server chooses the seed, and one that fails on purpose could go on choosing."""
    book = hush.Ledger(tmp_path / "ledger.db", cap=9) if kept else Person()
    own = course(seed="a")
    ask, phase = phases(own)[first]
    report = ask(phase, {"c": "red"}, "yes", book)
    for seed in ("b", "a]: ", "a] [b"):
        for again, other in phases(replace(own, seed=seed)):
            with pytest.raises(hush.BudgetError, match="one only"):
                again(other, {"c": "red"}, "yes", book)
    assert ask(phase, {"c": "red"}, "yes", book) == report
    for again, other in phases(course())[:1]:
        assert again(other, {"c": "red"}, "yes", book) != report  # another name is another training


@pytest.mark.parametrize("swapped", [True, False])
@pytest.mark.parametrize("kept", [True, False])
def test_a_name_that_fits_two_titles_has_one_description_and_one_report(
    kept: bool, swapped: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`h (class 1)` is class 1 of the title `h`, or a title of its own: the server chooses, and once only."""
    book = hush.Ledger(tmp_path / "ledger.db", cap=9) if kept else Person()
    title = f"name {next(numbers)}"
    one = course(title=title, label=Categorical("y", ["no", "yes", "perhaps"]), against=0)
    two = course(title=f"{title} (class 1)")
    assert one.name == two.name
    first, other = (first_round(own) for own in ((two, one) if swapped else (one, two)))
    with pytest.raises(hush.RecordError):
        gradient(first, {"c": "pink"}, "yes", book)  # the first description is kept, though nobody answered
    for colour in ("red", "pink"):
        with pytest.raises(hush.LedgerError, match="other features or another label"):
            gradient(other, {"c": colour}, "yes", book)
    gradient(first, {"c": "red"}, "yes", book)
    monkeypatch.setattr(gradients, "keep", lambda training, ledger: "")
    with pytest.raises(hush.BudgetError, match="one only"):
        gradient(other, {"c": "red"}, "yes", book)
