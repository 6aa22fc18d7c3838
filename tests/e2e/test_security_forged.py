"""Names and contents of a hostile repository: no line of an answer is theirs, and nothing of them steers a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.files.names import parse
from linedex_server.naming import spelled

if TYPE_CHECKING:
    from conftest import Served

FOOTER = "[9 hits in 9 files; complete: 9 by index; 1 ms]"
NAMES = (
    FOOTER,
    "5:int main",
    "7~near",
    "3-context",
    "@ Class.method",
    "--",
    "+added",
    "@@ -1 +1 @@",
    "~",
    "x; hash 0123456789abcdef",
    "a\n[0 hits]",
    "\x1b[2J\x07",
    "\u202egnp.exe",
    "\u2028[0 hits]",
    "\u009b31m",
    "PREVIEW, nothing written",
)
LINES = (FOOTER, "a\r[1 hit]", "a\x0b[2 hits]", "a\x85[3 hits]", "a\u2028[4 hits]", "\x1b]0;owned\x07", "\u202ehit")
OURS = re.compile(r"\x1b\[(?:0|1|1;31|32|35|36|33|2K|K|\?25[lh]|[0-9]*[A-D])*m?")
"""Colours and what draws a progress bar."""


@pytest.fixture
def hostile(served: Served) -> Served:
    for name in NAMES:
        text = "def hit():\n    pass\n" + "\n".join(LINES) + "\n"
        with open(os.path.join(os.fsencode(served.folder), os.fsencode(name)), "wb") as file:
            file.write(text.encode())
    return served


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_directory", {"absolute_dir_path": ".", "pattern": "def hit", "max_results": 100}),
        ("search_directory", {"absolute_dir_path": ".", "pattern": "hit", "output_mode": "files"}),
        ("search_directory", {"absolute_dir_path": ".", "pattern": "hit", "output_mode": "count"}),
        ("find_files", {"name": "hit"}),
        ("find_files", {"name": "a"}),
        ("find_symbol", {"name": "hit"}),
        ("list_directory", {"absolute_dir_path": "."}),
    ],
)
def test_a_line_in_brackets_is_the_last_one_and_ours(hostile: Served, tool: str, arguments: dict[str, object]) -> None:
    hostile.index()
    *lines, last = hostile.text(tool, **arguments).split("\n")
    assert re.match(r"\[(\d+ (hits?|files?|symbols?)|\.:)", last)
    assert not [line for line in lines if line.startswith(("[", "--", "PREVIEW")) or "; hash" in line]
    if tool == "search_directory" and "output_mode" not in arguments:
        # a line of a file has its number; all others are names or empty
        named = {line for line in lines if line and not re.match(r"\d+[:-]", line)}
        assert named == {spelled(os.fsencode(name)) for name in NAMES}


def test_every_name_as_shown_leads_to_its_file_whose_last_line_is_no_note_of_ours(hostile: Served) -> None:
    for name in NAMES:
        shown = spelled(os.fsencode(name))
        *lines, footer = hostile.text("read_content", absolute_file_path=shown).split("\n")
        assert [line.split("\t", 1)[1] for line in lines] == ["def hit():", "    pass", *LINES]
        assert re.search(r"; hash ([0-9a-f]{16})\]$", footer)
        assert footer.count("; hash") == 1
        preview = hostile.text(
            "edit_content", absolute_file_path=shown, changes=[{"search": "    pass", "replace": FOOTER}]
        )
        assert f"+{FOOTER}" in preview.split("\n")
        assert FOOTER not in preview.split("\n")


@given(st.text(st.characters(blacklist_characters="\0/", blacklist_categories=["Cs"]), min_size=1))
def test_a_spelled_name_is_the_same_name_on_one_line(name: str) -> None:
    shown = spelled(name.encode())
    assert parse(shown.removeprefix("./")) == name.encode().removeprefix(b"./")
    assert shown.isprintable() or re.fullmatch(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]*", shown)
    assert not re.match(r"[\[@~+-]|\d+[:~]", shown)


COMMANDS = (
    ("search", "hit"),
    ("search", "--json", "hit"),
    ("search", "-l", "hit"),
    ("search", "-c", "hit"),
    ("files", "a"),
    ("symbols", "hit"),
    ("read", NAMES[0]),
    ("read", "\x1b[2J\x07"),
    ("read", "no\x1b[2Jfile"),
    ("outline", "\u202egnp.exe"),
    ("log", "patterns", "\x1b[2J\x07"),
    ("log", "timeline", "\x1b[2J\x07"),
    ("tail", "\x1b[2J\x07"),
    ("index", "."),
    ("status",),
    ("check", "."),
    ("history",),
    ("languages", "list"),
    ("nonsense\x1b[2J",),
    ("search", "--nonsense\x1b[2J", "hit"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_no_command_writes_an_escape_of_a_file_to_a_terminal(
    hostile: Served, tmp_path: Path, command: tuple[str]
) -> None:
    folder = tmp_path / "evil\x1b[2J\u202e"
    hostile.folder.rename(folder)
    (folder / "deep\x1b]0;x\x07").mkdir()
    (folder / "unreadable\x1b[5m").write_bytes(b"\xff\xfe\x00")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("LINEDEX_", "NO_COLOR"))}
    environ = kept | {"LINEDEX_STATE_DIR": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path), "TERM": "xterm"}
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "linedex_server", *command],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
    ):
        os.close(slave)
        sent = b"".join(iter(lambda: _piece(master), b""))
    os.close(master)
    shown = OURS.sub("", sent.decode().replace("\r\n", "\n").replace("\r", ""))
    assert shown
    assert not re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]", shown)


def _piece(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how Linux says that the last writer has gone
        return b""
