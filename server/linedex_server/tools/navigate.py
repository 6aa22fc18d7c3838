"""Tools that look at one file or folder: overview, reading, enclosing symbol, listing, and the index's own state."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import version

from linedex.index import Index
from linedex.model import RelPath
from linedex_server.render.fields import enclosing_fields, folder_fields, overview_fields, read_fields, status_fields
from linedex_server.render.listing import folder_page
from linedex_server.render.outline import overview_page
from linedex_server.render.read import fitted as fitted_lines
from linedex_server.render.read import read_page
from linedex_server.render.schemas import GET_OVERVIEW, INDEX_STATUS, LIST_DIRECTORY, READ_CONTENT, READ_ENCLOSING
from linedex_server.render.status import status_page
from linedex_server.tools.changes import classified
from linedex_server.tools.parameters import WORDS, Given, Parameter, choice, flag, line_ranges, text, whole
from linedex_server.tools.tool import Pages, Reply, Session, Tool, fitted

FILE = Parameter("absolute_file_path", text(), "Absolute, or as answers show it.")
CURSOR = Parameter("cursor", text(), "From the page before, to go on.", None)
HIDDEN = Parameter("include_hidden", flag(), "Also names that begin with a dot.", default=False)
IGNORED = Parameter("include_ignored", flag(), "Also what .gitignore and the like leave out.", default=False)


def _overview(session: Session, given: Given) -> Reply:
    workspace = session.workspace
    index, path = workspace.file(given.text("absolute_file_path"))
    overview = index.overview(path)
    symbols = overview.outline.symbols
    ranges = given.ranges("changed_lines")
    changes = None if ranges is None else classified(symbols, ranges)
    pages = Pages("overview", index.root, path, overview.hash)
    start = pages.start(given.maybe_text("cursor"))

    def attempt(count: int) -> tuple[int, Reply]:
        stop = min(start + count, len(symbols))
        cursor = pages.cursor(stop) if stop < len(symbols) else ""
        return stop - start, session.reply(
            lambda: overview_page(
                overview, workspace.naming(index), start=start, stop=stop, changes=changes, cursor=cursor
            ),
            lambda: overview_fields(overview, symbols[start:stop], changes, start=start, cursor=cursor),
        )

    return fitted(attempt, len(symbols), session.page_characters)


def _read(session: Session, given: Given) -> Reply:
    workspace = session.workspace
    index, path = workspace.file(given.text("absolute_file_path"))
    mode, pattern, offset = given.text("mode"), given.maybe_text("pattern"), given.whole("offset")
    at = given.maybe_text("at")
    # a line takes three characters at least, so no more than this can be shown
    count = min(given.whole("limit"), session.page_characters // 3)
    notes = []
    tail_from = 0
    cursor = given.maybe_text("cursor")
    if cursor is not None:
        return _read_on(session, index, path, cursor, count)
    if at is not None:
        answer = index.read_at(path, at, count)
    elif mode == "tail":
        answer = index.tail(path, count)
        wanted = max(1, answer.total_lines - given.whole("limit") + 1)
        tail_from = wanted if answer.counted else answer.first_line
    elif mode == "head":
        answer = index.head(path, count)
    elif pattern is not None:
        answer = index.around(path, pattern, count)
        if mode == "semantic" and answer.match_line is not None:
            answer = replace(
                index.enclosing(path, answer.match_line, context_lines=count), match_line=answer.match_line
            )
    elif mode == "semantic":
        answer = index.enclosing(path, offset, context_lines=count)
    else:
        answer = index.read(path, offset, count)
    if offset != 1 and (mode in ("tail", "head") or pattern is not None):
        notes.append(f"offset ignored {f'in {mode} mode' if mode in ('tail', 'head') else 'when pattern is set'}")
    if pattern is not None and mode in ("tail", "head"):
        notes.append(f"pattern ignored in {mode} mode")
    if answer.note and not tail_from:  # the note on a tail says what was left out, which depends on our page
        notes.append(answer.note)

    def attempt(characters: int) -> tuple[int, Reply]:
        shown = fitted_lines(answer, characters, tail_from=tail_from)
        return characters, session.reply(
            lambda: read_page(
                answer,
                workspace.naming(index),
                characters=session.page_characters,
                tail_from=tail_from,
                note="; ".join(notes),
            ),
            lambda: read_fields(answer, shown, mode=mode, pattern=pattern, warnings=notes),
        )

    return fitted(attempt, session.page_characters, session.page_characters)


def _read_on(session: Session, index: Index, path: RelPath, cursor: str, count: int) -> Reply:
    """Lines behind a cursor; where they do not fit a page, as many as do, so that the next cursor follows them."""
    name = session.workspace.naming(index)

    def attempt(wanted: int) -> tuple[int, Reply]:
        answer = index.read_on(path, cursor, wanted)
        # the cursor stands behind the last line, so all are shown or fewer asked for; only a single one is cut
        room = session.page_characters if len(answer.lines) <= 1 else sys.maxsize
        shown = fitted_lines(answer, room, overhead=2)
        notes = [answer.note] if answer.note else []
        return len(answer.lines), session.reply(
            lambda: read_page(answer, name, characters=room),
            lambda: read_fields(answer, shown, mode="cursor", pattern=None, warnings=notes),
        )

    return fitted(attempt, count, session.page_characters)


def _enclosing(session: Session, given: Given) -> Reply:
    workspace = session.workspace
    index, path = workspace.file(given.text("absolute_file_path"))
    answer = index.enclosing(
        path,
        given.whole("line"),
        depth=given.whole("depth"),
        context_lines=min(given.whole("context_lines"), session.page_characters // 3),
    )

    def attempt(characters: int) -> tuple[int, Reply]:
        shown = fitted_lines(answer, characters)
        return characters, session.reply(
            lambda: read_page(answer, workspace.naming(index), characters=session.page_characters),
            lambda: enclosing_fields(answer, shown),
        )

    return fitted(attempt, session.page_characters, session.page_characters)


def _list(session: Session, given: Given) -> Reply:
    workspace = session.workspace
    index, path = workspace.folder(given.text("absolute_dir_path"))
    depth, hidden, ignored = given.whole("max_depth"), given.flag("include_hidden"), given.flag("include_ignored")
    pages = Pages("list", index.root, path, depth, hidden, ignored)
    start = pages.start(given.maybe_text("cursor"))
    count = given.maybe_whole("max_entries") or workspace.settings.list_entries
    listing = index.listing(
        path, max_depth=depth, max_entries=start + count, include_hidden=hidden, include_ignored=ignored
    )
    rest = listing.entries[start:]
    entry_name = workspace.naming_below(path)

    def attempt(wanted: int) -> tuple[int, Reply]:
        entries = rest[:wanted]
        more = listing.cut or len(entries) < len(rest)
        cursor = pages.cursor(start + len(entries)) if more and entries else ""

        return len(entries), session.reply(
            lambda: folder_page(listing, entries, workspace.naming(index), entry_name, cursor=cursor),
            lambda: folder_fields(
                listing, entries, path=workspace.absolute(index, path), name=entry_name, cursor=cursor
            ),
        )

    return fitted(attempt, len(rest), session.page_characters)


def _status(session: Session, given: Given) -> Reply:  # noqa: ARG001 - every tool's core has this form
    workspace = session.workspace
    statuses = [index.status() for index in workspace.indexes]
    state_dir, own = str(workspace.settings.state_dir), version("linedex")
    return session.reply(
        lambda: status_page(statuses, state_dir=state_dir, version=own),
        lambda: status_fields(statuses, state_dir=state_dir, version=own),
    )


TOOLS = (
    Tool(
        "get_overview",
        "Size, encoding, line count and outline (functions, classes, headings, keys with their line ranges) of "
        "one file. Use it first on a large or unknown file, then read the lines you need. With changed_lines of "
        "a diff, says which symbols were touched.",
        (
            FILE,
            Parameter(
                "changed_lines",
                line_ranges(),
                'Ranges of a diff: [first, last] or [first, last, "added"|"modified"|"removed"].',
                None,
            ),
            CURSOR,
        ),
        _overview,
        GET_OVERVIEW,
    ),
    Tool(
        "read_content",
        "Lines of a file of any size, numbered, verbatim, with the file's hash. Jumps to any line of a multi-GB "
        "file at once; mode tail gives the last lines of a log, semantic the whole function or class around "
        "offset. Names the offset that goes on.",
        (
            FILE,
            Parameter("offset", whole(1), "First line, from 1.", 1),
            Parameter("limit", whole(1), "Lines to return.", 100),
            Parameter("at", text(WORDS), "Of a log: from this time on, as 10:00 or -15m, instead of offset.", None),
            Parameter("pattern", text(), "Instead of offset: around the first line with this text.", None),
            Parameter(
                "mode",
                choice("lines", "semantic", "tail", "head"),
                "lines: from offset; semantic: the symbol around it.",
                "lines",
            ),
            Parameter("cursor", text(), "From `later lines:` of an answer: only lines added since.", None),
        ),
        _read,
        READ_CONTENT,
    ),
    Tool(
        "read_enclosing",
        "The whole function, method or class around a line, e.g. around a search hit or a line of a stack trace. "
        "Where there is none, or no known language, a window of lines around it.",
        (
            FILE,
            Parameter("line", whole(1), "A line inside it, from 1."),
            Parameter("depth", whole(1), "1: the innermost symbol; 2: the one around that; and so on.", 1),
            Parameter("context_lines", whole(1), "Lines of the window where there is no symbol.", 40),
        ),
        _enclosing,
        READ_ENCLOSING,
    ),
    Tool(
        "list_directory",
        "Files (with size) and folders (with number of entries) of one folder, in path order; max_depth goes "
        "further down. To find a file by name use find_files.",
        (
            Parameter("absolute_dir_path", text(), "Absolute, or as answers show it."),
            Parameter("max_depth", whole(1), "Levels to go down; 1 is the folder itself.", 1),
            Parameter("max_entries", whole(1), "Entries in a page; 200 unless set otherwise.", None),
            HIDDEN,
            IGNORED,
            CURSOR,
        ),
        _list,
        LIST_DIRECTORY,
    ),
    Tool(
        "index_status",
        "The folders being served and how far their index is: files indexed, pending, skipped and why, "
        "freshness, problems. Searches are complete at any time; while files are pending they are only slower.",
        (),
        _status,
        INDEX_STATUS,
    ),
)
