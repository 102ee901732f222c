"""Where everything is: the list of endpoints that the application and `/openapi.json` are made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from hush.collector import formats
from hush.collector.documents import Health, PlanEntry, Plans, Receipt, TicketDocument, Trainings
from hush.collector.endpoints import TALLY_SCHEMA, Endpoint, Parameter

if TYPE_CHECKING:
    from hush.collector.app import Collector


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
            "Send a report or a batch",
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
            "admin",
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
        *collector.views.endpoints(),
        Endpoint("GET", "/healthz", "Whether the collector is alive", collector.health, None, Health),
        Endpoint(
            "GET", "/metrics", "Numbers for Prometheus", collector.show_metrics, "read", None, also=("text/plain",)
        ),
        Endpoint("GET", "/openapi.json", "This interface", collector.openapi_document, None, dict),
    )
