"""Texts: normal form, code, and hashed prefixes."""

from __future__ import annotations

import json
import random
import unicodedata
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

import hush
from hush.core.design.categorical import subset
from hush.core.letters import CODE, LETTERS, UNICODE
from hush.core.plan import Plan, Question
from hush.core.texts import MAX_TEXT, MAX_WORD, Text, extended, huffman, mixed, words_of
from hush.core.views import from_json as view_from_json
from hush.core.word_views import Among, Prefix
from hush.errors import PlanError, RecordError, SchemaError

ENGLISH = Text("word", 16, "english")
ANY = Text("word", 8, bits=128)
TWO = Text("word", 3, "ab")


def test_texts_are_read_back() -> None:
    for value in ("nurse", "", "a", "cook and driver", "zz"):
        code = ENGLISH.encode(value)
        assert code is not None
        assert ENGLISH.read(code, ENGLISH.bits) == (value, True)


@pytest.mark.parametrize("value", ["", "Zürich", "東京", "😀👍", "naïve", "a b", "x" * 8, "Ωmega"])
def test_all_of_unicode_is_read_back(value: str) -> None:
    code = ANY.encode(value)
    assert code is not None
    assert ANY.read(code, ANY.bits) == (value.lower(), True)


def test_the_normal_form_is_that_of_the_schema() -> None:
    assert ENGLISH.normal("  Registered  NURSES!  ") == "registered  nurs"
    assert ENGLISH.normal("Ärzte 😀") == "rzte"
    assert ANY.normal("Cafe\u0301") == "café"
    assert Text("word", 8, case="keep").normal("Ab") == "Ab"
    assert ENGLISH.encode("Registered nurses") == ENGLISH.encode("registered nurse")
    assert ANY.encode("Cafe\u0301") == ANY.encode("CAFÉ")
    for value in ("a  ", " b c ", "accountants and auditors"):
        assert ENGLISH.normal(ENGLISH.normal(value)) == ENGLISH.normal(value)


def test_different_texts_have_different_codes() -> None:
    every = [""] + [a + b + c for a in "ab" for b in ["", *"ab"] for c in ["", *"ab"] if b or not c]
    codes = {value: Text("word", 3, "ab", bits=12).encode(value) for value in every}
    assert len(set(codes.values())) == len(every) == 15


def test_a_long_text_is_cut() -> None:
    short = Text("word", 16, "english", bits=20)
    code = short.encode("zebra crossing")
    assert code is not None
    read = short.read(code, 20)
    assert read is not None
    assert not read.ended
    assert "zebra crossing".startswith(read.text)


def test_no_text_begins_with_bits_after_its_end() -> None:
    code = ENGLISH.encode("cook")
    assert code is not None
    assert ENGLISH.read(code, ENGLISH.bits) is not None
    assert ENGLISH.read(code + 1, ENGLISH.bits) is None
    assert ANY.read((ANY.encode("\x7f") or 0) + 1, ANY.bits) is None


def test_every_code_is_a_text_or_none() -> None:
    """Whatever noise suggests is a text of the schema, or is dropped: valid UTF-8 and never too long."""
    pick = random.Random(1)
    kinds = set()
    for text in (ENGLISH, ANY, TWO):
        for _ in range(2000):
            read = text.read(pick.getrandbits(text.bits), text.bits)
            kinds.add(read is None)
            if read is not None:
                read.text.encode("utf-8")
                assert len(read.text) <= text.length
    assert kinds == {True, False}


@pytest.mark.parametrize("code", [*CODE, *UNICODE])
def test_the_tables_are_prefix_codes(code: str) -> None:
    words = words_of(code)
    texts = sorted(format(word, f"0{bits}b") for word, bits in words)
    assert all(not b.startswith(a) for a, b in pairwise(texts))
    assert sum(Fraction(1, 1 << bits) for _, bits in words) <= 1
    assert max(bits for _, bits in words) <= MAX_WORD


def test_a_code_of_equal_weights_is_flat() -> None:
    assert sorted(huffman([1.0] * 27)) == ["4"] * 5 + ["5"] * 22
    assert LETTERS == "abcdefghijklmnopqrstuvwxyz "


def test_bad_texts_are_refused_without_quoting_them() -> None:
    for value in (3, b"secret", ["secret"], None):
        with pytest.raises(RecordError) as caught:
            ENGLISH.encode(value)
        assert "'word'" in str(caught.value)
        assert "secret" not in str(caught.value)
    with pytest.raises(RecordError, match="at most 4096"):
        ENGLISH.encode("x" * (MAX_TEXT + 1))
    assert Text("word", 4, "english", optional=True).encode(None) is None
    with pytest.raises(RecordError, match="half of a pair"):
        ANY.encode("a\ud800")
    assert ANY.encode("a" * 32 + "\ud800") == ANY.encode("a" * 32)  # beyond what is looked at


@pytest.mark.parametrize(
    "given",
    [
        {"length": 0},
        {"length": 65},
        {"length": True},
        {"alphabet": "a"},
        {"alphabet": "aa"},
        {"alphabet": "aB"},
        {"alphabet": "a\n"},
        {"case": "upper"},
        {"bits": 7},
        {"bits": 129},
        {"alphabet": "ab", "code": ("11",)},
        {"alphabet": "ab", "code": ("112",)},
        {"alphabet": "ab", "code": ("120",)},
        {"alphabet": "ab", "code": ("122", "122")},
        {"optional": 1},
    ],
)
def test_bad_schemas_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(SchemaError):
        Text("word", **given)  # type: ignore[arg-type]


def test_the_schema_is_written_out() -> None:
    for text in (ENGLISH, ANY, TWO, Text("word", 5, optional=True)):
        assert Text.from_json(json.loads(json.dumps(text.to_json()))) == text
    with pytest.raises(SchemaError):
        Text.from_json({**ENGLISH.to_json(), "alphabet": "english"})
    with pytest.raises(SchemaError):
        Text.from_json({**ENGLISH.to_json(), "more": 1})


def test_letters_that_happen_to_be_a_word_are_an_alphabet() -> None:
    values = TWO.to_json() | {"alphabet": "english", "code": ["3" * 8], "length": 2}
    text = Text.from_json(values)
    assert text.to_json() == values
    assert text.normal("nZs!") == "ns"
    assert text.encode("nh") == 0b001_110 << (text.bits - 6)


def test_a_prefix_is_mixed_chunk_by_chunk() -> None:
    schema = hush.Schema([TWO])
    code = TWO.encode("ab")
    assert code is not None
    chunks = (3, 2, 0)
    look = Prefix("word", chunks, 1000).look(schema)
    state = mixed(0, code >> (TWO.bits - 3), 0)
    state = mixed(state, code >> (TWO.bits - 5) & 3, 1)
    state = mixed(state, 0, 2)
    assert look([code]) == state % 1000
    assert extended(0, code, TWO.bits, chunks) == state
    assert Prefix("word", chunks, 1000).look(schema)([None]) == 1000


def test_hashes_spread_over_all_points() -> None:
    points = 97
    counts = [0] * points
    for chunk in range(9700):
        counts[mixed(0, chunk, 0) % points] += 1
    # Chi-squared with 96 degrees of freedom is above 175 with a probability below 1e-6; a twin that does not mix fails.
    assert sum((count - 100) ** 2 / 100 for count in counts) < 175
    twin = [0] * points
    for chunk in range(9700):
        twin[(chunk >> 3) % points] += chunk & 1
    assert sum((count - 100) ** 2 / 100 for count in twin) > 175


def _plan(*views: Prefix | Among, text: Text = TWO) -> Plan:
    schema = hush.Schema([text])
    epsilon = Fraction(2)
    sizes = [view.points if isinstance(view, Prefix) else len(view.values) + 1 for view in views]
    asked = [Question([view], subset(epsilon, size)) for view, size in zip(views, sizes, strict=True)]
    return Plan(schema, epsilon, 1, tuple(asked))


def test_plans_with_texts_are_read_back() -> None:
    plan = _plan(Prefix("word", (3, 2), 61), Prefix("word", (3, 2, 0), 61), Among("word", ("a", "ba")))
    again = Plan.from_json(plan.to_json())
    assert again.id == plan.id
    assert again == plan
    report = hush.randomise(plan, {"word": "ab"})
    assert hush.Report.decode(plan, report.encode()) == report


@pytest.mark.parametrize(
    "view",
    [
        Among("word", ("a", "a")),
        Among("word", ("A", "b")),
        Among("word", ("a", "x")),
        Among("word", ("aaaa", "b")),
        Prefix("word", (3, 22), 61),
    ],
)
def test_bad_views_are_refused(view: Prefix | Among) -> None:
    with pytest.raises((PlanError, SchemaError)):
        _plan(view)


@pytest.mark.parametrize("given", [((), 61), ((25,), 61), ((3,), 1), ((-1,), 61), ((3,), 1 << 23)])
def test_bad_prefixes_are_refused(given: tuple[tuple[int, ...], int]) -> None:
    with pytest.raises(PlanError):
        Prefix("word", *given)


def test_listed_texts_are_found_and_others_counted_together() -> None:
    text = Text("word", 3, "ab", optional=True)
    schema = hush.Schema([text])
    view = Among("word", ("b", "", "ab"))
    look = view.look(schema)
    found = [look([text.encode(value)]) for value in ("b", "", "ab", "a", "bbb", None)]
    assert found == [0, 1, 2, 3, 3, 4]
    seen = view.seen(schema)
    assert isinstance(seen, hush.Categorical)
    assert seen.labels == ("b", "", "ab", hush.OTHER, hush.MISSING)


def test_the_table_of_the_go_client_is_that_of_unicode() -> None:
    """Newer versions of Unicode add characters, and change none."""
    from spec.forms import FILE, lines

    kept, made = FILE.read_text(encoding="ascii").splitlines(), list(lines())
    if unicodedata.unidata_version == "14.0.0":
        assert kept == made
    characters = {line for line in kept if "-" not in line}
    assert len(characters) > 2000
    assert characters <= set(made)
    classes = {
        code: int(kind, 16) for line in kept if "-" in line for ends, kind in [line.split()] for code in _run(ends)
    }
    assert all(unicodedata.combining(chr(code)) == kind for code, kind in classes.items())


def _run(ends: str) -> range:
    first, last = (int(end, 16) for end in ends.split("-"))
    return range(first, last + 1)


def test_all_texts_of_a_schema_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """And before any table is made: a server could otherwise have a device fill gigabytes with the words of a plan."""
    from spec.texts import texts

    made = list[str]()
    build = Text.from_json
    monkeypatch.setattr(Text, "from_json", lambda value: made.append(value["name"]) or build(value))  # type: ignore[func-returns-value]
    fits = []
    for case in texts()["schemas"]:
        items: list[dict[str, Any]] = []
        for one in case["texts"]:
            (row,) = one["attribute"]["code"]
            for _ in range(one["times"]):
                items.append({**one["attribute"], "name": f"t{len(items)}", "code": [row] * one["rows"]})
        made.clear()
        fits.append(case["fits"])
        if case["fits"]:
            found = hush.Schema.from_json(items)
            assert len(found) == len(items) == len(made)
            with pytest.raises(SchemaError, match="at most 131072 digits together"):
                hush.Schema([*found.attributes, Text("more")])
        else:
            with pytest.raises(SchemaError, match="at most 131072 digits together"):
                hush.Schema.from_json(items)
            assert not made
    assert fits == [True, False, True, False, False]


def test_the_vectors_are_those_of_the_specification() -> None:
    """The file is what `python -m spec.generate` writes, and bad attributes, views and values are refused."""
    from spec.texts import texts

    file = texts()
    for case in file["bad_attributes"]:
        with pytest.raises((SchemaError, PlanError)):
            hush.Schema.from_json([case["attribute"]])
    for case in file["bad_values"]:
        with pytest.raises(RecordError):
            ENGLISH.encode(json.loads(case["json"]))
    schema = hush.Schema([Text("word", 4, "ab", bits=10)])
    for view in file["good_views"]:
        view_from_json(view).seen(schema)
    for case in file["bad_views"]:
        with pytest.raises((PlanError, SchemaError)):
            view_from_json(case["view"]).seen(schema)
    for case in file["good"]:
        assert str(Text.from_json(case["attribute"]).encode(case["value"])) == case["code"]
