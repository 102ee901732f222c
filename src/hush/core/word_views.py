"""Views of choices and texts.

**Members.** Of choices, a question may look at one value: is it among those that the person holds, yes or no?

**Prefixes.** Of a text, a question may look at its first bits, hashed to one of K points (`hush.core.texts`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hush.core import codec
from hush.core.looking import Look, View
from hush.core.schema import Attribute, Categorical, Choices, Input, Points, Schema
from hush.core.texts import MAX_BITS, Text, mixed
from hush.errors import PlanError

MAX_CHUNK = 24  # bits of one chunk of a prefix
MAX_CHUNKS = 32
MAX_POINTS = 1 << 22
NO, YES = "no", "yes"


@dataclass(frozen=True)
class Member(View):
    """Whether a person holds one value of choices."""

    attribute: str
    value: str

    kind: ClassVar[str] = "member"

    def __post_init__(self) -> None:
        if type(self.value) is not str:
            raise PlanError(f"attribute {self.attribute!r}: the value of a member must be a string")

    @property
    def of(self) -> tuple[str, ...]:
        """The attribute."""
        return (self.attribute,)

    @property
    def words(self) -> str:
        """The attribute, and which of its values is asked."""
        return f"{self.attribute}: {self.value}"

    def place(self, schema: Schema) -> int:
        """Return the place of the value in the list of choices."""
        choices = schema[self.attribute]
        if not isinstance(choices, Choices):
            raise PlanError(f"attribute {self.attribute!r}: a member is one of choices, and these are none")
        if self.value not in choices.values:
            raise PlanError(f"attribute {self.attribute!r}: the value of a member must be one of its choices")
        return choices.values.index(self.value)

    def seen(self, schema: Schema) -> Attribute:
        """Return the answer as a category: no, yes, or missing if the choices may be."""
        self.place(schema)
        name = f"{self.attribute[:60]}: {self.value[:60]}"
        return Categorical(name, (NO, YES), schema[self.attribute].optional)

    def look(self, schema: Schema) -> Look:
        """Return the function that reads the mark of the value."""
        attribute, member = schema.names.index(self.attribute), self.place(schema)

        def look(inputs: Sequence[Input]) -> Input:
            marks: Any = inputs[attribute]
            return int(marks[member])

        return look

    def to_json(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return {**super().to_json(), "value": self.value}


@dataclass(frozen=True)
class Prefix(View):
    """The first bits of a text, chunk after chunk, hashed to one of some points.

    A chunk of 0 bits makes another hash of the same prefix.
    """

    attribute: str
    chunks: tuple[int, ...]
    points: int

    kind: ClassVar[str] = "prefix"

    def __post_init__(self) -> None:
        if type(self.chunks) is not tuple or not 1 <= len(self.chunks) <= MAX_CHUNKS:
            raise PlanError(f"attribute {self.attribute!r}: a prefix has 1 to {MAX_CHUNKS} chunks")
        for chunk in self.chunks:
            codec.integer(chunk, 0, MAX_CHUNK, PlanError, "the bits of a chunk")
        codec.integer(self.points, 2, MAX_POINTS, PlanError, "the points of a prefix")

    @property
    def of(self) -> tuple[str, ...]:
        """The attribute."""
        return (self.attribute,)

    @property
    def words(self) -> str:
        """The attribute, and how many bits are asked for."""
        again = " once more" if self.chunks[-1] == 0 else ""
        return f"{self.attribute}: first {sum(self.chunks)} bits{again}"

    def seen(self, schema: Schema) -> Attribute:
        """Return the point as a category, "missing" last if the text is optional."""
        text = _text(schema, self.attribute)
        if sum(self.chunks) > text.bits:
            raise PlanError(f"attribute {self.attribute!r}: a prefix has at most the {text.bits} bits of the text")
        return Points(text.name, self.points, text.optional)

    def look(self, schema: Schema) -> Look:
        """Return the function that mixes the chunks."""
        place, bits = schema.names.index(self.attribute), _text(schema, self.attribute).bits
        steps, at = [], bits
        for level, chunk in enumerate(self.chunks):
            at -= chunk
            steps.append((at, (1 << chunk) - 1, level))
        points = self.points

        def look(inputs: Sequence[Input]) -> Input:
            code: Any = inputs[place]
            state, known = 0, 0 if code is None else code
            for shift, mask, level in steps:
                state = mixed(state, known >> shift & mask, level)
            return points if code is None else state % points

        return look

    def to_json(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return {**super().to_json(), "chunks": list(self.chunks), "points": self.points}


@dataclass(frozen=True)
class Among(View):
    """Which of some listed texts a person's text is, or none of them: for a second round."""

    attribute: str
    values: tuple[str, ...]

    kind: ClassVar[str] = "among"

    @property
    def of(self) -> tuple[str, ...]:
        """The attribute."""
        return (self.attribute,)

    @property
    def words(self) -> str:
        """The attribute, and how many texts are listed."""
        return f"{self.attribute}: one of {len(self.values)} texts"

    def codes(self, schema: Schema) -> list[int]:
        """Return the codes of all listed texts, which must differ, and be whole texts in their normal form."""
        text = _text(schema, self.attribute)
        if type(self.values) is not tuple or not all(type(value) is str for value in self.values):
            raise PlanError(f"attribute {self.attribute!r}: the listed texts must be strings")
        found = [text.encode(value) or 0 for value in self.values]
        for value, code in zip(self.values, found, strict=True):
            if text.normal(value) != value or text.read(code, text.bits) != (value, True):
                raise PlanError(f"attribute {self.attribute!r}: a listed text is cut, or not in its normal form")
        return found

    def seen(self, schema: Schema) -> Attribute:
        """Return the listed texts as categories, then one for all others, then "missing" if the text is optional."""
        text = _text(schema, self.attribute)
        self.codes(schema)
        return Categorical(text.name, self.values, text.optional, other=True)

    def look(self, schema: Schema) -> Look:
        """Return the function that finds the text."""
        place, codes = schema.names.index(self.attribute), self.codes(schema)
        order = sorted(range(len(codes)), key=codes.__getitem__)
        rest = (1 << len(codes).bit_length()) - 1 - len(codes)
        limits = [*(codes[i] for i in order), *[1 << MAX_BITS] * (rest + 1)]
        places, others = [*order, *[-1] * (rest + 1)], len(codes)

        def look(inputs: Sequence[Input]) -> Input:
            code: Any = inputs[place]
            known = 0 if code is None else code
            at = bisect_left(limits, known, 0, len(limits) - 1)
            found = places[at] if limits[at] == known else others
            return others + 1 if code is None else found

        return look

    def to_json(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return {**super().to_json(), "values": list(self.values)}


def _text(schema: Schema, name: str) -> Text:
    attribute = schema[name]
    if not isinstance(attribute, Text):
        raise PlanError(f"attribute {name!r}: this view is of a text, and it is none")
    return attribute
