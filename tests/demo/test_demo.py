"""The demo: a made-up country answers a collector over HTTP, and the truth is beside the estimates."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hush
from hush import batch
from hush.collector.serve import listen
from hush.collector.stores.sqlite import SqliteStore
from hush.demo import relayed
from hush.demo.__main__ import main
from hush.demo.people import SCHEMA, Truth, people, truth
from hush.demo.relayed import LEAST, SEALED, Division
from hush.demo.run import Options, covers, run, table, verdict
from hush.demo.service import DemoError
from hush.device.client import Client
from hush.server.estimates import Estimate

SMALL = people(2000, 1)


# -- the people


def test_a_seed_makes_the_same_people() -> None:
    assert people(2000, 1).equals(SMALL)
    assert not people(2000, 2).equals(SMALL)
    assert people(1, 3).num_rows == 1


def test_the_people_have_the_shape_of_a_census() -> None:
    kinds = [attribute.kind for attribute in SCHEMA.attributes]
    assert (kinds.count("numeric"), kinds.count("categorical")) == (6, 10)
    country = people(50_000, 2019)
    batch.encode(hush.design(SCHEMA, 1.0), country)  # nobody breaks a rule
    income = np.asarray(country["yearly income"])
    assert income.max() > 150_000  # some are clipped
    assert 1.1 < income.mean() / np.median(income) < 2  # and most have less than the mean
    schooling = np.asarray(country["schooling"].combine_chunks().indices)
    assert np.corrcoef(schooling, np.log(income + 1))[0, 1] > 0.2
    ages = np.asarray(country["age"])
    retired = np.array(country["work"].to_pylist()) == "retired"
    assert ages[retired].mean() > ages[~retired].mean() + 20


def test_the_truth_is_exact() -> None:
    found = truth(SMALL)
    rows = SMALL.to_pylist()
    for attribute in SCHEMA.attributes:
        values = [row[attribute.name] for row in rows]
        if isinstance(attribute, hush.Numeric):
            clipped = [min(max(Fraction(value), Fraction(attribute.low)), Fraction(attribute.high)) for value in values]
            assert found[attribute.name, None] == float(sum(clipped) / len(rows))
            continue
        for label in attribute.labels:
            count = values.count(None if label == hush.MISSING else label)
            assert found[attribute.name, label] == count / len(rows)
    assert len(found) == 57


# -- a run that ends by itself


def test_the_table_is_what_the_collector_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "kept.db", tmp_path / "deep" / "demo.svg"
    options = Options(people=3000, epsilon=2.0, level=0.9, seed=5, port=0, store=str(file), picture=str(picture))
    run(options)
    text = capsys.readouterr().out
    assert "http://" not in text  # whoever reads it later would find nobody there
    store = SqliteStore(file)
    (held,) = store.plans()
    tally = store.tally(held.plan)
    store.close()
    assert (tally.reports, held.plan.epsilon, held.plan.schema) == (3000, 2.0, SCHEMA)
    rows, true = hush.estimate(tally, level=0.9), truth(people(3000, 5))
    assert "\n".join(table(rows, true, 0.9)) in text
    assert verdict(rows, true, 0.9) in text
    assert picture.read_text().startswith("<svg")
    time.sleep(1.1)  # its title has the second in it
    run(options)  # a demo of its own, beside the first
    store = SqliteStore(file)
    assert [store.tally(held.plan).reports for held in store.plans()] == [3000, 3000]
    store.close()


def test_people_are_divided_into_batches_that_hide_them() -> None:
    for n in (1, 2, 9_999, 10_000, 29_999, 30_000, 34_567, 1_000_000):
        found = Division.of(n)
        assert sum(found.sealed) + sum(found.mixed) == n
        assert found.least >= min(n, LEAST)
        assert sum(found.sealed) == (n if n < SEALED + LEAST else SEALED)
    with pytest.raises(DemoError, match="hides nobody"):
        run(Options(people=1, relay=True))


def test_people_can_answer_through_a_relay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some go sealed through a real relay, some in memory; the collector knows how many reports are the relay's own."""
    for name, number in {"SEALED": 40, "LEAST": 20, "DEVICES": 3, "TOGETHER": 7, "OWN": 30}.items():
        monkeypatch.setattr(relayed, name, number)
    file = tmp_path / "kept.db"
    run(Options(people=70, relay=True, epsilon=1.0, port=0, store=str(file), picture=str(tmp_path / "demo.svg")))
    text = capsys.readouterr().out
    assert "anybody, whatever they do" in text
    assert "a collector that sees shuffled batches only" in text
    assert "40 people sealed their reports for the collector: 3 as devices do" in text
    assert "in 2 batches with 30 own reports each" in text
    assert "The reports of 30 people were not sealed" in text
    store = SqliteStore(file)
    (held,) = store.plans()
    tally = store.tally(held.plan)
    store.close()
    assert (tally.reports, tally.people, tally.own) == (160, 70, 90)
    assert held.plan.epsilon == 1.0
    assert "\n".join(table(hush.estimate(tally), truth(people(70, 2019)), 0.95)) in text


def test_rows_say_what_is_missed_and_what_nobody_answered() -> None:
    true: Truth = {("a", None): 5.0, ("b", "x"): 0.5}
    known = Estimate("a", None, 4.0, 0.1, 3.8, 4.2, 100)
    nan = float("nan")
    head, missed, nothing = table([known, Estimate("b", "x", nan, nan, nan, nan, 0)], true, 0.95)
    assert "95 % interval" in head
    assert missed.split() == ["a", "mean", "5.00", "4.00", "±0.20", "3.80", "..", "4.20", "100", "*"]
    assert "nobody has answered" in nothing
    assert verdict([known], true, 0.95).startswith("0 of 1 intervals")


@contextmanager
def started(folder: Path, *arguments: str, **streams: Any) -> Iterator[subprocess.Popen[str]]:
    """Start the demo as a program, in an empty folder, behind a proxy that does not exist."""
    scratch = folder / "scratch"
    scratch.mkdir()
    environment = os.environ | {"TMPDIR": str(scratch), "http_proxy": "http://127.0.0.1:9", "TERM": "xterm"}
    command = [sys.executable, "-m", "hush.demo", "--port", "0", *arguments]
    with subprocess.Popen(command, cwd=folder, env=environment, text=True, **streams) as process:  # noqa: S603
        try:
            yield process
        finally:
            process.kill()
    assert not list(scratch.iterdir())  # nothing stays behind


def test_without_a_terminal_it_ends_by_itself(tmp_path: Path) -> None:
    with started(tmp_path, "--people", "2000", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert "of 57 intervals contain the truth" in out
    assert "http://" not in out
    assert "Ctrl-C ends it" not in out
    assert [line for line in err.splitlines() if line] == [
        "making people up ...",
        "compiling, which is kept for the next time ...",
        "sending ...",
    ]
    assert (tmp_path / "demo" / "estimates.svg").read_text().startswith("<svg")


# -- a run that somebody watches


class Terminal:
    """The other end of a terminal: what was shown on it so far."""

    def __init__(self) -> None:
        self._end, self.inner = pty.openpty()
        self.text = ""

    def read(self, wanted: str, seconds: float = 60.0) -> str:
        """Read until something is shown."""
        until = time.monotonic() + seconds
        while wanted not in self.text:
            assert time.monotonic() < until, self.text
            if select.select([self._end], [], [], 0.1)[0]:
                self.text += os.read(self._end, 65536).decode().replace("\r\n", "\n")
        return self.text

    def close(self) -> None:
        os.close(self.inner)
        os.close(self._end)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def ends(terminal: Terminal) -> dict[str, int]:
    return dict.fromkeys(("stdin", "stdout", "stderr"), terminal.inner)


def test_on_a_terminal_it_goes_on_and_counts_what_comes(tmp_path: Path, terminal: Terminal) -> None:
    with started(tmp_path, "--people", "2000", "--fast", **ends(terminal)) as process:
        address, plan_id = re.findall(r"(http://\S+)/\?plan=(\w+)", terminal.read("Ctrl-C ends it."))[0]
        assert "intervals contain the truth" in terminal.text
        person = {name: SMALL[name][0].as_py() for name in SCHEMA.names}
        assert Client(address).answer(plan_id, person).new
        terminal.read("1 report from browsers; 2,001 in all.")
        assert not Client(address).answer(plan_id, person).new  # the same report, as this is the same process
        assert Client(address).answer(plan_id, person, person="another").new
        process.send_signal(signal.SIGINT)
        terminal.read("Ended in good order. 2 reports from browsers; 2,002 in all.")
        assert process.wait(30) == 0


def test_a_signal_while_reports_are_sent_ends_it(tmp_path: Path, terminal: Terminal) -> None:
    with started(tmp_path, "--people", "200000", **ends(terminal)) as process:
        terminal.read("sending")
        process.send_signal(signal.SIGINT)
        terminal.read("hush: stopped")
        assert process.wait(30) == 130


def test_once_ends_on_a_terminal_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    main(["--people", "500", "--once", "--port", "0", "--picture", "here.png"])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers  # given back
    assert "goes on" not in capsys.readouterr().out
    assert Path("here.png").read_bytes().startswith(b"\x89PNG")


# -- refusals


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hush: ")
    return line


def test_refusals_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port} cannot be used: address already in use" in refused(capsys, "--port", port)
    Path("file").write_text("")
    assert "file: " in refused(capsys, "--picture", "file/x.svg")
    assert "the store cannot be opened" in refused(capsys, "--store", "file/x.db", code=4)
    for arguments in ("--people 0", "--people 20000000", "--level 1", "--seed -1", "--port 65536", "--picture x.gif"):
        assert arguments.split()[0] in refused(capsys, *arguments.split())
    assert "epsilon" in refused(capsys, "--epsilon", "99")


def test_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['pyarrow'] = None; from hush.demo.__main__ import main; main([])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert result.returncode == 2
    assert result.stderr == "hush: the demo needs the library pyarrow: pip install 'hush-ldp[demo]'\n"


# -- the claim


def missed(rows: list[Estimate], true: Truth) -> int:
    """How many attributes have an interval without the truth."""
    return len({row.attribute for row in rows if not covers(row, true)})


def test_the_intervals_contain_the_truth() -> None:
    """At level 0.999 fewer than 5 of 16 attributes miss.

    Everybody answers one question, so the answers to different questions are those of different people. If 57
    intervals miss with a probability of 0.002 each, twice what they say, an attribute of r rows misses with at most
    0.002 r, and five of them with at most (57 * 0.002)^5 / 5! < 2e-7.
    """
    country = people(200_000, 11)
    plan = hush.design(SCHEMA, 2.0)
    assert plan.k == 1
    rows = hush.estimate(batch.collect(plan, country), level=0.999)
    true = truth(country)
    assert len(rows) == len(true) == 57
    assert missed(rows, true) < 5
    # The twin: a collector that takes each category for the next one, and each number for its mirror image.
    wrong = dict(true)
    for attribute in SCHEMA.attributes:
        if isinstance(attribute, hush.Numeric):
            wrong[attribute.name, None] = attribute.low + attribute.high - true[attribute.name, None]
        else:
            labels = attribute.labels
            for label, other in zip(labels, (*labels[1:], labels[0]), strict=True):
                wrong[attribute.name, label] = true[attribute.name, other]
    assert missed(rows, wrong) == 16
