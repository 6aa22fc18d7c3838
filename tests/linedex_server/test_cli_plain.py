"""The plain reading of `linedex mcp`'s arguments, beside the command's own."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from linedex_server.cli.plain import FLAGS, VALUED, bridge_settings
from linedex_server.cli.serving import mcp
from linedex_server.config import OUTPUTS, TOOL_GROUPS

NOT_PLAIN = {"--no-daemon", "--help", "-h"}


def test_every_option_of_the_command_is_read_or_left_to_it() -> None:
    options = {name for parameter in mcp.params if isinstance(parameter, click.Option) for name in parameter.opts}
    assert options - NOT_PLAIN == {*VALUED, *FLAGS}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--root", "/a"],
        ["--root=/a=b", "--root", "c d"],
        ["--read-only", "--tools", TOOL_GROUPS[-1], "--output=" + OUTPUTS[-1]],
        ["--output", OUTPUTS[0], "--output", OUTPUTS[-1]],
    ],
)
def test_what_is_plain_is_read_as_the_command_reads_it(arguments: list[str]) -> None:
    read = mcp.make_context("mcp", list(arguments)).params
    assert bridge_settings(arguments) == {
        "allowed_roots": read["roots"] or None,
        "output": read["output"],
        "tools": read["tools"],
        "read_only": read["read_only"] or None,
    }


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--no-daemon"], ["--root"], ["--tools", "none"], ["--rot", "x"], ["x"], ["--read-only=1"]],
)
def test_all_else_is_left_to_the_command(arguments: list[str]) -> None:
    assert bridge_settings(arguments) is None


def test_a_plain_bridge_loads_no_command_line_package() -> None:
    program = "\n".join(
        (
            "import sys, linedex_server.cli as cli",
            "assert cli._plain_bridge(['--help']) == 0",
            "import linedex_server.bridge, linedex_server.config",
            "print('click' in sys.modules)",
        )
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
