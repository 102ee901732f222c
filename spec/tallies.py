"""Vectors of tallies that say more than their counts: own reports of a relay, and the names of stores."""

from __future__ import annotations

from typing import Any

from hush.core.codec import varint
from hush.core.plan import Plan
from hush.device.randomise import randomise_from
from hush.server.tally import Tally
from hush.testing import SeededCoins
from spec.good import record
from spec.plans import plans

ONE, TWO, THREE = (bytes([number] * 16) for number in (1, 2, 255))


def tallies() -> dict[str, Any]:
    """Tallies of one plan, good and bad."""
    plan = plans()["grr"]
    counted = Tally(plan)
    for seed in range(6):
        counted.add(randomise_from(SeededCoins(seed), plan, record(plan, SeededCoins(seed + 40), None)))
    plain, text = counted.encode(), counted.to_json()
    named = plain + varint(0)

    def with_(field: str) -> str:
        return f"{text[:-1]},{field}}}"

    stores = [
        (named, "a name where there are no stores", varint(0)),
        (named, "a store without a name", varint(1) + varint(0)),
        (named, "a name that is cut off", varint(1) + varint(1) + ONE[1:]),
        (named, "a store that is missing", varint(2) + varint(1) + ONE),
        (named, "a name twice", varint(1) + varint(2) + ONE + ONE),
        (named, "a name in two stores", varint(2) + varint(1) + ONE + varint(2) + TWO + ONE),
        (named, "stores out of order", varint(2) + varint(1) + TWO + varint(1) + ONE),
        (named, "a byte too many", varint(1) + varint(1) + ONE + b"\0"),
        (named, "more names than 4096", varint(4097)),
        (plain, "no own reports, and no stores", varint(0)),
        (plain, "more own reports than reports", varint(7)),
        (plain, "an own report too many, and a store", varint(7) + varint(1) + varint(1) + ONE),
    ]
    one, two = ONE.hex(), TWO.hex()
    texts = [
        ('"own":0', "no own reports"),
        ('"own":7', "more own reports than reports"),
        ('"stores":[]', "no stores"),
        ('"stores":[[]]', "a store without a name"),
        (f'"stores":["{one}"]', "a name in the place of a store"),
        (f'"stores":[["{one[2:]}"]]', "a name of 15 bytes"),
        (f'"stores":[["{THREE.hex().upper()}"]]', "a name in capitals"),
        (f'"stores":[["{one}","{one}"]]', "a name twice"),
        (f'"stores":[["{one}"],["{two}","{one}"]]', "a name in two stores"),
        (f'"stores":[["{two}"],["{one}"]]', "stores out of order"),
    ]
    return {
        "about": "tallies with own reports of a relay, and with the names of stores (spec/wire.md)",
        "plan": plan.to_json(),
        "good": [
            _good(plan, counted, 0, ()),
            _good(plan, counted, 2, ()),
            _good(plan, counted, 0, ((ONE,),)),
            _good(plan, counted, 6, ((TWO, THREE, ONE),)),
            _good(plan, counted, 1, ((ONE,), (TWO, THREE))),
        ],
        "bad": [{"binary": (head + rest).hex(), "why": why} for head, why, rest in stores],
        "bad_json": [{"text": with_(field), "why": why} for field, why in texts],
    }


def _good(plan: Plan, counted: Tally, own: int, stores: tuple[tuple[bytes, ...], ...]) -> dict[str, Any]:
    made = Tally(plan, counted.reports, counted.answered, counted.counts, own, stores)
    names = [[name.hex() for name in each] for each in stores]
    return {"own": own, "stores": names, "json": made.to_json(), "binary": made.encode().hex()}
