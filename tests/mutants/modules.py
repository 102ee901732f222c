"""Which tests belong to which module: the narrowest set that should notice when it breaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
CACHE = ROOT / ".mutants"
EPSILONS = (Fraction(1, 2), Fraction(4))
LONG = (5, 4, 3)  # a cube whose law takes longer to follow than those of all others together
CHANNELS = "tests/core/channels/"
KINDS = ("additive", "cells", "cube", "ladder", "mixture", "rows", "signs", "subset", "unary", "window")
EDGES = CHANNELS + "test_edges.py"
CONFORMANCE = CHANNELS + "test_conformance.py"
SQUARES = CHANNELS + "test_squares.py"
SAME_WORK = CHANNELS + "test_same_work.py"
CONTRAST = CHANNELS + "test_contrast.py"


@dataclass(frozen=True)
class Module:
    """A file of the source and its tests. Of the tests of all channels, those of `channels` (as names begin)."""

    name: str
    tests: tuple[str, ...]
    channels: tuple[str, ...] = ("",)

    @property
    def script(self) -> bool:
        """Whether it is one of the browser client, in TypeScript."""
        return self.name.startswith("web/")

    @property
    def first(self) -> tuple[str, ...]:
        """The tests for what is run on import, which are collected again for every change: not the long ones."""
        return tuple(file for file in self.tests if not self.name.startswith("core/channels/") or file != CONFORMANCE)

    @property
    def path(self) -> Path:
        """Where the source lies."""
        if self.script:
            return ROOT / "web" / "src" / f"{self.name.removeprefix('web/')}.ts"
        return ROOT / "src" / "hush" / f"{self.name}.py"

    @property
    def dotted(self) -> str:
        """The name by which it is imported."""
        return "hush." + self.name.removesuffix("/__init__").replace("/", ".")

    def wants(self, file: str, parameters: dict[str, Any]) -> bool:
        """Tell whether a test case is about this module. Of the long grid of epsilons two are enough."""
        if parameters.get("shape") == LONG:
            return False
        name = str(parameters.get("name", "")).removeprefix("channel-").removeprefix("optional-")
        if file.endswith("test_vectors.py"):
            return self.channels == ("",) or (name != "" and name.startswith(self.channels))
        kind, case = self.name.removeprefix("core/channels/"), str(parameters.get("case", ""))
        if file.endswith("test_edges.py") and kind in KINDS:
            return case.startswith(kind) if case else not name or name.startswith(self.channels)
        if file in (CONFORMANCE, CONTRAST, SQUARES, SAME_WORK):
            few = parameters.get("epsilon", EPSILONS[0]) in EPSILONS
            return few and (not name or name.startswith(self.channels))
        return True


@dataclass
class Result:
    """What came of trying a module: all changes, what noticed each, and those that no test reaches, where known."""

    found: list[str] = field(default_factory=list)
    killers: dict[str, str] = field(default_factory=dict)
    missed: set[str] = field(default_factory=set)


def _channel(name: str, *channels: str, own: tuple[str, ...] = ()) -> Module:
    first = (f"{CHANNELS}test_{name}.py", *own)
    return Module(
        f"core/channels/{name}",
        (*first, EDGES, SQUARES, SAME_WORK, CONTRAST, CONFORMANCE, "tests/test_vectors.py"),
        channels,
    )


SHARED = tuple(
    f"{CHANNELS}test_{name}.py"
    for name in ("alphabet", "conformance", "additive", "window", "cells", "subset", "signs", "mixture", "edges")
)
FEW = (
    "duchi",
    "window-5",
    "mixture-optional",
    "grr-2",
    "subset-9",
    "oue-2",
    "laplace",
    "signs-2",
    "cube-4-3",
    "cells-3",
)
INDICATOR = (f"{CHANNELS}test_subset.py", f"{CHANNELS}test_unary.py", EDGES, CONTRAST, CONFORMANCE)
SCRIPTS = (*KINDS, "alphabet", "channel", "index")


def _script(name: str, *first: str, last: tuple[str, ...] = ()) -> Module:
    """A file of the browser client, and which of its tests come first: all that are quick belong to every file.

    Those that `tests/web` asked are among them (`scripts`), and take long: they come last where others notice more.
    """
    others = sorted({"collector", "edges", "ledger", "plan", "record", "report", "vectors", "views"} - set(first))
    end = last if "recorded" in first else ("recorded", *last)
    files = (f"{'mutants' if test == 'recorded' else 'test'}/{test}.test.mjs" for test in (*first, *others, *end))
    return Module(f"web/{name}", tuple(files))


MODULES = (
    Module("core/channels/__init__", (CONFORMANCE,), FEW),
    _channel("additive", "laplace", "staircase", "scdf"),
    Module("core/channels/alphabet", SHARED, FEW),
    Module("core/channels/base", (*SHARED, SAME_WORK, "tests/test_vectors.py"), FEW),
    _channel("cells", "cells"),
    Module("core/channels/contrast", (CONTRAST,)),
    _channel("cube", "cube"),
    Module("core/channels/indicator", INDICATOR, ("grr", "subset", "oue", "sue")),
    _channel("ladder", "ladder", own=("tests/server/test_ladders.py",)),
    Module("core/channels/levels", (f"{CHANNELS}test_window.py", f"{CHANNELS}test_rows.py", "tests/test_vectors.py")),
    _channel("mixture", "mixture", "hybrid"),
    _channel("rows", "rows", "rounding-rows", own=(f"{CHANNELS}test_rows_work.py",)),
    _channel("signs", "signs", "duchi-multi"),
    Module("core/channels/squares", (SQUARES,)),
    _channel("subset", "grr", "subset"),
    Module("core/channels/two_level", (CONTRAST,)),
    _channel("unary", "oue", "sue"),
    _channel("window", "duchi", "window", "piecewise"),
    Module(
        "core/channels/windowed",
        (*(f"{CHANNELS}test_{name}.py" for name in ("window", "ladder", "rows", "contrast")), "tests/test_vectors.py"),
    ),
    Module("core/codec", ("tests/core/test_codec.py",)),
    Module("core/exact", ("tests/core/test_exact.py",)),
    Module("core/following", ("tests/core/test_following.py",)),
    Module("core/plan", ("tests/core/test_plan.py", "tests/show/test_tables.py", "tests/test_vectors.py")),
    Module("core/views", ("tests/core/test_views.py", "tests/core/test_views_work.py", "tests/test_vectors.py")),
    Module("core/report", ("tests/core/test_report.py", "tests/test_vectors.py")),
    Module("server/tally", ("tests/server/test_tally.py", "tests/test_vectors.py")),
    *(
        Module(
            f"server/{name}",
            ("tests/server/test_estimates.py", *own, "tests/show/test_rows.py", "tests/show/test_tables.py"),
        )
        for name, own in {
            "estimates": ("tests/server/test_pools.py",),
            "sources": ("tests/server/test_pools.py",),
            "manipulations": (),
            "simplex": (),
        }.items()
    ),
    *(Module(f"server/{name}", ("tests/server/test_ladders.py",)) for name in ("ladders", "narrowing")),
    Module("server/intervals", ("tests/server/test_intervals.py", "tests/server/test_estimates.py")),
    Module("server/binomial", ("tests/server/test_binomial.py",)),
    Module("core/schema", ("tests/core/test_schema.py",)),
    Module("device/randomise", ("tests/device/test_randomise.py", "tests/test_vectors.py")),
    Module("core/coins", ("tests/core/test_coins.py",)),
    Module("core/dealing", ("tests/device/test_tickets.py", "tests/device/test_randomise.py", "tests/test_vectors.py")),
    Module("device/coins", ("tests/core/test_coins.py",)),
    Module("device/answered", ("tests/device/test_answered.py",)),
    Module("device/ledger", ("tests/device/test_ledger.py", "tests/device/test_tickets.py")),
    Module("device/ledger_file", ("tests/device/test_ledger.py", "tests/device/test_series.py")),
    Module("device/memory", ("tests/device/test_memory.py",)),
    Module("device/series", ("tests/device/test_series.py",)),
    Module("device/asking", ("tests/device/test_asking.py",)),
    *(
        _script(f"channels/{name}", "vectors", "report", "plan", "recorded", last=("counts",))
        for name in sorted(SCRIPTS)
    ),
    _script("client", "vectors", "record"),
    _script("coins", "vectors", "record", "counts"),
    _script("collector", "collector"),
    _script("errors", "collector", "record"),
    _script("exact", "vectors", "ledger"),
    _script("following", "collector"),
    _script("index", "vectors"),
    _script("json", "plan", "report"),
    _script("ledger", "ledger", "collector"),
    _script("plan", "plan", "vectors"),
    _script("report", "report", "vectors"),
    _script("schema", "record", "plan"),
    _script("stores", "ledger"),
    _script("tickets", "collector"),
    _script("views", "views", "vectors"),
)
