"""Sphinx: `make docs`. Builds without a network; warnings are errors."""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))  # the interface is that of the sources beside this file

project = "hush"
author = "the developers of hush"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "hush"
html_static_path: list[str] = []
myst_heading_anchors = 3
autodoc_mock_imports = ["pyspark"]  # 400 MB for three docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"Record": "Record"}
python_display_short_literal_types = True
toc_object_entries = False


def as_markup(*told: Any) -> None:
    """Read docstrings as the house writes them: `code` between single ticks, drawings and formulas indented."""
    lines: list[str] = told[-1]
    found: list[str] = []
    drawing = False
    for line in lines:
        if line.startswith("    ") and (drawing or not found or not found[-1]):
            if not drawing:
                found += ["::", ""]
            drawing = True
            found.append(line)
            continue
        drawing = drawing and not line
        parts = re.split(r"(`+[^`]+`+)", line)  # what is between ticks is code
        parts[::2] = [re.sub(r"([\\_|])", r"\\\1", part) for part in parts[::2]]
        parts[1::2] = [f"``{part.strip('`')}``" for part in parts[1::2]]
        found.append("".join(parts))
    lines[:] = found


def setup(app: Any) -> None:
    """Tell Sphinx."""
    app.connect("autodoc-process-docstring", as_markup)
