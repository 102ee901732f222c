"""Our pool of PostgreSQL sessions against psycopg's newest: `python benchmarks/sessions.py URL --keep`.

It needs `psycopg_pool`, which hush does not. Each pool lends a session for a query that reads one number, in turns, the
best of several rounds: ours with the watch over it, psycopg's without a check and with its check of every loan. Then
each is asked for a session of a server that is not there, and of one that is (a restart): how long it takes until the
error, and its words. `--keep` writes docs/measured/sessions.json.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable
from typing import Any

import psycopg_pool
from measure import machine, race, write

from hush.collector.stores.postgres_connections import DEFAULTS, Pool
from hush.collector.stores.postgres_watchdog import Watch
from hush.errors import StoreError

NOWHERE = "postgresql://nobody@127.0.0.1:9/none"
TIMES, ROUNDS = 500, 7
PATIENCE = 5.0  # seconds: as our pool waits for a free session


def ours(url: str) -> tuple[Callable[[], object], Callable[[], None]]:
    """Return what asks our pool, and what closes it."""
    watch = Watch()
    pool = Pool(url, watch)

    def close() -> None:
        watch.close()
        pool.close()

    return lambda: pool.rows("select 1"), close


def theirs(kind: type[Any], check: bool) -> Callable[[str], tuple[Callable[[], object], Callable[[], None]]]:
    """Return what makes a pool of psycopg, as `ours` does."""

    def make(url: str) -> tuple[Callable[[], object], Callable[[], None]]:
        pool = kind(
            url,
            min_size=0 if kind is psycopg_pool.NullConnectionPool else 1,
            max_size=4,
            timeout=PATIENCE,
            kwargs={"autocommit": True, **DEFAULTS},
            check=kind.check_connection if check else None,
            open=True,
        )

        def ask() -> object:
            with pool.connection() as db:
                return db.execute("select 1").fetchall()

        return ask, pool.close

    return make


WAYS: dict[str, Callable[[str], tuple[Callable[[], object], Callable[[], None]]]] = {
    "hush": ours,
    "psycopg_pool": theirs(psycopg_pool.ConnectionPool, check=False),
    "psycopg_pool, checked": theirs(psycopg_pool.ConnectionPool, check=True),
    "psycopg_pool, null": theirs(psycopg_pool.NullConnectionPool, check=False),
}


def refusal(make: Callable[[str], tuple[Callable[[], object], Callable[[], None]]]) -> dict[str, Any]:
    """Return how long a pool takes to say that a server is not there, and what it says."""
    ask, close = make(NOWHERE)
    began = time.perf_counter()
    try:
        ask()
    except (StoreError, Exception) as error:  # noqa: BLE001 - whatever it says is what is measured
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
    else:
        said = "nothing"
    found = {"seconds": round(time.perf_counter() - began, 3), "said": said, "reason": "refused" in said}
    close()
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("url", help="a database")
    parser.add_argument("--keep", action="store_true", help="write docs/measured/sessions.json")
    options = parser.parse_args()
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
    made = {name: make(options.url) for name, make in WAYS.items()}

    def many(ask: Callable[[], object]) -> Callable[[], object]:
        return lambda: [ask() for _ in range(TIMES)]

    best = race({name: many(ask) for name, (ask, _) in made.items()}, ROUNDS, time.perf_counter)
    for _, close in made.values():
        close()
    results: dict[str, Any] = {"machine": machine(), "version": psycopg_pool.__version__}
    for name, make in WAYS.items():
        row = {"loan_us": round(1e6 * best[name] / TIMES), "of_ours": round(best[name] / best["hush"], 2)}
        results[name] = row | refusal(make)
        print(name, results[name])
    write("sessions", results, options.keep)


if __name__ == "__main__":
    main()
