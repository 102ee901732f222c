"""Sphinx: `make docs`. Builds without a network; warnings are errors."""

project = "hush"
author = "the developers of hush"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "hush"
html_static_path: list[str] = []
myst_heading_anchors = 3
