"""The browser client reads lists of a million values: it must not take ever longer to make a table of them."""

from __future__ import annotations

from tests.web.replaying import needs_node, node


@needs_node
def test_a_list_of_a_million_values() -> None:
    named = "--test-name-pattern=a table of many values"
    done = node("--test", named, "test/large.test.mjs", timeout=600, HUSH_WEB_LISTED="1000000")
    assert done.returncode == 0, done.stdout[-4000:]
    assert "# pass 1\n" in done.stdout
