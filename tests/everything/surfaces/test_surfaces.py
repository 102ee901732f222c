"""Two hundred made-up plans on every surface; and that nothing is left out. Fixed seeds, so no false alarm.

Each plan goes through a part of the commands, calls and addresses, drawn from its number, and through all clients;
every twentieth is looked at in a browser. `make plans N=5000` tries everything with each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hush.cli.commands import program
from tests.collector.served import PLANS, serving
from tests.everything.plans import case
from tests.everything.surfaces import commands
from tests.everything.surfaces.answers import WITHOUT, addresses
from tests.everything.surfaces.commands import ELSEWHERE, Commands
from tests.everything.surfaces.lives import Life
from tests.everything.surfaces.saying import amiss
from tests.everything.surfaces.search import Bench

FIRST, MANY, EACH = 10_000, 200, 10
SHARE = 0.06
QUICK = 6
"""A plan without lists, texts or relations, for `make test`."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with ExitStack() as stack:
        yield Bench(stack)


def test_one_plan_everywhere(bench: Bench) -> None:
    found = bench.tried(case(QUICK))
    assert not found.refused
    assert not found.findings


@pytest.mark.parametrize("first", range(FIRST, FIRST + MANY, EACH))
def test_plans(bench: Bench, first: int) -> None:
    for seed in range(first, first + EACH):
        found = bench.tried(case(seed), share=SHARE)
        assert not found.findings, f"{case(seed)}: {found.findings}"


def test_every_command_is_tried(tmp_path: Path) -> None:
    tried: set[str] = set()
    for seed in (21, 1671):
        runs = Commands(Life(case(seed), tmp_path / f"{seed}"))
        assert list(runs()) == []
        tried |= runs.tried
    assert tried | set(ELSEWHERE) == set(program.commands)
    assert not tried & set(ELSEWHERE)


def test_every_address_is_asked(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        document = served.client.get("/openapi.json").json()
    assert WITHOUT.keys() <= document["paths"].keys()
    assert list(addresses(document, PLANS[0]))
    document["paths"]["/plans/{plan}/news"] = {"get": {}}
    with pytest.raises(KeyError, match="news"):
        list(addresses(document, PLANS[0]))


def test_a_command_that_fails_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("hush.planning.predictions.predict", broken)
    found = list(Commands(Life(case(QUICK), tmp_path))())
    assert any("hush predict" in one and "exit code 3" in one for one in found)
    assert commands.WORDS


@pytest.mark.parametrize(
    "text",
    [
        "mean nan",
        "from -inf to 3",
        "a share of None",
        "TypeError: Failed to fetch",
        "±1.0e+2 %",
        "[object Object]",
        "a mean of -0.0",
        "between 5 to 3",
        "8.5 .. 2.1",
    ],
)
def test_what_no_text_may_say(text: str) -> None:
    assert list(amiss(text))


@pytest.mark.parametrize(
    "text",
    ["2 to 3", "-5.0 .. -2", "23:10 .. 01:20", "information", "2020-01-01 .. 2019", "1e+18 people", "none of them"],
)
def test_what_texts_may_say(text: str) -> None:
    assert not list(amiss(text))
