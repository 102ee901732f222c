"""Relays that lose reports when they, or their collectors, are killed: tests.relay.careless early|forgetful."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence

from hush.cli import main
from hush.relay.store import Answer, Batch, RelayStore, Taken


class Early(RelayStore):
    """Says that reports are safe a moment before it writes them."""

    def commit(self, groups: Sequence[Taken]) -> list[Answer]:
        def later() -> None:
            time.sleep(0.3)
            super(Early, self).commit(groups)

        threading.Thread(target=later, daemon=True).start()
        return [len(sealed) for _, sealed in groups]


class Forgetful(RelayStore):
    """Deletes a batch as it hands it out."""

    def make(self, *arguments: object) -> Batch | None:
        found = super().make(*arguments)  # type: ignore[arg-type]
        if found is not None:
            self.acknowledged(str(arguments[0]), found.id)
        return found


if __name__ == "__main__":
    import hush.relay.store

    hush.relay.store.RelayStore = {"early": Early, "forgetful": Forgetful}[sys.argv.pop(1)]  # type: ignore[misc]
    sys.argv.insert(1, "relay")
    main()
