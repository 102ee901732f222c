"""Texts of whole columns are coded and looked at as on a device."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import hush
from hush.batch.columns import encode
from hush.batch.looks import LOOKS, Scene, encode_view
from hush.core.looking import View
from hush.core.texts import Text
from hush.core.word_views import Among, Prefix
from hush.errors import RecordError

VALUES = ["nurse", "", "Cook", "accountants and auditors", "zzzz", "a", "Ärzte", "nurse", "😀", None]
TEXTS = [
    Text("word", 16, "english", optional=True),
    Text("word", 16, "english", bits=128, optional=True),
    Text("word", 8, optional=True),
    Text("word", 3, "ab", bits=9, optional=True),
]


def seen(text: Text, view: View, values: list[str | None]) -> tuple[list[int], list[int]]:
    """What the kernel and the scalar path see."""
    schema = hush.Schema([text])
    (columns,) = encode(schema, {"word": pa.array(values, pa.string())}).batches
    look = encode_view(view, schema)
    people, room = np.arange(len(values), dtype=np.int32), np.zeros(len(values))
    LOOKS[look.kind](
        Scene(
            columns.addresses([0], 0),
            look.bounds.lows,
            look.bounds.spans,
            look.floats,
            people,
            room,
            room.view(np.int16),
        )
    )
    kept = np.int16 if isinstance(view, Among) else np.int32
    scalar = view.look(schema)
    return room.view(kept)[: len(values)].tolist(), [int(scalar([text.encode(value)]) or 0) for value in values]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: f"{text.bits}-{text.length}")
def test_prefixes_are_those_of_a_device(text: Text) -> None:
    for chunks in ((5,), (5, 4), (5, 4, 0), (1,) * 9, (9, 0, 0), (8, 1)):
        for points in (2, 997, 131_072):
            fast, slow = seen(text, Prefix("word", chunks, points), VALUES)
            assert fast == slow
    if text.bits >= 60:
        fast, slow = seen(text, Prefix("word", (17, 11, 11, 11, 10, 0), 131_072), VALUES)
        assert fast == slow
        fast, slow = seen(text, Prefix("word", (24, 24, 12), 4_194_304), VALUES)
        assert fast == slow


@pytest.mark.parametrize("text", TEXTS[:3], ids=lambda text: f"{text.bits}-{text.length}")
def test_listed_texts_are_those_of_a_device(text: Text) -> None:
    for listed in (("nurse",), ("zzzz", "a", ""), ("a", "cook", "nurse", "zzzz", "b", "c", "d")):
        fast, slow = seen(text, Among("word", listed), VALUES)
        assert fast == slow


def test_bad_columns_are_refused_without_values() -> None:
    schema = hush.Schema([Text("word", 4, "english")])
    for column in ([1, 2], ["a", None], ["x" * 5000, "a"]):
        with pytest.raises(RecordError) as caught:
            encode(schema, {"word": pa.array(column)})
        assert "'word'" in str(caught.value)
        assert "xxx" not in str(caught.value)
