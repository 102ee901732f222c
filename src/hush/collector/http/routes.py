"""Where everything is: the list of endpoints that the application and `/openapi.json` are made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from hush.collector import formats
from hush.collector.http.documents import (
    Charts,
    DistributionDocument,
    Estimates,
    Health,
    Manipulations,
    Margins,
    PlanEntry,
    Plans,
    Receipt,
    Statement,
    TicketDocument,
    TimelineDocument,
    TrainingHistory,
    Trainings,
)
from hush.collector.http.endpoints import TALLY_SCHEMA, Endpoint, Parameter
from hush.collector.http.requests import ATTRIBUTE, ESTIMATOR, FORMAT, LEVEL, POST, SHARE, VIEW
from hush.collector.http.responses import EVENTS

if TYPE_CHECKING:
    from hush.collector.http.app import Collector
    from hush.collector.http.views import Views


def endpoints(collector: Collector) -> Sequence[Endpoint]:
    """Return the endpoints of a collector, those that only show something included."""
    number = Parameter(
        "round",
        "integer",
        "the number of the round",
        None,
        required=True,
        limits={"minimum": 0, "maximum": 999999999},
    )
    digits = {"pattern": "^[0-9a-fA-F]{32}$"}
    batch = Parameter("Hush-Batch", "string", "the id of a batch", None, place="header", limits=digits)
    named = Parameter("Hush-Batch", "string", "the id of the tally", None, place="header", required=True, limits=digits)
    signed = Parameter("Hush-Ticket", "string", "the signature of a ticket", None, place="header", limits=digits)
    reports = (*formats.SINGLES, *formats.BATCHES)
    sent = partial(Endpoint, "POST", role="submit", answers=Receipt, reads=formats.SINGLES, status=202)
    return (
        Endpoint("GET", "/plans", "All plans", collector.list_plans, "read", Plans),
        Endpoint("GET", "/plans/{plan}", "A plan: its id is the SHA-256 of this text", collector.plan, "submit", dict),
        Endpoint(
            "POST",
            "/plans/{plan}/reports",
            "Send a report, or with the role submit-batch a batch",
            collector.reports,
            "submit",
            Receipt,
            reads=reports,
            parameters=(batch, signed),
            status=202,
        ),
        Endpoint(
            "GET",
            "/plans/{plan}/ticket",
            "The questions of one report, dealt",
            collector.ticket,
            "submit",
            TicketDocument,
        ),
        Endpoint("GET", "/plans/{plan}/tally", "The tally", collector.get_tally, "read", dict, also=(formats.TALLY,)),
        Endpoint(
            "POST",
            "/plans/{plan}/tally",
            "Merge the tally of another collector",
            collector.post_tally,
            "submit-batch",
            Receipt,
            reads=(formats.JSON, formats.TALLY),
            parameters=(named,),
            status=202,
            body=TALLY_SCHEMA,
        ),
        Endpoint("POST", "/plans/{plan}/close", "Take no more reports", collector.close_plan, "admin", PlanEntry),
        Endpoint("GET", "/trainings", "All trainings", collector.list_trainings, "read", Trainings),
        Endpoint("GET", "/trainings/{training}/round", "The current round", collector.round, "submit", dict),
        sent("/trainings/{training}/gradients", "Send a gradient", collector.gradient, parameters=(number,)),
        sent(
            "/trainings/{training}/losses", "Send the loss of a held-out person", collector.loss, parameters=(number,)
        ),
        *_shown(collector.views),
        Endpoint("GET", "/healthz", "Whether the process is alive", collector.health, None, Health),
        Endpoint("GET", "/readyz", "Whether reports would be taken now", collector.ready, None, Health),
        Endpoint(
            "GET", "/metrics", "Numbers for Prometheus", collector.show_metrics, "read", None, also=("text/plain",)
        ),
        Endpoint("GET", "/openapi.json", "This interface", collector.openapi_document, None, dict),
    )


def _shown(views: Views) -> Sequence[Endpoint]:
    """Return the endpoints that show something, each for those who may read."""
    shown = partial(Endpoint, "GET", role="read")
    plan, training = "/plans/{plan}", "/trainings/{training}"
    return (
        shown(
            f"{plan}/estimates",
            "Estimates with intervals",
            views.estimates,
            answers=Estimates,
            parameters=(LEVEL, ESTIMATOR, POST, FORMAT),
            also=("text/csv",),
        ),
        shown(
            f"{plan}/stream",
            "Estimates as they change, and all else that the dashboard shows",
            views.stream,
            answers=None,
            parameters=(LEVEL, ESTIMATOR, POST, VIEW, SHARE),
            also=(EVENTS,),
        ),
        shown(f"{plan}/statement", "What the plan promises to each person", views.statement, answers=Statement),
        shown(
            f"{plan}/margins",
            "Margins, predicted and achieved",
            views.margins,
            answers=Margins,
            parameters=(LEVEL,),
        ),
        shown(
            f"{plan}/manipulation",
            "How far liars can have moved the estimates",
            views.manipulation,
            answers=Manipulations,
            parameters=(SHARE,),
        ),
        shown(
            f"{plan}/distribution",
            "The distribution of a number",
            views.distribution,
            answers=DistributionDocument,
            parameters=(ATTRIBUTE,),
        ),
        shown(f"{plan}/timeline", "Reports over time, since the start", views.timeline, answers=TimelineDocument),
        shown(f"{training}/history", "Weights and losses by round", views.history, answers=TrainingHistory),
        shown(
            f"{training}/stream",
            "How the training stands, as it changes",
            views.training_stream,
            answers=None,
            also=(EVENTS,),
        ),
        shown(
            f"{training}/statement",
            "What the current round promises to each person",
            views.training_statement,
            answers=Statement,
        ),
        shown("/charts", "Specifications of the dashboard's charts", views.charts, answers=Charts),
    )
