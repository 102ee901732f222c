"""Replays spec/vectors, to which every implementation is held. They are up to date, and the bad ones are refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from spec import generate

from hush import HushError, Plan, RecordError, Report, ReportError, Tally
from hush.core import codec
from hush.core.channels import CHANNELS, Additive
from hush.core.channels.levels import Levelled
from hush.core.exact import exp_bounds
from hush.core.sealing import CollectorKey, SealedBatch, batch_id, info, pad, question_info
from hush.device.randomise import randomise_from
from hush.device.sealing import seal_with
from hush.testing import ListedCoins

FOLDER = Path(__file__).parent.parent / "spec" / "vectors"
FILES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
CHANNEL_FILES = [name for name in FILES if name.startswith("channel-")]


def test_the_files_are_up_to_date() -> None:
    current = generate.files()
    assert sorted(current) == sorted(FILES)
    for name, content in current.items():
        assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == generate.render(content), (
            f"make vectors: {name}"
        )


def test_every_channel_has_vectors() -> None:
    kinds = set()
    for name in CHANNEL_FILES:
        for question in Plan.from_json(FILES[name]["plan"]).questions:
            kinds.add(question.channel.kind)
    assert kinds == set(CHANNELS)


def numbered(value: Any) -> Any:
    return float(value["number"]) if isinstance(value, dict) else value


def test_tallies_say_whose_reports_they_have() -> None:
    file = FILES["tallies"]
    plan = Plan.from_json(file["plan"])
    for case in file["good"]:
        for found in (Tally.from_json(case["json"]), Tally.decode(plan, bytes.fromhex(case["binary"]))):
            names = [[name.hex() for name in names] for names in found.stores]
            assert (found.own, names) == (case["own"], case["stores"])
            assert (found.to_json(), found.encode().hex()) == (case["json"], case["binary"])
    for case in file["bad"]:
        with pytest.raises(HushError):
            Tally.decode(plan, bytes.fromhex(case["binary"]))
    for case in file["bad_json"]:
        with pytest.raises(HushError):
            Tally.from_json(case["text"])


@pytest.mark.parametrize("name", CHANNEL_FILES)
def test_words_in_reports_out(name: str) -> None:
    file = FILES[name]
    plan = Plan.from_json(file["plan"])
    assert plan.id == file["id"]
    tally = Tally(plan)
    for vector in file["good"]:
        coins = ListedCoins([int(word, 16) for word in vector["words"]])
        report = randomise_from(coins, plan, vector["record"])
        assert coins.left == 0
        assert report.encode().hex() == vector["report"]
        assert report.to_json() == vector["json"]
        assert Report.decode(plan, bytes.fromhex(vector["report"])) == report
        assert Report.from_json(plan, vector["json"]) == report
        tally.add(report)
    assert codec.dump(json.loads(tally.to_json())["tally"]) == file["tally"]["json"]
    assert tally.encode().hex() == file["tally"]["binary"]
    assert Tally.decode(plan, bytes.fromhex(file["tally"]["binary"])) == tally


@pytest.mark.parametrize("name", CHANNEL_FILES)
def test_bad_vectors_are_refused(name: str) -> None:
    file = FILES[name]
    plan = Plan.from_json(file["plan"])
    assert len(file["bad_records"]) >= 5
    for vector in file["bad_records"]:
        record = {key: numbered(value) for key, value in vector["record"].items()}
        with pytest.raises(RecordError):
            randomise_from(ListedCoins([]), plan, record)
    for vector in file["bad_reports"]:
        with pytest.raises(ReportError):
            Report.decode(plan, bytes.fromhex(vector["report"]))
    for vector in file["bad_json"]:
        with pytest.raises(ReportError):
            Report.from_json(plan, vector["text"])


@pytest.mark.parametrize("name", ["bad-plans", "bad-channels", "bad-views", "printable"])
def test_bad_plans_channels_views_and_titles_are_refused_beside_good_ones(name: str) -> None:
    for text in FILES[name]["good"]:
        Plan.from_json(text)
    for vector in FILES[name]["bad"]:
        with pytest.raises(HushError):
            Plan.from_json(vector["text"])


def fused_window(self: Levelled, u: float) -> tuple[int, float]:
    """The twin: u*n - s as one operation, as compilers make it where processors have one."""
    s = int(min(u * self.last, self.last - 1.0))
    return s, float(Fraction(u) * self.last - s)


def fused_additive(self: Additive, u: float) -> tuple[int, float]:
    x = min(int(u * self.steps), self.steps - 1)
    return x, float(Fraction(u) * self.steps - x)


@pytest.mark.parametrize("name", ["rounding-piecewise", "rounding-hybrid", "rounding-laplace", "rounding-rows"])
def test_vectors_catch_fused_multiplication(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve vectors of each file give another report where a product and a difference are rounded once."""
    file = FILES[f"channel-{name}"]
    plan = Plan.from_json(file["plan"])

    def differing() -> int:
        return sum(
            randomise_from(ListedCoins([int(word, 16) for word in vector["words"]]), plan, vector["record"]).to_json()
            != vector["json"]
            for vector in file["good"]
        )

    assert differing() == 0
    monkeypatch.setattr(Levelled, "_between", fused_window)
    monkeypatch.setattr(Additive, "_between", fused_additive)
    assert differing() >= 12


def test_coins_and_bounds() -> None:
    for vector in FILES["coins"]["cases"]:
        coins = ListedCoins([int(word, 16) for word in vector["words"]])
        assert coins.below(int(vector["n"])) == int(vector["below"])
        assert coins.left == 0
    for vector in FILES["coins"]["several"]:
        coins = ListedCoins([int(word, 16) for word in vector["words"]])
        assert coins.several(tuple(vector["sizes"])) == vector["integers"]
        assert coins.left == 0
    for vector in FILES["exp"]["cases"]:
        assert exp_bounds(Fraction(vector["x"]))[0] == Fraction(int(vector["lower"]), 2**192)
        assert math.isclose(int(vector["lower"]) / 2**192, math.exp(float(vector["x"])))


def test_sealed_reports_open() -> None:
    pytest.importorskip("cryptography")
    from hush.collector.opening import Opener

    file = json.loads((FOLDER / "sealed.json").read_text(encoding="utf-8"))
    plan, opener = Plan.from_json(file["plan"]), Opener(bytes.fromhex(file["secret"]))
    assert opener.key.public.hex() == file["key"]
    for case in file["cases"]:
        report = Report.decode(plan, bytes.fromhex(case["report"]))
        assert opener.open(plan, bytes.fromhex(case["sealed"])) == report
        bound = info(plan)
        assert seal_with(bytes.fromhex(case["ephemeral"]), pad(report), opener.key, bound).hex() == case["sealed"]
    for case in file["questions"]:
        text, question = bytes.fromhex(case["text"]), bytes.fromhex(case["question"])
        bound = question_info(plan)
        assert seal_with(bytes.fromhex(case["ephemeral"]), text, opener.key, bound) == question
        assert opener.prove(plan, question) == text
    assert len(file["bad_keys"]) == 14
    for bad in file["bad_keys"]:
        with pytest.raises(ReportError, match="not a key"):
            CollectorKey.from_hex(bad["key"])


def test_sealed_batches_are_read() -> None:
    pytest.importorskip("cryptography")
    from hush.collector.http.sealed import opened
    from hush.collector.keys import Keys
    from hush.collector.opening import Opener

    file = json.loads((FOLDER / "sealed-batches.json").read_text(encoding="utf-8"))
    secret = bytes.fromhex(file["secret"])
    plan, opener = Plan.from_json(file["plan"]), Opener(secret)
    assert opener.key.public.hex() == file["key"]
    for case in file["good"]:
        body, sealed = bytes.fromhex(case["body"]), tuple(map(bytes.fromhex, case["sealed"]))
        batch = SealedBatch(opener.key, case["own"], sealed)
        assert batch.encode() == body
        assert SealedBatch.decode(plan, body) == batch
        assert batch_id(body).hex() == case["id"]
        found = opened(Keys([secret]), plan, body, bytes.fromhex(case["id"]))
        assert [report.encode().hex() for report in found.found] == case["reports"]
        assert (found.own, found.refused) == (case["own"], len(sealed) - len(case["reports"]))
    for case in file["bad"]:
        with pytest.raises(ReportError):
            SealedBatch.decode(plan, bytes.fromhex(case["body"]))
