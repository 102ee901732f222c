"""How the pages write numbers: never as 1.0e+2 %, -0 or NaN, and bounds never too small."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from hush.show.tables import most, number, within
from tests.web.replaying import WEB, needs_node, node

PAGES = WEB / "pages"
CALL = """
import { build } from "esbuild";
const { outputFiles } = await build({
  stdin: { contents: process.env.CODE, resolveDir: process.env.PAGES, loader: "ts" },
  bundle: true, write: false, format: "esm", platform: "node",
});
const { found } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
console.log(JSON.stringify(found));
"""
SHARES = [0.0, 1e-12, 3.14e-7, 0.00999, 0.0314, 0.5, 0.995, 0.99999, 1.0]
SMALL = [-0.0, -1e-9, -0.0004, -0.4999]
STRANGE = re.compile(r"\de[+-]?\d|NaN|nan|inf|(?<![\d.])-0(\.0*)?(?![\d.])", re.I)


def said(code: str) -> Any:
    """Run the pages' own functions."""
    if not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("the pages are built with esbuild, which is not here")
    head = """
        Object.assign(globalThis, { document: { documentElement: { dataset: {} } }, matchMedia: () => ({}) });
        const { atMost, column, number, percent, percents, whole } = require("./text.ts");
        const { rounded, share } = require("./headlines.ts");
        const { length } = require("./calendar.ts");
    """
    done = node("--input-type=module", "-e", CALL, CODE=f"{head} export const found = {code};", PAGES=str(PAGES))
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@needs_node
def test_a_bound_on_a_share_is_written_plainly() -> None:
    """It was "1.0e+2 %" for everybody. The pages and the command line say the same."""
    found = said(f"{SHARES}.map(atMost)")
    assert found == [most(share) for share in SHARES]
    for share, text in zip(SHARES, found, strict=True):
        assert not STRANGE.search(text)
        assert share * 100 <= float(text.removesuffix(" %")) * (1 + 1e-12) <= 110 * share + 1e-300


@needs_node
def test_what_is_rounded_to_nothing_has_no_sign() -> None:
    """A share of -0.0004 is 0.000, and a mean near 0 is not -0."""
    for text in said(
        f"{SMALL}.flatMap((x) => [column(1, 1)(x), column(1, 3)(x / 1000), percents(1)(x / 1e4), whole(x)])"
    ):
        assert not STRANGE.search(text), text
    rows = [{"point": -0.01, "low": -3.2, "high": 3.1}, {"point": -1e-9, "low": 0, "high": 0}]
    for row in rows:
        words = said(f"Object.values(rounded({json.dumps(row)}, 1))")
        assert not any(STRANGE.search(text) for text in words), words
    assert not any(
        STRANGE.search(text) for text in said("[length({ holds: 'date' }, -0.001), length({ holds: 'time' }, -0.001)]")
    )
    write = within(-1.0, 1.0)
    assert [write(x / 100) for x in SMALL] == ["0.0"] * 4
    assert write(-0.06) == "-0.1"


NUMBERS = [1e-9, 2e-8, -4.5e-5, 0.25, -3.14159, 999.96, 1000, -54321.4, 1e6, 123456789, -1e12, 9e14]


@needs_node
def test_numbers_of_a_usual_size_have_no_power_of_ten() -> None:
    """As bounds of attributes, which may be as small as 1e-7 and as large as 1e12: the pages and the commands alike."""
    found = said(f"{NUMBERS}.map(number)")
    assert found == [number(x) for x in NUMBERS]
    assert not any(STRANGE.search(text) for text in found)
    assert said("[1e-12, -2.5e15, 1e300].map(number)") == [number(x) for x in (1e-12, -2.5e15, 1e300)]
    assert [number(x, 6) for x in (1e6, 1234567.8, 12345.67, 2e-8)] == [
        "1,000,000",
        "1,234,568",
        "12,345.7",
        "0.00000002",
    ]


def test_the_strange_is_found() -> None:
    """The twin of the tests above."""
    assert all(STRANGE.search(text) for text in ("1.0e+2 %", "1e-07", "-0", "-0.000", "nan", "NaN %"))
    assert not any(STRANGE.search(text) for text in ("0", "-0.01", "10-0.5", "1e", "100 %"))


def test_unknown_numbers_are_words() -> None:
    nan, inf = float("nan"), float("inf")
    assert [number(x) for x in (nan, inf, -inf, -0.0)] == ["unknown", "open", "open", "0"]
    for write in (within(0.0, 1.0), within(nan, nan), within(-inf, inf), within(0.0, inf)):
        assert [write(x) for x in (nan, inf, -inf)] == ["unknown", "open", "open"]
