"""Sphinx: `make docs`. Builds without a network; warnings are errors.

The pages are plain Markdown with plain links, so that they read as well on a code host. Sphinx gets the rest here: the
side bar from the links of index.md, and copies of the documents that lie outside of this folder.
"""

import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
COPIES = HERE / "_build" / "repository"
OUTSIDE = [
    "DESIGN.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    *(f"spec/{p.name}" for p in ROOT.glob("spec/*.md")),
]

project = "hush"
author = "the developers of hush"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build/html"]
html_theme = "furo"
html_title = "hush"
html_static_path: list[str] = []
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # generated pages go from a heading to one that is two levels smaller

LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)]*)?\)")


def moved(text: str, old: Path, new: Path) -> str:
    """Return a page whose links still lead where they led, after it or what they lead to has been copied."""

    def changed(found: re.Match[str]) -> str:
        target = (old.parent / found[1]).resolve()
        name = target.relative_to(ROOT).as_posix()
        place = COPIES / name if name in OUTSIDE else target
        return f"]({Path(*_steps(new.parent, place)).as_posix()}{found[2] or ''})"

    return LINK.sub(changed, text)


def _steps(start: Path, end: Path) -> list[str]:
    shared = 0
    while start.parts[: shared + 1] == end.parts[: shared + 1]:
        shared += 1
    return [".."] * (len(start.parts) - shared) + list(end.parts[shared:])


def contents(text: str) -> str:
    """Return the table of contents that the links of a page make: a part for each of its headings."""
    made = ""
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        title, _, rest = part.partition("\n")
        names = [link[1].removesuffix(".md") for link in LINK.finditer(rest) if link[1].endswith(".md")]
        made += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(dict.fromkeys(names)) + "\n```\n"
    return made


def read(_app: Any, name: str, source: list[str]) -> None:
    """Change a page on its way to Sphinx."""
    page = HERE / f"{name}.md"
    if COPIES not in page.parents:
        source[0] = moved(source[0], page, page)
    if name in ("index", "api/index", "decisions/index"):
        source[0] += contents(source[0] if "\n## " in source[0] else f"## {name}\n{source[0]}")


def copy() -> None:
    """Copy the documents that lie outside of this folder to where Sphinx finds them."""
    for name in OUTSIDE:
        copied = COPIES / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_text(moved((ROOT / name).read_text(encoding="utf-8"), ROOT / name, copied), encoding="utf-8")


def setup(app: Any) -> None:
    """Connect."""
    copy()
    app.connect("source-read", read)
