"""Tables that a page saves are those of the collector: the same texts get the same apostrophes."""

from __future__ import annotations

import json

import pytest

from hush.show import csv
from tests.show.test_csv import FORMULAS, PARTS, PLAIN
from tests.web.replaying import WEB, needs_node, node

PAGE = WEB / "pages" / "text.ts"
CALL = """
import { readFileSync } from "node:fs";
import { transform } from "esbuild";
const { code } = await transform(readFileSync(process.env.PAGE, "utf8"), { loader: "ts" });
const { csv } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
console.log(JSON.stringify(csv(JSON.parse(process.env.ROWS))));
"""


def test_both_look_for_the_same() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"const FORMULA = /{csv._FORMULA.pattern}/g;" in text
    assert f"const NUMBER = /^{csv._NUMBER.pattern}$/;" in text


@needs_node
def test_both_write_the_same() -> None:
    if not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("the pages are built with esbuild, which is not here")
    rows = [[text, text, -1, 0.5, None] for text in (*FORMULAS, *PLAIN, *PARTS, "a, b", 'say "x"', "a\nb")]
    done = node("--input-type=module", "-e", CALL, PAGE=str(PAGE), ROWS=json.dumps([["x", "y", "a", "b", "c"], *rows]))
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == csv.table(["x", "y", "a", "b", "c"], rows)
