"""Paths of a training: the rule is changed for one training alone, and a small task is measured along all of them."""

from __future__ import annotations

import pytest
from experiments.paths import PATHS, Job, Work, measure, ruled

from experiments import made_up
from hush.server import rules


def test_the_rule_is_itself_again_afterwards() -> None:
    before = (rules.PATH, rules.FEW, rules.FLATTEST)

    def interrupted() -> None:
        with ruled({"PATH": 7.0, "FEW": 8.0}):
            assert (7.0, 8.0, before[2]) == (rules.PATH, rules.FEW, rules.FLATTEST)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert before == (rules.PATH, rules.FEW, rules.FLATTEST)


def test_every_path_is_another_training() -> None:
    """The same people and bits: the error differs along each path, so each part of the rule is at work."""
    work = Work(made_up.few(24_000), 12_000)
    errors = [work(Job("logistic", 2.0, path, 1))["error"] for path in PATHS]
    assert len(set(errors)) == len(PATHS)
    assert work(Job("logistic", 2.0, "the rule", 1))["error"] == errors[0]


def test_a_line_is_measured_too() -> None:
    (row,) = measure(made_up.line(6_000), 5_000, (4.0,), 2, 1)
    assert (row["data"], row["model"], row["epsilon"]) == ("line", "linear", 4.0)
    for path in PATHS:
        assert 0 < row[path]["value"] < 1
    assert row["the rule"]["value"] < row["half"]["value"]
