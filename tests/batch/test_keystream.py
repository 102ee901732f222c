"""The keystream is AES-256 of counters that never repeat, keyed by the operating system."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import hush.batch
from hush.batch import keystream
from hush.batch.keystream import SPARE, CounterStream, Keystream, SealedStream

KEY = bytes(range(32))
COUNT = 1000


def words_of(stream: Any, *counts: int) -> bytes:
    found = b""
    for count in counts:
        room = np.zeros(count + SPARE, dtype=np.uint64)
        stream.fill(room, count)
        found += room[:count].tobytes()
    return found


def aes(blocks: list[bytes]) -> bytes:
    """AES-256 of each block by itself: what both streams must be made of."""
    encryptor = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor()  # noqa: S305
    return bytes(encryptor.update(b"".join(blocks)))


def test_the_counter_stream_is_aes_of_number_and_counter() -> None:
    blocks = [(7).to_bytes(8, "big") + i.to_bytes(8, "big") for i in range(COUNT // 2)]
    assert words_of(CounterStream(KEY, 7), COUNT) == aes(blocks)


def test_the_counter_stream_goes_on_where_it_stopped() -> None:
    assert words_of(CounterStream(KEY, 3), 1, 10, 501, 488) == words_of(CounterStream(KEY, 3), COUNT)


@pytest.mark.skipif(not hasattr(AESGCM, "encrypt_into"), reason="this cryptography has no AESGCM.encrypt_into")
def test_the_sealed_stream_is_aes_of_number_message_and_counter() -> None:
    blocks = []
    for message in range(2):  # GCM starts to encrypt with its counter at 2
        nonce = (7).to_bytes(8, "big") + message.to_bytes(4, "big")
        blocks += [nonce + i.to_bytes(4, "big") for i in range(2, 2 + COUNT // 4)]
    assert words_of(SealedStream(KEY, 7), COUNT // 2, COUNT // 2) == aes(blocks)


@pytest.mark.parametrize("kind", [CounterStream, SealedStream])
def test_no_word_is_written_behind_the_spare_ones(kind: Any) -> None:
    if kind is SealedStream and not hasattr(AESGCM, "encrypt_into"):
        pytest.skip("this cryptography has no AESGCM.encrypt_into")
    room = np.full(64 + SPARE + 8, 5, dtype=np.uint64)
    kind(KEY, 0).fill(room, 64)
    assert (room[64 + SPARE :] == 5).all()
    assert len(set(room[:64].tolist())) == 64


def test_streams_and_calls_share_no_word() -> None:
    source, other = Keystream(), Keystream()
    found = [words_of(stream, COUNT) for stream in (source.stream(0), source.stream(1), other.stream(0))]
    seen = {part[i : i + 8] for part in found for i in range(0, 8 * COUNT, 8)}
    assert len(seen) == 3 * COUNT  # a chance repetition has a probability below 1e-12
    assert words_of(source.stream(0), COUNT) == found[0]


def test_every_call_has_a_fresh_key_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return b"x" * size

    keystream.fastest()  # it is timed once, with a key of its own
    monkeypatch.setattr(os, "urandom", urandom)
    assert words_of(Keystream().stream(0), 10) == words_of(keystream.fastest()(b"x" * 32, 0), 10)
    assert asked == [32]


def test_no_statistical_generator_is_used() -> None:
    for path in Path(hush.batch.__file__).parent.glob("*.py"):
        assert not re.search(r"import random|from random|np\.random|numpy\.random|default_rng", path.read_text()), path
