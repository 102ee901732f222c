"""Panels: valid specifications, the same for data inside and for data by name, in colours that can be seen."""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import pytest

from hush.plots import panels


def styles(spec: Any) -> set[str]:
    """Return the styles that marks of a specification name."""
    if isinstance(spec, list):
        return set().union(*map(styles, spec))
    if not isinstance(spec, dict):
        return set()
    own = {spec["style"]} if isinstance(spec.get("style"), str) else set()
    return own.union(*map(styles, spec.values()))


@pytest.fixture(scope="module")
def all_named() -> dict[str, Any]:
    """Make every panel with data by name, once."""
    return panels.named()


@pytest.mark.parametrize("name", panels.PANELS)
def test_specifications_are_valid_and_shared(name: str, all_named: dict[str, Any]) -> None:
    make, title = panels.PANELS[name]
    named = all_named[name]
    alt.Chart.from_dict(named)  # validates
    inline = make(alt.InlineData(values=[{"what": "x"}]), title, "container").to_dict()
    (values,) = inline.pop("datasets").values()
    assert values == [{"what": "x"}]
    text = json.dumps(named)
    assert '{"name": "rows"}' in text
    assert json.loads(text.replace('{"name": "rows"}', "0")) == json.loads(
        json.dumps(inline).replace(json.dumps(inline["data"]), "0")
    )
    assert "#" not in text, "colours are the theme's"


@pytest.mark.parametrize("name", ["light", "dark"])
def test_themes_have_every_style_and_contrast(name: Any, all_named: dict[str, Any]) -> None:
    theme = panels.theme(name)
    alt.Config.from_dict(theme)
    assert set().union(*(styles(spec) for spec in all_named.values())) == set(theme["style"])
    surface = theme["background"]
    for colour in (theme["axis"]["labelColor"], theme["title"]["color"], theme["title"]["subtitleColor"]):
        assert contrast(colour, surface) >= 4.5
    marks = [theme["style"]["estimate"]["color"], theme["style"]["interval"]["color"], *theme["range"]["category"]]
    for colour in marks:
        assert contrast(colour, surface) >= 3, "as WCAG wants it of graphics"


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, as WCAG defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)
