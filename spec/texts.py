"""Texts: their codes and points, and texts that must be refused."""

from __future__ import annotations

import json
from typing import Any

from hush.core.schema import Schema
from hush.core.texts import Text
from hush.core.word_views import Among, Prefix

TEXTS = (
    Text("word", 16, "english"),
    Text("word", 8, optional=True),
    Text("word", 5, "aBc-é", case="keep", bits=11),
)
VALUES = (
    *(
        "",
        "nurse",
        "  Registered Nurses ",
        "a",
        "zzzz zzzz zzzz zzzz",
        "x\ty",
        "a\u0301b",
        "Zürich",
        "東京都",
        "😀👍🏽",
    ),
    *("ΑΣ", "İ", "aBc-é", "ba-ba-ba", "\u202eevil", "a\0b", " \n ", "a" * 80 + "b", "ﬁ", "\u1e9b\u0323", "日" * 20),
    # Marks out of order, a mark that is in the way, one that stays apart, and characters that are not joined again.
    *(
        "a\u0301\u0323",
        "a\u0327\u0301\u0301",
        "\u0344\u0958",
        "\u212b\u2126",
        "\u1100\u1161\u11a8",
        "각\u11a8",
        "\u0915\u093c",
    ),
    # A sigma ends a word behind letters and what case ignores. Capital letters of Unicode 14, and one that becomes two.
    *("Σ", "ΑΣ'", "ΑΣ.Α", "Α\u0301Σ b", "ΣΣ", "İİ", "\u2c2f\U00010570", "ǅA\u1734Σ"),
)
CHUNKS = ((5,), (5, 4), (5, 4, 0), (1, 1, 1, 1, 1, 1, 1, 1), (8, 3))
POINTS = (2, 997, 131_072)


def texts() -> dict[str, Any]:
    """Codes, as decimal digits, and the points of prefixes."""
    good = []
    for text in TEXTS:
        schema = Schema([text])
        views = [Prefix("word", chunks, points) for chunks in CHUNKS for points in POINTS]
        looks = [view.look(schema) for view in views]
        listed = Among("word", ("", "a"))
        for value in VALUES:
            code = text.encode(value)
            seen = [look([code]) for look in looks]
            place = listed.look(schema)([code])
            attribute = text.to_json()
            good.append({"attribute": attribute, "value": value, "code": str(code), "points": seen, "among": place})
    bad_values = {
        "half of a pair of surrogates": '"a\\ud800"',
        "too long": json.dumps("x" * 4097),
        "a number": "3",
        "a list": '["a"]',
        "missing": "null",
    }
    plain = Text("word", 4, "ab", bits=10).to_json()
    prefix: dict[str, Any] = {"kind": "prefix", "of": ["word"], "chunks": [5, 4], "points": 997}
    among: dict[str, Any] = {"kind": "among", "of": ["word"], "values": ["", "ab"]}
    refused: dict[str, dict[str, Any]] = {
        "a text that is not there": {**prefix, "of": ["nobody"]},
        "two texts": {**prefix, "of": ["word", "word"]},
        "no chunks": {**prefix, "chunks": []},
        "too many chunks": {**prefix, "chunks": [0] * 33},
        "chunks of more bits than the text has": {**prefix, "chunks": [5, 6]},
        "a chunk of less than no bits": {**prefix, "chunks": [5, -1]},
        "a chunk of too many bits": {**prefix, "chunks": [25]},
        "a chunk as text": {**prefix, "chunks": ["5"]},
        "a fraction of a bit": {**prefix, "chunks": [4.5]},
        "one point": {**prefix, "points": 1},
        "too many points": {**prefix, "points": (1 << 22) + 1},
        "points as text": {**prefix, "points": "997"},
        "a prefix with values": {**prefix, "values": ["a"]},
        "no listed texts": {**among, "values": []},
        "a listed text twice": {**among, "values": ["ab", "ab"]},
        "a listed text that is cut": {**among, "values": ["abababab"]},
        "a listed text with a capital letter": {**among, "values": ["aB"]},
        "a listed text outside the alphabet": {**among, "values": ["ac"]},
        "a listed number": {**among, "values": [3]},
        "listed texts without a list": {**among, "values": "ab"},
        "listed texts with points": {**among, "points": 2},
    }
    changes: dict[str, dict[str, Any]] = {
        "no characters": {"length": 0},
        "too many characters": {"length": 65},
        "a fraction": {"length": 4.5},
        "one letter": {"alphabet": "a"},
        "a letter twice": {"alphabet": "aa"},
        "a capital letter": {"alphabet": "aB"},
        "a letter that is no normal form": {"alphabet": "a\u1e9b\u0323"},
        "a letter that is not printable": {"alphabet": "a\n"},
        "another case": {"case": "upper"},
        "too few bits": {"bits": 7},
        "too many bits": {"bits": 129},
        "words too short": {"code": ["112"]},
        "a word of no bits": {"code": ["012"]},
        "a word that is too long": {"code": ["12p"]},
        "two rows": {"code": ["122", "122"]},
        "a symbol less": {"code": ["12"]},
        "one row for Unicode": {"alphabet": None},
        "the name of an alphabet": {"alphabet": "english"},
    }
    wide: dict[str, Any] = {
        **plain,
        "alphabet": "".join(map(chr, range(0x4E00, 0x4E00 + 255))),
        "code": ["8" * 256],
    }
    most = {"attribute": wide, "times": 2, "rows": 256}  # exactly as many digits as a schema may have
    unicode = {**plain, "alphabet": None, "code": ["9" * 257]}
    schemas = [
        {"fits": True, "texts": [most]},
        {"fits": False, "texts": [most, {"attribute": plain, "times": 1, "rows": 1}]},
        {"fits": True, "texts": [{"attribute": unicode, "times": 127, "rows": 4}]},
        {"fits": False, "texts": [{"attribute": unicode, "times": 128, "rows": 4}]},
        {"fits": False, "texts": [{"attribute": unicode, "times": 1024, "rows": 4}]},
    ]
    return {
        "about": "texts: codes, and points of prefixes of these chunks, each for these points; see spec/wire.md",
        "chunks": [list(chunks) for chunks in CHUNKS],
        "points": list(POINTS),
        "good": good,
        "bad_values": [{"why": why, "json": value} for why, value in bad_values.items()],
        "good_views": [prefix, among],
        "bad_views": [{"why": why, "view": view} for why, view in refused.items()],
        "bad_attributes": [{"why": why, "attribute": {**plain, **change}} for why, change in changes.items()],
        "schemas": schemas,
    }
