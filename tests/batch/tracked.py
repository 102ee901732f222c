"""The kernels as plain Python, with every record and every word a secret: a branch on a secret is an error.

The sources of the kernels run here with other numbers than Numba's. A number that was made of a secret is a secret, and
Python may not ask whether one is true, nor loop up to it. So a run that ends has shown that no branch and no loop
depends on a record or a word, but for those that `hush.batch.native.public` lets pass. A secret may be an index: that
the entries of a table take equally long to read is not shown.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import hush.batch
from hush.batch.kernels import Job
from hush.batch.looks import Scene

WORD = 1 << 64
UNSIGNED, SIGNED, FLOAT = "unsigned", "signed", "float"


class Told(Exception):
    """A branch or a loop depends on a secret."""


class Number:
    """A number of 64 bits, or a truth, that may be a secret."""

    def __init__(self, value: Any, kind: str = SIGNED, secret: bool = False) -> None:
        if kind != FLOAT:
            value = int(value) % WORD
            value -= WORD * (kind == SIGNED and value >= WORD // 2)
        self.value, self.kind, self.secret = value, kind, secret

    def open(self) -> Any:
        """Return what may be branched on."""
        if self.secret:
            raise Told("a branch or a loop depends on a secret")
        return self.value

    def __bool__(self) -> bool:
        return bool(self.open())

    def __index__(self) -> int:
        return operator.index(self.open())

    def __neg__(self) -> Number:
        return Number(-self.value, self.kind, self.secret)

    def __invert__(self) -> Number:
        return Number(~self.value, self.kind, self.secret)


def number(value: Any) -> Number:
    """Return a number that is no secret, unless it is one already."""
    return value if isinstance(value, Number) else Number(value, FLOAT if isinstance(value, float) else SIGNED)


def _joined(a: Number, b: Number, operation: Callable[[Any, Any], Any]) -> Number:
    kind = next(kind for kind in (FLOAT, UNSIGNED, SIGNED) if kind in (a.kind, b.kind))
    if operation in (operator.lshift, operator.rshift):
        assert 0 <= b.value < 64, "a shift by more bits than there are"
    return Number(operation(a.value, b.value), kind, a.secret or b.secret)


def _give_operators() -> None:
    """Give numbers the operators of Python, in both orders."""

    def plain(operation: Any) -> Any:
        return lambda self, other: _joined(self, number(other), operation)

    def swapped(operation: Any) -> Any:
        return lambda self, other: _joined(number(other), self, operation)

    def compared(operation: Any) -> Any:
        def compare(self: Number, other: Any) -> Number:
            other = number(other)
            return Number(operation(self.value, other.value), UNSIGNED, self.secret or other.secret)

        return compare

    for name in ("add", "sub", "mul", "truediv", "floordiv", "and", "or", "xor", "lshift", "rshift"):
        operation = getattr(operator, f"__{name}__")
        setattr(Number, f"__{name}__", plain(operation))
        setattr(Number, f"__r{name}__", swapped(operation))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Number, f"__{name}__", compared(getattr(operator, f"__{name}__")))


_give_operators()


class Room:
    """Memory from some place on: what a pointer or an array is to a kernel."""

    def __init__(self, values: list[Any], start: int = 0) -> None:
        self.values, self._start = values, start

    def __len__(self) -> int:
        return len(self.values) - self._start

    def shifted(self, count: Any) -> Room:
        """Return the memory from a later place on."""
        return Room(self.values, self._start + number(count).open())

    def __getitem__(self, index: Any) -> Any:
        place = number(index)
        assert place.value >= 0
        found = self.values[self._start + place.value]
        if isinstance(found, Room):
            return found
        return Number(found.value, found.kind, found.secret or place.secret)

    def __setitem__(self, index: Any, value: Any) -> None:
        place = number(index)
        assert place.value >= 0
        self.values[self._start + place.value] = number(value)
        if place.secret:  # which one was written is a secret, so all of them are
            self.values[:] = [Number(held.value, held.kind, True) for held in self.values]


def _bits_of(value: Number) -> int:
    assert value.kind == UNSIGNED
    return int(value.value)


def _fused(a: Number, b: Number, c: Number) -> Number:
    """a * b + c, rounded once: quotients of integers are."""
    exact = Fraction(a.value) * Fraction(b.value) + Fraction(c.value)
    return Number(exact.numerator / exact.denominator, FLOAT, a.secret or b.secret or c.secret)


NATIVE = SimpleNamespace(
    FUSES=True,
    compiled=lambda function: function,
    inlined=lambda function: function,
    flag=lambda condition: Number(bool(condition.value), UNSIGNED, condition.secret),
    mark=lambda condition: Number(bool(condition.value), UNSIGNED, condition.secret),
    public=lambda value: Number(value.value, value.kind),
    blend=lambda condition, first, second: Number(
        number(first if condition.value else second).value,
        FLOAT,
        condition.secret or number(first).secret or number(second).secret,
    ),
    lesser=lambda a, b: _joined(number(a), number(b), lambda x, y: y if math.isnan(x) or y < x else x),
    greater=lambda a, b: _joined(number(a), number(b), lambda x, y: y if math.isnan(x) or y > x else x),
    fused=lambda a, b, c: _fused(number(a), number(b), number(c)),
    wide=lambda: None,
    high=lambda a, b: Number(_bits_of(a) * _bits_of(b) >> 64, UNSIGNED, a.secret or b.secret),
    ones=lambda word: Number(_bits_of(word).bit_count(), SIGNED, word.secret),
    lowest=lambda word: Number((word.value & -word.value).bit_length() - 1, SIGNED, word.secret),
    highest=lambda word: Number(_bits_of(word).bit_length() - 1, UNSIGNED, word.secret),
    backwards=lambda word: Number(int(f"{_bits_of(word):064b}"[::-1], 2), UNSIGNED, word.secret),
    pointer=lambda room: room,
    shifted=lambda room, count: room.shifted(count),
    floats_at=lambda column: column,
    shorts_at=lambda column: column,
    ints_at=lambda column: column,
)

NUMPY = SimpleNamespace(
    uint64=lambda value: Number(number(value).value, UNSIGNED, number(value).secret),
    int64=lambda value: Number(number(value).value, SIGNED, number(value).secret),
    int32=lambda value: Number(number(value).value, SIGNED, number(value).secret),
    float64=lambda value: Number(float(number(value).value), FLOAT, number(value).secret),
    floor=lambda value: Number(float(math.floor(value.value)), FLOAT, value.secret),
    ndarray=np.ndarray,
)


Kernels = dict[str, Callable[..., Any]]


def tracked_kernels(*changes: tuple[str, str]) -> tuple[Kernels, Kernels]:
    """Return the kernels of channels and views as Python functions.

    Pieces of their sources may be exchanged, to see whether it is noticed.
    """
    modules: dict[str, Any] = {"numpy": NUMPY, "hush.batch.native": NATIVE}
    missing = {old for old, _ in changes}

    def imported(name: str, *arguments: Any) -> Any:
        return modules[name] if name in modules else builtins.__import__(name, *arguments)

    for name in ("draws", "picks", "points", "looks", "windows", "rows", "numbers", "sets", "few_rows", "kernels"):
        path = Path(hush.batch.__file__).with_name(f"{name}.py")
        source = path.read_text()
        for old, new in changes:
            missing -= {old} if old in source else set()
            source = source.replace(old, new)
        names = {"__builtins__": vars(builtins) | {"__import__": imported}, "__name__": f"hush.batch.{name}"}
        exec(compile(source, str(path), "exec"), names)  # noqa: S102
        modules[f"hush.batch.{name}"] = SimpleNamespace(**names)
    assert not missing
    return modules["hush.batch.kernels"].KERNELS, modules["hush.batch.looks"].LOOKS


def room(values: Iterable[Any], kind: str, secret: bool = False) -> Room:
    """Return memory with these numbers in it."""
    return Room([Number(float(value) if kind == FLOAT else int(value), kind, secret) for value in values])


KINDS = {
    **dict.fromkeys(("integers", "excess", "scratch"), UNSIGNED),
    **dict.fromkeys(("people", "places", "output"), SIGNED),
    **dict.fromkeys(("floats", "lows", "spans", "inverses", "scratch_floats"), FLOAT),
}


def tracked_job(job: Job, columns: Iterable[Any]) -> Any:
    """Return a job for `tracked_kernels`. The columns are the arrays behind the addresses."""
    return SimpleNamespace(
        columns=_columns(columns), **{name: room(getattr(job, name), kind) for name, kind in KINDS.items()}
    )


def tracked_scene(scene: Scene, columns: Iterable[Any]) -> Any:
    """Return a scene for the views of `tracked_kernels`. The columns are the arrays behind the addresses."""
    floats = {name: room(getattr(scene, name), FLOAT) for name in ("lows", "spans", "floats", "numbers")}
    people, categories = room(scene.people, SIGNED), room(scene.categories, SIGNED)
    return SimpleNamespace(columns=_columns(columns), people=people, categories=categories, **floats)


def _columns(columns: Iterable[Any]) -> Room:
    return Room([room(column.ravel(), FLOAT if column.dtype == np.float64 else SIGNED, True) for column in columns])
