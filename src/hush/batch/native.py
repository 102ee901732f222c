"""Functions that the kernels need and Numba lacks: wide products, bit counts, plain pointers, branchless choices.

Each function is one or two machine instructions. Kernels pass plain pointers to the functions they call: for arrays
Numba would count references at every call, which costs more than the call. `compiled` builds every kernel: cached on
disk, so that a machine compiles it once, and without Python's global lock, so that threads run side by side.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numba
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

_I64, _I128, _F64 = ir.IntType(64), ir.IntType(128), ir.DoubleType()
_FEATURES = binding.get_host_cpu_features()

FUSES: bool = platform.machine() not in ("x86_64", "AMD64") or _FEATURES.get("fma", False)
"""Whether the processor has an instruction for `fused`."""


def compiled(function: F) -> F:
    """Compile a function with Numba when it is first called."""
    return _compile(function)


def inlined(function: F) -> F:
    """Compile a function into those that call it."""
    return _compile(function, forceinline=True)


def reordering(function: F) -> F:
    """Compile a function whose sums may be taken in any order, for speed. Do not use it for drawing reports."""
    return _compile(function, fastmath={"reassoc", "contract", "nsz"})


def _compile(function: F, **options: Any) -> F:
    try:
        kernel: Any = numba.njit(cache=True, nogil=True, **options)(function)
        # To see whether its cache is still valid, Numba checks only the file of the kernel itself. A kernel consists of
        # functions from several files, so the stamp here covers all of them.
        file = kernel._cache._cache_file  # noqa: SLF001 - Numba offers nothing public
        file._source_stamp = _sources() if file._source_stamp else ""  # noqa: SLF001 - the same
    except (RuntimeError, AttributeError):
        # No folder is writable, or this Numba keeps its stamp elsewhere: every process compiles the kernel.
        kernel = numba.njit(nogil=True, **options)(function)
    compiled_kernel: F = kernel
    return compiled_kernel


class Kept(NamedTuple):
    """The place of a kernel's compiled form, and whether it is there already."""

    folder: str
    compiled: bool


def kept(kernel: Any) -> Kept | None:
    """Return where a kernel is kept, or None if every process compiles it."""
    try:
        cache = kernel._cache  # noqa: SLF001 - the same
        return Kept(str(cache.cache_path), bool(cache._cache_file._load_index()))  # noqa: SLF001 - the same
    except AttributeError:
        return None


def ready(*kernels: Any) -> bool:
    """Return whether kernels need not be compiled: this process has them, or an earlier one kept them."""
    return all(_is_ready(kernel) for kernel in kernels)


def _is_ready(kernel: Any) -> bool:
    if getattr(kernel, "signatures", True):  # without Numba's compiler there is nothing to wait for
        return True
    place = kept(kernel)
    return place is not None and place.compiled


@cache
def _sources() -> str:
    """Return a hash of the sources of all kernels."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@intrinsic  # type: ignore[untyped-decorator]
def wide(typing: Any) -> Any:
    """Let the compiler use instructions of 512 bits in the function that calls this, if they cost no speed elsewhere.

    Older processors lower their clock for them, AES included, so LLVM takes 256 bits unless told. Where AES itself has
    such instructions (VAES), the keystream uses them anyway.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if _FEATURES.get("vaes") and _FEATURES.get("avx512dq"):
            # llvmlite knows no attributes with values, but prints what is in the set
            set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.none(), build


@intrinsic  # type: ignore[untyped-decorator]
def high(typing: Any, a: Any, b: Any) -> Any:
    """Return the upper 64 bits of the product of two 64-bit integers."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = [builder.zext(argument, _I128) for argument in arguments]
        return builder.trunc(builder.lshr(builder.mul(*wide), ir.Constant(_I128, 64)), _I64)

    return types.uint64(types.uint64, types.uint64), build


@intrinsic  # type: ignore[untyped-decorator]
def ones(typing: Any, word: Any) -> Any:
    """Return how many bits of a 64-bit integer are 1."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), build


@intrinsic  # type: ignore[untyped-decorator]
def lowest(typing: Any, word: Any) -> Any:
    """Return the position of the lowest 1 of a 64-bit integer that is not 0."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), build


@intrinsic  # type: ignore[untyped-decorator]
def highest(typing: Any, word: Any) -> Any:
    """Return the position of the highest 1 of a 64-bit integer that is not 0."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.sub(ir.Constant(_I64, 63), builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1)))

    return types.uint64(types.uint64), build


@intrinsic  # type: ignore[untyped-decorator]
def backwards(typing: Any, word: Any) -> Any:
    """Return the 64 bits of an integer in reverse order."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitreverse(arguments[0])

    return types.uint64(types.uint64), build


@intrinsic  # type: ignore[untyped-decorator]
def flag(typing: Any, condition: Any) -> Any:
    """Return 1 if a condition holds, else 0, in a way that the compiler cannot turn into a branch.

    A mispredicted branch takes longer, so timing would reveal its direction; and random choices are mispredicted half
    of the time. The empty piece of assembly hides from the compiler that the number is 0 or 1.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = builder.zext(arguments[0], _I64)
        return builder.asm(ir.FunctionType(_I64, [_I64]), "", "=r,0", [number], False)

    return types.uint64(types.boolean), build


@intrinsic  # type: ignore[untyped-decorator]
def mark(typing: Any, condition: Any) -> Any:
    """Return 1 if a condition holds, else 0, as `flag` does. Use it in loops over several people at once alone.

    Nothing is hidden from the compiler, so that it can take several people together. Then it cannot make a branch.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(arguments[0], _I64)

    return types.uint64(types.boolean), build


@intrinsic  # type: ignore[untyped-decorator]
def blend(typing: Any, condition: Any, first: Any, second: Any) -> Any:
    """Return the first of two floats if a condition holds, else the second. For loops over several people at once."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return types.float64(types.boolean, types.float64, types.float64), build


def _of_two_floats(name: str) -> Any:
    def typed(typing: Any, a: Any, b: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(_F64, [_F64, _F64])
            return builder.call(builder.module.declare_intrinsic(name, (_F64,), kind), arguments)

        return types.float64(types.float64, types.float64), build

    return intrinsic(typed)


lesser = _of_two_floats("llvm.minnum")
"""Return the lesser of two floats, the other one if one is NaN. Never a branch, unlike a choice by `if`."""

greater = _of_two_floats("llvm.maxnum")
"""Return the greater of two floats, the other one if one is NaN. Never a branch, unlike a choice by `if`."""


@intrinsic  # type: ignore[untyped-decorator]
def fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c, rounded once. Without an instruction for it (`FUSES`) it takes long."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), build


@inlined
def public(value: Any) -> Any:
    """Return a value that code may branch on, although random words made it.

    Either it decides, from the words alone, whether words are drawn again; or it was drawn without the record and is in
    the report anyway. `tests/batch/test_alike.py` finds every other branch on a record or a word.
    """
    return value


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing: Any, array: Any) -> Any:
    """Return a pointer to the first element of an array, which the caller must keep alive."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(array)(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), build


@intrinsic  # type: ignore[untyped-decorator]
def shifted(typing: Any, start: Any, count: Any) -> Any:
    """Return a pointer that is `count` elements further."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return start(start, types.int64), build


def _pointer_from(kind: Any) -> Any:
    def typed(typing: Any, address: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(types.CPointer(kind)))

        return types.CPointer(kind)(types.uint64), build

    return intrinsic(typed)


floats_at = _pointer_from(types.float64)
"""Return a pointer to the float64 array at an address."""

shorts_at = _pointer_from(types.int16)
"""Return a pointer to the int16 array at an address."""

ints_at = _pointer_from(types.int32)
"""Return a pointer to the int32 array at an address."""

words_at = _pointer_from(types.uint64)
"""Return a pointer to the uint64 array at an address."""
