"""Long lists: what a plan says of them, with their texts, and texts that must be refused."""

from __future__ import annotations

import hashlib
from typing import Any

from hush.core.lists import Listed
from spec.plans import PAGES


def listings() -> dict[str, Any]:
    """Lists that are named by their hash, and what is none."""
    small = Listed(["a", "é ☂", " b "], "small.txt")

    def bad(why: str, text: bytes, count: int, sha256: str | None = None) -> dict[str, Any]:
        named = {"count": count, "name": "bad.txt", "sha256": sha256 or hashlib.sha256(text).hexdigest()}
        return {"why": why, "list": named, "text": text.hex()}

    return {
        "about": "long lists, the hexadecimal digits of their UTF-8, and those that must be refused",
        "good": [{"list": one.to_json(), "text": one.text().hex()} for one in (small, PAGES)],
        "bad": [
            bad("another hash", b"a\nb\n", 2, "0" * 64),
            bad("a line more", b"a\nb\nc\n", 2),
            bad("a line less", b"a\n", 2),
            bad("no line feed at the end", b"a\nb", 2),
            bad("lines of Windows", b"a\r\nb\r\n", 2),
            bad("a byte order mark", b"\xef\xbb\xbfa\nb\n", 2),
            bad("an empty line", b"a\n\n", 2),
            bad("a value twice", b"a\na\n", 2),
            bad("a value that is not printable", b"a\nb\tc\n", 2),
            bad("a value that is too long", b"a\n" + b"x" * 257 + b"\n", 2),
            bad("missing", b"a\n(missing)\n", 2),
            bad("other", b"a\n(other)\n", 2),
            bad("no UTF-8", b"a\n\xff\n", 2),
        ],
    }
