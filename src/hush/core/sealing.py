"""Sealed reports: what devices, relays and collectors agree on.

A device that sends through a relay seals its report for the collector, so that the relay sees neither the plan nor the
answers, and the collector sees neither the address nor the time. Sealing is HPKE (RFC 9180), base mode, one message:
DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM. There is one suite for all clients, as browsers offer it: with two
the collector could tell kinds of clients apart, and a crowd would be as small as its smaller kind.

All sealed reports of a plan have one length: the report is padded with zeros to the longest of the plan. The key
schedule binds the plan's whole id.

A relay sends sealed reports in batches (`SealedBatch`). The id of a batch is the hash of its bytes, so a batch that is
sent again is recognised.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from hush.core import codec
from hush.core.plan import Plan
from hush.core.report import Report, sizes
from hush.errors import ReportError

KEY_SIZE = 32
TAG_SIZE = 16
_KEM = b"KEM" + (0x0020).to_bytes(2, "big")
_SUITE = b"HPKE" + bytes.fromhex("002000010001")
_INFO = b"hush sealed report 2"
_QUESTION = b"hush plan closed 1"
_MAGIC = b"HUSHS1"
_HEADER = len(_MAGIC) + KEY_SIZE + 4
BATCH_ID_SIZE = 16
MAX_BATCH = 1 << 16
"""How many sealed reports a batch may have."""
NONCE_SIZE = 32
QUESTION_SIZE = KEY_SIZE + NONCE_SIZE + TAG_SIZE
"""How many bytes a relay's question has: see `question_info`."""
_P = 2**255 - 19
# The points of small order, of the curve and of its twist. X25519 makes zeros of them, whatever the secret key is.
_SMALL = {
    0,
    1,
    _P - 1,
    0x00B8495F16056286FDB1329CEB8D09DA6AC49FF1FAE35616AEB8413B7C7AEBE0,
    0x57119FD0DD4E22D8868E1C58C45C44045BEF839C55B1D0B1248C50A3BC959C5F,
}


@dataclass(frozen=True)
class CollectorKey:
    """The public key of a collector. Pin it beside the plan's id: with a key of another, another reads the report."""

    public: bytes

    def __post_init__(self) -> None:
        if type(self.public) is not bytes or len(self.public) != KEY_SIZE:
            raise ReportError(f"the key of a collector must be {KEY_SIZE} bytes")
        if (int.from_bytes(self.public, "little") & (1 << 255) - 1) % _P in _SMALL:
            raise ReportError(
                "the key of a collector is not a key: everybody could read what is sealed for it. "
                "Take the key that `hush serve` prints"
            )

    @classmethod
    def from_hex(cls, text: str) -> CollectorKey:
        """Read a key as people write it: 64 hexadecimal digits."""
        return cls(codec.hexadecimal(text, KEY_SIZE, ReportError, "the key of a collector"))


def info(plan: Plan) -> bytes:
    """Return what the key schedule binds: sealed reports of another plan do not open."""
    return _INFO + bytes.fromhex(plan.id)


def question_info(plan: Plan) -> bytes:
    """Return what binds a relay's question whether a plan is closed.

    The question is a random text of `NONCE_SIZE` bytes, sealed for the collector's key. A collector that has closed the
    plan opens it and answers with the text: the proof that the owner of the key says so, and says so now.
    """
    return _QUESTION + bytes.fromhex(plan.id)


def sealed_size(plan: Plan) -> int:
    """Return how many bytes every sealed report of a plan has."""
    return KEY_SIZE + sizes(plan)[1] + TAG_SIZE


def pad(report: Report) -> bytes:
    """Return a report as long as the longest of its plan."""
    return report.encode().ljust(sizes(report.plan)[1], b"\0")


def unpad(plan: Plan, padded: bytes) -> Report:
    """Read a padded report. Anything else is a ReportError."""
    cursor = codec.Cursor(padded, ReportError, "the report")
    report = Report.take(plan, cursor)
    if pad(report) != padded:
        raise ReportError("the padding of a sealed report must be zeros")
    return report


@dataclass(frozen=True)
class SealedBatch:
    """Sealed reports of one plan in the order of a relay. `own`: how many of them the relay has drawn itself."""

    key: CollectorKey
    own: int
    reports: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.reports) <= MAX_BATCH:
            raise ReportError(f"a sealed batch has from 1 to {MAX_BATCH} reports")
        codec.integer(self.own, 0, len(self.reports), ReportError, "the number of the relay's own reports")
        if len({len(sealed) for sealed in self.reports}) != 1:
            raise ReportError("all sealed reports of a plan have one length")

    def encode(self) -> bytes:
        """Return the bytes that a relay sends."""
        return b"".join([_MAGIC, self.key.public, self.own.to_bytes(4, "big"), *self.reports])

    @classmethod
    def decode(cls, plan: Plan, body: bytes) -> SealedBatch:
        """Read a batch of sealed reports of a plan. Anything else is a ReportError."""
        if len(body) < _HEADER or not body.startswith(_MAGIC):
            raise ReportError("not a batch of sealed reports")
        key, own = body[len(_MAGIC) : _HEADER - 4], int.from_bytes(body[_HEADER - 4 : _HEADER], "big")
        return cls(CollectorKey(key), own, split(plan, body[_HEADER:]))


def split(plan: Plan, data: bytes) -> tuple[bytes, ...]:
    """Return sealed reports that stand one after the other."""
    size = sealed_size(plan)
    if not data or len(data) % size:
        raise ReportError(f"sealed reports of this plan have {size} bytes each")
    return tuple(data[start : start + size] for start in range(0, len(data), size))


def batch_id(body: bytes) -> bytes:
    """Return the id of a batch: the first 16 bytes of the SHA-256 of its bytes."""
    return hashlib.sha256(body).digest()[:BATCH_ID_SIZE]


def keys(shared: bytes, sent: bytes, public: bytes, info: bytes) -> tuple[bytes, bytes]:
    """Return the key and the nonce of AES-128-GCM, from what X25519 agreed on.

    `sent` is the ephemeral public key that travels with the message, `public` that of the collector.
    """
    if not any(shared):  # the point has a small order: everybody would know what was agreed on
        raise ReportError("the key of a collector is not a key")
    zero = _extract(_KEM, b"", b"eae_prk", shared)
    secret = _expand(_KEM, zero, b"shared_secret", sent + public, KEY_SIZE)
    context = b"\0" + _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", info)
    mixed = _extract(_SUITE, secret, b"secret", b"")
    return _expand(_SUITE, mixed, b"key", context, 16), _expand(_SUITE, mixed, b"base_nonce", context, 12)


def _extract(suite: bytes, salt: bytes, label: bytes, given: bytes) -> bytes:
    return hmac.digest(salt or bytes(hashlib.sha256().digest_size), b"HPKE-v1" + suite + label + given, "sha256")


def _expand(suite: bytes, key: bytes, label: bytes, context: bytes, length: int) -> bytes:
    """Return at most 32 bytes: one block of HKDF."""
    text = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + context + b"\1"
    return hmac.digest(key, text, "sha256")[:length]
