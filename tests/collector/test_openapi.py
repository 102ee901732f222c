"""The document that describes the interface: valid, complete, and true of a collector that runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis import checks as standard
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks

from hush.collector import formats
from hush.collector.http.endpoints import REPORT_SCHEMA, TALLY_SCHEMA
from hush.collector.http.problems import KINDS
from hush.collector.http.sealed import SEALED
from hush.collector.http.security import hashed
from tests.collector.served import PLAN, PLANS, TRAINING, Served, anybody, report_of, serving

ADMIN = {"Authorization": "Bearer an admin"}
EXAMPLES = 12  # of each operation, of good requests and of bad ones
CHECKS = [
    standard.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.unsupported_method,
    checks.negative_data_rejection,
    checks.missing_required_header,
]


@schemathesis.serializer(SEALED)  # the one body that is never JSON
def as_it_is(_: Any, value: Any) -> Any:
    return getattr(value, "data", value) if not isinstance(value, dict | list) else str(value).encode()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    config = anybody(tokens={"admin": frozenset([hashed("an admin")])}, tickets=True, ticket_key=b"k" * 32)
    object.__setattr__(config, "sealed_key", b"s" * 32)  # a collector has tickets or this; here all ways are open
    with serving(tmp_path_factory.mktemp("openapi"), config) as found:
        yield found


@pytest.fixture(scope="module")
def document(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = served.client.get("/openapi.json").json()
    return found


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    schemathesis.openapi.from_dict(document).validate()
    ids = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(set(ids)) == len(ids)
    for schema in (REPORT_SCHEMA, TALLY_SCHEMA, *document["components"]["schemas"].values()):
        jsonschema.Draft202012Validator.check_schema(schema)


def test_the_document_has_every_route(served: Served, document: dict[str, Any]) -> None:
    """What is routed is described, with the roles, and every status of a problem is told."""
    statuses = {str(status) for status, _ in KINDS.values()}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert statuses <= set(operation["responses"])
            filled = path.replace("{plan}", "0" * 64).replace("{training}", "x")
            assert served.client.request(method, filled).status_code != 405
    assert document["paths"]["/plans/{plan}/close"]["post"]["security"] == [{"token": []}]
    assert "security" not in document["paths"]["/healthz"]["get"]
    assert "security" not in document["paths"]["/readyz"]["get"]
    reads = document["paths"]["/plans/{plan}/reports"]["post"]["requestBody"]["content"]
    assert set(reads) == {*formats.SINGLES, *formats.BATCHES}


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.title)
def test_reports_and_tallies_are_as_described(plan: Any) -> None:
    from hush import Tally

    jsonschema.validate(json.loads(report_of(plan).to_json()), REPORT_SCHEMA)
    jsonschema.validate(json.loads(Tally(plan).to_json()), TALLY_SCHEMA)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_a_running_collector_does_what_the_document_says(
    served: Served, document: dict[str, Any], mode: GenerationMode
) -> None:
    """Every operation, with requests that the document allows and with such that it does not.

    Paths name a plan and a training that are there, half of the time. The stream is left out, as it never ends.
    """
    schema = schemathesis.openapi.from_dict(document)
    schema.config.base_url = served.url
    count = [0]
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        if operation.path.endswith("/stream"):
            continue

        @settings(
            max_examples=EXAMPLES,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            count[0] += 1
            if count[0] % 2 and mode is GenerationMode.POSITIVE:
                for name, value in (("plan", PLAN.id), ("training", TRAINING.title)):
                    if name in (case.path_parameters or {}):
                        case.path_parameters[name] = value
            case.call_and_validate(checks=CHECKS, headers=ADMIN)

        with suppress(Unsatisfiable):  # nothing can be wrong with a request that has no parameters
            ask()
    assert count[0] > 100
    assert threading.active_count() < 50


def test_a_document_that_is_not_true_is_caught(served: Served, document: dict[str, Any]) -> None:
    wrong = json.loads(json.dumps(document))
    wrong["components"]["schemas"]["Health"]["properties"]["status"] = {"type": "integer"}
    schema = schemathesis.openapi.from_dict(wrong)
    schema.config.base_url = served.url
    with pytest.raises(FailureGroup):
        schema["/healthz"]["GET"].Case().call_and_validate(checks=CHECKS, headers=ADMIN)
