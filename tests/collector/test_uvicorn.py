"""What the collector uses of uvicorn that uvicorn does not promise: `pyproject.toml` has an upper bound for it.

If a test here fails with a new version, read what has changed, mend `protocol.py`, `cycles.py`, `direct.py` and
`serve.py`, run tests/collector, and raise the bound.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from packaging.requirements import Requirement
from starlette.applications import Starlette
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http import flow_control
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from hush.collector.http import direct
from hush.collector.http.cycles import Cycle, Known
from hush.collector.http.protocol import Protocol

ROOT = Path(__file__).parent.parent.parent
CALLED_BY_ASYNCIO = {"connection_made", "connection_lost", "data_received", "eof_received", "resume_writing"}
CALLED_BY_THE_PARSER = {
    *("on_message_begin", "on_url", "on_header", "on_headers_complete", "on_body", "on_message_complete"),
    "on_chunk_header",  # which uvicorn does not have
}
OF_A_CONNECTION = {
    *("app", "app_state", "access_logger", "client", "config", "connections", "cycle", "expect_100_continue", "flow"),
    *("headers", "logger", "loop", "parser", "pipeline", "scheme", "scope", "server", "server_state", "tasks"),
    *("timeout_keep_alive", "transport", "limit_concurrency"),
}
OF_A_REQUEST = {
    *("body", "default_headers", "disconnected", "keep_alive", "message_event", "more_body", "on_response"),
    *("response_complete", "response_started", "scope", "transport", "waiting_for_100_continue"),
}
MADE_OF = [
    *("scope", "transport", "flow", "logger", "access_logger", "access_log", "default_headers", "message_event"),
    *("expect_100_continue", "keep_alive", "on_response"),
]
LOOK = "uvicorn has changed: see the docstring of this file"


def own(kind: type) -> set[str]:
    """Return the names that a class defines itself."""
    return {name for name in vars(kind) if not name.startswith("__")}


def parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)[1:]


def connection() -> HttpToolsProtocol:
    config = uvicorn.Config(Starlette(), ws="none", log_config=None)
    return HttpToolsProtocol(config, ServerState(), {}, _loop=object())  # type: ignore[arg-type]


def request() -> RequestResponseCycle:
    return RequestResponseCycle(**dict.fromkeys(MADE_OF))  # type: ignore[arg-type]


def test_the_version_is_one_that_was_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (need,) = [
        found
        for text in project["optional-dependencies"]["collector"]
        if (found := Requirement(text)).name == "uvicorn"
    ]
    assert {rule.operator for rule in need.specifier} == {">=", "<"}
    assert version("uvicorn") in need.specifier


def test_everything_that_is_used_is_there() -> None:
    assert own(HttpToolsProtocol) >= CALLED_BY_ASYNCIO | CALLED_BY_THE_PARSER - {"on_chunk_header"}, LOOK
    assert set(vars(connection())) >= OF_A_CONNECTION, LOOK
    assert parameters(HttpToolsProtocol.__init__) == ["config", "server_state", "app_state", "_loop"], LOOK
    assert parameters(RequestResponseCycle.__init__) == MADE_OF, LOOK
    assert set(vars(request())) >= OF_A_REQUEST, LOOK
    assert own(RequestResponseCycle) >= {"run_asgi", "receive", "send"}, LOOK
    flow = flow_control.FlowControl(None)  # type: ignore[arg-type]
    assert {"read_paused", "write_paused"} <= set(vars(flow)), LOOK
    assert {"pause_reading", "resume_reading"} <= own(flow_control.FlowControl), LOOK
    assert flow_control.HIGH_WATER_LIMIT == 65536, LOOK
    assert {"default_headers", "total_requests", "connections", "tasks"} <= set(vars(ServerState())), LOOK
    server = uvicorn.Server(uvicorn.Config(Starlette(), log_config=None))
    assert {"startup", "shutdown", "capture_signals"} <= own(uvicorn.Server), LOOK
    assert "_captured_signals" in vars(server), LOOK


def test_nothing_of_uvicorn_is_replaced_without_intent() -> None:
    """A new attribute of uvicorn might have a name that the collector gave to something else."""
    intended = CALLED_BY_ASYNCIO | CALLED_BY_THE_PARSER | {"on_response_complete"}
    replaced = own(Protocol) & (own(HttpToolsProtocol) | set(vars(connection())))
    assert replaced == intended - {"on_chunk_header"}, LOOK
    assert own(Cycle) & (own(RequestResponseCycle) | set(vars(request()))) == {"run_asgi", "receive"}, LOOK
    assert own(Known) <= set(vars(request())), LOOK  # what a request has before anything has happened
    fresh = request()
    for name in own(Known) - {"keep_alive", "more_body"}:
        assert not getattr(fresh, name), LOOK


def test_forwarded_addresses_are_read_without_waiting() -> None:
    scope: dict[str, Any] = {"type": "http", "client": ("127.0.0.1", 1), "scheme": "http"}
    scope["headers"] = [(b"x-forwarded-for", b"198.51.100.1"), (b"x-forwarded-proto", b"https")]
    direct.at_once(ProxyHeadersMiddleware(direct.nothing, "127.0.0.1"), scope)
    assert (scope["client"][0], scope["scheme"]) == ("198.51.100.1", "https"), LOOK


@pytest.mark.parametrize("lost", ["pipeline", "server_state"])
def test_a_uvicorn_without_something_is_caught(monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    real = HttpToolsProtocol.__init__

    def without(self: Any, *arguments: Any, **named: Any) -> None:
        real(self, *arguments, **named)
        delattr(self, lost)

    monkeypatch.setattr(HttpToolsProtocol, "__init__", without)
    with pytest.raises(AssertionError, match="uvicorn has changed"):
        test_everything_that_is_used_is_there()
