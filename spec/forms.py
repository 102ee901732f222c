"""Writes clients/go/hush/forms.txt: what Go needs for Unicode's normal form C, which its standard library lacks.

`python -m spec.forms` reads it from Python's `unicodedata`, of Unicode 14. Later versions do not change the normal form
of a character that they share (Unicode's policy of stability). Each line is one of these, all hexadecimal:

- `c A B +`: c is A followed by B, and these two become c again. Without `+` they do not.
- `c A`: c is A.
- `F-L k`: the characters from F to L have the combining class k.

Hangul syllables follow a rule, and are not listed.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).parent.parent / "clients" / "go" / "hush" / "forms.txt"
HANGUL = range(0xAC00, 0xD7A4)


def lines() -> Iterator[str]:
    """Yield the lines of the file."""
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code))
        if parts and not parts.startswith("<") and code not in HANGUL:
            again = unicodedata.normalize("NFC", chr(code)) == chr(code)
            yield " ".join([f"{code:x}", *(f"{int(part, 16):x}" for part in parts.split()), *["+"] * again])
    first = 0
    for code in range(1, sys.maxunicode + 1):  # the last code point is no character
        kind = unicodedata.combining(chr(first))
        if unicodedata.combining(chr(code)) != kind:
            if kind:
                yield f"{first:x}-{code - 1:x} {kind:x}"
            first = code


def main() -> None:
    """Write the file."""
    if unicodedata.unidata_version != "14.0.0":
        raise SystemExit(f"this Python knows Unicode {unicodedata.unidata_version}, and the specification Unicode 14")
    FILE.write_text("\n".join(lines()) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
