"""How fast a relay takes sealed reports, and a collector opens them: `python benchmarks/relay.py`.

All figures are ratios within one run:

- taken, one by one: requests per second of a relay, which answers when the report is on disk, against a Starlette
  endpoint that reads the body and does nothing (`collector_peers.py`). Processor time of both servers is compared too.
- taken in requests of 100: reports per second, against the same endpoint with requests of the same size.
- opened: reports per second and core by `Opener`, against the bare operations that it cannot do without: one X25519
  agreement and one AES-128-GCM decryption of `cryptography`. And what counting a batch adds.

`--keep` writes docs/measured/relay.json: docs/collector-figures.md has a table of it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from measure import machine, race, write

import hush
from collector import Served, measured, peer, settle
from hush.collector.http.sealed import opened
from hush.collector.keys import Keys
from hush.collector.opening import Opener
from hush.core.sealing import KEY_SIZE, SealedBatch, batch_id, info, keys, sealed_size
from hush.relay.mixing import seal

SCHEMA = hush.Schema([hush.Numeric("age", 0, 120), hush.Categorical("os", ["linux", "mac", "other"])])
MANY, CONNECTIONS, BATCH = 100, 64, 500


@contextmanager
def relay(plan: hush.Plan, key: hush.CollectorKey, folder: Path) -> Iterator[Served]:
    """Run a relay whose collector is never there: it only takes."""
    (folder / "plan.json").write_text(plan.to_json())
    command = [sys.executable, "-m", "hush", "relay", str(folder / "plan.json"), "--port", "0"]
    command += ["--collector", "http://127.0.0.1:9", "--key", key.public.hex(), "--least", "60000", "--own", "0"]
    command += ["--store", str(folder / "relay.db"), "--every", "1h", "--rate", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)$", process.stdout.readline().strip())
        assert found is not None, "the relay did not start"
        settle(process.pid)
        yield Served(int(found[1]), process.pid)
    finally:
        process.terminate()
        process.wait(60)


def requests(path: str, size: int, key: hush.CollectorKey) -> Callable[[], bytes]:
    """Return a maker of requests with ever new bytes: a relay cannot distinguish them from sealed reports."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
    head += f"Hush-Key: {key.public.hex()}\r\n"
    start = f"{head}Content-Length: {size}\r\n\r\n".encode()
    return lambda: start + os.urandom(size)


def taking(plan: hush.Plan, key: hush.CollectorKey, seconds: float) -> list[dict[str, float]]:
    """Compare a relay with an endpoint that does nothing, in turns."""
    rows = []
    with tempfile.TemporaryDirectory() as name, relay(plan, key, Path(name)) as ours, peer("nothing") as bare:
        for many in (1, MANY):
            size = many * sealed_size(plan)
            found = {"relay": [0.0, 0.0], "bare": [0.0, 0.0]}
            for _ in range(3):
                for label, at, path in (
                    ("relay", ours, f"/sealed/{plan.id}"),
                    ("bare", bare, f"/plans/{plan.id}/reports"),
                ):
                    result = measured(at, requests(path, size, key), CONNECTIONS, seconds / 3)
                    if result["per_second"] > found[label][0]:
                        found[label] = [result["per_second"], result["server_us"]]
            (rate, cost), (bare_rate, bare_cost) = found["relay"], found["bare"]
            rows.append(
                {
                    "reports": many,
                    "per_second": round(rate * many),
                    "to_nothing": round(rate / bare_rate, 2),
                    "time_to_nothing": round(cost / max(bare_cost, 0.1), 2),
                }
            )
            print(
                f"taken, {many} a request: {rate * many:,.0f} reports/s, {rate / bare_rate:.2f} of a bare endpoint's; "
                f"{cost / max(bare_cost, 0.1):.1f} times its processor time"
            )
    return rows


def opening(plan: hush.Plan, opener: Opener, secret: bytes) -> dict[str, float]:
    """Compare opening with the operations that it needs."""
    sealed = [seal(hush.randomise(plan, {"age": 30, "os": "mac"}), opener.key) for _ in range(BATCH)]
    body = SealedBatch(opener.key, 0, tuple(sealed)).encode()
    private = X25519PrivateKey.from_private_bytes(secret)
    ready = []
    for one in sealed:
        shared = private.exchange(X25519PublicKey.from_public_bytes(one[:KEY_SIZE]))
        ready.append((one[:KEY_SIZE], one[KEY_SIZE:], *keys(shared, one[:KEY_SIZE], opener.key.public, info(plan))))

    def bare() -> None:
        for sent, hidden, symmetric, nonce in ready:
            private.exchange(X25519PublicKey.from_public_bytes(sent))
            AESGCM(symmetric).decrypt(nonce, hidden, b"")

    def open_all() -> None:
        for one in sealed:
            opener.open(plan, one)

    id_ = batch_id(body)
    actions = {"bare": bare, "open": open_all, "count": lambda: opened(Keys([secret]), plan, body, id_)}
    best = race(actions, 5)
    print(
        f"opened: {BATCH / best['open']:,.0f} reports/s and core, {best['bare'] / best['open']:.2f} of bare X25519 and "
        f"AES-GCM; counted too: {BATCH / best['count']:,.0f}, {best['bare'] / best['count']:.2f}"
    )
    return {
        "per_second": round(BATCH / best["open"]),
        "to_bare": round(best["bare"] / best["open"], 2),
        "counted_to_bare": round(best["bare"] / best["count"], 2),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--keep", action="store_true", help="write docs/measured/relay.json")
    options = parser.parse_args()
    plan, secret = hush.design(SCHEMA, 4.0, title="benchmark"), os.urandom(KEY_SIZE)
    opener = Opener(secret)
    results = {
        "machine": machine(),
        "opened": opening(plan, opener, secret),
        "taken": taking(plan, opener.key, options.seconds),
    }
    print(results["machine"])
    write("relay", results, options.keep)


if __name__ == "__main__":
    main()
