"""Pictures that the form shows: a logo, and one beside a question. The operator names their files.

A file is known by its first bytes, never by its name: PNG, JPEG or WebP. All of these are pixels alone; SVG, which may
have scripts, is refused. A picture is served under the hash of its bytes, so no name or path of the operator's machine
is seen, and no request can name another file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from hush.collector.presentation import Image, Presentation
from hush.errors import InputError

LARGEST = 512 << 10
"""The most bytes of one picture: phones load all of them, whichever question is drawn."""
MOST = 4 << 20
"""The most bytes of all pictures of one presentation."""


def kind(content: bytes) -> str | None:
    """Return what the first bytes of a file say that it is: png, jpg or webp; None if it is nothing of these."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if content.startswith(b"\xff\xd8\xff"):
        return "jpg"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    return None


def gather(presentation: Presentation, folder: Path) -> tuple[Presentation, dict[str, bytes]]:
    """Read the pictures of a presentation from its folder. Return it with their served names, and their bytes."""
    found: dict[str, bytes] = {}

    def taken(image: Image | None, where: str) -> Image | None:
        if image is None:
            return None
        name, content = _read(folder / image.file, where)
        found[name] = content
        return Image(name, image.alt)

    logo = taken(presentation.logo, "logo: ")
    attributes = {
        name: msgspec.structs.replace(shown, image=taken(shown.image, f"attribute {name!r}: image: "))
        for name, shown in presentation.attributes.items()
    }
    if sum(map(len, found.values())) > MOST:
        raise InputError(f"all pictures together may have {MOST >> 20} MiB at most: every visitor loads all of them")
    return msgspec.structs.replace(presentation, logo=logo, attributes=attributes), found


def _read(path: Path, where: str) -> tuple[str, bytes]:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it has no valid name"
        raise InputError(f"{where}the file cannot be read: {why}") from None
    if len(content) > LARGEST:
        raise InputError(f"{where}a picture may have {LARGEST >> 10} KiB at most")
    ending = kind(content)
    if ending is None:
        raise InputError(f"{where}a picture is a PNG, JPEG or WebP file, by its first bytes")
    return f"image-{hashlib.sha256(content).hexdigest()[:32]}.{ending}", content
