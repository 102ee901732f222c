"""Vectors of sealed batches: what a relay sends, and what a collector reads in it."""

from __future__ import annotations

from typing import Any

from hush.core.report import Report
from hush.core.sealing import CollectorKey, SealedBatch, batch_id, info, pad
from hush.device.randomise import randomise_from
from hush.device.sealing import seal_with, x25519
from hush.testing import SeededCoins
from spec.good import record
from spec.plans import plans

SECRET = bytes(range(2, 34))


def sealed_batches() -> dict[str, Any]:
    """Batches of one plan, good and bad."""
    plan, other = plans()["grr"], plans()["subset"]
    key = CollectorKey(x25519(SECRET, (9).to_bytes(32, "little")))
    reports = [randomise_from(SeededCoins(seed), plan, record(plan, SeededCoins(seed + 40), None)) for seed in range(6)]

    def sealed(text: bytes, seed: int, bound: bytes = info(plan)) -> bytes:
        return seal_with(bytes(SeededCoins(seed).below(256) for _ in range(32)), text, key, bound)

    whole = [sealed(pad(report), seed + 60) for seed, report in enumerate(reports)]
    again = sealed(pad(reports[0]), 70)
    damaged = whole[1][:-1] + bytes([whole[1][-1] ^ 1])
    strange = sealed(pad(reports[2]), 71, info(other))
    empty = sealed(bytes(len(pad(reports[0]))), 72)
    good = [
        _good(key, 0, whole[:1], reports[:1], "one report"),
        _good(key, 2, whole, reports, "two of six are the relay's own"),
        _good(key, 3, whole[:3], reports[:3], "all are the relay's own"),
        _good(key, 0, [*whole[:2], again], reports[:2], "a report twice, sealed anew"),
        _good(key, 1, [damaged, strange, whole[3], empty], [reports[3]], "a bit differs; for another plan; zeros"),
    ]
    body = SealedBatch(key, 1, tuple(whole[:2])).encode()
    head = len(body) - len(whole[0]) - len(whole[1])
    bad = [
        {"body": body[:head].hex(), "why": "no report"},
        {"body": body[: head - 1].hex(), "why": "the head is cut off"},
        {"body": "", "why": "nothing"},
        {"body": body[:-1].hex(), "why": "a byte is missing"},
        {"body": (body + b"\0").hex(), "why": "a byte too many"},
        {"body": (body[:6] + bytes(32) + body[38:]).hex(), "why": "the key is zeros"},
        {"body": (b"HUSHS2" + body[6:]).hex(), "why": "another version"},
        {
            "body": (body[: head - 4] + (3).to_bytes(4, "big") + body[head:]).hex(),
            "why": "more own reports than reports",
        },
        {"body": (body[: head - 4] + (1).to_bytes(4, "little") + body[head:]).hex(), "why": "the other byte order"},
    ]
    return {
        "about": "sealed batches: what a relay sends to a collector (spec/http.md)",
        "plan": plan.to_json(),
        "secret": SECRET.hex(),
        "key": key.public.hex(),
        "good": good,
        "bad": bad,
    }


def _good(key: CollectorKey, own: int, sealed: list[bytes], opened: list[Report], about: str) -> dict[str, Any]:
    body = SealedBatch(key, own, tuple(sealed)).encode()
    return {
        "about": about,
        "own": own,
        "sealed": [one.hex() for one in sealed],
        "body": body.hex(),
        "id": batch_id(body).hex(),
        "reports": [report.encode().hex() for report in opened],
    }
