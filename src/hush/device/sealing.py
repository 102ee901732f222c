"""Sealing a report on a device, with the standard library alone.

X25519 (RFC 7748) and AES-128-GCM (NIST SP 800-38D) are written out in plain Python, as a device may have no library for
them. They take milliseconds, and their time depends on their secrets: the ephemeral key and the key that follows from
it, each used for one report. Whoever can measure a device that closely sees the report itself, which is as private as
its plan says.
"""

from __future__ import annotations

import os
from functools import lru_cache

from hush.core.report import Report
from hush.core.sealing import KEY_SIZE, CollectorKey, info, keys, pad
from hush.errors import ReportError

_P = 2**255 - 19
_BASE = (9).to_bytes(KEY_SIZE, "little")
_ROUNDS = 10


def seal(report: Report, key: CollectorKey) -> bytes:
    """Return a report that only the owner of the key can read.

    Every call gives other bytes: keep them to send them again.
    """
    if not isinstance(report, Report) or not isinstance(key, CollectorKey):
        raise ReportError("seal(report, key) needs a Report and a CollectorKey")
    return seal_with(os.urandom(KEY_SIZE), pad(report), key, info(report.plan))


def seal_with(secret: bytes, text: bytes, key: CollectorKey, info: bytes, extra: bytes = b"") -> bytes:
    """Seal a text with this ephemeral secret key: for tests. It protects only if nobody can predict the secret."""
    sent = x25519(secret, _BASE)
    symmetric, nonce = keys(x25519(secret, key.public), sent, key.public, info)
    return sent + encrypt(symmetric, nonce, text, extra)


def x25519(secret: bytes, point: bytes) -> bytes:
    """Return the multiple of a point of Curve25519: Montgomery's ladder."""
    k = int.from_bytes(secret, "little") & ~7 | 1 << 254  # its highest bit, 255, is not read
    x = int.from_bytes(point, "little") & ((1 << 255) - 1)
    a, b, c, d = 1, 0, x, 1  # the points a/b and c/d differ by x
    for bit in range(254, -1, -1):
        if k >> bit & 1:
            a, b, c, d = c, d, a, b
        plus, minus = (a + b) ** 2 % _P, (a - b) ** 2 % _P
        one, two = (c - d) * (a + b) % _P, (c + d) * (a - b) % _P
        difference = plus - minus
        c, d = (one + two) ** 2 % _P, x * (one - two) ** 2 % _P
        a, b = plus * minus % _P, difference * (plus + 121665 * difference) % _P
        if k >> bit & 1:
            a, b, c, d = c, d, a, b
    return (a * pow(b, _P - 2, _P) % _P).to_bytes(KEY_SIZE, "little")


def encrypt(key: bytes, nonce: bytes, text: bytes, extra: bytes) -> bytes:
    """Return a text encrypted by AES-128-GCM, and its tag; the tag holds for `extra` too."""
    schedule = _schedule(key)
    stream = b"".join(
        _block(schedule, nonce + counter.to_bytes(4, "big")) for counter in range(2, 2 + -(-len(text) // 16))
    )
    hidden = bytes(a ^ b for a, b in zip(text, stream, strict=False))
    hashed = _ghash(_block(schedule, bytes(16)), extra, hidden)
    mask = _block(schedule, nonce + (1).to_bytes(4, "big"))
    return hidden + bytes(a ^ b for a, b in zip(hashed, mask, strict=True))


def _ghash(point: bytes, extra: bytes, hidden: bytes) -> bytes:
    """Return the hash of GCM: a polynomial at a point of the field of 2^128 elements."""
    h, found = int.from_bytes(point, "big"), 0
    lengths = (8 * len(extra)).to_bytes(8, "big") + (8 * len(hidden)).to_bytes(8, "big")
    padded = extra + bytes(-len(extra) % 16) + hidden + bytes(-len(hidden) % 16) + lengths
    for start in range(0, len(padded), 16):
        factor, power, found = found ^ int.from_bytes(padded[start : start + 16], "big"), h, 0
        for bit in range(127, -1, -1):
            if factor >> bit & 1:
                found ^= power
            power = power >> 1 ^ (0xE1 << 120 if power & 1 else 0)
    return found.to_bytes(16, "big")


def _double(x: int) -> int:
    """Return a byte times the generator's root, in the field of AES."""
    return x << 1 ^ (0x11B if x & 0x80 else 0)


@lru_cache(maxsize=1)
def _substitution() -> bytes:
    """Return the table of AES: the inverse in its field, then a fixed rotation and sum."""
    powers = [1]
    for _ in range(254):
        powers.append(powers[-1] ^ _double(powers[-1]))  # 3 is a generator
    inverse = {0: 0} | {powers[i]: powers[-i % 255] for i in range(255)}
    found = bytearray()
    for x in range(256):
        b = inverse[x]
        found.append(b ^ _rotated(b, 1) ^ _rotated(b, 2) ^ _rotated(b, 3) ^ _rotated(b, 4) ^ 0x63)
    return bytes(found)


def _rotated(b: int, by: int) -> int:
    return (b << by | b >> (8 - by)) & 0xFF


def _schedule(key: bytes) -> list[bytes]:
    """Return the keys of all rounds of AES-128."""
    table, words, constant = _substitution(), [key[i : i + 4] for i in range(0, 16, 4)], 1
    for i in range(4, 4 * (_ROUNDS + 1)):
        last = words[-1]
        if i % 4 == 0:
            turned = bytes(table[b] for b in last[1:] + last[:1])
            last = bytes([turned[0] ^ constant]) + turned[1:]
            constant = _double(constant)
        words.append(bytes(a ^ b for a, b in zip(words[-4], last, strict=True)))
    return [b"".join(words[i : i + 4]) for i in range(0, len(words), 4)]


_SHIFTED = [(5 * i) % 16 for i in range(16)]  # where each byte of a state comes from


def _block(schedule: list[bytes], block: bytes) -> bytes:
    """Return a block encrypted by AES."""
    table = _substitution()
    state = bytes(a ^ b for a, b in zip(block, schedule[0], strict=True))
    for turn in range(1, _ROUNDS + 1):
        state = bytes(table[state[place]] for place in _SHIFTED)
        if turn < _ROUNDS:
            state = b"".join(_mixed(*state[i : i + 4]) for i in range(0, 16, 4))
        state = bytes(a ^ b for a, b in zip(state, schedule[turn], strict=True))
    return state


def _mixed(a: int, b: int, c: int, d: int) -> bytes:
    """Return a column of the state, mixed."""
    whole = a ^ b ^ c ^ d
    return bytes(x ^ whole ^ _double(x ^ y) for x, y in ((a, b), (b, c), (c, d), (d, a)))
