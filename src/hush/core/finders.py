"""Find a value in a list, in the same time for every value of the list."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from hush.core.lists import Listed
from hush.core.naming import MAX_CODE


class Texts:
    """The position of each of a list of texts, found in the same time for all of them.

    Texts are padded to one length and one width of characters before they are hashed, because a longer text takes
    longer to hash. Only hashes are kept: padded texts could take a thousand times the memory of a plan. Python keys the
    hashes by a secret, so no plan can make them collide. If two collide by chance, another padding separates them.
    """

    def __init__(self, values: Sequence[str]) -> None:
        self._values, self._longest = values, max(map(len, values))
        self._places: dict[int, int] = {}
        while len(self._places) < len(values):
            self._longest += 1
            self._places = {hash(self.padded(value)): place for place, value in enumerate(values)}

    def padded(self, value: str) -> bytes:
        """Return a text in as many bytes as all others."""
        # No declared text holds either character, so that no two become equal. The first one is as wide as any: Python
        # would keep, pad and encode a text in as many bytes for each character as its widest one needs.
        # A longer text is no declared one, and is cut: it takes no longer than others.
        cut = value[: self._longest + 1]
        return (cut + "\U0010ffff").ljust(self._longest + 2, "\0").encode("utf-32-le", "surrogatepass")

    def __call__(self, value: str) -> int | None:
        # A text that is not declared is compared with the first one, so that it takes the same steps.
        place = self._places.get(hash(self.padded(value)), 0)
        return place if self._values[place] == value else None


class Later:
    """Finds texts of a list that may be read after the plan: the table is made at the first search."""

    def __init__(self, listed: Listed) -> None:
        self._listed, self._find = listed, None

    def __call__(self, value: str) -> int | None:
        find: Texts | None = self._find
        if find is None:
            find = self._find = Texts(self._listed.values)  # type: ignore[assignment]
        return find(value)


class Codes:
    """The position of each of a list of integers, found in equally many steps for all of them.

    A dictionary would hash an integer to itself, so a plan could make integers collide, and some would take a thousand
    steps.
    """

    def __init__(self, values: Sequence[int]) -> None:
        rest = (1 << len(values).bit_length()) - 1 - len(values)
        # Among 2^m - 1 integers a search halves the rest m times, wherever it ends.
        self._sorted = [*sorted(values), *[MAX_CODE + 1] * rest]
        self._places = sorted(range(len(values)), key=values.__getitem__)

    def __call__(self, value: int) -> int | None:
        at = bisect_right(self._sorted, value) - 1
        return self._places[at] if 0 <= at < len(self._places) and self._sorted[at] == value else None
