"""TOML: one table is changed, and nothing else."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.errors import BadArgument
from linedex_server.install.toml_text import with_table

PATH = ("mcp_servers", "linedex")
ENTRY: dict[str, Any] = {"command": "/bin/linedex", "args": ["mcp", "--root", "/a b"]}
MINE = """\
# mine
model = "x"   # why

[mcp_servers.other]
command = "y" # keep
args = [
  "[mcp_servers.linedex]", # not a header
]
"""


def test_a_table_is_added_behind_everything() -> None:
    assert with_table(MINE, PATH, ENTRY) == MINE + (
        '\n[mcp_servers.linedex]\ncommand = "/bin/linedex"\nargs = ["mcp", "--root", "/a b"]\n'
    )


def test_a_table_that_is_there_keeps_what_else_it_has() -> None:
    text = """\
[ mcp_servers . "linedex" ] # ours
startup_timeout_sec = 20
args = [
  "old", # gone
]
command = "/bin/linedex" # same

[mcp_servers.linedex.env]
A = "1"
"""
    assert with_table(text, PATH, ENTRY) == text.replace(
        'args = [\n  "old", # gone\n]\n', 'args = ["mcp", "--root", "/a b"]\n'
    )


def test_a_second_time_changes_nothing() -> None:
    made = with_table(MINE, PATH, ENTRY)
    assert with_table(made, PATH, ENTRY) == made


@pytest.mark.parametrize("text", ["", "a = 1", MINE.rstrip(), MINE.replace("\n", "\r\n"), "[mcp_servers.linedex]"])
def test_all_else_is_read_as_before(text: str) -> None:
    before = tomllib.loads(text)
    made = with_table(text, PATH, ENTRY)
    after = tomllib.loads(made)
    assert after.pop("mcp_servers").pop("linedex") == ENTRY
    before_servers = before.pop("mcp_servers", {})
    assert before == after
    assert tomllib.loads(made)["mcp_servers"] == {**before_servers, "linedex": ENTRY}
    assert ("\r\n" in made) == ("\r\n" in text)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_any_text_comes_back_as_it_is(command: str, arguments: list[str]) -> None:
    entry = {"command": command, "args": arguments}
    assert tomllib.loads(with_table(MINE, PATH, entry))["mcp_servers"]["linedex"] == entry


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nb c", "it is no TOML.*line 2"),
        ("mcp_servers = {other = {}}", "cannot be changed safely"),
        ('mcp_servers.linedex.command = "x"', "cannot be changed safely"),
        ('[mcp_servers]\nlinedex = {command = "x"}', "cannot be changed safely"),
        ("mcp_servers = 1", "cannot be changed safely"),
        ('x = """\n[mcp_servers.linedex]\n"""', "cannot be changed safely"),
    ],
)
def test_what_cannot_be_changed_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        with_table(text, PATH, ENTRY)
