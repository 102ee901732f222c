"""How a relay makes a batch: it adds reports of its own, and puts all of them into a random order.

Own reports come from the blanket of the plan (`hush.core.blanket`): they hide every other report of the batch even if
the collector has sent all the others itself. Nobody but the relay can find them, as they are sealed like all others.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import TypeVar

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hush.core.blanket import blanket_of
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.sealing import KEY_SIZE, CollectorKey, SealedBatch, info, keys, pad
from hush.device.coins import SystemCoins

T = TypeVar("T")


def own_reports(plan: Plan, m: int) -> list[Report]:
    """Return m reports of the relay's own: independent draws from the blanket of the plan, with the system's coins.

    A plan whose tables are too large to list is refused with a PlanError.
    """
    blanket = blanket_of(plan) if m else None
    found = []
    for _ in range(m):
        assert blanket is not None
        coins = SystemCoins()
        answers = blanket.draw(coins)
        found.append(Report(plan, coins.word().to_bytes(8, "big") + coins.word().to_bytes(8, "big"), answers))
    return found


def seal(report: Report, key: CollectorKey) -> bytes:
    """Return a sealed report, as `hush.device.sealing` makes it, but a hundred times as fast."""
    return seal_text(pad(report), key, info(report.plan))


def seal_text(text: bytes, key: CollectorKey, bound: bytes) -> bytes:
    """Return a text that only the owner of the key can read; it opens for these `bound` bytes alone."""
    secret = X25519PrivateKey.from_private_bytes(os.urandom(KEY_SIZE))
    sent: bytes = secret.public_key().public_bytes_raw()
    shared = secret.exchange(X25519PublicKey.from_public_bytes(key.public))
    symmetric, nonce = keys(shared, sent, key.public, bound)
    hidden: bytes = AESGCM(symmetric).encrypt(nonce, text, b"")
    return sent + hidden


def permuted(items: Sequence[T]) -> list[T]:
    """Return the items in a uniformly random order, by the system's generator."""
    found = list(items)
    secrets.SystemRandom().shuffle(found)
    return found


def mixed(plan: Plan, key: CollectorKey, sealed: Sequence[bytes], own: int) -> bytes:
    """Return the bytes of one batch: these sealed reports and own ones, in a random order."""
    added = [seal(report, key) for report in own_reports(plan, own)]
    return SealedBatch(key, own, tuple(permuted([*sealed, *added]))).encode()
