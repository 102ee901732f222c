"""Rows about means and shares: a list that prints as a table, and converts to a data frame.

It needs the standard library only; pandas, polars and Arrow are imported when a method needs them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, SupportsIndex, TypeVar, overload

from hush.core.schema import Numeric, Schema
from hush.errors import SchemaError
from hush.show.tables import Shown

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_SHOWN = 8


class Row(Protocol):
    """A row about a mean (category None) or a share: an estimate, a prediction, a bound."""

    @property
    def attribute(self) -> str:
        """Its attribute."""

    @property
    def category(self) -> str | int | None:
        """Its category."""


R = TypeVar("R", bound=Row)


class Rows(Shown, list[R]):
    """A list of rows, equal to any list of equal rows. Slices and copies have the same class; sums are plain lists.

    In data frames categories are texts, because only some attributes have integers as categories. The category of a
    mean is null. Unknown numbers are NaN.
    """

    _columns: ClassVar[Mapping[str, type]]  # the columns of a data frame: texts, integers, numbers
    _rare: ClassVar[tuple[str, ...]] = ()  # columns that are left out if no row has a value there
    _scaled: ClassVar[tuple[str, ...]] = ()  # columns that are values of the attribute, in rows without a category

    def __repr__(self) -> str:
        return self.table().shortened().text()

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> R: ...

    @overload
    def __getitem__(self, index: slice, /) -> Self: ...

    def __getitem__(self, index: SupportsIndex | slice, /) -> R | Self:
        found = super().__getitem__(index)
        return self.like(found) if isinstance(index, slice) else found  # type: ignore[arg-type, return-value]

    def copy(self) -> Self:
        """Return a copy."""
        return self.like(self)

    def of(self, *attributes: str) -> Self:
        """Return the rows of these attributes."""
        known = {row.attribute: None for row in self}
        for name in attributes:
            if name not in known:
                listed = ", ".join(map(repr, [*known][:_SHOWN])) + (", ..." if len(known) > _SHOWN else "")
                raise SchemaError(f"no attribute is called {name!r}; there are: {listed}")
        return self.like([row for row in self if row.attribute in attributes])

    def like(self, rows: list[R]) -> Self:
        """Return other rows with the same properties as these, such as their level."""
        made = type(self)(rows)
        vars(made).update(vars(self))
        return made

    @classmethod
    def columns(cls) -> list[str]:
        """Return the names of the columns of a data frame."""
        return list(cls._columns)

    # -- for other libraries

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row, with its category unchanged."""
        left = self._empty()
        return [{name: value for name, value in vars(row).items() if name not in left} for row in self]

    def worded(self, schema: Schema) -> list[dict[str, Any]]:
        """Return a dictionary for each row, like `to_dicts`, in which dates and times of day are texts."""
        found = self.to_dicts()
        for row in found:
            for name in self._scaled if row["category"] is None else ():
                if name in row:
                    row[name] = worded(schema, row["attribute"], row[name])
        return found

    def _empty(self) -> set[str]:
        """Return the rare columns in which no row has a value."""
        return {name for name in self._rare if all(getattr(row, name) is None for row in self)}

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame of pandas."""
        pd = _needed("pandas", "to_pandas() needs pandas: pip install pandas")
        kinds = {str: "string", int: "int64", float: "float64", bool: "bool"}
        return pd.DataFrame({name: pd.Series(values, dtype=kinds[kind]) for name, kind, values in self._listed()})

    def to_polars(self) -> polars.DataFrame:
        """Return a data frame of polars."""
        pl = _needed("polars", "to_polars() needs polars: pip install polars")
        kinds = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
        frame: polars.DataFrame = pl.DataFrame(
            [pl.Series(name, values, dtype=kinds[kind]) for name, kind, values in self._listed()]
        )
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """Return a table of Arrow."""
        pa = _needed("pyarrow", "to_arrow() needs pyarrow: pip install 'hush-ldp[batch]'")
        kinds = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
        return pa.table({name: pa.array(values, type=kinds[kind]) for name, kind, values in self._listed()})

    def _listed(self) -> list[tuple[str, type, list[Any]]]:
        """Return the name, the type and the values of each column."""
        found = []
        left = self._empty()
        for name, kind in self._columns.items():
            if name in left:
                continue
            values = [getattr(row, name) for row in self]
            absent = math.nan if kind is float else None
            found.append((name, kind, [absent if value is None else kind(value) for value in values]))
        return found


def worded(schema: Schema, name: str, value: float | None) -> float | str | None:
    """Return a value of an attribute in its words, if numbers are not its words."""
    attribute = schema[name]
    if value is None or not math.isfinite(value) or not isinstance(attribute, Numeric):
        return value
    return attribute.named(value) or value


def _needed(package: str, message: str) -> Any:
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(message, name=error.name) from None
