"""The browser client, held to Python: the same words give the same bytes, and the same plans are refused."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hush import Plan
from hush.core.coins import Coins
from hush.core.dealing import questions_of
from hush.device.randomise import randomise_from
from hush.testing import RecordedCoins
from tests.collector.served import FEW, PLAN, RECORD, WIDE, anybody, record_of, serving
from tests.web.replaying import (
    BUILT,
    NODE,
    ROOT,
    WEB,
    Borders,
    ask,
    block_plans,
    borders,
    client_of,
    fractions,
    ladder_plans,
    needs_node,
    node,
    record,
    related_plans,
    small_plans,
    some_plans,
)

pytestmark = needs_node

MORE = int(os.environ.get("HUSH_WEB_MORE", "1"))
"""How many times as many cases as usual are compared."""


def test_its_own_tests_pass() -> None:
    done = node("--test", *sorted((WEB / "test").glob("*.test.mjs")), timeout=600)
    failed = re.findall(r"^not ok .*\n(?:(?!ok |not ok |# Subtest).*\n){0,40}", done.stdout, re.MULTILINE)
    assert done.returncode == 0, "\n".join(failed)[:4000] + done.stderr[-2000:]
    passed = re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) >= 190
    assert "# skipped 0" in done.stdout


@pytest.mark.skipif(
    not (WEB / "node_modules").exists(), reason="what builds the client is not here: make web brings it"
)
def test_types_are_right_and_what_is_built_is_current() -> None:
    types = node("node_modules/typescript/bin/tsc", "--noEmit", "-p", ".")
    assert types.returncode == 0, types.stdout
    done = node("build.mjs", "--check")
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(
    not (WEB / "node_modules").exists(), reason="what builds the client is not here: make web brings it"
)
def test_the_package_and_the_session_of_its_readme(tmp_path: Path) -> None:
    made = node("build.mjs", "--package")
    assert made.returncode == 0, made.stderr
    for name in ("hush.js", "large.js", "seal.js", "training.js"):
        assert (WEB / "dist" / name).read_bytes() == BUILT.with_name(name).read_bytes()
    assert "train" in (WEB / "dist" / "training.d.ts").read_text(encoding="utf-8")
    assert "export" in (WEB / "dist" / "index.d.ts").read_text(encoding="utf-8")
    (session,) = re.findall(r"```js\n(.*?)```", (WEB / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "plan.json").write_text(
        json.loads((ROOT / "spec" / "vectors" / "bad-plans.json").read_text(encoding="utf-8"))["good"][0]
    )
    code = session.replace('"hush-client"', json.dumps((WEB / "dist" / "hush.js").as_uri()))
    (tmp_path / "session.mjs").write_text(code, encoding="utf-8")
    found = subprocess.run(  # noqa: S603
        [str(NODE), "session.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    ).stdout.splitlines()
    told = re.findall("^// (.*)$", session, re.MULTILINE)
    assert found[1] == told[1] == "27"
    shown, real = json.loads(told[0].replace("...", "")), json.loads(found[0])
    assert real.keys() == shown.keys()
    assert real["plan"].startswith(shown["plan"])


def test_it_is_small() -> None:
    # 16,000 until dates and times of day came. Their rules must be there when a plan is read, so a file of their own
    # would have to be loaded with this one, and parsing dates takes no fewer bytes there. The last ones load large.js
    # where a plan needs it.
    assert len(gzip.compress(BUILT.read_bytes(), 9)) < 17_000


# -- reports


def cases(plan: Plan, count: int, seed: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Return questions to the client about one plan, and the right answers."""
    pick, edges = random.Random(seed), borders(plan)
    lines: list[dict[str, Any]] = [{"action": "plan", "text": plan.to_json()}]
    expected = [""]
    for number in range(count):
        values = record(plan, pick)
        coins = RecordedCoins(Borders(seed * 1000 + number, edges, fractions(plan, values)))
        report = randomise_from(coins, plan, values)
        words = "".join(f"{word:016x}" for word in coins.words)
        lines.append({"action": "report", "record": values, "words": words})
        expected.append(f"{report.encode().hex()} 0")
    return lines, expected


def compared(path: Path, plans: list[Plan], count: int, module: Path = BUILT) -> tuple[int, int, int]:
    """Return how many reports differ, how many were compared, and how many words they took."""
    lines, expected = [], []
    for seed, plan in enumerate(plans):
        few = count if len(plan.schema) < 60 else count // 8
        more = cases(plan, few, seed)
        lines += more[0]
        expected += more[1]
    answers = ask(path, lines, module)
    assert len(answers) == len(expected)
    words = sum(len(line.get("words", "")) // 16 for line in lines)
    return sum(a != b for a, b in zip(answers, expected, strict=True)), len(expected), words


def test_the_same_words_give_the_same_bytes(tmp_path: Path) -> None:
    plans = some_plans(64 * MORE) + block_plans() + related_plans(32 * MORE) + ladder_plans(16 * MORE)
    wrong, reports, words = compared(tmp_path / "cases", plans, 160)
    assert wrong == 0
    assert reports >= 8_000
    assert words >= 100_000 * (1 + MORE)


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        (r"16777216|2\*\*24", "8388608"),  # the bits that round in a window
        (r"\+ ?\.5", "+.25"),  # where rounding begins
        (r"11n", "12n"),  # the bits that round elsewhere
        (r"(asUintN\(64,\w+\*\w+\))<(\w+\))", r"\1<=\2"),  # what below(n) rejects
        (r'padStart\(64,"0"', 'padStart(63,"0"'),  # the digits of a unary bit
        (r"\?-1-(\w+):", r"?-\1:"),  # the noise of an additive channel
        (r"(\w+)=>\1>=0", r"\1=>\1>0"),  # ties, of an even number of signs
        (r"\?\?(\w+)\)<=", r"??\1)<"),  # the side of a number on a cut
        (r"(\w+-\w+)\(-\(", r"\1(.1-("),  # the band of a number
        (r"1\)\+1\)/2", "1)+1)/3"),  # the position of a product
        (r"(\w+=\w+%\w+,\w+=\w+\+\w+\*\+\(\w+)>=", r"\1>"),  # a cell outside the window, in rows
    ],
)
def test_a_broken_client_is_noticed(tmp_path: Path, what: str, instead: str) -> None:
    text, changes = re.subn(what, instead, BUILT.read_text(encoding="utf-8"))
    assert changes > 0
    broken = client_of(tmp_path, text)
    blocks = block_plans()
    wrong, _, _ = compared(
        tmp_path / "cases", some_plans(24) + blocks[6:12] + blocks[-10:] + related_plans(8), 60, broken
    )
    assert wrong > 0


def test_what_is_public_about_a_plan(tmp_path: Path) -> None:
    plans = some_plans(40, seed=2) + block_plans() + related_plans(10)
    lines = [line for plan in plans for line in ({"action": "plan", "text": plan.to_json()}, {"action": "about"})]
    for plan, about in zip(plans, ask(tmp_path / "cases", lines)[1::2], strict=True):
        ratio = about.pop("ratio")
        assert Fraction(int(ratio[0]), int(ratio[1])) == plan.ratio
        assert about.pop("inclusions") == pytest.approx([float(share) for share in plan.inclusions], rel=1e-15)
        assert about == {
            "id": plan.id,
            "title": plan.title,
            "epsilon": repr(plan.epsilon),
            "k": plan.k,
            "weights": None if plan.weights is None else list(plan.weights),
            "schema": plan.schema.to_json(),
            "questions": [[list(question.attributes), question.channel.kind] for question in plan.questions],
        }


# -- likelihoods


def law(plan: Plan, question: int, values: dict[str, Any]) -> dict[Any, Fraction]:
    """The exact law of a question's output for a record, rounding included."""
    channel = plan.questions[question].channel
    result: dict[Any, Fraction] = {}
    inputs = plan.seen(question, plan.schema.encode(values))
    for state, weight in channel.rounding(inputs).items():
        for output, probability in channel.law(state).items():
            result[output] = result.get(output, Fraction(0)) + weight * probability
    return result


def listable(plan: Plan, question: int) -> bool:
    channel = plan.questions[question].channel
    return channel.alphabet.outputs <= 600 and (channel.kind not in ("signs", "cube") or channel.alphabet.size <= 14)


def test_likelihoods_are_those_of_the_exact_laws(tmp_path: Path) -> None:
    pick = random.Random(5)
    lines: list[dict[str, Any]] = []
    laws: list[dict[Any, Fraction]] = []
    kinds = set()
    for plan in small_plans() + some_plans(60, seed=3) + block_plans() + related_plans(60, seed=8) + ladder_plans(8):
        lines.append({"action": "plan", "text": plan.to_json()})
        laws.append({})
        for question in range(min(len(plan.questions), 25)):
            if listable(plan, question):
                values = record(plan, pick)
                exact = law(plan, question, values)
                lines.append({"action": "likelihood", "question": question, "outputs": list(exact), "record": values})
                laws.append(exact)
                kinds.add(plan.questions[question].channel.kind)
    assert kinds == {
        "geometry",
        "window",
        "mixture",
        "subset",
        "unary",
        "additive",
        "signs",
        "cube",
        "cells",
        "rows",
        "picks",
        "corners",
        "ladder",
    }
    for exact, found in zip(laws, ask(tmp_path / "cases", lines), strict=True):
        if exact:
            assert found == pytest.approx([float(probability) for probability in exact.values()], rel=1e-9, abs=0)
            assert sum(found) == pytest.approx(1, rel=1e-9)


def test_likelihoods_of_large_sets_do_not_underflow_early(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [{"action": "plan", "text": WIDE.to_json()}]
    output = list(range(0, 100, 3))
    lines.append({"action": "likelihood", "question": 0, "outputs": [output], "record": record_of(WIDE)})
    channel: Any = WIDE.questions[0].channel
    exact = (1 - channel.p) * channel.q ** len(output) * (1 - channel.q) ** (99 - len(output))
    assert ask(tmp_path / "cases", lines)[1] == pytest.approx([float(exact)], rel=1e-9, abs=0)


# -- tickets, and a collector


def test_tickets_deal_the_same_questions(tmp_path: Path) -> None:
    pick = random.Random(11)
    lines: list[dict[str, Any]] = []
    expected = []
    for plan in some_plans(40, seed=7) + block_plans()[-2:]:
        ids = [pick.randbytes(16) for _ in range(10)]
        lines += [
            {"action": "plan", "text": plan.to_json()},
            {"action": "questions", "ids": [id_.hex() for id_ in ids]},
        ]
        expected.append([questions_of(plan, id_) for id_ in ids])
    assert len({str(dealt) for dealt in expected}) > 10
    assert ask(tmp_path / "cases", lines)[1::2] == expected


@pytest.mark.parametrize("dealt", [False, True])
@pytest.mark.parametrize("asked", [None, True, False])
def test_a_real_collector(tmp_path: Path, dealt: bool, asked: object) -> None:
    settings = anybody(tickets=dealt, ticket_key=b"k" * 32)
    with serving(tmp_path, settings) as served:
        lines = [
            {"action": "answer", "url": served.url, "id": plan.id, "record": record_of(plan)}
            | ({} if asked is None else {"tickets": asked})
            for plan in (PLAN, FEW)
        ]
        if bool(asked) is not dealt:
            with pytest.raises(AssertionError, match="deals the questions" if dealt else "deals no tickets"):
                ask(tmp_path / "cases", lines)
            assert served.tally(PLAN).reports == 0
            return
        for answer in ask(tmp_path / "cases", lines):
            assert answer["first"]["new"] is True
            assert answer["again"] == answer["first"] | {"new": False}
            assert answer["state"] == "arrived"
            assert (answer["ticket"] is not None) is dealt
        assert served.tally(PLAN).reports == served.tally(FEW).reports == 1


def test_the_records_are_read_as_python_reads_them() -> None:
    """The records that are compared reach bounds and missing values."""
    pick = random.Random(0)
    assert record(PLAN, pick).keys() <= RECORD.keys()
    assert NODE is not None
    coins: Coins = Borders(1, borders(PLAN))
    assert len({coins.word() for _ in range(200)}) > 50
