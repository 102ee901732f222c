"""Numbers from a lowest to a highest."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Literal

from hush.core import codec
from hush.core.naming import ABSENT, MAX_CODE, check_flag, check_name
from hush.errors import RecordError, SchemaError

# The rules for a value, as error messages word them. `hush.batch` uses the same words for whole columns.
NOT_A_NUMBER = "must be a number (int or float)"
NAN = "must not be NaN"
INFINITE = "must be finite"


def short(number: float) -> str:
    """Return a number as people write it: 24, not 24.0."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


@dataclass(frozen=True)
class Numeric:
    """A number from low to high. Means are estimated on this scale.

    A number outside is an error, or with `out_of_range="clip"` counts as the nearer bound. NaN and
    infinities are always errors. With `optional=True` a missing value (None, or no entry) is an answer like
    any other, and just as private: hush estimates both the share of missing values and the mean of the present.

    `scale="log"` is for a range that is far wider than where people are, such as incomes up to ten million. hush then
    estimates the mean clipped where its reports say that people are, and states the clip. `unit` is a size below which
    numbers need not be told apart; by default it is a 32,768th of the range.
    """

    name: str
    low: float
    high: float
    out_of_range: Literal["error", "clip"] = "error"
    optional: bool = False
    scale: Literal["linear", "log"] = "linear"
    unit: float | None = None
    _absent: object = field(init=False, repr=False, compare=False)  # stands in for a missing value

    kind: ClassVar[str] = "numeric"
    whole: ClassVar[bool] = False
    """Whether its values are whole numbers."""

    def __post_init__(self) -> None:
        check_name(self.name)
        check_flag(self.optional, self.name)
        for bound in ("low", "high"):
            value = getattr(self, bound)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise SchemaError(f"attribute {self.name!r}: {bound} must be a number")
            try:
                number = float(value) + 0.0  # + 0.0 turns -0.0 into 0.0, so that zero is written in one way
            except OverflowError:
                number = math.inf
            object.__setattr__(self, bound, number)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise SchemaError(f"attribute {self.name!r}: low must be less than high, both finite")
        if not math.isfinite(self.high - self.low) or self.high - self.low < 1e-300:
            raise SchemaError(f"attribute {self.name!r}: high - low must be from 1e-300 to 1e308")
        if self.out_of_range not in ("error", "clip"):
            raise SchemaError(f'attribute {self.name!r}: out_of_range must be "error" or "clip"')
        if self.scale not in ("linear", "log"):
            raise SchemaError(f'attribute {self.name!r}: scale must be "linear" or "log"')
        if self.unit is not None:
            self._check_unit()
        object.__setattr__(self, "_absent", self.low)

    def _check_unit(self) -> None:
        unit = self.unit
        if self.scale != "log":
            raise SchemaError(f'attribute {self.name!r}: a unit is for scale="log"')
        try:
            size = float(unit) if isinstance(unit, Real) and not isinstance(unit, bool) else math.nan
        except OverflowError:
            size = math.inf
        if not 0 < size < self.high - self.low:
            raise SchemaError(f"attribute {self.name!r}: the unit must be a number above 0, and less than high - low")
        object.__setattr__(self, "unit", size)

    def encode(self, value: object) -> float | None:
        """Return the position of a value between low (0.0) and high (1.0), or None if it is missing.

        All numbers take the same steps, also clipped and missing ones. Otherwise a server that chose the bounds could
        learn from the time on which side of a bound a number lies.
        """
        missing = value is None
        if missing and not self.optional:
            raise RecordError(f"attribute {self.name!r}: {ABSENT}")
        number = self._number(self._absent if missing else value)
        if self.out_of_range == "error" and not self.low <= number <= self.high:
            raise RecordError(f"attribute {self.name!r}: {self.outside}")
        place = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return None if missing else place

    @property
    def outside(self) -> str:
        """The rule for a number outside the bounds."""
        return f'must be from {self.low!r} to {self.high!r} (or declare it with out_of_range="clip")'

    @property
    def examples(self) -> tuple[object, object, object]:
        """The lowest value, one in the middle, and the highest, as records have them."""
        return self.low, self.low / 2 + self.high / 2, self.high

    def named(self, number: float) -> str | None:
        """Return a number of this scale in the words of the question, or None if numbers are its words."""
        return None

    def length(self, size: float) -> str | None:
        """Return a difference of two numbers of this scale in words, or None if numbers are its words."""
        return None

    def spanned(self, first: float | None, last: float | None) -> str:
        """Return the whole numbers from a first to a last one in words. One of both may be None: there is no end."""
        ends = ["" if end is None else self.named(end) or short(end) for end in (first, last)]
        if first is None or last is None:
            return f"up to {ends[1]}" if first is None else f"above {self.named(first - 1) or short(first - 1)}"
        return ends[0] if first == last else f"{ends[0]} to {ends[1]}"

    def starts(self, bins: int) -> Sequence[int]:
        """Return the first values of at most so many bins of whole numbers, equally many in each but the last."""
        low, high = int(self.low), int(self.high)
        return range(low, high + 1, (high - low) // bins + 1)

    def near(self, cut: float, width: float) -> float:
        """Return the cut itself, or a handier one if bands are this wide: the last day of a year, for instance."""
        return cut

    def cut(self, value: object) -> float:
        """Return the number of a value at which a band may end. Others than numbers are read like those of records."""
        if isinstance(value, bool) or not isinstance(value, Real):
            raise SchemaError(f"attribute {self.name!r}: bands are a list of numbers, the cuts between them")
        return float(value) + 0.0

    def _number(self, value: object) -> float:
        """Return a value as a plain float. This float is compared with the bounds, and then used.

        Types such as numpy's float32 compare with the bounds in their own precision, and a subclass may define its
        own comparison. A number that passed such a comparison could lie outside the domain.
        """
        if type(value) is float or (type(value) is int and -MAX_CODE <= value <= MAX_CODE):
            plain = float(value)  # exactly; both types take the same steps, as a missing value is taken for a float
            if math.isfinite(plain):
                return plain
        if isinstance(value, bool) or not isinstance(value, Real):
            raise RecordError(f"attribute {self.name!r}: {NOT_A_NUMBER}")
        try:
            number = float(value) * 1.0
        except OverflowError:
            number = sys.float_info.max if value > 0 else -sys.float_info.max  # type: ignore[operator]
        if math.isnan(number):
            raise RecordError(f"attribute {self.name!r}: {NAN}")
        if math.isinf(number):
            raise RecordError(f"attribute {self.name!r}: {INFINITE}")
        return number

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as JSON values."""
        return {
            "kind": self.kind,
            "name": self.name,
            "low": self.low,
            "high": self.high,
            "out_of_range": self.out_of_range,
            "optional": self.optional,
            "scale": self.scale,
            "unit": self.unit,
        }

    @classmethod
    def from_json(cls, value: Any) -> Numeric:
        """Read an attribute back, strictly."""
        names = ("kind", "name", "low", "high", "out_of_range", "optional", "scale", "unit")
        _, name, low, high, rule, optional, scale, unit = codec.fields(value, names, SchemaError, "a numeric attribute")
        for bound in (low, high, *([] if unit is None else [unit])):
            if type(bound) is not float or math.copysign(1, bound) != math.copysign(1, bound + 0.0):
                raise SchemaError("bounds and the unit of a number must be written as floats, and 0 without a sign")
        return cls(name, low, high, rule, optional, scale, unit)
