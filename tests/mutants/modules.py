"""Which tests belong to which module: the narrowest set that should notice when it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
CACHE = ROOT / ".mutants"
EPSILONS = (Fraction(1, 2), Fraction(4))
SIMULATED = (
    "test_many_surveys",
    "test_intervals_cover_the_truth",
    "test_intervals_that_forget",
    "test_intervals_of_pools_cover",
    "test_the_clipped_mean_is_covered",
    "test_no_message_contains_the_value",
    "test_reports_of_the_client_favour_no_list",
    "test_the_distribution_of_a_scale",
    "test_a_tally_of_four_million_points",
    "test_only_some_shares_of_a_very_long_list",
    "test_a_hundred_thousand_categories",
    "test_its_variance_is_at_most_a_twentieth",
    "test_the_ratio_is_below_e_to_the_epsilon_for_every",
)
"""Tests, as their names begin, that take longer than all others of a module together: many simulate surveys."""
LONG = (5, 4, 3)  # a cube whose law takes longer to follow than those of all others together
CHANNELS = "tests/core/channels/"
KINDS = (
    *(
        "additive",
        "cells",
        "corners",
        "cube",
        "geometry",
        "ladder",
        "mixture",
        "picks",
        "rows",
        "signs",
        "subset",
        "unary",
    ),
    "window",
)
EDGES = tuple(f"{CHANNELS}test_{name}.py" for name in ("edges", "pieces", "readings"))
CONFORMANCE = CHANNELS + "test_conformance.py"
SQUARES = CHANNELS + "test_squares.py"
SAME_WORK = CHANNELS + "test_same_work.py"
CONTRAST = CHANNELS + "test_contrast.py"
HISTOGRAMS = "tests/server/test_histograms.py"
SERIES = tuple(f"tests/device/test_series{part}.py" for part in ("", "_refusals", "_processes", "_relations"))


@dataclass(frozen=True)
class Module:
    """A file of the source and its tests. Of the tests of all channels, those of `channels` (as names begin).

    What is run on import is tried with `quick` alone, if they are given: tests that import little.
    """

    name: str
    tests: tuple[str, ...]
    channels: tuple[str, ...] = ("",)
    quick: tuple[str, ...] = ()

    @property
    def script(self) -> bool:
        """Whether it is one of the browser client, in TypeScript."""
        return self.name.startswith("web/")

    @property
    def first(self) -> tuple[str, ...]:
        """The tests for what is run on import, which are collected again for every change: not the long ones."""
        usual = (file for file in self.tests if not self.name.startswith("core/channels/") or file != CONFORMANCE)
        return self.quick or tuple(usual)

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
        if file in EDGES and kind in KINDS:
            return case.startswith(kind) if case else not name or name.startswith(self.channels)
        if file in (CONFORMANCE, CONTRAST, SQUARES, SAME_WORK):
            few = parameters.get("epsilon", EPSILONS[0]) in EPSILONS
            return few and (not name or name.startswith(self.channels))
        return True


Save = Callable[[dict[str, str]], None]
"""Keeps what noticed some changes, in case that the others are not tried to the end."""


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
        (*first, *EDGES, SQUARES, SAME_WORK, CONTRAST, CONFORMANCE, "tests/test_vectors.py"),
        channels,
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
INDICATOR = (f"{CHANNELS}test_subset.py", f"{CHANNELS}test_unary.py", *EDGES, CONTRAST, CONFORMANCE)
SCRIPTS = (*(kind for kind in KINDS if kind != "geometry"), "alphabet", "channel", "index")


TRAININGS = ("answers", "arithmetic", "description", "maps", "phase")
OWN = (  # its own tests are enough: what is in large.js, and what hardly any other test reaches
    *(
        "addresses",
        "channels/geometry",
        "client",
        "coins",
        "following",
        "large",
        "ledger",
        "randomise",
        "sealing",
        "stores",
    ),
    *("texts", "tickets", "views", "training", *(f"training/{name}" for name in TRAININGS)),
)


def _script(name: str, *first: str, last: tuple[str, ...] = ()) -> Module:
    """A file of the browser client, and which of its tests come first: all that are quick belong to every file.

    Those that `tests/web` asked are among them (`scripts`), and take long: they come last where others notice more.
    """
    if name in OWN:
        return Module(f"web/{name}", tuple(f"test/{test}.test.mjs" for test in first))
    others = sorted({"client", "edges", "ledger", "plan", "record", "report", "vectors", "views"} - set(first))
    end = last if "recorded" in first else ("recorded", *last)
    files = (f"{'mutants' if test == 'recorded' else 'test'}/{test}.test.mjs" for test in (*first, *others, *end))
    return Module(f"web/{name}", tuple(files))


MODULES = (
    Module("core/channels/__init__", (CONFORMANCE,), FEW),
    _channel("additive", "laplace", "staircase", "scdf"),
    Module("core/channels/alphabet", (f"{CHANNELS}test_alphabet.py", f"{CHANNELS}test_sparse.py")),
    Module(
        "core/channels/base",
        (f"{CHANNELS}test_base.py", f"{CHANNELS}test_additive.py", *EDGES, SAME_WORK),
        FEW,
        quick=(f"{CHANNELS}test_base.py",),
    ),
    _channel("cells", "cells"),
    Module("core/channels/contrast", (CONTRAST,)),
    _channel("corners", "corners"),
    _channel("cube", "cube"),
    Module("core/channels/indicator", INDICATOR, ("grr", "subset", "oue", "sue")),
    _channel("ladder", "ladder", own=("tests/server/test_ladders.py",)),
    Module(
        "core/channels/levels",
        (f"{CHANNELS}test_window.py", f"{CHANNELS}test_rows.py", *EDGES, "tests/test_vectors.py"),
    ),
    _channel("mixture", "mixture", "hybrid"),
    _channel("picks", "picks"),
    _channel("rows", "rows", "rounding-rows", own=(f"{CHANNELS}test_rows_work.py",)),
    _channel("signs", "signs", "duchi-multi", "cube"),
    Module("core/channels/squares", (SQUARES,)),
    _channel("subset", "grr", "subset"),
    Module("core/channels/two_level", (CONTRAST,)),
    _channel("unary", "oue", "sue"),
    _channel("window", "duchi", "window", "piecewise"),
    Module(
        "core/channels/windowed",
        (
            *(f"{CHANNELS}test_{name}.py" for name in ("window", "ladder", "rows", "contrast")),
            *EDGES,
            "tests/test_vectors.py",
        ),
    ),
    Module(
        "core/channels/geometry",
        (f"{CHANNELS}test_geometry_ends.py", f"{CHANNELS}test_geometry.py", *EDGES),
        ("geometry",),
        quick=(f"{CHANNELS}test_geometry_ends.py",),
    ),
    *(
        Module(
            f"core/channels/{name}",
            (f"{CHANNELS}test_{name}.py", f"{CHANNELS}test_geometry.py"),
            quick=(f"{CHANNELS}test_{name}.py",),
        )
        for name in ("fields", "hyperplanes")
    ),
    Module("core/channels/sparse", (f"{CHANNELS}test_sparse.py",)),
    Module("core/blanket", ("tests/core/test_blanket.py",)),
    Module("core/codec", ("tests/core/test_codec.py",)),
    Module("core/exact", ("tests/core/test_exact.py",)),
    Module("core/following", ("tests/core/test_following.py",)),
    Module(
        "core/plan",
        (
            "tests/core/test_plan.py",
            "tests/core/test_plan_ends.py",
            "tests/core/test_plan_tampering.py",
            "tests/show/test_tables.py",
            HISTOGRAMS,
            "tests/test_vectors.py",
        ),
        quick=("tests/core/test_plan_ends.py", "tests/core/test_plan.py"),
    ),
    Module("core/views", tuple(f"tests/core/test_{name}.py" for name in ("views", "views_work", "word_views"))),
    Module("core/looking", ("tests/core/test_views.py", "tests/core/test_word_views.py")),
    Module("core/word_views", ("tests/core/test_word_views.py",)),
    Module("core/report", ("tests/core/test_report.py", HISTOGRAMS, "tests/test_vectors.py")),
    Module(
        "server/tally",
        ("tests/server/test_tally.py", "tests/server/test_own.py", HISTOGRAMS, "tests/test_vectors.py"),
    ),
    *(
        Module(
            f"server/{name}",
            (*(f"tests/server/test_{test}.py" for test in tests), *shown),
            quick=tuple(f"tests/server/test_{test}.py" for test in tests if test.endswith("_numbers")),
        )
        for name, tests, shown in (
            (
                "estimates",
                ("estimates_numbers", "estimates", "simultaneous", "long_lists"),
                ("tests/show/test_rows.py", "tests/show/test_tables.py"),
            ),
            ("intervals", ("intervals", "intervals_pools"), ()),
            ("manipulations", ("manipulations_numbers",), ()),
            ("sources", ("sources_numbers",), ()),
            ("ladders", ("ladders_numbers",), ()),
        )
    ),
    Module("server/simplex", ("tests/server/test_simplex.py",)),
    Module("server/narrowing", ("tests/server/test_narrowing.py",)),
    Module("server/binomial", ("tests/server/test_binomial.py",)),
    *(
        Module(f"core/{name}", ("tests/core/test_schema.py", "tests/core/test_choices.py", "tests/core/test_lists.py"))
        for name in ("schema", "categorical", "choices", "finders")
    ),
    Module("core/numeric", tuple(f"tests/core/test_{name}.py" for name in ("schema", "kinds", "views"))),
    Module(
        "core/calendar",
        ("tests/core/test_calendar_ends.py", "tests/core/test_calendar.py"),
        quick=("tests/core/test_calendar_ends.py",),
    ),
    Module("core/kinds", ("tests/core/test_kinds.py",)),
    Module("core/letters", ("tests/core/test_texts.py",)),
    Module("core/lists", ("tests/core/test_lists.py",)),
    Module("core/naming", ("tests/core/test_schema.py", "tests/core/test_texts.py")),
    Module(
        "core/texts",
        ("tests/core/test_texts_ends.py", "tests/core/test_texts.py"),
        quick=("tests/core/test_texts_ends.py",),
    ),
    Module("device/randomise", ("tests/device/test_randomise.py", "tests/test_vectors.py")),
    Module("core/coins", ("tests/core/test_coins.py",)),
    Module("core/dealing", ("tests/device/test_asking.py", "tests/device/test_randomise.py", "tests/test_vectors.py")),
    Module("device/coins", ("tests/core/test_coins.py",)),
    Module("core/sealing", ("tests/device/test_sealing.py",)),
    Module("device/sealing", ("tests/device/test_sealing.py",)),
    Module(
        "device/answered",
        ("tests/device/test_answered.py", "tests/device/test_family.py", "tests/device/test_asking.py"),
    ),
    Module("device/ledger", ("tests/device/test_ledger.py", "tests/device/test_asking.py")),
    Module("device/ledger_file", ("tests/device/test_ledger.py", *SERIES)),
    Module("device/memory", ("tests/device/test_memory.py",)),
    Module("device/series", SERIES),
    Module("device/asking", ("tests/device/test_asking.py",)),
    Module(
        "device/client",
        ("tests/device/test_parts.py", "tests/device/test_client.py", "tests/device/test_tickets.py"),
        quick=("tests/device/test_parts.py",),
    ),
    Module(
        "device/network",
        ("tests/device/test_requests.py", "tests/device/test_network.py"),
        quick=("tests/device/test_requests.py",),
    ),
    *(
        Module(f"device/{name}", (f"tests/device/test_{test}.py",))
        for name, test in {
            "batches": "delivery",
            "delivery": "delivery",
            "published": "published",
            "receipts": "receipts",
            "remembering": "remembering",
            "tickets": "tickets",
            "trainings": "trainings",
        }.items()
    ),
    Module("collector/tickets", ("tests/collector/test_tickets.py",)),
    *(
        _script(f"channels/{name}", "laws", "channels", "vectors", "report", "plan", "recorded", last=("counts",))
        for name in sorted(SCRIPTS)
    ),
    _script("channels/geometry", "laws", "channels", "large", "vectors"),
    _script("large", "large", "texts"),
    _script("texts", "texts", "large"),
    _script("addresses", "client", "large"),
    _script("client", "client", "ledger", "edges", "taking-part"),
    _script("coins", "record", "vectors", "edges", "counts"),
    _script("errors", "client", "record"),
    _script("exact", "vectors", "ledger"),
    _script("following", "client", "edges"),
    _script("index", "vectors"),
    _script("json", "plan", "report"),
    _script("ledger", "ledger", "client", "edges"),
    _script("plan", "plan", "vectors"),
    _script("randomise", "record", "vectors", "edges"),
    _script("report", "report", "vectors"),
    _script("schema", "schema", "record", "plan"),
    _script("sealing", "sealing"),
    _script("stores", "ledger", "client"),
    _script("tickets", "client", "ledger", "edges", "views"),
    _script("training", "taking-part"),
    *(_script(f"training/{name}", "described", "training", "taking-part") for name in TRAININGS),
    _script("views", "views", "schema", "vectors"),
)
