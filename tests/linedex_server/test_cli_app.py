"""The group of commands: each is there, says what the list says of it, and loads no more than it needs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from linedex_server.cli.app import cli, run
from linedex_server.cli.teaching import TaughtCommand

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


@pytest.mark.parametrize(
    "arguments",
    [["search", "nowhere", __file__], ["read", f"{__file__}:1"], ["files", "nowhere", str(Path(__file__).parent)]],
)
def test_questions_about_plain_text_load_nothing_for_logs_symbols_and_likeness(arguments: list[str]) -> None:
    unused = {"pydantic", "tree_sitter", "chardet", "regex", "linedex.content.logs.parts", "linedex.query.overview"}
    if arguments[0] != "files":  # a name that fits nowhere is compared with all
        unused.add("rapidfuzz")
    assert loaded(arguments) & unused == set()


def test_what_loads_at_its_first_use_can_be_loaded_at_once() -> None:
    code = (
        "import sys, linedex.index, linedex.later\n"
        "print(*(name in sys.modules for name in LATE))\n"
        "linedex.later.load_all()\n"
        "print(*(name in sys.modules for name in LATE))"
    ).replace("LATE", "('linedex.query.log_patterns', 'linedex.query.surveys', 'rapidfuzz', 'chardet', 'regex')")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [set(line.split()) for line in out.splitlines()] == [{"False"}, {"True"}]


@pytest.mark.parametrize(("typed", "meant"), [("serch", "search"), ("lo", "log"), ("histroy", "history")])
def test_a_mistyped_command_is_answered_with_the_one_that_is_like_it(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([typed]) == 2
    assert f"There is no command '{typed}'. Did you mean '{meant}'?" in capsys.readouterr().err


def test_a_word_that_is_like_no_command_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["zzzzzz"]) == 2
    assert "There is no command 'zzzzzz'.\n" in capsys.readouterr().err


def test_the_help_lists_every_command_once_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    listed = re.findall(r"^  ([a-z]+) +[A-Z].*\.$", capsys.readouterr().out, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("name", ["", *COMMANDS])
@pytest.mark.parametrize("columns", [44, 60, 80])
def test_no_example_is_broken_on_a_narrow_terminal(
    name: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run([*name.split(), "--help"]) == 0
    printed = capsys.readouterr().out.partition("Examples:\n")[2].splitlines()
    command = cli.get_command(click.Context(cli), name) if name else cli
    assert isinstance(command, TaughtCommand)
    for line, does in command.examples:
        assert any(one.startswith(f"  {line}") for one in printed), line
        # its first words stand together: it has a column of some width, or a line of its own
        assert any(" ".join(does.split()[:2]) in one for one in printed), does


def test_summaries_of_a_group_are_whole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["languages", "--help"]) == 0
    assert "..." not in capsys.readouterr().out.partition("Commands:")[2]


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "Examples:" in capsys.readouterr().err
