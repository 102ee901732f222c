"""The surveys of the form's tests, and how a visitor opens one."""

from __future__ import annotations

from playwright.sync_api import Page

import hush
from tests.browser.surveys import AGE, BLOCKS, SCHEMA, SURVEY, WAY
from tests.browser.visits import Visit
from tests.collector.served import Served

EVERYTHING = hush.design(SCHEMA, 6.0, title="Everything at once", k=6)
DEAR = hush.design(SCHEMA, 12.0, title="Too dear together", k=3)
HARDLY = hush.design(hush.Schema([hush.Categorical("smoker", ["yes", "no"])]), 12.0, title="Hardly hidden")
PLANS = (SURVEY, AGE, WAY, EVERYTHING, DEAR, BLOCKS, HARDLY)


def form(visit: Visit, served: Served, plan: hush.Plan = SURVEY) -> Page:
    return visit.open(f"{served.url}/?plan={plan.id}")
