"""The gate in front of all handlers: limits, host names, roles and queries on the way in, headers on the way out.

Every failure of a handler becomes a problem document here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from hush.collector.http import requests
from hush.collector.http.endpoints import Endpoint, Handler
from hush.collector.http.metrics import Metrics
from hush.collector.http.problems import Refused
from hush.collector.http.responses import confined
from hush.collector.http.security import RateLimit, check_host, check_role, cors_headers
from hush.collector.settings import Settings
from hush.collector.stores.base import NotHeld
from hush.errors import InputError, StoreError

logger = logging.getLogger("hush.collector")


class Gate:
    """Decides which requests reach a handler, and completes every answer.

    `before` returns the id of the pilot that a plan follows. `ending`: the collector shuts down.
    """

    def __init__(self, settings: Settings, metrics: Metrics, before: Callable[[str], str | None]) -> None:
        self._settings, self.metrics, self._before = settings, metrics, before
        self.limit = RateLimit(settings.rate, settings.burst)
        self.ending = False

    def guarded(self, endpoint: Endpoint) -> Handler:
        """Return the handler of an endpoint behind limits and roles. Its refusals become problem documents."""

        async def handle(request: Request) -> Response:
            try:
                self.allow(endpoint, request)
                response = await endpoint.handler(request)
                response = self.confined(endpoint, response)
            except Refused as refused:
                response = refused.response()
            except asyncio.CancelledError:
                if not self.ending:
                    raise
                response = self.busy("this collector is shutting down").response()  # requests have no more time
            except ClientDisconnect:
                response = Response(status_code=400)
            except Exception as error:  # noqa: BLE001 - every failure gets an answer, and is logged
                response = self.refusal(endpoint, error).response()
            return self.finished(request, response, request.path_params.get("plan"))

        return handle

    # -- the way in

    def _admit(self, request: Request) -> None:
        """Refuse a sender that asks too often, and a request for another host name."""
        self.limit.check(requests.address(request))
        check_host(self._settings, request)

    def allow(self, endpoint: Endpoint, request: Request) -> None:
        """Refuse also a sender without the role, and a query that the endpoint does not read."""
        self._admit(request)
        if endpoint.role is not None:
            check_role(self._settings, request, endpoint.role)
        if not endpoint.any_query and request.scope["query_string"]:
            known = (parameter.name for parameter in endpoint.parameters if parameter.place == "query")
            requests.check_query(request, tuple(known))

    # -- the way out

    def confined(self, endpoint: Endpoint, response: Response) -> Response:
        """Return an answer; if it needed a token, no cache may hand it on."""
        return response if endpoint.role is None or endpoint.role in self._settings.open else confined(response)

    def finished(self, request: Request, response: Response, plan_id: str | None) -> Response:
        """Return a response with the headers that web pages need, and count it."""
        if plan_id is not None and plan_id not in self._settings.origins:
            plan_id = self._before(plan_id) or plan_id  # pages that may ask the pilot may ask the plan that follows it
        for name, value in cors_headers(self._settings, request, plan_id).items():
            if name == "Vary":
                response.headers.add_vary_header(value)
            else:
                response.headers[name] = value
        self.note(response.status_code)
        return response

    def note(self, status: int) -> None:
        """Count an answer."""
        self.metrics.responses[status] += 1

    def refusal(self, endpoint: Endpoint, error: Exception) -> Refused:
        """Return the problem for an error: of the body, of the store, or of the collector itself."""
        if isinstance(error, NotHeld):
            return Refused("not-found", str(error))
        if isinstance(error, InputError) and endpoint.reads:
            return Refused("bad-report", str(error))
        if isinstance(error, StoreError):  # a database may quote its address, which is for the log alone
            logger.error("%s %s: %s", endpoint.method, endpoint.path, " ".join(str(error).split()))
            return self.failed()
        logger.error("%s %s failed", endpoint.method, endpoint.path, exc_info=error)
        return Refused("broken")

    def busy(self, why: str = "") -> Refused:
        """Return the refusal of a request that may succeed a little later."""
        return Refused("busy", why, self._later())

    def failed(self) -> Refused:
        """Return the refusal of a request for which the store failed."""
        return Refused("failed", headers=self._later())

    def _later(self) -> dict[str, str]:
        return {"Retry-After": str(self._settings.retry_after)}

    async def unrouted(self, request: Request, error: Exception) -> Response:
        """Answer a path or method without an endpoint, or the preflight request of a browser."""
        assert isinstance(error, HTTPException)
        parts = request.scope["path"].split("/")
        plan_id = parts[2] if len(parts) > 2 and parts[1] == "plans" else None
        try:
            self._admit(request)
        except Refused as refused:
            return self.finished(request, refused.response(), plan_id)
        if request.method == "OPTIONS" and error.status_code == 405:
            response = Response(status_code=204, headers={"Allow": _methods(request)})
        elif error.status_code == 405:
            response = Refused("bad-method", headers={"Allow": _methods(request)}).response()
        else:
            kind = {404: "not-found"}.get(error.status_code, "bad-request")
            response = Refused(kind, headers=dict(error.headers or {})).response()
        return self.finished(request, response, plan_id)


def _methods(request: Request) -> str:
    """Return all methods that a path takes: each is a route of its own."""
    found = (route for route in request.app.routes if isinstance(route, Route))
    path = request.scope["path"]
    return ", ".join(sorted({name for route in found if route.path_regex.match(path) for name in route.methods or ()}))
