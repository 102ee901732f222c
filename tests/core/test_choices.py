"""Choices: the attribute, its views, and how it is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hush import Categorical, Choices, DesignError, Numeric, Plan, PlanError, RecordError, Schema, SchemaError, design
from hush.core.channels import Picks, Subset
from hush.core.choices import MAX_CHOICES, SEPARATOR
from hush.core.design.sets import member_error, picks_error
from hush.core.plan import Question
from hush.core.views import Value
from hush.core.word_views import Member
from hush.device.asking import Asked
from hush.device.randomise import randomise, randomise_from
from hush.testing import SeededCoins
from tests.cases import exp_floor

USES = Choices("uses", ["tv", "radio", "web", "paper"], most=2)


@pytest.mark.parametrize("held", [["radio", "tv"], ("tv", "radio"), {"tv", "radio"}, np.array(["radio", "tv"])])
def test_a_list_becomes_marks(held: Any) -> None:
    assert USES.encode(held) == b"\1\1\0\0"
    assert USES.encode([]) == b"\0\0\0\0"


@pytest.mark.parametrize(
    ("held", "rule"),
    [
        (None, "is missing, and not declared optional"),
        ("tv", "must be a list of strings"),
        (7, "must be a list of strings"),
        (["tv", 3], "must be a list of strings"),
        ({"tv": 1}, "must be a list of strings"),
        (["tv", "secret"], "must list some of the 4 values declared: 'tv', 'radio', 'web', 'paper'"),
        (["web", "web"], "must not list a value twice"),
        (["tv", "radio", "web"], "must list at most 2 values"),
    ],
)
def test_a_bad_list_is_refused_by_name_and_rule(held: object, rule: str) -> None:
    with pytest.raises(RecordError, match=f"attribute 'uses': {rule}") as refused:
        USES.encode(held)
    assert "secret" not in str(refused.value)


def test_a_value_may_not_be_listed_hundreds_of_times_either() -> None:
    """Nothing but the rule for it: a count of the times would end at 255."""
    many = Choices("uses", [str(i) for i in range(400)])
    with pytest.raises(RecordError, match="attribute 'uses': must not list a value twice"):
        many.encode(["7"] * 300)


def test_none_of_them_is_not_missing() -> None:
    optional = Choices("uses", ["tv", "radio"], optional=True)
    assert optional.most == 2
    assert optional.labels == ("tv", "radio", "(missing)")
    assert [optional.encode(held) for held in (None, [], ["radio"])] == [b"\2\2", b"\0\0", b"\0\1"]


class Looked(Choices):
    """Counts how often a value is looked up."""

    looked = 0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        find = self._find

        def counted(value: Any) -> int | None:
            Looked.looked += 1
            return find(value)

        object.__setattr__(self, "_find", counted)


def test_a_short_list_takes_as_many_steps_as_a_long_one() -> None:
    choices = Looked("uses", ["tv", "radio", "web"], 3, True)
    steps = []
    for held in (None, [], ["web"], ["tv", "radio", "web"]):
        Looked.looked = 0
        choices.encode(held)
        steps.append(Looked.looked)
    assert steps == [3] * 4


@pytest.mark.parametrize(
    ("values", "most", "rule"),
    [
        (["a"], None, "needs 2 to 4096 values"),
        ([1, 2], None, "2 to 1024 strings"),
        ([str(i) for i in range(1025)], None, "2 to 1024 strings"),
        (["a", "a"], None, "repeated"),
        (["a", "(missing)"], None, "not '\\(missing\\)'"),
        (["a", "b"], 0, "most must be a whole number from 1"),
        (["a", "b"], 3, "most must be a whole number from 1"),
        (["a", "b"], 1.0, "most must be a whole number from 1"),
    ],
)
def test_bad_choices_are_refused(values: Any, most: Any, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule):
        Choices("uses", values, most)


def test_a_schema_with_choices_travels() -> None:
    schema = Schema([USES, Choices("likes", ["a", "b"], optional=True)])
    assert Schema.from_json(schema.to_json()) == schema
    assert schema.to_json()[0] == {
        "kind": "choices",
        "name": "uses",
        "values": ["tv", "radio", "web", "paper"],
        "most": 2,
        "optional": False,
    }
    with pytest.raises(SchemaError, match="most"):
        Schema.from_json([{**USES.to_json(), "most": None}])


def test_a_member_is_a_category() -> None:
    schema = Schema([Numeric("age", 0, 1), USES])
    view = Member("uses", "web")
    assert view.seen(schema) == Categorical("uses: web", ("no", "yes"))
    assert [view.look(schema)(schema.encode({"age": 1, "uses": held})) for held in (["web"], ["tv"])] == [1, 0]
    for bad in (Member("uses", "wine"), Member("age", "web")):
        with pytest.raises(PlanError, match=f"attribute '{bad.attribute}'"):
            bad.seen(schema)


# -- how they are asked


def many(d: int, most: int | None = None, optional: bool = False) -> Choices:
    return Choices("many", [f"value {i}" for i in range(d)], most, optional)


@pytest.mark.parametrize("epsilon", ["0.5", "1.0", "4.0"])
@pytest.mark.parametrize("choices", [many(4), many(8, 4), many(8, 1), many(50, 3), many(50, 20), many(12, 3, True)])
def test_the_way_with_the_least_predicted_error_is_taken(choices: Choices, epsilon: str) -> None:
    plan = design(Schema([choices]), float(epsilon))
    cost = Fraction(epsilon)
    d = len(choices.values)
    members = min(d / k * member_error(cost / k, choices) for k in range(1, min(d, 12) + 1))
    whole = picks_error(cost, choices) if choices.most <= d // 2 else float("inf")
    assert isinstance(plan.questions[0].channel, Picks if whole < members else Subset)
    assert len(plan.questions) == (1 if whole < members else d)
    assert Plan.from_json(plan.to_json()) == plan


def test_both_ways_can_be_asked_for() -> None:
    schema = Schema([many(8, 2)])
    assert len(design(schema, 1.0, choices="members").questions) == 8
    assert len(design(schema, 1.0, choices="picks").questions) == 1
    with pytest.raises(DesignError, match="attribute 'many': picks need a limit"):
        design(Schema([many(8)]), 1.0, choices="picks")
    with pytest.raises(DesignError, match="choices must be one of: best, members, picks"):
        design(schema, 1.0, choices="all")  # type: ignore[arg-type]
    with pytest.raises(DesignError, match="attribute 'many': choices cannot be in joint"):
        design(Schema([many(8), Categorical("c", ["a", "b"])]), 1.0, joint=[["many", "c"]])


def test_many_values_do_not_crowd_out_other_attributes() -> None:
    """With 40 questions about values, a number would be asked of one person in 41; by weights, of one in four."""
    plan = design(Schema([Numeric("age", 0, 100), many(40)]), 1.0)
    assert plan.weights is not None
    assert plan.inclusions[0] > Fraction(1, 5)
    assert len(set(plan.inclusions[1:])) == 1


def test_a_question_about_each_value_needs_only_its_answer() -> None:
    plan = design(Schema([many(6)]), 1.0)
    asked = Asked(plan, bytes(16))
    (question,) = asked.questions
    assert [attribute.name for attribute in asked.attributes] == ["many"]
    assert asked.answer({"many": [f"value {question}"]}).plan == plan


def test_other_channels_do_not_serve_choices() -> None:
    schema = Schema([USES])
    with pytest.raises(PlanError, match="'uses'"):
        Plan(schema, Fraction(1), 1, (Question(("uses",), Subset(4, 1, 1 << 63)),))
    picks = design(schema, 1.0, choices="picks").questions[0].channel
    with pytest.raises(PlanError, match="for one attribute of choices"):
        Plan(Schema([Categorical("uses", list("abcd"))]), Fraction(1), 1, (Question((Value("uses"),), picks),))


# -- privacy of whole reports, through the real client


def laws(plan: Plan, draws: int, records: Iterable[Any]) -> list[Counter[object]]:
    return [
        Counter(randomise_from(SeededCoins(place * draws + i), plan, record).answers for i in range(draws))
        for place, record in enumerate(records)
    ]


def test_reports_of_the_client_favour_no_list_by_more_than_epsilon() -> None:
    """False alarms: below 1e-6 for each of 66 outputs, by six standard deviations of a count of about 225."""
    plan = design(Schema([Choices("uses", [str(i) for i in range(8)], 2)]), 1.0, choices="picks")
    draws = 10_000
    found = laws(plan, draws, [{"uses": ["0", "1"]}, {"uses": []}, {"uses": ["0"]}])
    bound = float(exp_floor(Fraction(1)))
    for one in found:
        for other in found:
            for output, count in one.items():
                assert count <= bound * other[output] + 6 * (count + bound**2 * other[output]) ** 0.5


def test_the_client_checks_before_it_draws() -> None:
    plan = design(Schema([USES]), 1.0)
    with pytest.raises(RecordError, match="at most 2"):
        randomise(plan, {"uses": ["tv", "web", "radio"]})


def test_there_are_two_choices_at_least_and_as_many_as_a_plan_may_list() -> None:
    assert len(Choices("c", [str(i) for i in range(MAX_CHOICES)]).values) == MAX_CHOICES
    for values in (["a"], [str(i) for i in range(MAX_CHOICES + 1)]):
        with pytest.raises(SchemaError, match=f"choices are 2 to {MAX_CHOICES} strings"):
            Choices("c", values, optional=True)


def test_a_message_lists_the_first_choices_and_says_if_there_are_more() -> None:
    assert Choices("c", list("abcdefgh")).undeclared.endswith("8 values declared: " + repr(list("abcdefgh"))[1:-1])
    assert Choices("c", list("abcdefghi")).undeclared.endswith("'h', ...")
    assert "_find" not in repr(Choices("c", ["a", "b"]))
    assert SEPARATOR == ";"  # in CSV files, as the documents say


@pytest.mark.parametrize(
    ("values", "plain"),
    [(("a", "b"), True), (("a;", "b"), False), (("b", "[a"), False), (("a", ""), False), (("a[", "b]"), True)],
)
def test_values_may_stand_in_a_text_unless_that_is_doubtful(values: tuple[str, ...], plain: bool) -> None:
    assert Choices("pets", values).plain is plain


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("a", ["a"]),
        ("a;b", ["a", "b"]),
        (";a;;b;", ["a", "b"]),
        ('["a", "b;c", ""]', ["a", "b;c", ""]),
        ("[]", []),
        ('["a", 1]', None),
        ('[["a"]]', None),
        ("[", None),
        ("[" * 100_000, None),
        ('["\\ud800"]', None),
        ("[null]", None),
    ],
)
def test_a_text_stands_for_a_list(text: str, found: list[str] | None) -> None:
    assert Choices("pets", ["a", "b"]).split(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [("", []), ("a", None), ("a;b", None), ('["a;"]', ["a;"]), ('{"a;": 1}', None), ("7", None), ('"a;"', None)],
)
def test_only_json_stands_for_a_list_where_a_value_has_a_semicolon(text: str, found: list[str] | None) -> None:
    assert Choices("pets", ["a;", "b"]).split(text) == found
