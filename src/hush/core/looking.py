"""What every view has: the attributes that it looks at, what it gives, and the function that a device evaluates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from hush.core.schema import Attribute, Input, Schema

Look = Callable[[Sequence[Input]], Input]
"""A function from the inputs of a whole record to the input of one view."""


class View(ABC):
    """A public function of one or two attributes."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def of(self) -> tuple[str, ...]:
        """The attributes that it looks at."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What it looks at, in a few words for people."""

    def told(self, schema: Schema) -> str:
        """Return these words with cuts in those of the attributes: dates, for instance."""
        return self.words

    @abstractmethod
    def seen(self, schema: Schema) -> Attribute:
        """Return what it gives, as an attribute. A view that does not suit the schema is refused."""

    @abstractmethod
    def look(self, schema: Schema) -> Look:
        """Return the function that a device evaluates. All that depends on the plan alone is computed here."""

    def to_json(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return {"kind": self.kind, "of": list(self.of)}
