"""Kinds of questions: public mappings from the values that people have to numbers and categories.

Each kind is an attribute of the numeric or categorical sort with its own rule for values, and everything behind the
schema treats it as such. The rule is part of the plan, so the plan's id covers it. It is applied by `encode`, before
any randomness is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hush.core import codec
from hush.core.schema import KINDS, MAX_CODE, MISSING, Categorical, Numeric
from hush.errors import RecordError, SchemaError

NO, YES = "no", "yes"
NOT_WHOLE = "must be a whole number"
NOT_A_BOOLEAN = "must be True or False (0 and 1 are numbers)"


@dataclass(frozen=True, init=False, repr=False)
class Boolean(Categorical):
    """Yes or no. Records have True or False; the estimates are the shares of "no" and "yes".

    Numbers and texts are errors, also 0, 1 and "yes". numpy's booleans are taken. With `optional=True` a missing value
    (None, or no entry) is one more category.
    """

    kind: ClassVar[str] = "boolean"

    def __init__(self, name: str, optional: bool = False) -> None:
        # The two integers stand in for the booleans until all is checked; a list of values has none.
        super().__init__(name, (0, 1), optional)
        object.__setattr__(self, "values", (False, True))
        object.__setattr__(self, "_type", bool)

    def __repr__(self) -> str:
        return f"Boolean(name={self.name!r}, optional={self.optional!r})"

    @property
    def labels(self) -> Sequence[str | int]:
        """The categories whose shares are estimated: "no", "yes", and `MISSING` if the attribute is optional."""
        return (NO, YES, MISSING) if self.optional else (NO, YES)

    def _encode_unusual(self, value: object) -> int:
        # numpy's own boolean is neither bool nor a number. The core does not import numpy.
        if getattr(getattr(value, "dtype", None), "kind", "") == "b" and getattr(value, "ndim", None) == 0:
            return int(bool(value))
        raise RecordError(f"attribute {self.name!r}: {NOT_A_BOOLEAN}")

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as JSON values."""
        return {"kind": self.kind, "name": self.name, "optional": self.optional}

    @classmethod
    def from_json(cls, value: Any) -> Boolean:
        """Read an attribute back, strictly."""
        _, name, optional = codec.fields(value, ("kind", "name", "optional"), SchemaError, "a boolean attribute")
        return cls(name, optional)


@dataclass(frozen=True, init=False, repr=False)
class Integer(Numeric):
    """A whole number from low to high, such as a count, an age in years, or a scale from 1 to 10.

    It is a number whose records have no fraction: 3.0 counts as 3, and 2.5 is an error. The mean is estimated as that
    of any number. Bins of its distribution, the bands of a range, and quantiles are whole numbers. A number outside is
    an error, or with `out_of_range="clip"` counts as the nearer bound. `optional` is as for `Numeric`.
    """

    kind: ClassVar[str] = "integer"
    whole: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        low: int,
        high: int,
        out_of_range: Literal["error", "clip"] = "error",
        optional: bool = False,
    ) -> None:
        super().__init__(name, low, high, out_of_range, optional)
        if not all(bound.is_integer() and abs(bound) <= MAX_CODE for bound in (self.low, self.high)):
            raise SchemaError(f"attribute {name!r}: low and high must be whole numbers, below 2^53 in size")

    def __repr__(self) -> str:
        fields = f"name={self.name!r}, low={int(self.low)}, high={int(self.high)}, out_of_range={self.out_of_range!r}"
        return f"{type(self).__name__}({fields}, optional={self.optional!r})"

    @property
    def outside(self) -> str:
        """The rule for a number outside the bounds."""
        return f'must be from {int(self.low)} to {int(self.high)} (or declare it with out_of_range="clip")'

    @property
    def examples(self) -> tuple[object, object, object]:
        """The lowest value, one in the middle, and the highest, as records have them."""
        low, high = int(self.low), int(self.high)
        return low, (low + high) // 2, high

    def _number(self, value: object) -> float:
        number = super()._number(value)
        if not number.is_integer():  # and no long integer is made of a large number, which would take its time
            raise RecordError(f"attribute {self.name!r}: {NOT_WHOLE}")
        return number

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as JSON values."""
        return {name: value for name, value in super().to_json().items() if name not in ("scale", "unit")}

    @classmethod
    def from_json(cls, value: Any) -> Integer:
        """Read an attribute back, strictly."""
        names = ("kind", "name", "low", "high", "out_of_range", "optional")
        codec.fields(value, names, SchemaError, "an integer attribute")
        plain = Numeric.from_json(value | {"scale": "linear", "unit": None})  # checks how bounds are written
        return cls(plain.name, plain.low, plain.high, plain.out_of_range, plain.optional)  # type: ignore[arg-type]


KINDS |= {kind.kind: kind for kind in (Boolean, Integer)}
