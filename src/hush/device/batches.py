"""Batches: many reports in one request, from a gateway or a relay that received them from people's devices.

A batch has an id, so sending it again is harmless.
"""

from __future__ import annotations

from hush.core.plan import Plan
from hush.core.sealing import batch_id
from hush.device.network import SEALED, Server
from hush.device.receipts import Receipt, SealedReceipt, receipt, sealed_receipt


def send_batch(server: Server, path: str, body: bytes, id_: bytes, content_type: str) -> Receipt:
    """Send a batch to where the collector takes single ones too."""
    return receipt(server.send(path, body, content_type, {"Hush-Batch": id_.hex()}), id_)


def send_sealed_batch(server: Server, plan: Plan, body: bytes) -> SealedReceipt:
    """Send a batch of sealed reports. Its id follows from its bytes."""
    id_ = batch_id(body)
    return sealed_receipt(server.send(f"/plans/{plan.id}/sealed", body, SEALED, {"Hush-Batch": id_.hex()}), id_)
