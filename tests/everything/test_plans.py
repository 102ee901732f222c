"""The generator: the same plan for the same number, and every kind of attribute with every option."""

from __future__ import annotations

from collections import Counter

import hush
from tests.everything.crowds import SHAPES, crowd
from tests.everything.plans import EPSILONS, KINDS, PEOPLE, case

MANY = 400
CASES = [case(seed) for seed in range(MANY)]


def test_a_number_is_a_case() -> None:
    for seed in range(0, MANY, 40):
        one, two = case(seed), case(seed)
        assert (one, one.options, str(one)) == (two, two.options, str(two))
        assert crowd(one.schema, "a") == crowd(two.schema, "a")


def test_everything_is_there() -> None:
    kinds = Counter((item.name.split()[0], item.optional) for one in CASES for item in one.schema.attributes)
    assert set(kinds) == {(kind, optional) for kind in KINDS for optional in (False, True)}
    assert {one.epsilon for one in CASES} == set(EPSILONS)
    assert {one.people for one in CASES} == set(PEOPLE)
    assert sum(one.own > 0 for one in CASES) > MANY / 20
    options = Counter(name for one in CASES for name in one.options)
    wanted = {"k", "numeric", "categorical", "choices", "importance", "relations", "bands", "ranges", "singles"}
    assert wanted == {name for name, times in options.items() if times >= 5}
    asked = {relation[2] for one in CASES for relation in one.options.get("relations", ())}
    assert asked == {"table", "means", "association", "moments"}


def test_nearly_all_of_them_are_plans() -> None:
    """The others are refused in words that name an attribute or an option."""
    refused = []
    for one in CASES[:60]:
        try:
            one.design()
        except hush.DesignError as error:
            refused.append(str(error))
    assert len(refused) <= 3, refused


def test_crowds_have_every_shape_and_somebody_answers() -> None:
    schema = hush.Schema([hush.Numeric("a", 0, 1, optional=True), hush.Categorical("b", ["x", "y"], True)])
    for shape in SHAPES:
        found = crowd(schema, "a", shape)
        assert abs(sum(found.shares) - 1) < 1e-9
        for name in schema.names:
            assert any(record[name] is not None for record in found.records)
    assert {crowd(schema, f"{seed}").shape for seed in range(100)} == set(SHAPES)
