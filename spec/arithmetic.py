"""Vectors beside those of channels: printable texts, coins, exponentials and sealed reports."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from hush.core import codec
from hush.core.design import design
from hush.core.exact import WORD, exp_bounds
from hush.core.plan import Plan
from hush.core.schema import Numeric, Schema
from hush.core.sealing import CollectorKey, info, pad, question_info
from hush.device.randomise import randomise_from
from hush.device.sealing import seal_with, x25519
from hush.testing import RecordedCoins, SeededCoins
from spec.good import Extreme, record
from spec.plans import plans


def printables() -> dict[str, Any]:
    """Titles that are printable, and titles that are not."""
    good = ["", " ", "a b", "é", "e\u0301", "☂", "ウィンドウズ", "\U0001f600", "\u00b7", "\uff1d", "\u0e01", "~"]
    bad = [
        *("\n", "\t", "\x00", "\x1f", "\x7f", "\x80", "\x9f"),  # Cc
        *("\u00ad", "\u200b", "\u200e", "\u202e", "\u2066", "\ufeff", "\U000e0001"),  # Cf
        *("\u00a0", "\u2003", "\u3000", "\u2028", "\u2029"),  # Zs but the space, Zl, Zp
        *("\ue000", "\U000f0000", "\U0010fffd"),  # Co
        *("\u0378", "\uffff", "\U0001ffff"),  # Cn
    ]
    plan = design(Schema([Numeric("x", 0, 1)]), 1.0, numeric="duchi")
    values = json.loads(plan.to_json())
    return {
        "about": "plans whose title is printable, and plans that must be refused because it is not",
        "good": [codec.dump(values | {"title": text}) for text in good],
        "bad": [{"why": f"U+{ord(text):04X}", "text": codec.dump(values | {"title": text})} for text in bad],
    }


def coins() -> dict[str, Any]:
    """What is made of words."""
    cases = []
    for n in (1, 2, 3, 7, 10, 64, 1000, 2**32 + 15, 2**63 + 1, WORD):
        for source in (SeededCoins(n % 97), Extreme(0, 1, 1), Extreme(WORD - 1, 1, 2)):
            recorded = RecordedCoins(source)
            value = recorded.below(n)
            cases.append({"n": str(n), "words": [f"{word:016x}" for word in recorded.words], "below": str(value)})
    several = []
    for sizes in (range(1, 2), range(2, 3), range(1, 65), range(47, 64), range(4000, 4090), (7,) * 45, (1,) * 3):
        for source in (SeededCoins(len(sizes)), Extreme(0, 1, 1), Extreme(WORD - 1, 1, 2)):
            recorded = RecordedCoins(source)
            integers = recorded.several(sizes)
            drawn = [f"{word:016x}" for word in recorded.words]
            several.append({"sizes": [*sizes], "words": drawn, "integers": integers})
    return {"about": "below(n) and several(n, ...): uniform integers by rejection", "cases": cases, "several": several}


def sealed() -> dict[str, Any]:
    """Reports of one plan sealed with given secrets, for a key."""
    plan = plans()["mixed-k2"]
    secret = bytes(range(1, 33))
    key = CollectorKey(x25519(secret, (9).to_bytes(32, "little")))
    cases = []
    for seed in range(3):
        report = randomise_from(SeededCoins(seed), plan, record(plan, SeededCoins(seed + 10), None))
        ephemeral = bytes(SeededCoins(seed + 20).below(256) for _ in range(32))
        text = seal_with(ephemeral, pad(report), key, info(plan))
        cases.append({"ephemeral": ephemeral.hex(), "report": report.encode().hex(), "sealed": text.hex()})
    return {
        "about": "sealed reports and questions: HPKE base mode, X25519, HKDF-SHA256, AES-128-GCM",
        "plan": plan.to_json(),
        "secret": secret.hex(),
        "key": key.public.hex(),
        "questions": [_question(seed, plan, key) for seed in range(2)],
        "bad_keys": bad_keys(),
        "cases": cases,
    }


def _question(seed: int, plan: Plan, key: CollectorKey) -> dict[str, str]:
    """Return a relay's question whether the plan is closed."""
    ephemeral, text = (bytes(SeededCoins(seed + at).below(256) for _ in range(32)) for at in (30, 40))
    asked = seal_with(ephemeral, text, key, question_info(plan))
    return {"ephemeral": ephemeral.hex(), "text": text.hex(), "question": asked.hex()}


def bad_keys() -> list[dict[str, str]]:
    """Return points of small order, as bytes: X25519 makes zeros of each, so everybody reads what is sealed for it."""
    p = 2**255 - 19
    eighths = (
        0x00B8495F16056286FDB1329CEB8D09DA6AC49FF1FAE35616AEB8413B7C7AEBE0,
        0x57119FD0DD4E22D8868E1C58C45C44045BEF839C55B1D0B1248C50A3BC959C5F,
    )
    named = [(0, "zeros"), (1, "1"), (p - 1, "p - 1"), (p, "p, that is 0"), (p + 1, "p + 1, that is 1")]
    named += [(number, "a point of order 8") for number in eighths]
    named += [(number | 1 << 255, f"{why}; the highest bit is not read") for number, why in named]
    found = []
    for number, why in named:
        point = number.to_bytes(32, "little")
        assert not any(x25519(bytes(range(32)), point))
        found.append({"key": point.hex(), "why": why})
    return found


def exponentials() -> dict[str, Any]:
    """Lower bounds of e^x, as integers out of 2^192."""
    cases = []
    for text in ("0.001", "0.1", "0.5", "1.0", "2.5", "10.0", "16.0", "0.30000000000000004"):
        low = exp_bounds(Fraction(text))[0] * 2**192
        assert low.denominator == 1
        cases.append({"x": text, "lower": str(low.numerator)})
    return {"about": "the rational below e^x with which ratios are compared, times 2^192", "cases": cases}
