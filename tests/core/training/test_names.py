"""What a device takes for one training: everything that a server could send under one name."""

from __future__ import annotations

import json
from pathlib import Path

from hush.core.training.names import plans_under, subject

FILE = json.loads((Path(__file__).parents[3] / "spec/vectors/names.json").read_text(encoding="utf-8"))


def test_the_subject_of_a_name() -> None:
    assert len(FILE["subjects"]) > 10
    for case in FILE["subjects"]:
        assert subject(case["name"]) == case["subject"], case
    assert subject("h (class 1)\n") == "h (class 1)\n"


def test_plans_of_all_seeds_and_classes_belong_to_one_name() -> None:
    assert len(FILE["plans"]) > 40
    for case in FILE["plans"]:
        assert (plans_under(case["name"]).match(case["title"]) is not None) == case["belongs"], case
