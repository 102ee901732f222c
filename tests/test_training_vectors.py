"""Replays the vectors of trainings. Other orders and roundings of the same sums are noticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from spec.maps import RANDOM, SCHEMAS
from spec.refused_phases import changed
from spec.trainings import answer
from spec.twins import TWINS, twin

from hush import HushError, RecordError
from hush.core.training import directions, losses, maps, rotations
from hush.core.training.checks import asked_from_json
from hush.core.training.features import Features
from hush.device import gradient
from hush.device.randomise import randomise_from
from hush.testing import ListedCoins

FOLDER = Path(__file__).parent.parent / "spec" / "vectors"
FILES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("training-*.json"))}
MAPS = json.loads((FOLDER / "maps.json").read_text(encoding="utf-8"))
ARITHMETIC = json.loads((FOLDER / "rotations.json").read_text(encoding="utf-8"))


def numbered(value: Any) -> Any:
    return float(value["number"]) if isinstance(value, dict) else value


def wrong(file: dict[str, Any]) -> tuple[int, int]:
    """How many vectors of a file give another record of the plan, and how many another report."""
    phase, records, reports = asked_from_json(file["phase"]), 0, 0
    for case in file["good"]:
        asked = answer(phase, case["record"], case["label"])
        coins = ListedCoins([int(word, 16) for word in case["words"]])
        report = randomise_from(coins, phase.plan, asked)
        records += list(asked.values()) != case["asked"]
        reports += (report.encode().hex(), report.to_json(), coins.left) != (case["report"], case["json"], 0)
    return records, reports


def wrong_arithmetic() -> int:
    """How many cases of the arithmetic by itself are wrong. The functions are looked up as a device does."""
    found = sum(losses.exponential(case["x"]) != case["value"] for case in ARITHMETIC["exponential"])
    found += sum(losses.softplus(case["x"]) != case["value"] for case in ARITHMETIC["softplus"])
    for case in ARITHMETIC["signs"]:
        signs = rotations.seeded_signs(case["purpose"], case["seed"], case["count"])
        bits = sum((sign > 0) << i for i, sign in enumerate(signs))
        found += bits.to_bytes((case["count"] + 7) // 8, "little").hex() != case["bits"]
    found += sum(rotations.rotate(case["vector"], case["seed"]) != case["turned"] for case in ARITHMETIC["rotated"])
    found += sum(maps.cosine(case["t"]) != case["value"] for case in MAPS["cosine"])
    found += sum(maps.normal(case["z"]) != (case["density"], case["below"]) for case in MAPS["normal"])
    for case in MAPS["moments"]:
        found += maps.moments(case["activation"], case["bias"], case["q"]) != (case["mean"], case["variance"])
    point = vars(gradient)["pointed"]
    found += sum(point(case["vector"], case["size"], case["near"]) != case["record"] for case in ARITHMETIC["pointed"])
    return int(found)


@pytest.mark.parametrize("name", FILES)
def test_people_and_words_in_reports_out(name: str) -> None:
    assert len(FILES[name]["good"]) >= 10
    assert wrong(FILES[name]) == (0, 0)


@pytest.mark.parametrize("name", FILES)
def test_bad_records_and_labels_are_refused(name: str) -> None:
    phase = asked_from_json(FILES[name]["phase"])
    for case in FILES[name]["bad"]:
        with pytest.raises(RecordError) as caught:
            answer(phase, {key: numbered(value) for key, value in case["record"].items()}, case["label"])
        assert not any(private in str(caught.value) for private in ("1000000000", "1e9", "nan", "perhaps"))


def test_bad_rounds_and_stages_are_refused() -> None:
    file = json.loads((FOLDER / "bad-phases.json").read_text(encoding="utf-8"))
    for text in file["good"]:
        asked_from_json(text)
    assert len(file["bad"]) > 200
    for case in file["bad"]:
        with pytest.raises(HushError):
            asked_from_json(changed(file["good"][case["of"]], case))


def test_the_arithmetic_by_itself() -> None:
    assert vars(gradient)["pointed"] is directions.pointed
    assert wrong_arithmetic() == 0


def test_the_units_of_seeds() -> None:
    for (name, own), case in zip(RANDOM, MAPS["random"], strict=True):
        parts = Features(SCHEMAS[name]).parts
        assert [part.start for part in parts if part.number] == case["numbers"]
        assert [[[*unit.places], [*unit.weights], unit.bias] for unit in own.table(parts)] == case["table"]


@pytest.mark.parametrize("name", TWINS)
def test_vectors_catch_another_arithmetic(name: str) -> None:
    """Sums that are fused, reordered or rounded once change a report in several files, read until it shows."""
    least = 10 if "sums" in name or "exponential" in name else 0
    reports = 0
    with twin(name):
        caught = wrong_arithmetic()
        for file in FILES.values():
            if caught >= 2 and reports >= least:
                break
            others = wrong(file)
            caught, reports = caught + others[0], reports + others[1]
    assert caught >= 2
    assert reports >= least
