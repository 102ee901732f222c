"""Try the changes of a module of Python.

The tests of the module are collected once. Then every change gets a process of its own, a copy of the one that has
everything loaded, in which the code of one function is exchanged and the tests that reach its lines are run until one
fails: first those that are quick for how many changes of that function they noticed. What is run on import (constants,
defaults) is changed before anything is imported. A test that takes far longer than before counts as failed: some
changes make loops endless, or wait for ever.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from heapq import nlargest
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from _pytest.tmpdir import tmppath_result_key
from hypothesis import Phase, settings

from tests.mutants.changes import Change, probed
from tests.mutants.modules import ROOT, SIMULATED, Module, Result, Save

MEMORY = 8 << 30
BROKEN = 3
KILLED, SURVIVED = "killed", "survived"
PATIENCE = 60
"""Seconds that a test may wait for something, beyond what it takes to compute: for a lock or a disk, not for ever."""


class Jobs:
    """Copies of this process, a few at a time. Each writes a line and ends."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._running: dict[int, tuple[Path, Callable[[int, str], None]]] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="mutants"))

    def start(self, work: Callable[[], str], done: Callable[[int, str], None]) -> None:
        """Do some work in a copy of this process; then `done` is given its exit status and its line."""
        while len(self._running) >= self._workers:
            self._reap()
        pid = os.fork()
        if not pid:
            _child(work, self._folder / str(os.getpid()))
        self._running[pid] = (self._folder / str(pid), done)

    def wait(self) -> None:
        """Wait for all."""
        while self._running:
            self._reap()

    def _reap(self) -> None:
        pid, status = os.wait()
        file, done = self._running.pop(pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # the processes that a test had started when it was ended
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        file.unlink(missing_ok=True)
        if status == BROKEN << 8:
            sys.exit(f"the tester itself failed: {text}")
        done(status, text)


def _child(work: Callable[[], str], file: Path) -> None:
    os.setpgrp()
    if "hush" in sys.modules:  # a copy stands for the process that loaded it: not every answer is given in a fork
        sys.modules["hush.device.family"].PROCESS = os.getpid()  # type: ignore[attr-defined]
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        file.write_text(work(), encoding="utf-8")
    except BaseException:  # noqa: BLE001 - whatever it was, it must not go on as a second main process
        file.write_text(traceback.format_exc(), encoding="utf-8")
        os._exit(BROKEN)
    os._exit(0)


class Tester:
    """A plugin of pytest: instead of running the tests once, it runs them for every change."""

    def __init__(self, module: Module, todo: Sequence[Change], hints: dict[str, str], jobs: Jobs, save: Save) -> None:
        self._module, self._todo, self._hints, self._jobs, self._save = module, todo, hints, jobs, save
        self.killers: dict[str, str] = {}
        self.reached: dict[str, int] = {}
        self.later: list[Change] = []

    def pytest_sessionstart(self) -> None:
        """Do not let Hypothesis look for the smallest example: any will do."""
        _quick_hypothesis()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the cases that are about the module."""
        items[:] = _wanted(self._module, items)

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run every test by itself, to see what it reaches; then all changes."""
        session.config._tmp_path_factory.getbasetemp()
        gc.collect()
        gc.freeze()
        seconds: dict[str, float] = {}
        lines: dict[str, set[int]] = {}
        functions = _functions(self._module)
        code = probed(self._module.path.read_text(encoding="utf-8"), str(self._module.path))
        for item in session.items:
            self._jobs.start(partial(_reach, item, code, functions), _learn(item.nodeid, seconds, lines))
        self._jobs.wait()
        slowest = ", ".join(f"{name} {seconds[name]:.1f} s" for name in nlargest(5, seconds, key=seconds.__getitem__))
        self._say(f"{len(session.items)} tests, {sum(seconds.values()):.0f} s; {slowest}")
        owners = {change.key: change.function for change in self._todo}
        for change in self._todo:
            reaching = [item for item in session.items if lines[item.nodeid].intersection(change.lines)]
            hint = self._hints.get(change.key, "")
            name = change.function or ""
            worth = Counter(killer for key, killer in self.killers.items() if owners[key] == name)
            reaching.sort(key=lambda item: (item.nodeid != hint, seconds[item.nodeid] / (1 + worth[item.nodeid])))
            self.reached[change.key] = len(reaching)
            new, live = inside(change.code, name), functions[name]
            if any(len(new.co_freevars) != len(function.__code__.co_freevars) for function in live):
                self.later.append(change)
                continue
            self._jobs.start(
                partial(attempt, new, live, reaching, seconds), _note(change.key, self.killers, self._save)
            )
        self._jobs.wait()
        return True

    def _say(self, text: str) -> None:
        print(f"{self._module.name}: {text}", file=sys.stderr, flush=True)


def _quick_hypothesis() -> None:
    settings.register_profile("mutants", settings.get_profile("hush"), phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")


def _wanted(module: Module, items: Iterable[Any]) -> list[Any]:
    def parameters(item: Any) -> dict[str, Any]:
        return item.callspec.params if hasattr(item, "callspec") else {}

    return [
        item
        for item in items
        if module.wants(item.nodeid.split("::")[0], parameters(item)) and not item.name.startswith(SIMULATED)
    ]


def _reach(item: Any, code: CodeType, functions: dict[str, list[FunctionType]]) -> str:
    """Return how long a test takes and the lines of the module that it reaches."""
    reached = set[int]()
    for name, live in functions.items():
        for function in live:
            function.__code__ = inside(code, name)
            function.__globals__["__reached__"] = reached.add
    start = time.process_time()
    _run(item)
    return json.dumps([time.process_time() - start, sorted(reached)])


def _run(item: Any) -> None:
    """Run a test and nothing around it: no report is made of why it failed, which would take most of the time."""
    state = item.session._setupstate
    item.stash[tmppath_result_key] = {}  # which the report would have made, for the fixture tmp_path
    state.setup(item)
    with contextlib.suppress(pytest.skip.Exception):
        item.runtest()
    state.teardown_exact(None)


def _learn(name: str, seconds: dict[str, float], lines: dict[str, set[int]]) -> Callable[[int, str], None]:
    def learn(status: int, text: str) -> None:
        if status:
            sys.exit(f"{name} fails as it is: {status}, {text}")
        seconds[name], reached = json.loads(text)
        lines[name] = set(reached)

    return learn


def _functions(module: Module) -> dict[str, list[FunctionType]]:
    """Return the functions of a module that are alive, by name, however they are wrapped."""
    path, found = str(module.path), dict[str, list[FunctionType]]()
    gc.unfreeze()
    for thing in gc.get_objects():
        if type(thing) is not FunctionType or "<" in thing.__code__.co_qualname:  # not those within others
            continue
        if thing.__code__.co_filename == path:
            found.setdefault(thing.__code__.co_qualname, []).append(thing)
    gc.freeze()
    return found


def inside(code: CodeType, name: str) -> CodeType:
    """Return the code of a function in that of its module: the last of its name, as the others are overloads."""
    for part in name.split("."):
        code = [one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == part][-1]
    return code


def attempt(new: CodeType, live: list[FunctionType], items: list[Any], seconds: dict[str, float]) -> str:
    """Exchange the code of a function, run the tests, and return the first that fails."""
    for function in live:
        function.__code__ = new
    for item in items:
        _limit(0.5 + 8 * seconds[item.nodeid])
        try:
            _run(item)
        except BaseException:  # noqa: BLE001 - whatever a test raises, it has noticed
            return f"{KILLED} {item.nodeid}"
    return SURVIVED


def _limit(seconds: float) -> None:
    """End this process after so many seconds of the processor, or far more on the clock."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE + 8 * seconds)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a module that was changed."""

    def __init__(self, change: Change, name: str, path: str) -> None:
        super().__init__(name, path)
        self._change = change

    def get_code(self, fullname: str) -> CodeType:
        """Return the changed code."""
        return self._change.code


class Finder(importlib.abc.MetaPathFinder):
    """Finds one module in its changed form."""

    def __init__(self, module: Module, change: Change) -> None:
        self._module, self._change = module, change

    def find_spec(self, name: str, path: object, target: ModuleType | None = None) -> Any:
        """Return the changed module, if it is that."""
        if name != self._module.dotted:
            return None
        loader = Loader(self._change, name, str(self._module.path))
        return importlib.util.spec_from_file_location(
            name,
            self._module.path,
            loader=loader,
            submodule_search_locations=[str(self._module.path.parent)]
            if self._module.path.stem == "__init__"
            else None,
        )


class Only:
    """A plugin of pytest that keeps the cases about a module."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def pytest_sessionstart(self) -> None:
        """Do not let Hypothesis look for the smallest example."""
        _quick_hypothesis()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the cases that are about the module."""
        items[:] = _wanted(self._module, items)


def _whole(module: Module, change: Change, tests: Sequence[str], seconds: float) -> str:
    """Run all tests of a module with a change that is there from the beginning."""
    sys.meta_path.insert(0, Finder(module, change))
    _limit(seconds)
    code = pytest.main([*_arguments(tests), "-x"], plugins=[Only(module)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        raise RuntimeError(f"pytest ended with {code!r}")  # not even an import that fails ends so
    return f"{KILLED} exit {int(code)}" if code else SURVIVED


def _arguments(tests: Sequence[str]) -> list[str]:
    temporary = tempfile.mkdtemp(prefix="mutants")
    quiet = [
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:schemathesis",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ]
    return [*tests, *quiet, f"--basetemp={temporary}", f"--rootdir={ROOT}"]


def tried(
    module: Module, todo: Sequence[Change], hints: dict[str, str], workers: int, limit: float, save: Save
) -> Result:
    """Try changes, and return what noticed each."""
    jobs = Jobs(workers)
    result = Result()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        part = Path(file.name)
        pid = os.fork()  # a process that has loaded hush cannot load it again, changed
        if not pid:
            tester = Tester(module, [change for change in todo if change.function], hints, jobs, save)
            code = pytest.main(_arguments(module.tests), plugins=[tester])
            later = [change.key for change in tester.later]
            part.write_text(json.dumps([tester.killers, tester.reached, later]), encoding="utf-8")
            os._exit(int(code))
        if os.waitpid(pid, 0)[1]:
            sys.exit(f"{module.name} could not be tried: pytest said why")
        result.killers, reached, later = json.loads(part.read_text(encoding="utf-8"))
    result.missed = {key for key, tests in reached.items() if not tests}
    result.killers |= whole(
        module,
        [change for change in todo if change.key in later or not change.function],
        module.first,
        workers,
        limit,
    )
    return result


def whole(module: Module, todo: Sequence[Change], tests: Sequence[str], workers: int, limit: float) -> dict[str, str]:
    """Try changes that are there from the beginning, and return what noticed each."""
    jobs = Jobs(workers)
    killers: dict[str, str] = {}
    for change in todo:
        jobs.start(partial(_whole, module, change, tests, limit), _note(change.key, killers, lambda _: None))
    jobs.wait()
    return killers


def _note(key: str, killers: dict[str, str], save: Save) -> Callable[[int, str], None]:
    def note(status: int, text: str) -> None:
        if status or text != SURVIVED:
            killers[key] = text.removeprefix(KILLED).strip() or f"signal {status & 127}"
            save(killers)

    return note
