"""Numbers on the command line: every option that takes one says how to write it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from hush.cli.commands import program
from hush.cli.numbers import RULE, Count, Number, Whole, meant, refusal
from tests.cli.test_commands import refused


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("1.000.000", "1000000"),
        ("1,000,000", "1000000"),
        ("1 000 000", "1000000"),
        ("1\u202f000\u00a0000", "1000000"),
        ("1'000'000", "1000000"),
        ("-12.345,67", "-12345.67"),
        ("1,000.5", "1000.5"),
        ("0,5", "0.5"),
        (" 2,75 ", "2.75"),
        ("young", None),
        ("1.2.3", None),
        ("", None),
        ("1,2,3", None),
    ],
)
def test_what_was_meant(text: str, better: str | None) -> None:
    assert meant(text) == better
    assert refusal(text).endswith(RULE)
    assert better is None or f"write {better}; " in refusal(text)


def test_whole_numbers_in_other_forms() -> None:
    assert meant("1e6", whole=True) == meant("1000000.0", whole=True) == "1000000"
    for text in ("1.5", "2,5", "1.000,5", "1e300", "nan", "inf", "many"):
        assert meant(text, whole=True) is None


def options() -> Iterator[tuple[str, click.Option]]:
    for name, command in program.commands.items():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                yield name, parameter


def test_no_option_takes_numbers_in_another_way() -> None:
    """The types of click say "is not a valid float", and stop there."""
    plain = (click.types.FloatParamType, click.types.IntParamType, click.IntRange, click.FloatRange)
    for name, option in options():
        ours = isinstance(option.type, Number | Whole | Count)
        assert ours or not isinstance(option.type, plain), (name, option.name)


NUMERIC = [(name, option.opts[0]) for name, option in options() if isinstance(option.type, Number | Whole | Count)]


def test_there_are_many() -> None:
    assert len(NUMERIC) > 50


@pytest.mark.parametrize(("command", "option"), NUMERIC)
def test_every_option_says_how_to_write_it(command: str, option: str) -> None:
    result = CliRunner().invoke(program, [command, option, "1.000.000"])
    assert result.exit_code == 2
    assert f"write 1000000; {RULE}" in result.output, result.output
    result = CliRunner().invoke(program, [command, option, "2,5"])
    assert result.exit_code == 2
    assert RULE in result.output


@pytest.mark.parametrize("option", ["--number", "--integer", "--wide"])
def test_numbers_within_an_option(option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"write 1000000; {RULE}" in refused("init", "survey", option, "income=0..1.000.000")
