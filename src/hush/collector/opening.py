"""Opening sealed reports: the collector's side of `hush.core.sealing`.

Whatever does not open, or does not hold a report of the plan, is one and the same ReportError: the relay that sends a
batch learns nothing from it.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.sealing import KEY_SIZE, CollectorKey, info, keys, question_info, sealed_size, unpad
from hush.errors import ReportError


class Opener:
    """Opens sealed reports with the secret key of a collector."""

    def __init__(self, secret: bytes) -> None:
        if type(secret) is not bytes or len(secret) != KEY_SIZE:
            raise ReportError(f"the secret key of a collector must be {KEY_SIZE} bytes")
        self._secret = X25519PrivateKey.from_private_bytes(secret)
        self.key = CollectorKey(self._secret.public_key().public_bytes_raw())

    def open(self, plan: Plan, sealed: bytes) -> Report:
        """Return the report of this plan. Anything else is a ReportError."""
        if type(sealed) is not bytes or len(sealed) != sealed_size(plan):
            raise ReportError(f"a sealed report of this plan has {sealed_size(plan)} bytes")
        try:
            return unpad(plan, self.text(sealed, info(plan)))
        except (InvalidTag, ValueError):  # a point of small order is a ValueError, as is a text that is no report
            raise ReportError("this is not a report of the plan, sealed for this collector") from None

    def prove(self, plan: Plan, question: bytes) -> bytes:
        """Return the text of a relay's question about a plan: only the owner of the key can. Else a ReportError."""
        try:
            return self.text(question, question_info(plan))
        except (InvalidTag, ValueError):
            raise ReportError("this is not a question about the plan, sealed for this collector") from None

    def text(self, sealed: bytes, info: bytes, extra: bytes = b"") -> bytes:
        """Return the text of a sealed message, whatever it holds."""
        sent, hidden = sealed[:KEY_SIZE], sealed[KEY_SIZE:]
        shared = self._secret.exchange(X25519PublicKey.from_public_bytes(sent))
        symmetric, nonce = keys(shared, sent, self.key.public, info)
        text: bytes = AESGCM(symmetric).decrypt(nonce, hidden, extra)
        return text
