"""Checks of randomness: the system's generator, the keystream made of it, and both after a fork.

The tests of words cannot show that words are unpredictable, as every good generator with a known seed passes them. They
notice the failures of practice: a source that is stuck, counts, repeats itself, or was replaced by text. Each test
raises a false alarm with a probability of at most `ALARM`, by a bound that holds for every number of words: an exact
binomial tail, or Hoeffding's inequality. There are 12 in a run of the doctor, so it raises one in less than one of a
million runs.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hush.cli.checks import Noted, Trouble

if TYPE_CHECKING:
    from hush.batch.keystream import Source

COUNT = 4096  # words that are tested
ALARM = 5e-8
PATIENCE = 30.0  # seconds for a forked process to draw
ALL = (1 << 64) - 1

# AES-256 with the key 0, of the numbers 0, 1 and 2 as blocks. They are the hash key H and the tag of test case 13, and
# the ciphertext of test case 14, in D. McGrew and J. Viega, The Galois/Counter Mode of Operation (GCM), 2005.
BLOCKS = ("dc95c078a2408989ad48a21492842087", "530f8afbc74536b9a963b4f1c4cb738b", "cea7403d4d606b6e074ec5d3baf39d18")


# -- words


def _uneven(ones: int, bits: int, tests: int = 1) -> bool:
    """Return whether fair bits almost never have such a number of ones: Hoeffding's inequality, both sides."""
    return abs(ones - bits / 2) >= math.sqrt(bits * math.log(2 * tests / ALARM) / 2)


def _repeats(words: Sequence[int]) -> bool:
    return len(set(words)) < len(words)  # among n words with probability n^2/2^65: 5e-13 for 4096


def _ones(words: Sequence[int]) -> bool:
    return _uneven(sum(map(int.bit_count, words)), 64 * len(words))


def _positions(words: Sequence[int]) -> bool:
    drawn = b"".join(word.to_bytes(8, "big") for word in words)
    for at in range(8):  # bytes are counted first, as there are few of them
        found = Counter(drawn[at::8]).items()
        ones = (sum(times for byte, times in found if byte >> place & 1) for place in range(8))
        if any(_uneven(count, len(words), 64) for count in ones):
            return True
    return False


def _neighbours(words: Sequence[int]) -> bool:
    """Bits that differ from their neighbours: of 64 fair bits, 63 fair bits again."""
    return _uneven(sum(((word ^ word >> 1) & ALL >> 1).bit_count() for word in words), 63 * len(words))


def _successors(words: Sequence[int]) -> bool:
    """Bits that differ from those of the word before: of fair words, fair words again."""
    return _uneven(sum((a ^ b).bit_count() for a, b in pairwise(words)), 64 * (len(words) - 1))


def _bytes(words: Sequence[int]) -> bool:
    from hush.server.binomial import at_least, at_most

    counts = Counter(b"".join(word.to_bytes(8, "big") for word in words))
    n, miss = 8 * len(words), ALARM / 512
    found = [counts[value] for value in range(256)]
    return at_least(max(found), n, 1 / 256) < miss or at_most(min(found), n, 1 / 256) < miss


TESTS: dict[str, Callable[[Sequence[int]], bool]] = {
    "words repeat": _repeats,
    "ones and zeros are not even": _ones,
    "some bit is nearly always the same": _positions,
    "neighbouring bits depend on each other": _neighbours,
    "words depend on those before": _successors,
    "some byte is too rare or too frequent": _bytes,
}


def alarms(words: Sequence[int]) -> list[str]:
    """Return which tests some words fail. Fewer than two words, or a number that is no word, are no words to test."""
    if len(words) < 2 or not all(0 <= word <= ALL for word in words):
        return ["these are no words of 64 bits"]
    return [what for what, fails in TESTS.items() if fails(words)]


def healthy(words: Iterable[int]) -> str:
    """Test words."""
    drawn = list(words)
    found = alarms(drawn)
    if found:
        raise Trouble(f"{'; '.join(found)}. Do not randomise anything on this machine")
    return f"{len(drawn):,} words pass {len(TESTS)} tests, with a false alarm in less than one of a million runs"


# -- the system's generator


def pool() -> str:
    """Ask the kernel for randomness without waiting: it refuses until it has gathered enough after a start."""
    if not hasattr(os, "getrandom"):
        os.urandom(8)
        return "os.urandom"
    try:
        os.getrandom(8, os.GRND_NONBLOCK)
    except BlockingIOError:
        raise Trouble("the kernel has not gathered enough randomness since it was started") from None
    return "getrandom, whose pool is initialised"


def system_words() -> list[int]:
    """Draw words as a device does."""
    from hush.device.coins import SystemCoins

    coins = SystemCoins()
    return [coins.word() for _ in range(COUNT)]


# -- forks


def apart(draw: Callable[[], bytes]) -> str:
    """Draw in this process and in a copy of it, and see that they differ."""
    if not hasattr(os, "fork"):
        raise Noted("processes are not forked on this system")
    other, here = _in_a_fork(draw), draw()
    if not other:
        raise Trouble("a forked process drew nothing")
    if other == here:
        raise Trouble("a forked process draws the same words. Do not randomise in processes that are forked")
    return "a forked process draws words of its own"


def _in_a_fork(draw: Callable[[], bytes]) -> bytes:
    import select
    import signal
    import warnings

    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns if there are threads; the copy does nothing but draw
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, draw())
        finally:
            os._exit(0)  # the copy must not run the exit handlers of this process
    os.close(writer)
    try:
        if not select.select([reader], [], [], PATIENCE)[0]:
            os.kill(child, signal.SIGKILL)
        found = os.read(reader, 4096)
    finally:
        os.close(reader)
        os.waitpid(child, 0)
    return found


def system_draw() -> bytes:
    """Draw some words as `hush.randomise` does, which makes its coins anew for every record."""
    from hush.device.coins import SystemCoins

    coins = SystemCoins()
    return b"".join(coins.word().to_bytes(8, "big") for _ in range(4))


def keystream_draw() -> Callable[[], bytes]:
    """Return a source that draws from a keystream in use before the fork."""
    from hush.batch.keystream import Keystream

    source = Keystream()
    _taken(source.stream(0), 2)
    return lambda: _taken(source.stream(1), 4)


# -- the keystream


def _taken(stream: Any, count: int) -> bytes:
    import numpy as np

    from hush.batch.keystream import SPARE

    room = np.zeros(count + SPARE, dtype=np.uint64)
    stream.fill(room, count)
    found: bytes = room[:count].tobytes()
    return found


def known_answer(counter: Any = None, sealed: Any = None) -> str:
    """Compare both kinds of streams with published values, and with single blocks and each other for a random key.

    The blocks of a counter stream are AES of the stream's number and 0, 1, 2 ...; those of a sealed one start at 2.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from hush.batch import keystream

    counter, sealed = counter or keystream.CounterStream, sealed or keystream.SealedStream
    zero, key, number = bytes(32), os.urandom(32), int.from_bytes(os.urandom(8), "big")
    wrong = "the keystream is not AES-256. Do not randomise tables with this library of cryptography"
    if _taken(counter(zero, 0), 6) != bytes.fromhex("".join(BLOCKS)):
        raise Trouble(wrong)
    blocks = b"".join(number.to_bytes(8, "big") + place.to_bytes(8, "big") for place in range(3))
    if _taken(counter(key, number), 6) != Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(blocks):  # noqa: S305 - the blocks of counter mode, one by one
        raise Trouble(wrong)
    if not hasattr(AESGCM, "encrypt_into"):
        return "AES-256 as published, in counter mode"
    if _taken(sealed(zero, 0), 2) != bytes.fromhex(BLOCKS[2]):
        raise Trouble(wrong)
    if _taken(counter(key, number), 68)[32:] != _taken(sealed(key, number), 64):
        raise Trouble(f"{wrong}: its two kinds of streams differ")
    kind = "counter mode" if keystream.fastest() is keystream.CounterStream else "GCM"
    return f"AES-256 as published, in counter mode and by GCM, which agree; here {kind} is faster and used"


def keystream_words(source: Source | None = None) -> list[int]:
    """Draw words as the batch engine does."""
    from hush.batch.keystream import Keystream

    found = _taken((source or Keystream()).stream(0), COUNT)
    return [int.from_bytes(found[i : i + 8], "little") for i in range(0, len(found), 8)]
