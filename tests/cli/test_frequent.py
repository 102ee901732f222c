"""`hush frequent`: the texts of a tally as a table, as JSON and as CSV, in one round and in two."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.server.frequent import FrequentText, FrequentTexts
from tests import texting
from tests.cli.test_commands import refused, run
from tests.texting import EMOJI, FORMULA, HEBREW, JOBS, LONG, MARKUP, PLAN, SECOND, TURNED

RANKED = texting.ranked()
WORDS = ("frequent", "tally.json", "--attribute", "word")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tallies = {"tally": texting.tally(), "nobody": texting.nobody(), "empty": hush.Tally(PLAN), "ranked": RANKED}
    for name, tally in tallies.items():
        Path(f"{name}.json").write_text(tally.to_json(), encoding="utf-8")


def read(*options: str) -> Any:
    """The JSON of a command, which may hold neither NaN nor infinity."""

    def wrong(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(run(*options, "--json").stdout, parse_constant=wrong)


def lines(*options: str) -> list[list[str]]:
    """The cells of a printed table, without its head."""
    printed = run(*options).stdout.split("\n\n")[0]
    return [[cell.strip() for cell in line.split("   ") if cell.strip()] for line in printed.splitlines()[2:]]


def test_the_table_has_the_texts_of_the_library_and_says_what_is_missed() -> None:
    told = hush.frequent(texting.tally(), "word")
    printed = run(*WORDS).stdout
    shown = lines(*WORDS)
    assert [line[0] for line in shown] == [row.category + "…" * row.cut for row in told]
    assert {MARKUP, FORMULA, *JOBS, LONG[:6] + "…"} == {line[0] for line in shown}
    for line, row in zip(shown, told, strict=True):
        assert abs(float(line[1]) - row.share) < 1e-4
        low, high = map(float, line[2].split(" .. "))
        assert abs(low - row.low) < 1e-4 > abs(high - row.high)
    words = " ".join(printed.split())
    assert f"All other texts: {told.others:.3f}." in words
    assert f"held by less than about {told.floor:.2g} of the people is likely missed" in words
    assert f"About {told.liars:,} people who lie together can add a text" in words
    assert words.endswith("From 956,904 reports.")


def test_json_has_the_numbers_of_the_library() -> None:
    told = hush.frequent(texting.tally(), "word", level=0.8, false=0.01)
    found = read(*WORDS, "--level", "0.8", "--false", "0.01")
    assert found.pop("rows") == [vars(row) for row in told]
    assert found == {
        "plan": PLAN.id,
        "reports": texting.tally().reports,
        "attribute": "word",
        "level": 0.8,
        "others": told.others,
        "missing": told.missing,
        "floor": told.floor,
        "liars": told.liars,
    }
    assert told != hush.frequent(texting.tally(), "word")  # so the options did something


def test_csv_has_a_line_for_each_text_and_no_formula() -> None:
    told = hush.frequent(texting.tally(), "word")
    found = list(csv.DictReader(io.StringIO(run(*WORDS, "--csv").stdout)))
    assert [float(line["share"]) for line in found] == [row.share for row in told]
    assert [line["cut"] for line in found] == [str(row.cut) for row in told]
    texts = [line["category"] for line in found]
    assert MARKUP in texts
    assert "'" + FORMULA in texts
    assert FORMULA not in texts
    empty = run("frequent", "nobody.json", "--attribute", "word", "--csv").stdout
    assert empty.strip().split(",") == list(found[0]), "with no text, the head stays the same"


def test_the_first_texts_alone() -> None:
    every, three = read(*WORDS), read(*WORDS, "--top", "3")
    assert three["rows"] == every["rows"][:3]
    assert len(lines(*WORDS, "--top", "3")) == 3
    assert three["others"] > every["others"] + 0.3  # the other twelve count as others
    assert "top must be a whole number, 1 or more" in refused(*WORDS, "--top", "0")


def test_what_cannot_be_told_from_noise_is_not_shown() -> None:
    """Hardly two of these people agree. A table of the likeliest texts would have hundreds of lines."""
    for name in ("nobody", "empty"):
        command = ("frequent", f"{name}.json", "--attribute", "word")
        assert lines(*command) == []
        assert "No text can be told from noise." in run(*command).stdout
        assert read(*command)["rows"] == []
    found = read("frequent", "nobody.json", "--attribute", "word")
    assert found["floor"] > 5 * read(*WORDS)["floor"]
    nothing = read("frequent", "empty.json", "--attribute", "word")
    assert (nothing["reports"], nothing["floor"], nothing["others"], nothing["missing"]) == (0, None, None, None)
    # The rare texts of many people are left out as well, but not if half of what is shown may be false.
    assert len(read(*WORDS, "--false", "0.5")["rows"]) > len(read(*WORDS)["rows"])


def test_two_rounds_are_planned_and_read() -> None:
    made = run(*WORDS, "--plan", "second.json", "--epsilon", "2")
    assert made.stdout == ""
    data = Path("second.json").read_bytes()
    plan = hush.Plan.from_json(data)
    assert (plan.id, plan.after, plan.epsilon) == (hashlib.sha256(data).hexdigest(), PLAN.id, 2.0)
    assert plan == hush.second_round(texting.tally(), "word", 2.0)
    assert {FORMULA, MARKUP, *JOBS} <= set(plan.questions[0].views[0].values)  # type: ignore[attr-defined]

    found = read(*WORDS, "--second", "ranked.json")
    told = hush.frequent(texting.tally(), "word", second=RANKED)
    assert found["rows"] == [vars(row) for row in told]
    assert (found["second"], found["reports_second"]) == (SECOND.id, RANKED.reports)
    before = {row["category"]: row["stderr"] for row in read(*WORDS)["rows"]}
    assert all(row["stderr"] < before[row["category"]] for row in found["rows"])
    printed = " ".join(run(*WORDS, "--second", "ranked.json").stdout.split())
    assert printed.endswith(f"From 956,904 reports of the first round and {RANKED.reports:,} of the second.")


def test_a_plan_is_not_overwritten_unless_asked() -> None:
    Path("second.json").write_text("mine", encoding="utf-8")
    assert "exists already" in refused(*WORDS, "--plan", "second.json", "--epsilon", "2")
    assert Path("second.json").read_text(encoding="utf-8") == "mine"
    run(*WORDS, "--plan", "second.json", "--epsilon", "2", "--overwrite")
    assert hush.Plan.from_json(Path("second.json").read_bytes()).after == PLAN.id


def test_what_is_refused_says_why() -> None:
    assert "name the text with --attribute: word, <b>sign</b>" in refused("frequent", "tally.json")
    assert "no attribute is called 'sing'" in refused("frequent", "tally.json", "--attribute", "sing")
    assert "give either --json or --csv" in refused(*WORDS, "--json", "--csv")
    for half in (("--plan", "second.json"), ("--epsilon", "2")):
        assert "needs both --plan and --epsilon" in refused(*WORDS, *half)
    assert not Path("second.json").exists()
    assert "not of a second round about the same texts" in refused(*WORDS, "--second", "tally.json")
    nothing = ("frequent", "empty.json", "--attribute", "word", "--plan", "second.json", "--epsilon", "2")
    assert "the first round found no text, so there is none to ask about" in refused(*nothing)
    assert not Path("second.json").exists()


def test_no_text_moves_the_cursor_or_turns_a_line() -> None:
    """People choose the texts, and an operator's terminal obeys what it is sent."""
    shown = lines("frequent", "tally.json", "--attribute", "<b>sign</b>")
    texts = [line[0] for line in shown]
    assert texts[:4] == [TURNED.replace("\u202e", "\ufffd"), HEBREW, EMOJI, "(empty)"]
    held = ("\x1b[2Ja", "a\nb", "\x9b1m", "\u2028", "\u2066x", " \u200b", "\u3000")
    printed = FrequentTexts([FrequentText("word", text, 0.1, 0.01, 0.05, 0.15) for text in held])
    names = [row[0] for row in printed.table().rows]
    assert names == ["\ufffd[2Ja", "a\ufffdb", "\ufffd1m", "\ufffd", "\ufffdx", "(blank)", "(blank)"]
    assert [row["category"] for row in printed.to_dicts()] == [*held], "data keep their characters"
    cut = FrequentTexts([FrequentText("word", "", 0.1, 0.01, 0.05, 0.15, True)])
    assert [row[0] for row in cut.table().rows] == ["(blank)…"]


def test_frames_say_which_texts_are_cut() -> None:
    told = hush.frequent(texting.tally(), "word")
    cut = [row.cut for row in told]
    assert any(cut)
    assert told.to_arrow().column("cut").to_pylist() == cut
    assert told.to_pandas()["cut"].tolist() == cut
    assert told.to_polars()["cut"].to_list() == cut
