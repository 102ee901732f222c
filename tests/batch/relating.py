"""Plans whose questions share attributes and look through views, with sets of cells and rows of every shape."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hush import Categorical, Numeric, Plan, Schema, design
from hush.core.channels import Cells, Channel, Rows
from hush.core.channels.levels import Levels
from hush.core.design.categorical import grr, subset
from hush.core.design.joint import table
from hush.core.exact import exp_bounds, largest_threshold
from hush.core.looking import View
from hush.core.plan import Question
from hush.core.views import Bands, Product, Sides, Value
from tests.cases import small_window, uneven_window

ONE = Fraction(1)
CLOSE = tuple(sorted(sign * (1000 + 37 * i + i * i) for sign in (-1, 1) for i in range(30)))
UNEVEN = (-1000, -700, -650, -10, 10, 650, 700, 1000)

PEOPLE = Schema(
    [
        Numeric("age", 0, 120),
        Categorical("edu", ["none", "school", "trade", "university"]),
        Numeric("income", 0, 1e5, out_of_range="clip", optional=True),
        Categorical("os", ["linux", "mac", "other"], optional=True),
        Numeric("height", -1.5, 2.5),
        Categorical("town", list(range(70))),
    ]
)
AGES = Bands("age", (18.0, 40.0, 65.0))
INCOMES = Bands("income", (1e4, 2e4, 3e4, 5e4, 7.5e4))


def rows(
    count: int, weight: int, size: int, width: int, levels: Levels = "even", optional: bool = False, epsilon: Any = 1
) -> Rows:
    """A rows channel with the largest threshold."""
    inside = weight * width
    without = count * (size + width * optional) - inside
    threshold = largest_threshold(exp_bounds(Fraction(epsilon))[0], inside, without)
    return Rows(count, weight, size, width, threshold, levels, optional)


def sets_of_cells(sizes: tuple[int | None, ...], weight: int) -> Cells:
    """A cells channel with the largest threshold."""
    count = 1
    for size in sizes:
        count *= size or 2
    return Cells(sizes, weight, largest_threshold(exp_bounds(ONE)[0], weight, count - weight))


def alone(schema: Schema, asks: Sequence[View | str], channel: Channel) -> Plan:
    """A plan with one question, and others about the attributes that it leaves out."""
    asked = Question(asks, channel)
    others = [item for item in schema.attributes if item.name not in asked.attributes]
    rest = [
        Question([item.name], small_window(ONE, 5, 2, item.optional) if isinstance(item, Numeric) else _share(item))  # type: ignore[arg-type]
        for item in others
    ]
    return Plan(schema, ONE, 1, (asked, *rest))


def _share(item: Categorical) -> Channel:
    return grr(ONE, len(item.labels))


def grouped(channel: Rows) -> Plan:
    """A plan with one question: a category, and a number."""
    schema = Schema([Numeric("x", -3, 5, optional=channel.optional), Categorical("c", list(range(channel.rows)))])
    return Plan(schema, ONE, 1, (Question(["c", "x"], channel),))


def celled(channel: Cells) -> Plan:
    """A plan with one question, about all attributes in reverse order."""
    schema = Schema(
        [
            Numeric(f"a{i}", 0, i + 1) if n is None else Categorical(f"a{i}", [*range(n)])
            for i, n in enumerate(channel.sizes)
        ]
    )
    asks = schema.names[::-1]
    turned = Cells(channel.sizes[::-1], channel.weight, channel.threshold)
    return Plan(schema, ONE, 1, (Question(asks, turned),))


SHAPES: dict[str, Rows] = {
    "rows 2-1-2-1": rows(2, 1, 2, 1),
    "rows 3-1-5-2": rows(3, 1, 5, 2),
    "rows 4-1-8-3 uneven": rows(4, 1, 8, 3, UNEVEN),
    "rows 2-1-4-2 optional": rows(2, 1, 4, 2, optional=True),
    "rows 80-1-5-2 optional": rows(80, 1, 5, 2, optional=True),
    "rows 3-2-2-1": rows(3, 2, 2, 1),
    "rows 4-3-7-2": rows(4, 3, 7, 2),
    "rows 6-2-9-4 optional": rows(6, 2, 9, 4, optional=True),
    "rows 5-2-8-3 uneven optional": rows(5, 2, 8, 3, UNEVEN, True),
    "rows 9-3-17-5": rows(9, 3, 17, 5),
    "rows 20-11-34-9": rows(20, 11, 34, 9),
    "rows 32-5-2-1": rows(32, 5, 2, 1),
    "rows 33-4-3-2 optional": rows(33, 4, 3, 2, optional=True),
    "rows 40-3-30-7 optional": rows(40, 3, 30, 7, optional=True),
    "rows 7-3-60-20 of many knots": rows(7, 3, 60, 20, CLOSE),
    "rows 64-7-5-1": rows(64, 7, 5, 1),
    "rows 64-63-2-1 optional": rows(64, 63, 2, 1, optional=True),
    "rows 65-3-4-1": rows(65, 3, 4, 1),
    "rows 65-64-2-1": rows(65, 64, 2, 1),
    "rows 130-9-8-3 uneven optional": rows(130, 9, 8, 3, UNEVEN, True),
    "rows 200-2-31-7 optional": rows(200, 2, 31, 7, optional=True),
    "rows 3-2-100-30": rows(3, 2, 100, 30),
}

CELLS: dict[str, Cells] = {
    "cells 3-2 of 2": sets_of_cells((3, 2), 2),
    "cells number-3 of 2": sets_of_cells((None, 3), 2),
    "cells 4-16 of 9": sets_of_cells((4, 16), 9),
    "cells numbers of 3": sets_of_cells((None, None, None), 3),
    "cells 5-13 of 20": sets_of_cells((5, 13), 20),
    "cells 2-number-70 of 40": sets_of_cells((2, None, 70), 40),
    "cells 2-33 of 65": sets_of_cells((2, 33), 65),
}


def views() -> dict[str, Plan]:
    """Plans that look through views of every kind, also beside values."""
    found = {
        "bands": alone(PEOPLE, [AGES], subset(ONE, 4)),
        "bands of one cut": alone(PEOPLE, [Bands("height", (0.5,))], grr(ONE, 2)),
        "bands optional": alone(PEOPLE, [INCOMES], subset(ONE, 7)),
        "bands of many cuts": alone(PEOPLE, [Bands("age", tuple(i / 2 for i in range(1, 200)))], subset(ONE, 200)),
        "sides": alone(PEOPLE, [Sides(("height", "age"), (0.25, 40.0))], grr(ONE, 2)),
        "sides optional": alone(PEOPLE, [Sides(("age", "income"), (40.0, 3e4))], grr(ONE, 3)),
        "product": alone(PEOPLE, [Product(("height", "age"), (0.5, 60.0), 0.125)], uneven_window(ONE)),
        "product optional": alone(
            PEOPLE, [Product(("income", "age"), (5e4, 60.0), 0.25)], small_window(ONE, 9, 2, True)
        ),
        "square optional": alone(
            PEOPLE, [Product(("income", "income"), (1e4, 1e4), 0.25)], small_window(ONE, 9, 2, True)
        ),
        "table of bands": alone(PEOPLE, [INCOMES, AGES], table(ONE, (7, 4))),
        "table of a category and bands": alone(PEOPLE, ["town", AGES], table(ONE, (70, 4))),
        "table of sides and a number": alone(
            PEOPLE, ["os", Sides(("age", "height"), (40.0, 0.0)), "age"], sets_of_cells((4, 2, None), 3)
        ),
        "means by bands": alone(PEOPLE, [INCOMES, "height"], rows(7, 2, 5, 2)),
        "means by own bands": alone(PEOPLE, [INCOMES, "income"], rows(7, 2, 5, 2, optional=True)),
        "means of a product": alone(
            PEOPLE, ["edu", Product(("age", "income"), (60.0, 5e4), 0.25)], rows(4, 1, 5, 2, optional=True)
        ),
        "means by sides": alone(
            PEOPLE, [Sides(("age", "income"), (40.0, 3e4)), Value("income")], rows(3, 2, 6, 2, optional=True)
        ),
    }
    asked = [("edu", "income"), ("edu", "town"), ("age", "income"), ("height", "age", "moments"), ("os", "age")]
    found["relations"] = design(
        PEOPLE, 1.0, relations=[*asked, ("age", "town", "table")], bands={"age": [18, 40, 65]}, ranges={"height": 64}
    )
    return found


def relating_plans() -> dict[str, Plan]:
    """All of them."""
    found = {name: grouped(channel) for name, channel in SHAPES.items()}
    found |= {name: celled(channel) for name, channel in CELLS.items()}
    return found | views()
