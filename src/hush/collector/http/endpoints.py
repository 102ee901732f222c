"""Endpoints as data: each is declared beside its handler.

The application routes by these declarations, and `openapi` describes them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from hush.collector.settings import Role
from hush.core import report
from hush.server import tally

Handler = Callable[[Request], Awaitable[Response]]
Method = TypeVar("Method", bound=Callable[[Any, Request], Awaitable[Response]])

MARK = "__hush_endpoint__"
REPORT_SCHEMA = {
    "type": "object",
    "description": "A report as in spec/wire.md",
    "properties": {
        "hush": {"const": report.VERSION},
        "plan": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "answers": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [
                    {"type": "integer", "minimum": 0},
                    {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "array", "items": {"type": "integer"}}]},
                ],
                "minItems": 2,
                "maxItems": 2,
            },
        },
    },
    "required": ["hush", "plan", "id", "answers"],
    "additionalProperties": False,
}
COUNTS_SCHEMA = {
    "type": "object",
    "properties": {
        "hush": {"const": tally.VERSION},
        "plan": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "reports": {"type": "integer", "minimum": 0},
        "answered": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "counts": {
            "type": "array",
            "description": "A row for each question; in one of points, -m stands for m zeros",
            "items": {"type": "array", "items": {"type": "integer"}},
        },
    },
    "required": ["hush", "plan", "reports", "answered", "counts"],
    "additionalProperties": False,
}
TALLY_SCHEMA = {
    "type": "object",
    "description": "A tally as in spec/wire.md, with its plan",
    "properties": {
        "hush": {"const": tally.VERSION},
        "plan": {"type": "object"},
        "tally": COUNTS_SCHEMA,
        "own": {"type": "integer", "minimum": 1},
        "stores": {
            "type": "array",
            "description": "The names of each store whose reports these are, the newest first",
            "items": {"type": "array", "items": {"type": "string", "pattern": "^[0-9a-f]{32}$"}, "minItems": 1},
            "minItems": 1,
        },
    },
    "required": ["hush", "plan", "tally"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Parameter:
    """A parameter of an endpoint, in the query or in a header."""

    name: str
    type: str
    description: str
    default: Any
    choices: tuple[str, ...] = ()
    place: str = "query"
    required: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """Return the parameter as OpenAPI has it."""
        schema: dict[str, Any] = {"type": self.type, **self.limits}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.default is not None:
            schema["default"] = self.default
        return {
            "name": self.name,
            "in": self.place,
            "description": self.description,
            "required": self.required,
            "schema": schema,
        }


@dataclass(frozen=True)
class Endpoint:
    """One method of one path. `answers`: the type of its JSON, or None; `also`: other content types that it answers."""

    method: str
    path: str
    summary: str
    handler: Handler
    role: Role | None
    answers: type[Any] | None
    reads: Sequence[str] = ()
    parameters: Sequence[Parameter] = ()
    also: Sequence[str] = ()
    status: int = 200
    body: Mapping[str, Any] = field(default_factory=lambda: REPORT_SCHEMA)
    any_query: bool = False

    @property
    def name(self) -> str:
        """A name that is unique."""
        words = [word.strip("{}") for word in self.path.replace(".", "/").split("/") if word]
        return "_".join([self.method.lower(), *words])


def endpoint(
    method: str,
    path: str,
    summary: str,
    *,
    role: Role | None,
    answers: type[Any] | None = None,
    reads: Sequence[str] = (),
    parameters: Sequence[Parameter] = (),
    also: Sequence[str] = (),
    status: int = 200,
    body: Mapping[str, Any] = REPORT_SCHEMA,
) -> Callable[[Method], Method]:
    """Declare a method as the handler of an endpoint. `declared` collects these declarations."""
    made = partial(
        Endpoint,
        method,
        path,
        summary,
        role=role,
        answers=answers,
        reads=reads,
        parameters=parameters,
        also=also,
        status=status,
        body=body,
    )

    def mark(handler: Method) -> Method:
        setattr(handler, MARK, made)
        return handler

    return mark


def of_training(
    path: str, summary: str, *, role: Role, answers: type[Any] | None = None, also: Sequence[str] = ()
) -> Callable[[Method], Method]:
    """Declare a method as the handler that answers with something of a training."""
    return endpoint("GET", f"/trainings/{{training}}/{path}", summary, role=role, answers=answers, also=also)


def declared(handlers: object) -> tuple[Endpoint, ...]:
    """Return the endpoints that an object's class declares, in the order of declaration."""
    methods = vars(type(handlers)).items()
    return tuple(
        getattr(method, MARK)(handler=getattr(handlers, name)) for name, method in methods if hasattr(method, MARK)
    )
