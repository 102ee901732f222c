"""Which version a store's tables have, which hush has written it, and what an operator reads if the two do not agree.

An upgrade is one transaction: the tables are brought to this version, everything that a start needs is read from them,
and only then it is committed. So a store that this hush cannot read is left as it was, for the hush that can.
"""

from __future__ import annotations

from dataclasses import dataclass

from hush import __version__
from hush.errors import StoreError

HERE = __version__


@dataclass(frozen=True)
class Version:
    """The number of a store's tables, and the last hush that has opened it; None if that did not write it down."""

    tables: int
    hush: str | None = None

    def __str__(self) -> str:
        """Return it in the words of an error."""
        return f"{'an older hush' if self.hush is None else f'hush {self.hush}'} (tables of version {self.tables})"

    def check(self, known: int) -> None:
        """Refuse tables that are newer than those that are known here."""
        if self.tables > known:
            writer = "a newer hush" if self.hush is None else f"hush {self.hush}"
            raise StoreError(
                f"this store was written by {writer} (tables of version {self.tables}); this is {here(known)}: install "
                "that hush, or go back to a copy from before its upgrade. The store is as it was"
            )

    def failed(self, known: int, why: object) -> StoreError:
        """Return the error of an upgrade that was undone. A store that is being made has nothing to lose."""
        if not self.tables:
            return StoreError(f"the store cannot be made: {why}")
        return StoreError(
            f"this store was written by {self}, and {here(known)} cannot open it: {why}. The store is as it was, for "
            "the hush that wrote it"
        )

    def differs(self, known: int) -> bool:
        """Return whether a store has to be written before it is used here."""
        return (self.tables, self.hush) != (known, HERE)


def here(known: int) -> Version:
    """Return the version that is known here."""
    return Version(known, HERE)
