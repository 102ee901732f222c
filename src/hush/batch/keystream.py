"""Words in bulk: an AES-256 keystream, keyed afresh by the operating system for every call that randomises.

A keystream is as unpredictable as its key, so it stands in for the system's generator at a hundred times the speed.
It is cut into numbered streams, one for each chunk of rows: then the words of a chunk do not depend on who computes
it, or when. Streams never overlap, because the number of the stream is part of AES's input block.

There are two ways to the same kind of words, both by `cryptography`: AES in counter mode, and AES-GCM, whose ciphertext
of zeros is a counter-mode keystream too (the tag is dropped). Processors with wide AES instructions have a faster code
path for the second. Which one is faster here is tried once, in about a millisecond.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Array = np.ndarray[Any, Any]

KEY_SIZE = 32
SPARE = 2  # words behind those that are asked for, which `fill` may overwrite: the tag of AES-GCM goes there
_PROBE = 1 << 13


class Stream(Protocol):
    """A sequence of independent uniform 64-bit words."""

    def fill(self, words: Array, count: int) -> None:
        """Write the next `count` words to the front of an array that has room for `SPARE` more."""


class Source(Protocol):
    """Streams of words by number."""

    def stream(self, number: int) -> Stream:
        """Return the stream of this number, from its beginning."""


class Keystream:
    """Streams made of one fresh key. Use it for one call, on one process: it must not survive a fork."""

    def __init__(self) -> None:
        self._key = os.urandom(KEY_SIZE)
        self._stream = fastest()

    def stream(self, number: int) -> Stream:
        """Return the stream of this number, from its beginning."""
        return self._stream(self._key, number)


@cache
def _zeros(size: int) -> bytes:
    return bytes(size)


class CounterStream:
    """AES-256 in counter mode. The number of the stream fills the upper half of the first counter."""

    def __init__(self, key: bytes, number: int) -> None:
        start = number.to_bytes(8, "big") + bytes(8)
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(start)).encryptor()

    def fill(self, words: Array, count: int) -> None:
        """Write the next `count` words."""
        self._encryptor.update_into(_zeros(8 * count), memoryview(words.data).cast("B"))


class SealedStream:
    """AES-256-GCM of zeros. The nonce is the number of the stream (8 bytes) and that of the message (4 bytes)."""

    def __init__(self, key: bytes, number: int) -> None:
        self._cipher = AESGCM(key)
        self._number = number.to_bytes(8, "big")
        self._message = 0

    def fill(self, words: Array, count: int) -> None:
        """Write the next `count` words."""
        nonce = self._number + self._message.to_bytes(4, "big")
        self._message += 1
        room = memoryview(words.data).cast("B")[: 8 * (count + SPARE)]
        self._cipher.encrypt_into(nonce, _zeros(8 * count), None, room)


@cache
def fastest() -> Callable[[bytes, int], Stream]:
    """Return the faster kind of stream on this machine."""
    kinds: list[Callable[[bytes, int], Stream]] = [CounterStream]
    if hasattr(AESGCM, "encrypt_into"):
        kinds.append(SealedStream)
    words = np.empty(_PROBE + SPARE, dtype=np.uint64)
    key = os.urandom(KEY_SIZE)

    def seconds(kind: Callable[[bytes, int], Stream]) -> float:
        stream = kind(key, 0)
        best = float("inf")
        for _ in range(4):
            start = time.perf_counter()
            stream.fill(words, _PROBE)
            best = min(best, time.perf_counter() - start)
        return best

    return min(kinds, key=seconds)
