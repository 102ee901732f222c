"""Extracts of IPUMS: tiny ones, made up here, in fixed width and CSV; and what is refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.ddi import ExtractError
from experiments.reproduce import populations
from experiments.reproduce.frame import QUICK, Bench

import hush
from experiments import ddi, fields, ipums

ROOT = Path(__file__).parent.parent.parent
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook version="2.5" xmlns="ddi:codebook:2_5"><fileDscr ID="x"><fileTxt><fileStrc type="rectangular"/></fileTxt>
</fileDscr><dataDscr>"""
TAIL = "</dataDscr></codeBook>"


def variable(
    name: str, start: int, end: int, decimals: int = 0, codes: dict[str, str] | None = None, extra: str = ""
) -> str:
    categories = "".join(
        f"<catgry><catValu>{code}</catValu><labl>{label}</labl></catgry>" for code, label in (codes or {}).items()
    )
    return (
        f'<var ID="{name}" dcml="{decimals}" name="{name}"><location EndPos="{end}" StartPos="{start}" '
        f'width="{end - start + 1}"/><labl>{name}</labl>{categories}{extra}</var>'
    )


VARIABLES = [
    variable("AGE", 1, 3, codes={"000": "Less than 1 year", "999": "Not reported/missing"}),
    variable("SEX", 4, 4, codes={"1": "Male", "2": "Female", "9": "Unknown"}),
    variable("MARST", 5, 5, codes={"0": "NIU (not in universe)", "1": "Single", "2": "Married"}),
    variable("HOURS", 6, 9, 1, extra="<valrng><range min='0' max='140'/></valrng>"),
    variable("NAME", 10, 11, extra='<varFormat type="character"/>'),
    variable(
        "INCTOT",
        12,
        18,
        extra="<codInstr>CodesINCTOT is a 7-digit numeric variable.\n9999998 = Unknown/missing.\n"
        "9999999 = NIU (not in universe).</codInstr>",
    ),
]
# AGE SEX MARST HOURS NAME INCTOT
PEOPLE = [
    (31, 1, 2, 40.5, "ab", 1200),
    (62, 2, 1, 0.0, "cd", 0),
    (8, 2, 0, 0.0, "ef", 9999999),
    (999, 1, 1, 12.0, "gh", 9999999),
    (45, 9, 1, 37.5, "ij", 5),
    (77, 1, 2, None, "kl", -300),
]
CHOICE: dict[str, Any] = {
    "file": "people.dat",
    "codebook": "people.xml",
    "target": {"name": "INCTOT", "bounds": [-500, 5000], "clip": 2000, "drop": [9999998, 9999999]},
    "numeric": {"AGE": {"bounds": [0, 100], "drop": [999]}, "HOURS": {"fill": {"": 0}}},
    "categorical": {"SEX": {}, "MARST": {}},
}
Change = Callable[[dict[str, Any]], object]


def line(person: tuple[Any, ...]) -> str:
    age, sex, marst, hours, name, income = person
    tenths = "    " if hours is None else f"{round(hours * 10):04d}"
    return f"{age:03d}{sex}{marst}{tenths}{name}" + (f"{income:07d}" if income >= 0 else f"{income:7d}")


def csv(people: list[tuple[Any, ...]]) -> str:
    rows = [",".join("" if value is None else str(value) for value in person) for person in people]
    return "\n".join(["AGE,SEX,MARST,HOURS,NAME,INCTOT", *rows]) + "\n"


def made(folder: Path, change: Change = lambda choice: None, variables: list[str] = VARIABLES) -> Path:
    """Write an extract of fixed width, with its codebook and columns."""
    choice = json.loads(json.dumps(CHOICE))
    change(choice)
    (folder / "people.dat").write_text("".join(line(person) + "\n" for person in PEOPLE))
    (folder / "people.xml").write_text(HEAD + "".join(variables) + TAIL)
    (folder / "columns.json").write_text(json.dumps({"XX": choice}))
    return folder


def refused(folder: Path, match: str) -> str:
    with pytest.raises(ExtractError, match=match) as caught:
        ipums.load(folder, "XX")
    return str(caught.value)


def same(extract: ipums.Extract) -> None:
    """Check everything against the made up people."""
    people = extract.people
    assert (extract.rows, len(people)) == (6, 4)
    assert extract.dropped == {"AGE": 1, "INCTOT": 1}  # one of them for the first of two reasons
    assert extract.clamped == {}
    assert people.schema == hush.Schema(
        [
            hush.Numeric("AGE", 0, 100),
            hush.Numeric("HOURS", 0, 140),
            hush.Categorical("SEX", [1, 2, 9]),
            hush.Categorical("MARST", [0, 1, 2]),
        ]
    )
    assert (people.name, people.bounds, people.clip) == ("XX, IPUMS", (-500, 5000), 2000)
    rows = zip(*(people.columns[name].tolist() for name in people.schema.names), people.income.tolist(), strict=True)
    assert sorted(rows) == [(31, 40.5, 1, 2, 1200), (45, 37.5, 9, 1, 5), (62, 0, 2, 1, 0), (77, 0, 1, 2, -300)]


def test_fixed_width(tmp_path: Path) -> None:
    extract = ipums.load(made(tmp_path), "XX")
    same(extract)
    assert extract.describe() == "XX, IPUMS: 4 of 6 people; dropped: 1 by AGE, 1 by INCTOT"


def test_compressed(tmp_path: Path) -> None:
    made(tmp_path, lambda choice: choice.update(file="people.dat.gz"))
    (tmp_path / "people.dat.gz").write_bytes(gzip.compress((tmp_path / "people.dat").read_bytes()))
    same(ipums.load(tmp_path, "XX"))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_ends_of_lines(tmp_path: Path, end: str, last: bool) -> None:
    made(tmp_path)
    text = end.join(line(person) for person in PEOPLE) + end * last
    (tmp_path / "people.dat").write_bytes(text.encode())
    same(ipums.load(tmp_path, "XX"))


@pytest.mark.parametrize("block", [1, 19, 50])
def test_blocks_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(fields, "BLOCK", block)
    same(ipums.load(made(tmp_path), "XX"))


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
def test_csv(tmp_path: Path, name: str) -> None:
    made(tmp_path, lambda choice: choice.update(file=name))
    text = csv(PEOPLE).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    same(ipums.load(tmp_path, "XX"))


def test_csv_needs_no_codebook_if_everything_is_said(tmp_path: Path) -> None:
    def change(choice: dict[str, Any]) -> None:
        del choice["codebook"], choice["numeric"]["HOURS"]
        choice["file"] = "people.csv"
        choice["categorical"] = {"SEX": {"codes": [1, 2, 9]}, "MARST": {"codes": [1, 2], "other": 0}}

    made(tmp_path, change)
    (tmp_path / "people.csv").write_text(csv(PEOPLE))
    assert ipums.load(tmp_path, "XX").people.columns["MARST"].dtype == np.int8


def test_order_is_random_and_the_same_for_a_seed(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "people.dat").write_text("".join(line((i % 90, 1, 1, 1.0, "xx", i)) + "\n" for i in range(3000)))
    first, second, third = (ipums.load(tmp_path, "XX", seed).people for seed in (1, 1, 2))
    assert np.array_equal(first.income, second.income)
    assert not np.array_equal(first.income, third.income)
    assert np.array_equal(np.sort(first.income), np.arange(3000))
    assert np.array_equal(first.columns["AGE"], first.income % 90)


# -- codes without a value


def test_codes_without_a_value_must_be_mentioned(tmp_path: Path) -> None:
    made(tmp_path, lambda choice: choice["numeric"].update(AGE={"bounds": [0, 1000]}))
    refused(tmp_path, r"AGE: say under drop or fill what becomes of 999 \(Not reported/missing\)")
    made(tmp_path, lambda choice: choice["target"].update(drop=[9999999]))
    refused(tmp_path, r"INCTOT: say under drop or fill what becomes of 9999998 \(Unknown/missing\)")


def test_codes_may_count_as_a_value(tmp_path: Path) -> None:
    made(tmp_path, lambda choice: choice["target"].update(drop=[], fill={"9999999": 0, "9999998": 0}))
    extract = ipums.load(tmp_path, "XX")
    assert extract.dropped == {"AGE": 1}
    assert sorted(extract.people.income) == [-300, 0, 0, 5, 1200]


def test_categories_may_be_dropped_or_merged(tmp_path: Path) -> None:
    made(
        tmp_path, lambda choice: choice.update(categorical={"SEX": {"drop": [9]}, "MARST": {"codes": [2], "other": 0}})
    )
    extract = ipums.load(tmp_path, "XX")
    assert extract.dropped == {"AGE": 1, "SEX": 1, "INCTOT": 1}
    assert extract.people.schema["SEX"] == hush.Categorical("SEX", [1, 2])
    assert extract.people.schema["MARST"] == hush.Categorical("MARST", [0, 2])
    assert sorted(extract.people.columns["MARST"].tolist()) == [0, 2, 2]


def test_clamping_is_counted(tmp_path: Path) -> None:
    made(tmp_path, lambda choice: choice["target"].update(bounds=[0, 1000], clamp=True))
    extract = ipums.load(tmp_path, "XX")
    assert extract.clamped == {"INCTOT": 2}
    assert sorted(extract.people.income) == [0, 0, 5, 1000]
    assert "clamped: 2 by INCTOT" in extract.describe()


# -- what is refused


def test_values_out_of_bounds(tmp_path: Path) -> None:
    made(tmp_path, lambda choice: choice["target"].update(bounds=[0, 1000]))
    message = refused(tmp_path, "INCTOT: outside of its bounds 0 to 1000 for 2 people")
    assert "1200" not in message
    assert "300" not in message


def test_empty_fields(tmp_path: Path) -> None:
    made(tmp_path, lambda choice: choice["numeric"].update(HOURS={}))
    refused(tmp_path, "HOURS: empty for 1 people")


def test_codes_that_are_not_in_the_codebook(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "people.dat").write_text(line((31, 7, 2, 40.5, "ab", 1200)) + "\n")
    assert "7" not in refused(tmp_path, "SEX: empty, or not one of its 3 codes, for 1 people")


@pytest.mark.parametrize("cut", [1, 5, 18])
@pytest.mark.parametrize("where", [0, 2, 5])
def test_truncated_lines(tmp_path: Path, where: int, cut: int) -> None:
    made(tmp_path)
    lines = [line(person) for person in PEOPLE]
    lines[where] = lines[where][:-cut]
    (tmp_path / "people.dat").write_text("\n".join(lines) + "\n")
    refused(tmp_path, f"line {where + 1} is not 18 characters long")


def test_longer_lines(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "people.dat").write_text("".join(line(person) + "0\n" for person in PEOPLE))
    refused(tmp_path, "line 1 is not 18 characters long.*another extract")


@pytest.mark.parametrize("cut", [2, 12, 30])
def test_truncated_compression(tmp_path: Path, cut: int) -> None:
    for name, text in (("people.dat.gz", "".join(line(p) + "\n" for p in PEOPLE)), ("people.csv.gz", csv(PEOPLE))):
        made(tmp_path, lambda choice, name=name: choice.update(file=name))  # type: ignore[misc]
        (tmp_path / name).write_bytes(gzip.compress(text.encode())[:-cut])
        refused(tmp_path, "cut short or damaged")


def test_decimals(tmp_path: Path) -> None:
    made(tmp_path)
    text = (tmp_path / "people.dat").read_text().replace("0405", "40.5")
    (tmp_path / "people.dat").write_text(text)
    assert "40.5" not in refused(tmp_path, "line 1: HOURS has a decimal point, where the codebook says 1 implied")
    made(tmp_path, variables=[v.replace('dcml="1"', 'dcml="7"') for v in VARIABLES])
    refused(tmp_path, "HOURS has more decimals than digits")
    made(tmp_path, variables=[v.replace('dcml="1"', 'dcml="one"') for v in VARIABLES])
    refused(tmp_path, "the decimals of HOURS must be a whole number")


@pytest.mark.parametrize("field", ["1-20", "-   ", "12 4", "x123", "--12"])
def test_fields_that_are_no_numbers(tmp_path: Path, field: str) -> None:
    made(tmp_path)
    text = (tmp_path / "people.dat").read_text().replace("0405", field)
    (tmp_path / "people.dat").write_text(text)
    assert field not in refused(tmp_path, "line 1: HOURS has no number")


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("31,1,2,40.5,ab,1200", "31,1,2,40.55,ab,1200", "HOURS has more than the 1 decimals"),
        ("31,1,2,40.5,ab,1200", "31.7,1,2,40.5,ab,1200", "line 2: AGE has something else than a number"),
        ("31,1,2,40.5,ab,1200", "31,1,2,40.5,ab,secret", "line 2: INCTOT has something else"),
        ("62,2,1,0.0,cd,0", "62,2,1,0.0", "line 3 has 4 fields instead of 6"),
        ("AGE,", "AGES,", "has no column AGE"),
    ],
)
def test_csv_files_that_are_wrong(tmp_path: Path, old: str, new: str, match: str) -> None:
    made(tmp_path, lambda choice: choice.update(file="people.csv"))
    (tmp_path / "people.csv").write_text(csv(PEOPLE).replace(old, new))
    message = refused(tmp_path, match)
    assert not any(value in message for value in ("31.7", "40.55", "secret"))


def test_files_that_are_not_there_or_empty(tmp_path: Path) -> None:
    with pytest.raises(ExtractError, match=r"columns\.json: not in the folder"):
        ipums.load(tmp_path, "XX")
    for name in ("people.dat", "people.csv"):
        made(tmp_path, lambda choice, name=name: choice.update(file=name))  # type: ignore[misc]
        (tmp_path / name).write_text("")
        refused(tmp_path, "empty")
        (tmp_path / name).unlink()
        refused(tmp_path, f"{name}: not in the folder")
    (tmp_path / "people.xml").unlink()
    refused(tmp_path, r"people\.xml: not in the folder")


def test_nobody_left(tmp_path: Path) -> None:
    made(tmp_path, lambda choice: choice["categorical"].update(SEX={"drop": [1, 2, 9], "codes": [3, 4]}))
    refused(tmp_path, "nobody is left of 6 people")


def update(*keys: str, **values: Any) -> Change:
    def change(choice: dict[str, Any]) -> None:
        for key in keys:
            choice = choice[key]
        choice.update(values)

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            update("numeric", WEIGHT={"bounds": [0, 1]}),
            "WEIGHT: not in the codebook, which has AGE, HOURS, INCTOT, MARST",
        ),
        (update("numeric", NAME={"bounds": [0, 1]}), "NAME: is text"),
        (update("numeric", INCTOT={"bounds": [0, 1], "drop": [9999998, 9999999]}), "a variable is chosen twice"),
        (update("numeric", AGE={"drop": [999]}), "AGE: needs bounds"),
        (update("numeric", AGE={"bounds": [9, 1], "drop": [999]}), "AGE: needs bounds"),
        (update("numeric", AGE={"bonds": [0, 100]}), "AGE: bonds is none of bounds, clamp, drop, fill"),
        (update("numeric", AGE={"bounds": [0, 100], "drop": 999}), "AGE: drop must be a list"),
        (update("numeric", AGE={"bounds": [0, 100], "drop": [9.5]}), "AGE: codes are whole numbers"),
        (update("numeric", AGE={"bounds": [0, 100], "drop": [999], "clamp": "no"}), "AGE: clamp must be true or false"),
        (update("categorical", HOURS={}), "HOURS: has 1 decimals, so it is no category"),
        (update("categorical", SEX={"codes": [1]}), "SEX: needs two codes at least"),
        (update(numeric=[]), "should be an object"),
        (update(weights="x"), "weights is none of"),
        (update("target", name="INC"), "INC: not in the codebook"),
    ],
)
def test_choices_that_make_no_sense(tmp_path: Path, change: Change, match: str) -> None:
    refused(made(tmp_path, change), match)


def test_other_censuses_and_broken_columns(tmp_path: Path) -> None:
    with pytest.raises(ExtractError, match="has no YY, but XX"):
        ipums.load(made(tmp_path), "YY")
    made(tmp_path, lambda choice: choice.pop("codebook"))
    refused(tmp_path, "needs bounds|fixed width needs a codebook")
    (tmp_path / "columns.json").write_text("{")
    refused(tmp_path, "not JSON")


# -- codebooks


def test_a_codebook(tmp_path: Path) -> None:
    codebook = ddi.read(made(tmp_path) / "people.xml")
    assert codebook.width == 18
    assert list(codebook.variables) == ["AGE", "SEX", "MARST", "HOURS", "NAME", "INCTOT"]
    hours, sex = codebook.variables["HOURS"], codebook.variables["SEX"]
    assert (hours.start, hours.end, hours.decimals, hours.bounds) == (5, 9, 1, (0, 140))
    assert sex.labels == {1: "Male", 2: "Female", 9: "Unknown"}
    assert sex.no_value == {9: "Unknown"}
    assert codebook.variables["NAME"].text


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("<codeBook", f"{BOMB}<codeBook", "document type"),
        ("<codeBook", '<!DOCTYPE x SYSTEM "file:///etc/hostname"><codeBook', "document type"),
        ("<labl>Male</labl>", "<labl>&a;</labl>", "not XML"),
        (TAIL, "", "not XML"),
        ('"rectangular"', '"hierarchical"', "must be rectangular"),
        ('name="SEX"', 'name="AGE"', "AGE is there twice"),
        ('StartPos="4"', 'StartPos="0"', "the place of SEX makes no sense"),
        ('StartPos="4"', 'StartPos="3"', "the place of SEX makes no sense"),
        ('StartPos="4"', 'StartPos="four"', "the start of SEX must be a whole number"),
        ("min='0'", "min='none'", "the range of HOURS must be two numbers"),
    ],
)
def test_codebooks_that_are_refused(tmp_path: Path, old: str, new: str, match: str) -> None:
    path = made(tmp_path) / "people.xml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    refused(tmp_path, match)


def test_a_codebook_without_variables_or_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, variables=[])
    refused(tmp_path, "no variables found")
    monkeypatch.setattr(ddi, "MOST_BYTES", 10)
    refused(tmp_path, "too large")


# -- the figures, the example, and the program


def test_figures_find_an_extract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(QUICK, tmp_path / "cache", data=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"neither column_sets\.json .* nor columns\.json .* docs/data\.md"):
        populations.people_of(bench, "MX", 100)
    made(tmp_path)
    (tmp_path / "columns.json").write_text((tmp_path / "columns.json").read_text().replace("XX", "MX"))
    assert len(populations.people_of(bench, "MX", 100)) == 4
    assert "MX, IPUMS: 4 of 6 people" in capsys.readouterr().err
    assert populations.census_of(bench, "MX", 3).schema.names == ("AGE", "HOURS", "income", "SEX", "MARST")


def test_figures_prefer_column_sets(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "column_sets.json").write_text("{}")
    with pytest.raises(KeyError, match="mx_like"):
        populations.people_of(Bench(QUICK, tmp_path / "cache", data=tmp_path), "MX", 100)


@pytest.mark.parametrize(("name", "numbers", "categories"), [("BR", 6, 10), ("MX", 5, 14)])
def test_the_example_has_the_attributes_of_the_paper(tmp_path: Path, name: str, numbers: int, categories: int) -> None:
    example = (ROOT / "experiments" / "columns.example.json").read_text()
    entry = json.loads(example)[name]
    (tmp_path / "columns.json").write_text(example)
    names = [*entry["numeric"], *entry["categorical"], entry["target"]["name"]]
    width = 8
    made_up = {"1": "one", "2": "two"}
    variables = [
        variable(key, 1 + width * i, width * (i + 1), codes=made_up if key in entry["categorical"] else None)
        for i, key in enumerate(names)
    ]
    (tmp_path / entry["codebook"]).write_text(HEAD + "".join(variables) + TAIL)
    (tmp_path / entry["file"]).write_bytes(gzip.compress(b"".join(b"%08d" % 1 for _ in names) + b"\n"))
    people = ipums.load(tmp_path, name).people
    kinds = [isinstance(attribute, hush.Numeric) for attribute in people.schema.attributes]
    assert (sum(kinds) + 1, len(kinds) - sum(kinds)) == (numbers, categories)


def test_the_page_shows_a_part_of_the_example() -> None:
    example = json.loads((ROOT / "experiments" / "columns.example.json").read_text())["BR"]
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    shown = json.loads(page.split("```json\n")[1].split("```")[0])["BR"]
    assert shown.keys() == example.keys()
    for key in ("numeric", "categorical"):
        assert shown[key] == {name: example[key][name] for name in shown[key]}
    assert shown["target"] == example["target"]


def test_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["ipums", str(made(tmp_path))])
    ipums.main()
    out = capsys.readouterr().out
    assert "XX, IPUMS: 4 of 6 people" in out
    assert "5 attributes with income, 6 features" in out
    (tmp_path / "people.dat").unlink()
    with pytest.raises(SystemExit, match="not in the folder"):
        ipums.main()
