"""A stop-watch learns nothing: kernels read as many words and take as many steps for every record and every report."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
import pytest

from hush import Plan
from hush.batch import numbers
from hush.batch.columns import encode
from hush.batch.draws import LANES
from hush.batch.engine import Chunk, Workspace, look
from hush.batch.kernels import KERNELS, SCRATCH, Job
from hush.batch.looks import CATEGORIES, LOOKS, Look, Scene
from hush.batch.program import Task, compile_plan
from hush.batch.reports import report_schema
from hush.core.schema import Choices, Numeric
from hush.core.word_views import Among, Prefix
from hush.testing import SeededStreams
from tests.batch import test_texts_columns as texts
from tests.batch.test_words import PLANS, columns_of, edges, people
from tests.batch.tracked import Told, room, tracked_job, tracked_kernels, tracked_scene

NAMES = [
    *("default", "hybrid optional", "hybrid", "piecewise", "duchi", "laplace", "staircase", "one step", "close knots"),
    *("multi", "multi-even", "signs-64", "signs-70", "cube", "cube-70", "one dimension", "all agree", "cells"),
    *("geometry-2-9", "geometry-4-4", "geometry-8-4", "geometry-61-3"),
    *("corners", "one corner", "all corners", "corners-70"),
    *(
        "grr",
        "grr-5",
        "subset",
        "subset-64",
        "subset-65",
        "subset-200",
        "all but one",
        "all but one of 70",
        "unary-65",
        "sue",
    ),
    *("cells 3-2 of 2", "cells number-3 of 2", "cells 2-number-70 of 40", "rows 2-1-2-1", "rows 2-1-4-2 optional"),
    *("rows 4-1-8-3 uneven", "rows 4-3-7-2", "rows 5-2-8-3 uneven optional", "rows 33-4-3-2 optional"),
    *("rows 3-2-2-1", "rows 40-3-30-7 optional", "rows 7-3-60-20 of many knots"),
    *("rows 65-3-4-1", "rows 130-9-8-3 uneven optional", "means by own bands", "means of a product", "table of bands"),
    *("picks 2 of 8", "picks 2 of 62 optional", "picks 3 of 64", "picks 1 of 65 optional", "picks 8 of 130", "picks"),
]
VIEWS = [
    *("bands", "bands optional", "bands of many cuts", "sides", "sides optional", "product", "product optional"),
    *("square optional", "table of sides and a number", "means by bands", "means of a product", "choices"),
]
TOGETHER = [
    "piecewise",
    "duchi",
    "hybrid",
    "hybrid optional",
    "default",
    "close knots",
    "grr-5",
    "subset-64",
    "cells 3-2 of 2",
    "cells number-3 of 2",
    "rows 3-2-2-1",
    "rows 4-3-7-2",
    "rows 5-2-8-3 uneven optional",
    "rows 40-3-30-7 optional",
    "rows 7-3-60-20 of many knots",
    "rows 20-11-34-9",
    "unary-65",
    "sue",
]
PEOPLE = 12
WORDS = 400
Kernel = Callable[..., Any]


def extreme(plan: Plan) -> list[dict[str, Any]]:
    """The records with the least of everything, with the most, and with whatever may be missing left out."""
    found: list[dict[str, Any]] = [{}, {}, {}]
    for attribute in plan.schema.attributes:
        if isinstance(attribute, Numeric):
            ends: tuple[Any, Any] = (attribute.low, attribute.high)
        elif isinstance(attribute, Choices):
            ends = ([], list(attribute.values[-attribute.most :]))
        else:
            ends = (attribute.values[0], attribute.values[-1])
        for record, value in zip(found, (*ends, None if attribute.optional else ends[0]), strict=True):
            record[attribute.name] = value
    return found


class Table:
    """Some records of a plan, checked, and jobs that draw an answer of one of them."""

    def __init__(self, plan: Plan, count: int = PEOPLE) -> None:
        self.plan = plan
        self.records = [*extreme(plan), *people(plan, count, 3)]
        self._held = encode(plan.schema, columns_of(plan, self.records)).batches[0]
        self._program = compile_plan(plan)
        tasks = sorted(self._program.tasks, key=lambda task: len(task.looks))
        self.tasks = {task.code.kind: task for task in tasks}
        self.looks = [one for task in self._program.tasks for one in task.looks]
        self._space = Workspace()

    def job(self, task: Task, *rows: int) -> Job:
        chunk, everybody = Chunk(self._held, 0, self._held.rows, 0), np.arange(self._held.rows, dtype=np.int32)
        addresses = (
            look(task.looks, chunk, everybody, self._space) if task.looks else self._held.addresses(task.columns, 0)
        )
        return Job(
            task.code.integers,
            task.code.floats,
            addresses,
            *task.bounds,
            self._program.excess,
            np.array(rows, dtype=np.int32),
            np.arange(len(rows), dtype=np.int32) * task.rows,
            np.zeros(len(rows) * task.rows, dtype=report_schema(self.plan).field("output").type.to_pandas_dtype()),
            np.zeros(SCRATCH, dtype=np.uint64),
            np.zeros(3 * numbers.BLOCK),
        )

    def columns(self, task: Task) -> list[Any]:
        """The columns that the kernel of a question reads."""
        if not task.looks:
            return [self._held.arrays[column] for column in task.columns]
        found = []
        for one in task.looks:
            scene = self.scene(one)
            LOOKS[one.kind](scene)
            found.append(scene.categories if one.kind in CATEGORIES else scene.numbers)
        return found

    def scene(self, one: Look) -> Scene:
        """A look at all records."""
        count = self._held.rows
        return Scene(
            self._held.addresses(one.columns, 0),
            one.bounds.lows,
            one.bounds.spans,
            one.floats,
            np.arange(count, dtype=np.int32),
            np.zeros(count),
            np.zeros(count, dtype=np.int16),
        )

    def looked_at(self, one: Look) -> list[Any]:
        """The columns that a view reads."""
        return [self._held.arrays[column] for column in one.columns]


def some_words(plan: Plan, seed: int, awkward: bool) -> Any:
    words = np.zeros(WORDS + 3 * compile_plan(plan).words, dtype=np.uint64)
    SeededStreams(seed, edges(plan) if awkward else ()).stream(0).fill(words, len(words))
    return words


def positions(table: Table, task: Task, kernel: Kernel, words: Any) -> set[int]:
    """Return after how many words each of the records had its answer, from the same words."""
    ends = (kernel(table.job(task, row), 0, words, 0, WORDS) for row in range(len(table.records)))
    return {at for done, at in ends if done}


@pytest.mark.parametrize("name", NAMES)
def test_all_records_take_as_many_words(name: str) -> None:
    table = Table(PLANS[name])
    for seed in range(12):
        words = some_words(table.plan, seed, seed % 2 == 1)
        for kind, task in table.tasks.items():
            assert len(positions(table, task, KERNELS[kind], words)) == 1


def test_every_kernel_is_among_them() -> None:
    assert {kind for name in NAMES for kind in Table(PLANS[name]).tasks} == KERNELS.keys()


@pytest.mark.parametrize("name", ["grr", "duchi", "unary-65"])
def test_a_kernel_that_leaves_out_a_word_for_one_state_is_found(name: str) -> None:
    table = Table(PLANS[name])
    kind, task = next(iter(table.tasks.items()))
    field = table.plan.schema.names[0]

    def leaving_out(job: Job, *arguments: Any) -> Any:
        done, at = KERNELS[kind](job, *arguments)
        return done, at - (table.records[job.people[0]][field] == table.records[0][field])

    assert len(positions(table, task, leaving_out, some_words(table.plan, 0, False))) == 2


def run_tracked(table: Table, both: tuple[dict[str, Kernel], dict[str, Kernel]], rows: range) -> None:
    """Run tracked kernels, and compare their answers with those of the compiled ones."""
    found, looks = both
    for one in table.looks:
        scene = table.scene(one)
        LOOKS[one.kind](scene)
        tracked = tracked_scene(table.scene(one), table.looked_at(one))
        looks[one.kind](tracked)
        np.testing.assert_array_equal([value.value for value in tracked.numbers.values], scene.numbers)
        assert [value.value for value in tracked.categories.values] == scene.categories.tolist()
    for kind, task in table.tasks.items():
        for row in rows:
            compare(table, found[kind], task, (row,), some_words(table.plan, row, row % 2 == 1))


def compare(table: Table, kernel: Kernel, task: Task, rows: tuple[int, ...], words: Any) -> None:
    """Run a tracked kernel, and compare its answers with those of the compiled one."""
    job = table.job(task, *rows)
    done, at = KERNELS[task.code.kind](job, 0, words, 0, WORDS)
    tracked = tracked_job(job, table.columns(task))
    end = kernel(tracked, 0, room(words, "unsigned", True), 0, WORDS)
    assert [int(value) for value in end] == [done, at]
    assert [value.value for value in tracked.output.values] == job.output.tolist()


@pytest.mark.parametrize("name", [*NAMES, *VIEWS])
def test_no_branch_and_no_loop_depends_on_a_record_or_a_word(name: str) -> None:
    table = Table(PLANS[name])
    run_tracked(table, tracked_kernels(), range(5))


@pytest.mark.parametrize("rows", [range(11), (0, 2, 3, 5, 6, 7, 8, 9, 11)], ids=["neighbours", "others"])
@pytest.mark.parametrize("name", TOGETHER)
def test_no_branch_depends_on_several_people_at_once(name: str, rows: Sequence[int]) -> None:
    """Kernels that work on several people have other loops for neighbours, and for the last few."""
    table, (found, _) = Table(PLANS[name]), tracked_kernels()
    for seed in range(4):
        words = some_words(table.plan, seed, seed % 2 == 1)
        for kind, task in table.tasks.items():
            compare(table, found[kind], task, tuple(rows), words)


CHANGES = {
    "a branch on the state": ("grr-5", "pick + mark(pick >= state)", "pick + ONE if pick >= state else pick"),
    "a branch on the state of one person": (
        "cells",
        "pick + flag(pick >= np.uint64(state))",
        "pick + ONE if pick >= state else pick",
    ),
    "no word if the coin says so": (
        "cells",
        "other = pick + flag",
        "at -= np.int64(contains)\n    other = pick + flag",
    ),
    "a member less": ("subset-65", "step = ZERO", "step = ZERO\n    at -= np.int64(idle)"),
    "a first member by a branch": ("subset-64", "& (coins[p] - ONE)", "if coins[p] == ZERO else ZERO"),
    "a knot by a branch": ("default", "behind = u >= cut", "behind = True if u >= cut else False"),
    "bits moved from the state on": (
        "subset-65",
        "for part in range(parts):\n        word",
        "for part in range(own):\n        word",
    ),
    "a comparison that ends early": (
        "unary-65",
        "digit, other =",
        "if found + ONE == ZERO: break\n        digit, other =",
    ),
    "a search that ends early": ("laplace", "run += np", "if run > 2: break\n        run += np"),
    "a least state by a branch": (
        "piecewise",
        "lesser(np.floor(position), last - 1.0)",
        "min(np.floor(position), last - 1.0)",
    ),
    "a branch on missing": ("default", "blend(value != value, start, 0.0)", "start if value != value else 0.0"),
    "a branch on a sign": (
        "multi",
        "part |= rounds_up(",
        "part |= ONE & (ONE if rounds_up(0.5, words[at + j]) else ZERO) | rounds_up(",
    ),
    "one of two kinds of corner": ("multi-even", "if size & 1 == 0:", "if size & 1 == 0 and near:"),
    "one rank of two": ("cube", "rank, at = below", "if near: rank, at = below"),
    "a corner of one kind": (
        "corners",
        "rank, at = below(words, at, limit, z[1]",
        "if near: rank, at = below(words, at, limit, z[1]",
    ),
    "the largest by a branch": (
        "corners",
        "reached += (trial - ONE - sizes[j]) >> LAST",
        "reached += ONE if sizes[j] >= trial else ZERO",
    ),
    "a corner that ends the search": ("corners", "rank -= fits", "if found: break\n        rank -= fits"),
    "a band that ends the search": ("bands", "band += np", "if band > 1: break\n            band += np"),
    "a branch on a missing number": ("sides optional", "different = flag(x", "different = ONE if no_x else flag(x"),
    "a branch on a side": ("sides", "different = flag(x <= f[1])", "different = ONE if x <= f[1] else ZERO"),
    "a product clipped by a branch": ("product", "lesser(greater(product, -1.0), 1.0)", "max(product, -1.0)"),
    "a cell outside only if needed": (
        "rows 65-3-4-1",
        "place, at = below",
        "if here: return here, first, at\n    place, at = below",
    ),
    "a coin of several by a branch": (
        "rows 4-3-7-2",
        "cell = either(here, hands[p] + within, rest)",
        "cell = hands[p] + within if here else rest",
    ),
    "a knot of several by a branch": (
        "rows 5-2-8-3 uneven optional",
        "return blend(yes, s, state), blend(yes",
        "return s if yes else state, blend(yes",
    ),
    "missing numbers of several by a branch": (
        "rows 5-2-8-3 uneven optional",
        "missing = mark(values[p] != values[p]) & optional",
        "missing = optional if values[p] != values[p] else ZERO",
    ),
    "the own row of several by a branch": (
        "rows 4-3-7-2",
        "either(mark(j == row), mine, cell)",
        "(mine if j == row else cell)",
    ),
    "a word of the report by a branch": (
        "rows 4-3-7-2",
        "(ZERO - mark(parts[p] == part)) & bits[p]",
        "(bits[p] if parts[p] == part else ZERO)",
    ),
    "a missing start by a branch": (
        "rows 2-1-4-2 optional",
        "first = either(",
        "first = z[11] if value != value else either(",
    ),
    "a cell of other rows only": (
        "rows 65-3-4-1",
        "    member = np.uint64(j)",
        "    if np.int64(j) == row: return\n    member = np.uint64(j)",
    ),
    "a highest digit by a branch": (
        "geometry-8-4",
        "lead = (number >> (top * bits))",
        "lead = number if top == ZERO else (number >> (top * bits))",
    ),
    "a solved digit by a branch": (
        "geometry-4-4",
        "number = (number & ~below_it) << bits | (number & below_it)",
        "number = (number & ~below_it) << bits | (number & below_it) if solved else number << bits",
    ),
    "members listed by a branch": ("rows 65-3-4-1", "some = flag(rest != ZERO)", "some = ONE if rest else ZERO"),
    "a set cell by a branch": (
        "cells 3-2 of 2",
        "(ZERO - mark(members & pick != ZERO)) & last",
        "(last if members & pick != ZERO else ZERO)",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_branch_that_tells_is_found(change: str) -> None:
    name, old, new = CHANGES[change]
    with pytest.raises(Told):
        run_alone_and_together(Table(PLANS[name]), tracked_kernels((old, new)))


def run_alone_and_together(table: Table, both: tuple[dict[str, Kernel], dict[str, Kernel]]) -> None:
    """Run tracked kernels for one person, and for as many as are taken at once."""
    run_tracked(table, both, range(1))
    for kind, task in table.tasks.items():
        compare(table, both[0][kind], task, tuple(range(LANES)), some_words(table.plan, 0, False))


def float_jumps(function: Any, signature: Any) -> list[str]:
    """Return the jumps of compiled code that depend on which of two floats is larger."""
    fresh = numba.njit(nogil=True)(function)
    fresh.compile(signature)  # anew, as Numba does not show code that it kept
    code = fresh.inspect_asm(signature)
    return re.findall(r"comisd[^\n]*\n(?:\s+v?mov[^\n]*\n)*\s+(ja|jae|jb|jbe)\s", code)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="looks for instructions of x86-64")
@pytest.mark.parametrize("kind", KERNELS)
def test_the_compiler_makes_no_branches_of_choices_between_floats(kind: str) -> None:
    """Of choices by `if` and `else` it may. Choices between integers are hidden from it by `flag`."""
    table = next(table for table in map(Table, map(PLANS.__getitem__, NAMES)) if kind in table.tasks)
    positions(table, table.tasks[kind], KERNELS[kind], some_words(table.plan, 0, False))
    kernel: Any = KERNELS[kind]
    assert float_jumps(kernel.py_func, kernel.signatures[0]) == []


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="looks for instructions of x86-64")
@pytest.mark.parametrize("kind", ["prefix", "among"])
def test_the_compiler_makes_no_branches_of_texts(kind: str) -> None:
    view = Prefix("word", (5, 4, 0), 997) if kind == "prefix" else Among("word", ("nurse", "a"))
    fast, slow = texts.seen(texts.TEXTS[0], view, texts.VALUES)
    assert fast == slow
    kernel: Any = LOOKS[kind]
    assert float_jumps(kernel.py_func, kernel.signatures[0]) == []


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="looks for instructions of x86-64")
@pytest.mark.parametrize("kind", sorted(LOOKS.keys() - {"prefix", "among"}))
def test_the_compiler_makes_no_branches_of_views(kind: str) -> None:
    tables = (Table(PLANS[name]) for name in VIEWS)
    table, one = next((table, one) for table in tables for one in table.looks if one.kind == kind)
    LOOKS[kind](table.scene(one))
    kernel: Any = LOOKS[kind]
    assert float_jumps(kernel.py_func, kernel.signatures[0]) == []


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="looks for instructions of x86-64")
def test_a_branch_on_floats_is_found() -> None:
    def halvings(value: float) -> int:
        count = 0
        while value > 1.0:
            value *= 0.5
            count += 1
        return count

    assert float_jumps(halvings, (numba.float64,))
