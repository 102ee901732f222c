"""Forks of a process without a ledger: parent and children make one report, or refuse."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.device import answered, family
from hush.device.answered import Person
from hush.device.randomise import randomise_from
from tests.device.test_answered import PAIR, RECORD
from tests.test_imports import SOURCE

FORKED = """
import os, sys, threading
import hush
schema = hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b"])])
plans = [hush.design(schema, 1.0, title=title) for title in ("before", "after", "training", "asked")]
ledger = hush.Ledger(sys.argv[1], cap=9.0)

def in_child(act):
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            text = act()
        except hush.HushError as error:
            text = type(error).__name__
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    os.wait()
    with os.fdopen(reader) as file:
        return file.read()

def made(plan, x=0.5, name=None, **options):
    from hush.device.answered import Person
    return Person(name).randomise(plan, {"x": x, "c": "a"}, **options).encode().hex()

def kept(plan):
    return ledger.randomise(plan, {"x": 0.5, "c": "a"}).encode().hex()

def asked(plan, dealt=None):
    from hush.device.answered import Person
    return Person().ask(plan, dealt).id.hex()

# Nothing but hush itself was loaded before this one.
assert "hush.device.answered" not in sys.modules
first = in_child(lambda: made(plans[1]))
assert made(plans[0]) == in_child(lambda: made(plans[0])) == in_child(lambda: in_child(lambda: made(plans[0])))
assert first == in_child(lambda: made(plans[1])) == made(plans[1]) == in_child(lambda: made(plans[1]))
assert in_child(lambda: made(plans[1], 0.75)) == "LedgerError"
others = {made(plans[1], 0.5, "Ann"), in_child(lambda: made(plans[1], 0.5, "Bo")), first}
assert len(others) == 3

# Once in a training, a report is drawn by one process; those who come after it know.
assert in_child(lambda: made(plans[2], once="t")) == "LedgerError"
trained = made(plans[2], once="t")
assert in_child(lambda: made(plans[2], once="t")) == trained

# Another process may have answered without the questions that this one draws.
assert in_child(lambda: asked(plans[3])) == "LedgerError"
assert in_child(lambda: asked(plans[3], hush.Asked(plans[3], bytes(16), "00" * 16))) == "LedgerError"
assert in_child(lambda: in_child(lambda: asked(plans[3]))) == "LedgerError"

# A child and its parent must not answer one each of two plans that exclude each other.
pilot = hush.design(schema, 1.0, title="pilot")
second = hush.design(schema, 1.0, after=pilot)
assert len(in_child(lambda: made(pilot))) > 20
assert in_child(lambda: made(second)) == "LedgerError"
try:
    made(second)
except hush.LedgerError as error:
    assert "ledger" in str(error)
else:
    raise AssertionError("the parent has answered the second plan, a child the first")
assert in_child(lambda: kept(pilot)) == kept(pilot)
assert in_child(lambda: kept(second)) == "BudgetError"

# A thread is in the middle of an answer while another forks.
from hush.device import answered
inside, go = threading.Event(), threading.Event()
real = answered.randomise_from
def slow(*arguments):
    inside.set()
    go.wait(1)
    return real(*arguments)
answered.randomise_from = slow
other = hush.design(schema, 1.0, title="slow")
thread = threading.Thread(target=lambda: made(other))
thread.start()
inside.wait()
answered.randomise_from = real
assert len(in_child(lambda: made(plans[0]))) > 9
thread.join()

# A ledger holds no connection that two processes could share.
assert kept(plans[0]) == in_child(lambda: kept(plans[0]))
assert in_child(lambda: kept(plans[1])) == kept(plans[1])
print("all is well")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_a_child_makes_the_same_report(tmp_path: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{FORKED}"
    command = [sys.executable, "-I", "-W", "ignore", "-c", program, str(tmp_path / "ledger")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
    assert (result.stdout.strip(), result.returncode) == ("all is well", 0), result.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_a_fork_waits_for_an_answer_that_is_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the child knows it, and can take the lock, which a thread held that the child does not have."""
    inside, lock = threading.Event(), answered._memory.lock

    def slow(*arguments: Any) -> hush.Report:
        inside.set()
        time.sleep(0.3)
        return randomise_from(*arguments)

    monkeypatch.setattr(answered, "randomise_from", slow)

    def taken_and_released() -> bool:
        taken = lock.acquire(blocking=False)
        if taken:
            lock.release()
        return taken

    thread = threading.Thread(target=lambda: Person().randomise(PAIR, RECORD))
    thread.start()
    assert inside.wait(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that threads and forks do not go together
        child = os.fork()
    if child == 0:
        free = answered._memory.lock.acquire(timeout=1)
        os._exit(0 if free and PAIR.id in answered._memory.answers[None] else 1)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    with ThreadPoolExecutor() as pool:  # of this process the lock is free again, for every thread
        assert pool.submit(taken_and_released).result()


def test_a_child_does_what_depends_on_the_record_and_the_plan_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "PROCESS", -1)
    with pytest.raises(hush.LedgerError, match="only with a ledger"):
        Person().randomise(PAIR, RECORD, once="t")
    with pytest.raises(hush.LedgerError, match="only with a ledger"):
        Person().ask(PAIR)
    assert Person().randomise(PAIR, RECORD) == Person().randomise(PAIR, RECORD, once="t")


def test_a_plan_that_follows_another_is_answered_by_a_process_without_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "forks", 0)
    second = hush.design(PAIR.schema, 1.0, title="second", after=PAIR)
    third = hush.design(PAIR.schema, 1.0, title="third", after=PAIR)
    report = Person().randomise(second, RECORD)
    for name, value in (("forks", 1), ("PROCESS", -1)):
        with monkeypatch.context() as patched:
            patched.setattr(family, name, value)
            assert Person().randomise(second, RECORD) == report  # it was made before the fork, and all children know it
            with pytest.raises(hush.LedgerError, match="only with a ledger"):
                Person().randomise(third, RECORD)
    with pytest.raises(hush.BudgetError):
        Person().randomise(PAIR, RECORD)
    assert Person().randomise(third, RECORD).plan is third  # both follow one plan, and do not exclude each other
