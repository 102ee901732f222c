"""Codes of people in the files of an extract: lines of fixed width, or CSV, compressed or not, in blocks.

Everything is a 64-bit integer here, without a decimal point, as the codebook writes codes; an empty field is BLANK.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from experiments.census import Array
from experiments.ddi import ExtractError, Variable

BLOCK = 1 << 23  # bytes read at a time
BLANK = int(np.iinfo(np.int64).min)  # no code is as small
LARGEST = 2.0**53  # beyond it, floats skip integers
Raw = dict[str, Array]


def is_csv(path: Path) -> bool:
    """Whether a file is CSV by its name; all others have lines of fixed width."""
    return ".csv" in path.suffixes


def blocks(path: Path, variables: list[Variable], width: int) -> Iterator[Raw]:
    """Yield the codes of some variables, some people at a time. `width`: of lines, without their ends."""
    try:
        if is_csv(path):
            yield from _csv(path, variables)
        else:
            opened = cast(Callable[[Path, str], IO[bytes]], gzip.open if path.suffix == ".gz" else open)
            with opened(path, "rb") as file:
                yield from _fixed(file, path.name, variables, width)
    except FileNotFoundError:
        raise ExtractError(f"{path.name}: not in the folder") from None
    except (EOFError, OSError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's, such as a permission; errors of compressed data have no number
        raise ExtractError(f"{path.name}: cut short or damaged; download it again") from None


def _fixed(file: IO[bytes], where: str, variables: list[Variable], width: int) -> Iterator[Raw]:
    rest, line = file.read(width + 2), 1
    if not rest:
        raise ExtractError(f"{where}: is empty")
    newline = b"\r\n" if rest[width : width + 2] == b"\r\n" else b"\n"
    stride, end = width + len(newline), np.frombuffer(newline, np.uint8)
    while True:
        read = file.read(BLOCK)
        block = rest + read
        if not read and len(block) % stride == width:
            block += newline  # the last line may go without
        count = len(block) // stride
        lines = np.frombuffer(block, np.uint8, count * stride).reshape(count, stride)
        # A line that is too short or too long puts ends of lines where they should not be.
        wrong = (lines[:, width:] != end).any(axis=1) | (lines[:, :width] == end[-1]).any(axis=1)
        rest = block[count * stride :]
        if wrong.any() or (not read and rest):
            at = line + (int(wrong.argmax()) if wrong.any() else count)
            raise ExtractError(
                f"{where}: line {at:,} is not {width} characters long, as the codebook says: is it cut off, or is the "
                "codebook another extract's?"
            )
        if count:
            yield {v.name: _integers(lines[:, v.start : v.end], v, where, line) for v in variables}
        line += count
        if not read:
            return


def _integers(text: Array, variable: Variable, where: str, line: int) -> Array:
    """Return the integers of a field: spaces, a sign if any, digits. A field of spaces is BLANK."""
    values = np.zeros(len(text), np.int64)
    digits = text - np.uint8(ord("0"))  # what is no digit is more than nine, as bytes wrap around
    if not (digits > 9).any():
        for place in range(text.shape[1]):
            values = values * 10 + digits[:, place]
        return values
    begun, signed, wrong = (np.zeros(len(text), bool) for _ in range(3))
    for place in range(text.shape[1]):
        digit, sign, space = digits[:, place] <= 9, text[:, place] == ord("-"), text[:, place] == ord(" ")
        wrong |= ~(digit | sign | space) | ((sign | space) & (begun | signed))
        values = np.where(digit, values * 10 + digits[:, place], values)
        begun |= digit
        signed |= sign
    wrong |= signed & ~begun
    if wrong.any():
        what = (
            "a decimal point, where the codebook says"
            if (text == ord(".")).any()
            else "no number, where it should have"
        )
        at = line + int(wrong.argmax())
        raise ExtractError(f"{where}: line {at:,}: {variable.name} has {what} {variable.decimals} implied decimals")
    return np.where(begun, np.where(signed, -values, values), BLANK)


def _csv(path: Path, variables: list[Variable]) -> Iterator[Raw]:
    import pyarrow as pa
    from pyarrow import csv

    names = [variable.name for variable in variables]
    types = {v.name: pa.float64() if v.decimals else pa.int64() for v in variables}
    try:
        with pa.input_stream(path, compression="detect") as stream:
            reader = csv.open_csv(
                stream,
                read_options=csv.ReadOptions(block_size=BLOCK, use_threads=False),  # so that errors know their line
                convert_options=csv.ConvertOptions(column_types=types, include_columns=names, null_values=[""]),
            )
            for batch in reader:
                if len(batch):
                    yield {v.name: _whole(batch.column(v.name), v, path.name) for v in variables}
    except (KeyError, pa.ArrowInvalid) as error:
        with pa.input_stream(path, compression="detect") as stream:
            header = stream.read(BLOCK).partition(b"\n")[0].decode(errors="replace").strip().replace('"', "").split(",")
        raise ExtractError(f"{path.name}: {_reason(str(error), header, names)}") from None


def _reason(message: str, header: list[str], names: list[str]) -> str:
    """Return what is wrong with a CSV file. Arrow's own words have values of people."""
    if absent := [name for name in names if name not in header]:
        return f"has no column {', '.join(absent)}, or is empty"
    row = re.search(r"Row #(\d+)", message)
    line = f"line {int(row[1]):,}" if row else "a line"
    if found := re.search(r"Expected (\d+) columns, got (\d+)", message):
        return f"{line} has {found[2]} fields instead of {found[1]}: is it cut off?"
    if found := re.search(r"CSV column #(\d+).*conversion error", message):
        name = header[int(found[1])]
        return f"{line}: {name} has something else than a number, or decimals that the codebook does not have"
    return "is no CSV file"


def _whole(column: Any, variable: Variable, where: str) -> Array:
    """Return a column of a CSV file without decimal points, which are written there: IPUMS implies none in CSV."""
    if not variable.decimals:
        return np.asarray(column.fill_null(BLANK).to_numpy(zero_copy_only=False))
    values = column.to_numpy(zero_copy_only=False) * 10.0**variable.decimals
    blank = np.isnan(values)
    whole = np.where(blank, 0, values).round()
    if np.any(np.abs(whole) > LARGEST) or np.any(np.abs(whole - np.where(blank, 0, values)) > 1e-3):
        raise ExtractError(f"{where}: {variable.name} has more than the {variable.decimals} decimals of the codebook")
    return np.where(blank, BLANK, whole.astype(np.int64))
