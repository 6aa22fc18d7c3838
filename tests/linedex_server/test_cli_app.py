"""The group of commands: each is there, says what the list says of it, and loads no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from linedex_server.cli.app import cli, run

COMMANDS = cli.list_commands(click.Context(cli))


def loaded(arguments: list[str]) -> set[str]:
    """Return the modules that are loaded after a command line has run."""
    code = (
        "import sys; from linedex_server.cli.app import run\n"
        f"try: run({arguments!r})\nfinally: print('LOADED', *sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return set(out.rpartition("LOADED ")[2].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_in_the_list_has_help_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    printed = capsys.readouterr().out
    assert f"Usage: linedex {name}" in printed
    assert f"linedex {name}" in printed.partition("Examples:")[2]


ENGINE = {"numpy", "apsw", "tree_sitter", "mcp", "rich"}


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["search", "--help"], ["read", "--nonsense"], ["index", "--help"], ["mcp", "--help"]],
    ids=" ".join,
)
def test_the_engine_is_loaded_only_for_a_question(arguments: list[str]) -> None:
    assert loaded(arguments) & ENGINE == set()


def test_a_search_loads_neither_the_protocol_nor_the_bars() -> None:
    assert loaded(["search", "nowhere", __file__]) & {"mcp", "rich"} == set()


def test_an_unknown_command_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serch"]) == 2
    assert "serch" in capsys.readouterr().err


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "Examples:" in capsys.readouterr().err
