"""Make the tables of src/hush/core/letters.py from the documents of this repository: `python -m experiments.letters`.

The first table says how likely each letter is after each other in English words, the second how likely each byte of
UTF-8 is in any text. Both become lengths of the words of a prefix code. The tables are kept, so that a better page of
the documents does not change anybody's plan; whoever runs this prints new ones.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from textwrap import wrap

from hush.core.texts import BYTES, huffman

LETTERS = "abcdefghijklmnopqrstuvwxyz "
DOCUMENTS = Path(__file__).parent.parent / "docs"
BEYOND = 0.2  # the share of characters beyond ASCII
EMOJI = 0x9F  # the second byte of nearly all characters of four bytes that people write
LEADS = {
    **dict.fromkeys(range(0xC2, 0xE0), 1.0),  # Latin with accents, Greek, Cyrillic, Hebrew, Arabic
    **dict.fromkeys(range(0xE0, 0xF0), 2.0),  # the languages of India and East Asia
    **dict.fromkeys(range(0xF1, 0xF5), 0.01),
    0xC3: 20.0,
    0xF0: 20.0,
}


def phrases() -> list[str]:
    """Return one to three neighbouring words of all documents: what people write where a form asks for a few words."""
    found = []
    for path in sorted(DOCUMENTS.glob("*.md")):
        text = re.sub(r"```.*?```|`[^`]*`|\([^)]*\)|<[^>]*>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        words = re.findall(r"[a-z]+", text.lower())
        found += [" ".join(words[at : at + 1 + at % 3]) for at in range(len(words))]
    return found


def after_each(texts: list[str]) -> list[str]:
    """Return a code with a row for each letter that comes before, the last one for the first letter of a text."""
    end = len(LETTERS)
    pairs: Counter[tuple[int, int]] = Counter()
    for text in texts:
        symbols = [end, *(LETTERS.index(letter) for letter in text), end]
        pairs.update(pairwise(symbols))
    single = Counter(symbol for (_, symbol), times in pairs.items() for _ in range(times))
    total = sum(single.values())
    rows = []
    for before in range(end + 1):
        mine = sum(pairs[before, symbol] for symbol in range(end + 1))
        # Pairs that were never met get a part of what the letter has everywhere.
        rows.append(
            huffman([(pairs[before, symbol] + 20 * single[symbol] / total) / (mine + 20) for symbol in range(end + 1)])
        )
    return rows


def any_text(texts: list[str]) -> list[str]:
    """Return a code for the bytes of UTF-8 in any language: a row for 0 to 3 bytes that a character still lacks."""
    ascii_ = Counter(byte for text in texts for byte in text.encode())
    total = sum(ascii_.values())
    first = [(1 - BEYOND) * (0.9 * ascii_[byte] / total + 0.1 / 128) for byte in range(128)] + [0.0] * 128
    for byte, weight in LEADS.items():
        first[byte] = BEYOND * weight / sum(LEADS.values())
    tail = [float(0x80 <= byte < 0xC0) for byte in range(256)]
    emoji = [weight * (30.0 if byte == EMOJI else 1.0) for byte, weight in enumerate(tail)]
    return [huffman([*row, end]) for row, end in ((first, 1 / 9), (tail, 0.0), (tail, 0.0), (emoji, 0.0))]


if __name__ == "__main__":
    collected = phrases()
    print("CODE = (")
    for row in after_each(collected):
        print(f'    "{row}",')
    print(")")
    print("UNICODE = (")
    for row in any_text(collected):
        assert len(row) == BYTES + 1
        print("    (")
        for part in wrap(row, 100):
            print(f'        "{part}"')
        print("    ),")
    print(")")
