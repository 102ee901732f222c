"""The OpenAPI document that describes the endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from hush import __version__
from hush.collector.formats import JSON
from hush.collector.http.endpoints import Endpoint
from hush.collector.http.problems import KINDS, Problem
from hush.collector.settings import Role

PATHS = {
    "plan": ("the id of a plan: 64 hexadecimal digits", {"type": "string", "pattern": "^[0-9a-f]{64}$"}),
    "training": ("the name of a training", {"type": "string", "minLength": 1, "maxLength": 128}),
}


def openapi(endpoints: Sequence[Endpoint], open_: frozenset[Role] = frozenset()) -> dict[str, Any]:
    """Return the OpenAPI document of endpoints, where some roles are open."""
    types = [
        endpoint.answers for endpoint in endpoints if endpoint.answers is not None and _is_struct(endpoint.answers)
    ]
    schemas, components = _schemas((*types, Problem))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas, open_)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hush collector",
            "version": __version__,
            "description": "Takes private reports, counts each once, and shows estimates.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


@lru_cache(maxsize=2)
def _schemas(types: tuple[type, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of each type by its name, and those that they refer to: the same in every collector."""
    found, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    return dict(zip([kind.__name__ for kind in types], found, strict=True)), components


def _operation(endpoint: Endpoint, schemas: dict[str, Any], open_: frozenset[Role]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if _is_struct(endpoint.answers):
        assert endpoint.answers is not None
        content[JSON] = {"schema": schemas[endpoint.answers.__name__]}
    elif endpoint.answers is dict:
        content[JSON] = {"schema": {"type": "object"}}
    content |= {kind: {"schema": {"type": "string"}} for kind in endpoint.also}
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "responses": {str(endpoint.status): {"description": endpoint.summary, "content": content}}
        | {str(status): _problem(title, schemas) for status, title in _problems()},
        "parameters": [
            {"name": name, "in": "path", "required": True, "description": description, "schema": schema}
            for name, (description, schema) in PATHS.items()
            if f"{{{name}}}" in endpoint.path
        ]
        + [parameter.described() for parameter in endpoint.parameters],
    }
    if endpoint.path == "/plans/{plan}":
        operation["responses"]["304"] = {"description": "The plan has not changed: it never does"}
    if endpoint.path == "/plans/{plan}/ticket":
        operation["responses"]["204"] = {"description": "This collector deals no tickets"}
    if endpoint.reads:
        operation["requestBody"] = {
            "required": True,
            "content": {
                kind: {"schema": endpoint.body if kind == JSON else {"type": "string", "format": "binary"}}
                for kind in endpoint.reads
            },
        }
    if endpoint.role is not None:
        operation["security"] = [{}, {"token": []}] if endpoint.role in open_ else [{"token": []}]
    return operation


def _problems() -> list[tuple[int, str]]:
    """Return every status of a problem, with the titles of its kinds."""
    titles: dict[int, list[str]] = {}
    for status, title in KINDS.values():
        titles.setdefault(status, []).append(title)
    return [(status, "; ".join(found)) for status, found in sorted(titles.items())]


def _problem(title: str, schemas: dict[str, Any]) -> dict[str, Any]:
    return {"description": title, "content": {"application/problem+json": {"schema": schemas["Problem"]}}}


def _is_struct(kind: type[Any] | None) -> bool:
    return kind is not None and issubclass(kind, msgspec.Struct)
