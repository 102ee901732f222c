"""Words in bulk: an AES-256 keystream, with a fresh key from the operating system for every call that randomises.

A keystream is as unpredictable as its key, so it can replace the system's generator, at a hundred times the speed.
It is cut into numbered streams, one for each chunk of rows. So the words of a chunk do not depend on the thread that
computes it, or on the time. Streams never overlap, because the number of the stream is part of AES's input block.

There are two ways to make such words, both from `cryptography`: AES in counter mode, and AES-GCM, whose ciphertext of
zeros is a counter-mode keystream too (the tag is dropped). Processors with wide AES instructions have a faster code
path for the second. A test of about a millisecond, run once, finds the faster one.

Words that are used twice give two people the same noise. So nothing here relies on Python's global lock, which some
Pythons do not have: data that threads share never change or are behind a lock; every stream is dealt once; and a key
or stream from before a fork is not used after it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Array = np.ndarray[Any, Any]

KEY_SIZE = 32
SPARE = 2  # words behind the requested ones, which `fill` may overwrite: the tag of AES-GCM goes there
_PROBE = 1 << 13
_ZEROS = bytes(1 << 19)  # the plaintext whose encryption is the keystream


class Stream(Protocol):
    """A sequence of independent uniform 64-bit words."""

    def fill(self, words: Array, count: int) -> None:
        """Write the next `count` words to the front of an array that has room for `SPARE` more."""


class Source(Protocol):
    """Streams of words by number. Ask for each once: a second stream of the same number has the same words."""

    def stream(self, number: int) -> Stream:
        """Return the stream of this number, from its beginning."""


# -- processes


class _Here:
    """The process, as Python knows it: another object after every fork. Its lock guards the keys of all keystreams.

    A fork that Python does not see keeps the object, so the process number is compared too; numbers alone would not do,
    because they repeat, in a grandchild or in another namespace. The lock is new after a fork, because a thread that
    held the old one is not in the new process. A signal handler may randomise while its own thread holds the lock.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()


_here = _Here()


def _forked() -> None:
    global _here
    _here = _Here()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


# -- keys


class Key(bytearray):
    """A key that is cleared when its last reference goes: anyone who found it later could compute all words again."""

    def __del__(self) -> None:
        self[:] = bytes(len(self))

    @classmethod
    def drawn(cls) -> Key:
        """Return a key made by the operating system, and leave no copy of it."""
        drawn = os.urandom(KEY_SIZE)
        key = cls(drawn)
        if sys.getrefcount(drawn) <= 2:  # the only references are this name and the argument of that call
            ctypes.memset(id(drawn) + bytes.__basicsize__ - 1, 0, KEY_SIZE)  # where CPython keeps the bytes themselves
        return key


class _Deal(NamedTuple):
    """A keystream's state in one process: the process, the key, and the numbers of the dealt streams."""

    here: _Here
    process: int
    key: Key
    dealt: set[int]


class Keystream:
    """Streams made from one fresh key. Use it for one call. A forked process makes a key of its own.

    Every number is dealt once, whichever thread asks. A second request is refused: its words would be used twice.
    """

    def __init__(self) -> None:
        self._stream = fastest()
        self._deal = _Deal(_here, os.getpid(), Key.drawn(), set())

    def stream(self, number: int) -> Stream:
        """Return the stream of this number, from its beginning."""
        here, process = _here, os.getpid()
        with here.lock:
            if self._deal.here is not here or self._deal.process != process:
                self._deal = _Deal(here, process, Key.drawn(), set())
            deal = self._deal
            if number in deal.dealt:
                raise RuntimeError("this stream of words was dealt before, and nobody may use its words again")
            deal.dealt.add(number)
        return self._stream(deal.key, number)


# -- streams


def _zeros(size: int) -> memoryview:
    """Return `size` zero bytes. A large block is made anew, so that the shared one never changes."""
    return memoryview(_ZEROS if size <= len(_ZEROS) else bytes(size))[:size]


class _AesStream(ABC):
    """Words of AES-256 for one process. Threads that ask at once take turns, and get different words."""

    def __init__(self) -> None:
        self._here, self._process, self._lock = _here, os.getpid(), threading.Lock()

    def fill(self, words: Array, count: int) -> None:
        """Write the next `count` words."""
        if self._here is not _here or self._process != os.getpid():
            raise RuntimeError("a stream of words ends with a fork: both processes would use the same words")
        with self._lock:
            written = self._write(memoryview(words.data).cast("B"), 8 * count)
        if written < 8 * count:
            raise RuntimeError("the cipher wrote fewer words than were asked for")

    @abstractmethod
    def _write(self, room: memoryview, size: int) -> int:
        """Write at least `size` bytes, and return how many."""


class CounterStream(_AesStream):
    """AES-256 in counter mode. The number of the stream fills the upper half of the first counter."""

    def __init__(self, key: bytes | bytearray, number: int) -> None:
        super().__init__()
        start = number.to_bytes(8, "big") + bytes(8)
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(start)).encryptor()

    def _write(self, room: memoryview, size: int) -> int:
        return int(self._encryptor.update_into(_zeros(size), room))


class SealedStream(_AesStream):
    """AES-256-GCM of zeros. The nonce is the number of the stream (8 bytes) and that of the message (4 bytes)."""

    def __init__(self, key: bytes | bytearray, number: int) -> None:
        super().__init__()
        self._cipher = AESGCM(key)
        self._number = number.to_bytes(8, "big")
        self._message = 0

    def _write(self, room: memoryview, size: int) -> int:
        nonce = self._number + self._message.to_bytes(4, "big")
        self._message += 1
        return int(self._cipher.encrypt_into(nonce, _zeros(size), None, room[: size + 8 * SPARE]))


@cache
def fastest() -> Callable[[bytes | bytearray, int], Stream]:
    """Return the faster kind of stream on this machine."""
    kinds: list[Callable[[bytes | bytearray, int], Stream]] = [CounterStream]
    if hasattr(AESGCM, "encrypt_into"):
        kinds.append(SealedStream)
    words = np.empty(_PROBE + SPARE, dtype=np.uint64)
    key = os.urandom(KEY_SIZE)

    def seconds(kind: Callable[[bytes | bytearray, int], Stream]) -> float:
        stream = kind(key, 0)
        best = float("inf")
        for _ in range(4):
            start = time.perf_counter()
            stream.fill(words, _PROBE)
            best = min(best, time.perf_counter() - start)
        return best

    return min(kinds, key=seconds)
