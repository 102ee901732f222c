"""Sealed reports: the published vectors, agreement with a library, and nothing but the right key opens them."""

from __future__ import annotations

import hashlib
import os
import random
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hush import Categorical, CollectorKey, Numeric, Plan, ReportError, Schema, design, randomise, seal
from hush.collector.opening import Opener
from hush.core.report import sizes
from hush.core.sealing import SealedBatch, batch_id, info, keys, pad, sealed_size, split, unpad
from hush.device.sealing import encrypt, seal_with, x25519
from tests.cases import any_record, plans

SECRET = bytes(range(32))
UNEVEN = design(Schema([Numeric("x", 0, 1), Categorical("c", range(70))]), 1.0, categorical="oue")


def report_of(plan: Plan, seed: int = 1) -> Any:
    return randomise(plan, any_record(plan, random.Random(seed).randrange))


def test_hpke_as_published() -> None:
    """RFC 9180, A.1.1: base mode with X25519, HKDF-SHA256 and AES-128-GCM, the first encryption."""
    key = CollectorKey.from_hex("3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d")
    ephemeral = bytes.fromhex("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736")
    bound, text = b"Ode on a Grecian Urn", b"Beauty is truth, truth beauty"
    sealed = seal_with(ephemeral, text, key, bound, b"Count-0")
    assert sealed.hex() == (
        "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"
        "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"
    )
    own = Opener(bytes.fromhex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8"))
    assert own.key == key
    assert own.text(sealed, bound, b"Count-0") == text


def test_the_key_schedule_as_published() -> None:
    """RFC 9180, A.1: key and nonce, from what both sides agreed on."""
    sent = bytes.fromhex("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431")
    public = bytes.fromhex("3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d")
    secret = bytes.fromhex("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736")
    key, nonce = keys(x25519(secret, public), sent, public, b"Ode on a Grecian Urn")
    assert key.hex() == "4531685d41d65f03dc48f6b8302c05b0"
    assert nonce.hex() == "56d890e5accaaf011cff4b7d"


def test_x25519_as_published() -> None:
    """RFC 7748, 5.2: two multiplications, the second of a point whose highest bit is not read; and an iteration."""
    scalar = bytes.fromhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
    point = bytes.fromhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
    assert x25519(scalar, point).hex() == "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
    scalar = bytes.fromhex("4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d")
    point = bytes.fromhex("e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493")
    assert x25519(scalar, point).hex() == "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"
    k = u = (9).to_bytes(32, "little")
    k, u = x25519(k, u), k
    assert k.hex() == "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"


def test_curve_and_cipher_agree_with_a_library() -> None:
    for length in range(70):
        secret, other = os.urandom(32), X25519PrivateKey.generate().public_key().public_bytes_raw()
        wanted = X25519PrivateKey.from_private_bytes(secret).exchange(X25519PublicKey.from_public_bytes(other))
        if length < 12:
            assert x25519(secret, other) == wanted
        key, nonce, text, extra = os.urandom(16), os.urandom(12), os.urandom(length), os.urandom(length % 33)
        assert encrypt(key, nonce, text, extra) == AESGCM(key).encrypt(nonce, text, extra)


@pytest.mark.parametrize("name", ["default", "titled", "multi", "split", "relations"])
def test_a_sealed_report_is_opened_by_its_collector(name: str) -> None:
    plan = plans()[name]
    opener = Opener(SECRET)
    for seed in range(3):
        report = report_of(plan, seed)
        sealed = seal(report, opener.key)
        assert len(sealed) == sealed_size(plan) == 32 + sizes(plan)[1] + 16
        assert opener.open(plan, sealed) == report
        assert sealed != seal(report, opener.key)


def test_no_length_says_which_question_was_answered() -> None:
    plan = UNEVEN
    assert sizes(plan)[0] < sizes(plan)[1]  # unsealed, it would
    reports = [report_of(plan, seed) for seed in range(40)]
    assert len({len(report.encode()) for report in reports}) > 1
    assert {len(pad(report)) for report in reports} == {sizes(plan)[1]}


def test_nothing_else_opens() -> None:
    plan, opener = plans()["grr"], Opener(SECRET)
    sealed = seal(report_of(plan), opener.key)
    for place in range(len(sealed)):
        for flip in (1, 128):
            changed = bytearray(sealed)
            changed[place] ^= flip
            if place == 31 and flip == 128:
                continue  # RFC 7748 does not read this bit of a point, but the key schedule does
            with pytest.raises(ReportError, match="not a report of the plan"):
                opener.open(plan, bytes(changed))
    with pytest.raises(ReportError, match="not a report of the plan"):
        opener.open(plan, sealed[:31] + bytes([sealed[31] ^ 128]) + sealed[32:])
    with pytest.raises(ReportError, match="not a report of the plan"):
        Opener(bytes(32)).open(plan, sealed)
    with pytest.raises(ReportError, match="bytes"):
        opener.open(plan, sealed[:-1])
    with pytest.raises(ReportError, match="bytes"):
        opener.open(plan, sealed + b"\0")


def test_a_report_of_another_plan_does_not_open() -> None:
    one, other = plans()["grr"], plans()["oue"]
    opener = Opener(SECRET)
    text = pad(report_of(other))[: sizes(one)[1]].ljust(sizes(one)[1], b"\0")
    for bound in (info(other), info(one)):
        with pytest.raises(ReportError, match="not a report of the plan"):
            opener.open(one, seal_with(os.urandom(32), text, opener.key, bound))


def test_the_key_schedule_binds_a_fixed_text_and_the_plan() -> None:
    plan = plans()["grr"]
    assert info(plan) == b"hush sealed report 2" + bytes.fromhex(plan.id)


def test_padding_says_nothing() -> None:
    plan = UNEVEN
    report = next(r for seed in range(99) if len((r := report_of(plan, seed)).encode()) < sizes(plan)[1])
    assert unpad(plan, pad(report)) == report
    with pytest.raises(ReportError, match="must be zeros"):
        unpad(plan, pad(report)[:-1] + b"\1")


@pytest.mark.parametrize(
    "point",
    [0, 1, 2**255 - 19, 2**255 - 20, 325606250916557431795983626356110631294008115727848805560023387167927233504],
)
def test_keys_that_everybody_knows_are_refused(point: int) -> None:
    """As they are read: a relay that started with one mixed reports that everybody could open."""
    for number in (point, point | 1 << 255):
        with pytest.raises(ReportError, match="is not a key"):
            CollectorKey(number.to_bytes(32, "little"))
    assert not any(x25519(SECRET, point.to_bytes(32, "little")))
    with pytest.raises(ReportError, match="is not a key"):
        keys(bytes(32), SECRET, SECRET, b"")


@pytest.mark.parametrize("bad", [b"", bytes(31), bytes(33), "00" * 32, None])
def test_a_key_has_32_bytes(bad: Any) -> None:
    with pytest.raises(ReportError, match="32 bytes"):
        CollectorKey(bad)
    with pytest.raises(ReportError, match="32 bytes"):
        Opener(bad)
    for text in ("", "0" * 63, "g" * 64, "A" * 64, None):
        with pytest.raises(ReportError, match="key of a collector"):
            CollectorKey.from_hex(text)  # type: ignore[arg-type]


def test_only_reports_are_sealed() -> None:
    with pytest.raises(ReportError, match="needs a Report"):
        seal(b"report", CollectorKey(bytes(range(32))))  # type: ignore[arg-type]


# -- batches of a relay


def test_a_batch_travels() -> None:
    plan, opener = plans()["grr"], Opener(SECRET)
    reports = tuple(seal(report_of(plan, seed), opener.key) for seed in range(3))
    batch = SealedBatch(opener.key, 2, reports)
    body = batch.encode()
    assert body == b"HUSHS1" + opener.key.public + b"\0\0\0\2" + b"".join(reports)
    assert SealedBatch.decode(plan, body) == batch
    assert split(plan, reports[0] + reports[1]) == reports[:2]
    assert batch_id(body) == hashlib.sha256(body).digest()[:16]


def test_the_ends_of_a_batch() -> None:
    key, report = CollectorKey(bytes(range(32))), bytes(50)
    for own, count in ((0, 1), (1, 1), (3, 3), (0, 1 << 16), (1 << 16, 1 << 16)):
        assert SealedBatch(key, own, (report,) * count).own == own
    for own, count in ((0, 0), (-1, 1), (2, 1), (True, 1), (0, (1 << 16) + 1)):
        with pytest.raises(ReportError):
            SealedBatch(key, own, (report,) * count)
    with pytest.raises(ReportError, match="one length"):
        SealedBatch(key, 0, (report, report[1:]))


def test_what_is_no_batch_is_refused() -> None:
    plan, opener = plans()["grr"], Opener(SECRET)
    body = SealedBatch(opener.key, 0, (seal(report_of(plan), opener.key),)).encode()
    for other in (b"", body[:41], b"HUSHS2" + body[6:], b"x" + body):
        with pytest.raises(ReportError, match="not a batch of sealed reports"):
            SealedBatch.decode(plan, other)
    with pytest.raises(ReportError, match="the relay's own"):
        SealedBatch.decode(plan, body[:38] + b"\1\0\0\0" + body[42:])
    for other in (body[:42], body[:-1], body + b"\0"):
        with pytest.raises(ReportError, match=f"have {sealed_size(plan)} bytes each"):
            SealedBatch.decode(plan, other)
