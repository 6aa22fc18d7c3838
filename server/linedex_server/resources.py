"""Files and folders as MCP resources: `file://` URIs, what stands behind one, and the small list of where to begin.

Promise: only what lies below the session's roots is named, read or said to exist. What is read is as long as one answer
of a tool and says where the rest is; a file that holds no text is refused in words. The path of a URI is spelled as
answers spell it, percent-encoded: for a name of plain UTF-8 that is its ordinary `file://` URI.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import quote, unquote

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, Resource, ResourceTemplate, TextResourceContents

from linedex.answers import ReadAnswer
from linedex.errors import BadArgument, LinedexError
from linedex.files.names import display
from linedex.index import Index
from linedex.model import RelPath
from linedex_server.render.words import encodable
from linedex_server.tools.registry import ALL
from linedex_server.tools.tool import Output, Session
from linedex_server.workspace import Workspace

SCHEME = "file://"
TEMPLATE = "file://{+path}"
VARIABLE = "path"
FOLDER_TYPE = "inode/directory"
TEXT_TYPE = "text/plain"

_MOST_LISTED = 100
_NOTE_CHARACTERS = 300
"""Kept for the line that says where the rest of a long file is."""


def uri_of(path: str) -> str:
    """Return the URI of an absolute path, spelled as answers spell it."""
    return SCHEME + quote(path)


def path_of(uri: str) -> str:
    """Return the absolute path that a URI names, spelled as answers spell it; whether it may be read is not judged.

    Everything behind the scheme is the path, `?` and `#` too: a client that fills in the template leaves them bare.

    Raises:
        BadArgument: it is no `file://` URI of this machine, or its path is not absolute.
    """
    scheme, rest = uri[: len(SCHEME)], uri[len(SCHEME) :]
    path = unquote(rest.removeprefix("localhost"), errors="surrogateescape")
    if scheme.lower() != SCHEME or not path.startswith("/"):
        raise BadArgument(f"`{uri}` is no URI of a file here.", f"Give {SCHEME} and an absolute path.")
    return path


def roots(workspace: Workspace) -> list[Resource]:
    """Return the folders being served as resources: where a client begins to look; the rest follows the template."""
    return [
        Resource(
            uri=uri_of(shown),
            name=os.path.basename(shown) or shown,
            description="A folder being served; reading it lists what is in it.",
            mime_type=FOLDER_TYPE,
        )
        for shown in (display(os.fsencode(root)) for root in workspace.roots[:_MOST_LISTED])
    ]


def templates() -> list[ResourceTemplate]:
    """Return the one template that every file and folder below a root fits."""
    return [
        ResourceTemplate(
            uri_template=TEMPLATE,
            name="file",
            description="A file or folder by its absolute path: the text of a file (its first page), or a listing.",
        )
    ]


def read(session: Session, uri: str) -> TextResourceContents:
    """Return what stands behind a URI: the first page of a file's text, or the list of what is in a folder.

    Lines are ended by LF, whatever ends them in the file.

    Raises:
        OutsideRoots: it is not below one of the session's roots.
        BinaryFile: the file holds no text.
        LinedexError: it cannot be read; the error says why.
    """
    path = path_of(uri)
    index, below = session.workspace.at(path)
    if os.path.isdir(absolute(index, below)):
        listed = ALL["list_directory"].call(Session(session.workspace, Output.TEXT), {"absolute_dir_path": path})
        return TextResourceContents(uri=uri, mime_type=FOLDER_TYPE, text=encodable(listed.text))
    room = session.page_characters
    text = _page(index.read(below, 1, room), room)
    return TextResourceContents(uri=uri, mime_type=TEXT_TYPE, text=encodable(text))


def refusal(uri: str, error: LinedexError) -> MCPError:
    """Return what a client is told of a URI that is not answered: why, and what to do."""
    reason = f"{str(error).rstrip('.')}. {error.hint}".rstrip()
    return MCPError(INVALID_PARAMS, encodable(reason), {"uri": uri, "reason": error.code})


def absolute(index: Index, below: RelPath) -> bytes:
    """Return where a place of an index is in the file system."""
    root = os.fsencode(index.root)
    return os.path.join(root, below) if below else root


def _page(answer: ReadAnswer, room: int) -> str:
    """Return the lines that fit a page and, where that is not all, where the rest is."""
    lines = _fitting(answer.lines, room - _NOTE_CHARACTERS)
    said = []
    if len(lines) < answer.total_lines:
        more = "" if answer.counted else "more than "
        said.append(
            f"lines 1-{len(lines):,} of {more}{answer.total_lines:,};"
            f" the rest: read_content with offset={len(lines) + 1}"
        )
    if cut := sum(number <= len(lines) for number in answer.cut_lines):
        said.append(f"{cut:,} long {'line is' if cut == 1 else 'lines are'} cut")
    text = "".join(f"{line}\n" for line in lines)
    return f"{text}[{'; '.join(said)}]\n" if said else text


def _fitting(lines: Sequence[str], room: int) -> Sequence[str]:
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0 and number:
            return lines[:number]
    return lines
