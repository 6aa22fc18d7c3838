"""Folders of one test, served to the protocol's own client as an assistant would have them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from linedex_server.config import Settings
from linedex_server.mcp_server import build_server
from linedex_server.tools.registry import offered
from linedex_server.tools.tool import Output, Session
from linedex_server.workspace import Workspace


class Found(NamedTuple):
    """One occurrence that a search reported; the range of columns excludes its end."""

    file: str
    line: int
    columns: tuple[int, int]
    text: str


class Served:
    """A folder, and what is said of it.

    Attributes:
        folder: an empty folder to fill; the only allowed root unless `serve` names others.
    """

    def __init__(self, place: Path) -> None:
        self.folder = place / "case"
        self.folder.mkdir()
        self._state = place / "state"
        self._workspace: Workspace | None = None

    def serve(self, *roots: str) -> Workspace:
        """Serve these folders below `folder`, or the folder itself."""
        self.close()
        named = tuple(str(self.folder / root) for root in roots or ("",))
        self._workspace = Workspace(Settings(state_dir=self._state, allowed_roots=named, workers=1))
        return self._workspace

    def close(self) -> None:
        """Serve nothing."""
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None

    @property
    def workspace(self) -> Workspace:
        """What is served."""
        return self._workspace or self.serve()

    def index(self) -> None:
        """Bring the index of every root up to date."""
        for index in self.workspace.indexes:
            index.build()

    def call(self, tool: str, output: Output = Output.TEXT, **arguments: Any) -> CallToolResult:
        """Call a tool through the protocol's own client."""
        server = build_server(Session(self.workspace, output), offered("all"))

        async def once() -> CallToolResult:
            async with Client(server) as client:
                return await client.call_tool(tool, arguments)

        return anyio.run(once)

    def text(self, tool: str, **arguments: Any) -> str:
        """Return the answer of a tool as a model reads it."""
        result = self.call(tool, **arguments)
        assert not result.is_error, said(result)
        return said(result)

    def fields(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a tool as a program reads it."""
        result = self.call(tool, Output.JSON, **arguments)
        assert not result.is_error, said(result)
        assert result.structured_content is not None
        return result.structured_content

    def refusal(self, tool: str, **arguments: Any) -> str:
        """Return the words in which a tool refuses."""
        result = self.call(tool, **arguments)
        assert result.is_error, said(result)
        return said(result)

    def hits(self, pattern: str, below: str = ".", **arguments: Any) -> list[Found]:
        """Return every occurrence below a folder, in path order.

        The answers of reading every file and of the index are compared, and the text for models with the fields for
        programs; each must be complete.
        """
        scanned = self._occurrences(pattern, below, arguments)
        self.index()
        assert self._occurrences(pattern, below, arguments) == scanned
        page = self.text("search_directory", absolute_dir_path=below, pattern=pattern, context_lines=0, **arguments)
        assert "complete: " in page.splitlines()[-1]
        numbers = [int(line.split(":")[0]) for line in page.splitlines()[:-1] if re.match(r"\d+:", line)]
        assert numbers == sorted_lines(scanned)
        return scanned

    def _occurrences(self, pattern: str, below: str, arguments: dict[str, Any]) -> list[Found]:
        answer = self.fields("search_directory", absolute_dir_path=below, pattern=pattern, context_lines=0, **arguments)
        assert (answer["coverage"]["verdict"], answer["near"]) == ("complete", False)
        return [
            Found(file["file"], hit["line_number"], (at["column"], at["end_column"]), at["match"])
            for file in answer["results"]
            for hit in file["matches"]
            for at in (hit, *({"match": hit["match"], **more} for more in hit.get("more", ())))
        ]

    def lines(self, file: str, **arguments: Any) -> list[str]:
        """Return the lines that a read of a file gives, their numbers checked and left out."""
        *numbered, footer = self.text("read_content", absolute_file_path=file, **arguments).split("\n")
        assert footer.startswith("[")
        first = int(numbered[0].split("\t")[0])
        parted = [line.split("\t", 1) for line in numbered]
        assert [int(number) for number, _ in parted] == list(range(first, first + len(numbered)))
        return [text for _, text in parted]


def said(result: CallToolResult) -> str:
    """Return the one text block of an answer."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def sorted_lines(found: list[Found]) -> list[int]:
    """Return the line numbers of occurrences as a page shows them: each line once, file by file."""
    return [line for _, line in dict.fromkeys((one.file, one.line) for one in found)]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """An empty folder and the server of it."""
    made = Served(tmp_path)
    here = os.getcwd()
    yield made
    os.chdir(here)
    made.close()
