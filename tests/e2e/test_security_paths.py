"""Nothing outside the allowed folder is read or written: by no spelling, through no tool, and in no race."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from linedex.errors import LinedexError
from linedex_server.mcp_server import build_server
from linedex_server.tools.registry import ALL, offered
from linedex_server.tools.tool import Output, Session, Tool

if TYPE_CHECKING:
    from conftest import Served

SECRET = "TOP SECRET"
ROUNDS = 400
LONG_ROUNDS = 5_000
PATHS = ("absolute_file_path", "absolute_dir_path", "absolute_path", "path")
OTHERS: dict[str, Any] = {
    "pattern": "SECRET",
    "name": "secret",
    "line": 1,
    "changes": [{"search": SECRET, "replace": "owned"}],
    "edits": [{"start_line": 1, "end_line": 1, "new_text": "owned"}],
    "spans": [{"start": 0, "end": 1, "new_text": "owned"}],
    "content": "owned\n",
    "old_text": SECRET,
    "new_text": "owned",
    "replacement": "owned",
    "start_marker": "TOP",
    "end_marker": "SECRET",
}


@pytest.fixture
def fenced(served: Served) -> Served:
    """A root `in` with a file, and `out` beside it with a secret and links into it from the root."""
    (served.folder / "in/sub").mkdir(parents=True)
    (served.folder / "in/sub/secret.txt").write_text("inside\n", encoding="utf-8")
    (served.folder / "out").mkdir()
    (served.folder / "out/secret.txt").write_text(f"{SECRET}\n", encoding="utf-8")
    (served.folder / "in/link").symlink_to("../out")
    (served.folder / "in/file").symlink_to("../out/secret.txt")
    (served.folder / "in/up").symlink_to("..")
    (served.folder / "in/proc").symlink_to("/proc/self/root")
    served.serve("in")
    return served


def _spellings(folder: Path) -> list[str]:
    out = str(folder / "out")
    secret = f"{out}/secret.txt"
    return [
        secret,
        out,
        f"{folder}/in/../out/secret.txt",
        f"{folder}/in/sub/../../out/secret.txt",
        "../out/secret.txt",
        "./sub/./../../out/secret.txt",
        "link/secret.txt",
        "link",
        "link/.",
        "link//secret.txt",
        "file",
        "file/",
        "up/out/secret.txt",
        "up/in/up/out/secret.txt",
        f"proc{secret}",
        f"/proc/self/root{secret}",
        f"/proc/{os.getpid()}/root{secret}",
        f"/proc/self/cwd/{os.path.relpath(secret)}",
        f"//{secret}",
        f"{secret}/",
        f"{secret}/.",
        f"{out}/./secret.txt",
        r"\x2e\x2e/out/secret.txt",
        r"..\x2fout\x2fsecret.txt",
        r"link\x2fsecret.txt",
        f"~/{os.path.relpath(secret, os.path.expanduser('~'))}",
        f"{folder}/in\x00/../../out/secret.txt",
        f"{secret}\x00",
        "../out/secret.txt\n",
        "\u2024\u2024/out/secret.txt",  # one dot leaders
        "..\u2215out\u2215secret.txt",  # division slashes
        "\uff0e\uff0e/out/secret.txt",  # full width
        "..\\out\\secret.txt",
        "%2e%2e/out/secret.txt",
        "..%2fout%2fsecret.txt",
        "LINK/SECRET.TXT",
        "link /secret.txt",
        "link./secret.txt",
        "../in/../out/secret.txt",
        "\udcff/../../out/secret.txt",
        f"file://{secret}",
        "/etc/hostname",
        "/dev/zero",
        "/",
        "..",
    ]


def _taken(tool: Tool, path: str) -> dict[str, Any]:
    given = {}
    for one in tool.parameters:
        if one.name in PATHS:
            given[one.name] = path
        elif one.required:
            given[one.name] = OTHERS[one.name]
    known = {one.name for one in tool.parameters}
    chosen = {"preview": False, "create_dirs": True, "if_exists": "overwrite", "fuzzy": False}
    return given | {name: value for name, value in chosen.items() if name in known}


WITH_PATH = [tool for tool in ALL.values() if any(one.name in PATHS for one in tool.parameters)]


def _outside(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "in" not in path.relative_to(folder).parts[:1]
    }


@pytest.mark.parametrize("tool", WITH_PATH, ids=lambda tool: tool.name)
def test_no_spelling_leads_a_tool_out_of_its_folder(fenced: Served, tool: Tool) -> None:
    before = _outside(fenced.folder)
    session = Session(fenced.workspace, Output.TEXT)
    for path in _spellings(fenced.folder):
        try:
            said = tool.call(session, _taken(tool, path)).text
        except LinedexError as refusal:
            said = f"{refusal} {refusal.hint}"
        assert SECRET not in said, path
        assert "root:" not in said, path
    assert _outside(fenced.folder) == before


def test_no_uri_leads_a_resource_out_of_its_folder(fenced: Served) -> None:
    server = build_server(Session(fenced.workspace, Output.TEXT), offered("all"))
    absolute = [path if path.startswith("/") else f"{fenced.folder}/in/{path}" for path in _spellings(fenced.folder)]
    everywhere = [quote(path, safe="/%", errors="surrogateescape") for path in absolute]
    twice = [quote(quote(path, safe="", errors="surrogateescape"), safe="") for path in absolute]
    wholly = ["".join(f"%{byte:02x}" for byte in path.encode("utf-8", "surrogateescape")) for path in absolute]

    async def ask() -> list[str]:
        said = []
        async with Client(server) as client:
            for path in (*everywhere, *twice, *wholly):
                for uri in (f"file://{path}", f"FILE://{path}", f"file://localhost{path}", f"file:{path}"):
                    try:
                        said.append(repr((await client.read_resource(uri)).contents))
                    except (MCPError, ValueError) as refusal:
                        said.append(str(refusal))
        return said

    assert not [text for text in anyio.run(ask) if SECRET in text or "root:" in text]


@contextmanager
def _swapping(folder: Path) -> Iterator[None]:
    """Meanwhile `in/sub` is a folder, then a link to `out`, then none, as fast as that goes."""
    stop = threading.Event()
    place, aside, link = folder / "in/sub", folder / "in/aside", folder / "decoy"
    link.symlink_to(folder / "out")

    def swap() -> None:
        number = 0
        while not stop.is_set():
            for old, new in ((place, aside), (link, place), (place, link), (aside, place)):
                try:
                    os.rename(old, new)
                except OSError:  # a tool made the folder anew, which it may
                    number += 1
                    os.rename(place, folder / f"in/made{number}")
                    os.rename(old, new)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


RACED = {
    "read_content": {"absolute_file_path": "sub/secret.txt"},
    "search_content": {"absolute_file_path": "sub/secret.txt", "pattern": "e"},
    "search_directory": {"absolute_dir_path": "sub", "pattern": "e"},
    "get_overview": {"absolute_file_path": "sub/secret.txt"},
    "list_directory": {"absolute_dir_path": "sub"},
    "find_files": {"name": "hidden"},
    "missing": {"absolute_file_path": "sub/hidden-fil"},
    "write_full_text": {"path": "sub/secret.txt", "content": "owned {}\n"},
    "create": {"path": "sub/new{}.txt", "content": "owned\n", "create_dirs": True},
    "edit_content": {
        "absolute_file_path": "sub/secret.txt",
        "changes": [{"search": "inside", "replace": "inside."}],
        "preview": False,
    },
    "session": {"path": "sub/secret.txt"},
    "revert_edit": {"absolute_file_path": "sub/secret.txt"},
}
NAMED = {"missing": "read_content", "create": "write_full_text", "session": "begin_write_session"}


@pytest.mark.parametrize("name", RACED)
@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(LONG_ROUNDS, marks=pytest.mark.long)])
def test_no_race_leads_a_tool_out_of_its_folder(fenced: Served, name: str, rounds: int) -> None:
    (fenced.folder / "out/hidden-file").write_text(SECRET, encoding="utf-8")
    session = Session(fenced.workspace, Output.TEXT)
    before = _outside(fenced.folder)
    if name == "revert_edit":
        for number in range(3):
            ALL["write_full_text"].call(session, {"path": "sub/secret.txt", "content": f"inside {number}\n"})
    tool = ALL[NAMED.get(name, name)]

    def once(number: int) -> str:
        arguments = {
            key: value.replace("{}", str(number)) if isinstance(value, str) else value
            for key, value in RACED[name].items()
        }
        said = tool.call(session, arguments).text
        if name != "session":
            return said
        identifier = {"session_id": re.findall(r"[0-9a-f]{16,}", said)[0]}
        try:
            ALL["append_write_chunk"].call(session, {**identifier, "content": f"owned {number}\n"})
            return ALL["commit_write_session"].call(session, identifier).text
        except LinedexError:
            ALL["abort_write_session"].call(session, identifier)
            raise

    if name != "missing":
        once(rounds)  # nobody swaps yet: the call is one that can be made
    with _swapping(fenced.folder):
        for number in range(rounds):
            try:
                said = once(number)
            except LinedexError as refusal:
                said = f"{refusal} {refusal.hint}"
            assert "SECRET" not in said
            assert "hidden-file" not in said
    assert _outside(fenced.folder) == before
