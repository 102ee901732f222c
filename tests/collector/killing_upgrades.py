"""Many kills while stores are upgraded: `python -m tests.collector.killing_upgrades --kills 100`.

On SQLite and on PostgreSQL; then a tenth as many in which PostgreSQL itself is killed behind the process that upgrades.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator

from tests.collector import postgres
from tests.collector.places import Place
from tests.collector.upgrading import kills


def main() -> None:
    """Kill, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    options = parser.parse_args()
    for name, found in _results(options.kills):
        told = f"{found['undone']} upgrades were undone, {found['done']} done; nothing lost, nothing twice"
        print(
            f"{name}: {found['undone'] + found['done']} kills, at {found['statements']} statements: {told}", flush=True
        )


def _results(number: int) -> Iterator[tuple[str, dict[str, int]]]:
    with tempfile.TemporaryDirectory() as folder:
        yield "SQLite", kills(Place(f"sqlite://{folder}/hush.db"), number)
    with postgres.running() as server:
        if server is not None:
            yield "PostgreSQL", kills(Place(server.database()), number)

            def restart(turn: int) -> None:
                server.kill()
                server.start()

            few = max(2, number // 10)
            yield (
                "PostgreSQL, killed as well",
                kills(Place(server.database()), few, after=restart),
            )


if __name__ == "__main__":
    main()
