"""Pictures of a presentation: known by their first bytes, bounded, served under their hash, and nothing else."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.cli.program import Refused
from hush.cli.rounds import presentations
from hush.collector import images, presentation
from hush.errors import InputError
from tests.collector.served import anybody, serving

PLAN = hush.design(hush.Schema([hush.Numeric("mood", 1, 10), hush.Boolean("tired")]), 1.0)


def png(width: int = 4, height: int = 2, colour: tuple[int, int, int] = (200, 60, 0)) -> bytes:
    """Return a picture of one colour."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = (b"\0" + bytes(colour) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0"
WEBP = b"RIFF\x1a\0\0\0WEBPVP8L"


def gathered(folder: Path, shown: dict[str, Any]) -> tuple[presentation.Presentation, dict[str, bytes]]:
    return images.gather(presentation.read(json.dumps(shown).encode(), PLAN), folder)


def test_pictures_are_named_by_their_bytes(tmp_path: Path) -> None:
    """A wrong ending of a file does no harm, and the file's own name is not served."""
    for name, content in (("secret name.svg", png()), ("b.png", JPEG), ("c", WEBP)):
        (tmp_path / name).write_bytes(content)
    shown, found = gathered(
        tmp_path,
        {
            "logo": {"file": "secret name.svg", "alt": "The town's arms"},
            "attributes": {
                "mood": {"image": {"file": "b.png", "alt": "A face"}},
                "tired": {"question": "Tired?", "image": {"file": "c", "alt": "A bed"}},
            },
        },
    )
    assert shown.logo is not None
    assert shown.logo.alt == "The town's arms"
    assert sorted(found.values()) == sorted([png(), JPEG, WEBP])
    assert sorted(name.rpartition(".")[2] for name in found) == ["jpg", "png", "webp"]
    assert found[shown.logo.file] == png()
    assert "secret" not in str(shown) + str(list(found))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"GIF89a",
        b"<html>",
        b"RIFF\0\0\0\0WAVE",
        b"\x89PNG\r\n",
        b" " + png(),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(InputError, match=r"^logo: a picture is a PNG, JPEG or WebP file, by its first bytes$"):
        gathered(tmp_path, {"logo": {"file": "a.png", "alt": "x"}})


def test_large_ones_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(png() + bytes(images.LARGEST))
    with pytest.raises(InputError, match="'mood': image: a picture may have 512 KiB at most"):
        gathered(tmp_path, {"attributes": {"mood": {"image": {"file": "a", "alt": "x"}}}})
    with pytest.raises(InputError, match="the file cannot be read: No such file"):
        gathered(tmp_path, {"logo": {"file": "none", "alt": "x"}})
    with pytest.raises(InputError, match="the file cannot be read"):
        gathered(tmp_path, {"logo": {"file": "a\0b", "alt": "x"}})


def test_all_together_are_bounded(tmp_path: Path) -> None:
    schema = hush.Schema([hush.Boolean(f"b{i}") for i in range(10)])
    for i in range(10):
        (tmp_path / str(i)).write_bytes(png() + bytes([i]) * (images.LARGEST - 200))
    shown = {"attributes": {f"b{i}": {"image": {"file": str(i), "alt": "x"}} for i in range(10)}}
    read = presentation.read(json.dumps(shown).encode(), hush.design(schema, 1.0))
    with pytest.raises(InputError, match="all pictures together may have 4 MiB at most"):
        images.gather(read, tmp_path)


@pytest.mark.parametrize(
    "image",
    [
        {"file": "a"},
        {"file": "a", "alt": " "},
        {"file": "a", "alt": "x\u202e"},
        {"alt": "x"},
        "a",
        {"file": "a", "alt": "x" * 301},
    ],
)
def test_every_picture_says_what_it_shows(image: Any) -> None:
    with pytest.raises(InputError, match=r"alt|file|Expected"):
        presentation.read(json.dumps({"logo": image}).encode(), PLAN)
    with pytest.raises(InputError, match=r"attribute 'mood': .*(alt|file|Expected)"):
        presentation.read(json.dumps({"attributes": {"mood": {"image": image}}}).encode(), PLAN)


def test_the_command_reads_them_beside_the_presentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("looks").mkdir()
    Path("plan.json").write_text(PLAN.to_json())
    Path("looks", "form.json").write_text(json.dumps({"logo": {"file": "logo.png", "alt": "Arms"}}))
    with pytest.raises(Refused, match="--presentation: logo: the file cannot be read"):
        presentations(("plan.json=looks/form.json",))
    Path("looks", "logo.png").write_bytes(png())
    whole = presentations(("plan.json=looks/form.json",))
    (shown,), found = whole.plans.values(), whole.images
    assert shown.logo is not None
    assert found == {shown.logo.file: png()}


def test_they_are_served_as_what_they_are(tmp_path: Path) -> None:
    """With the strict policy of all pages: nothing is guessed from their bytes, and nothing in them could run."""
    held = {f"image-{i:032x}.{kind}": content for i, (kind, content) in enumerate((("png", png()), ("jpg", JPEG)))}
    with serving(tmp_path, anybody(images=held), plans=(PLAN,), trainings={}) as served:
        for name, content in held.items():
            answer = served.client.get(f"/pages/{name}")
            assert answer.content == content
            assert answer.headers["content-type"] == ("image/png" if name.endswith("png") else "image/jpeg")
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            again = served.client.get(f"/pages/{name}", headers={"if-none-match": answer.headers["etag"]})
            assert again.status_code == 304
        assert served.client.get(f"/pages/image-{9:032x}.png").status_code == 404
        assert "image" not in served.client.get("/").headers["content-security-policy"].replace("img-src", "")
