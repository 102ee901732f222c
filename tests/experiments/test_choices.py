"""The comparison of ways to ask for choices: the table in the documentation, and that unary encoding is never best."""

from __future__ import annotations

from pathlib import Path

from experiments.choices import rows


def test_the_table_is_the_documented_one_and_unary_is_never_best() -> None:
    table = list(rows())
    page = (Path(__file__).parents[2] / "docs" / "choices.md").read_text(encoding="utf-8")
    assert "\n".join(table) in page
    for row in table[2:]:
        *_, each, picks, first, unary = (float(cell) for cell in row.strip("| ").split(" | "))
        assert unary > min(each, picks)
        assert picks <= first
