"""Tools that look for something: text in a file or a folder, symbols by name, files by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from linedex.answers import OutputMode, SearchAnswer, SearchRequest, SymbolAnswer, SymbolRequest
from linedex.index import Index
from linedex.model import RelPath, SymbolKind
from linedex.query.progress import Progress
from linedex_server.render.fields import (
    Fields,
    files_fields,
    search_content_fields,
    search_directory_fields,
    symbols_fields,
)
from linedex_server.render.listing import files_page, symbols_page
from linedex_server.render.schemas import FIND_FILES, FIND_SYMBOL, SEARCH_CONTENT, SEARCH_DIRECTORY
from linedex_server.render.search import search_page, without_context
from linedex_server.tools.logs import LEVEL, SINCE, UNTIL
from linedex_server.tools.navigate import CURSOR, FILE, HIDDEN, IGNORED
from linedex_server.tools.parameters import NAME, WORDS, Given, Parameter, choice, flag, text, whole
from linedex_server.tools.tool import Output, Pages, Reply, Session, Tool, fitted

MOST_RESULTS = 100
_FOOTER = 600
"""Characters kept for the last line of a page."""
MOST_CONTEXT = 50
"""Lines of context before and after a hit; more is a read."""


def _search(
    session: Session,
    index: Index,
    request: SearchRequest,
    fields: Callable[[SearchAnswer], Fields],
    ask: Callable[[SearchRequest, Progress], SearchAnswer],
) -> Reply:
    """One page of a search: when the text is longer than a page, the same question with fewer hits."""
    name = session.workspace.naming(index)
    excerpt = session.workspace.settings.excerpt_characters

    def reply(answer: SearchAnswer, note: str = "") -> Reply:
        return session.reply(
            lambda: search_page(answer, name, mode=request.mode, excerpt=excerpt, note=note), lambda: fields(answer)
        )

    def attempt(wanted: int) -> tuple[int, Reply]:
        answer = ask(replace(request, max_hits=wanted), session.progress)
        shown = max(sum(len(found.hits) for found in answer.files), len(answer.files))
        made = reply(answer)
        if shown <= 1 and len(made.text) > session.page_characters:
            made = reply(without_context(answer), "context left out: it is longer than a page")
        return shown, made

    # JSON repeats names of fields and of files with each hit
    share = 3 if session.output is Output.JSON else 1
    request = replace(request, max_characters=max(1, (session.page_characters - _FOOTER) // share))
    return fitted(attempt, request.max_hits, session.page_characters)


def _search_content(session: Session, given: Given) -> Reply:
    index, path = session.workspace.file(given.text("absolute_file_path"))
    count_only = given.flag("count_only")
    request = SearchRequest(
        pattern=given.text("pattern"),
        scope=path,
        regex=given.flag("regex"),
        case_sensitive=given.flag("case_sensitive"),
        word=given.flag("word"),
        invert=given.flag("invert"),
        fuzzy=given.flag("fuzzy") and not given.flag("regex") and not given.flag("invert"),
        include_ignored=True,
        include_hidden=True,
        context=given.whole("context_lines"),
        mode=OutputMode.COUNT if count_only else OutputMode.MATCHES,
        max_hits=given.whole("max_results"),
        cursor=given.maybe_text("cursor") or "",
        breadcrumbs=not count_only,
        since=given.maybe_text("since") or "",
        until=given.maybe_text("until") or "",
        level=given.maybe_text("level") or "",
    )

    def fields(answer: SearchAnswer) -> Fields:
        total = answer.total_hits
        if answer.cursor and not answer.near:
            # largefile's `total_matches` counts the hits beyond the page too; a cursor may have led to a rotated copy
            where = answer.files[0].path if answer.files else path
            everything = replace(request, scope=where, mode=OutputMode.COUNT, context=0, cursor="")
            total = max(total, index.search(everything, session.progress).total_hits)
        made = search_content_fields(answer, request, total=total, count_only=count_only)
        ignored = [
            f"{name} ignored in count_only mode"
            for name, default in (("max_results", 20), ("context_lines", 2))
            if given.whole(name) != default
        ]
        return {**made, "warnings": ignored} if count_only and ignored else made

    return _search(session, index, request, fields, index.search_file)


def _search_directory(session: Session, given: Given) -> Reply:
    workspace = session.workspace
    index, path = workspace.folder(given.text("absolute_dir_path"))
    include, exclude = given.text("include_pattern"), given.maybe_text("exclude_pattern")
    request = SearchRequest(
        pattern=given.text("pattern"),
        scope=path,
        regex=given.flag("regex"),
        case_sensitive=given.flag("case_sensitive"),
        word=given.flag("word"),
        invert=given.flag("invert"),
        fuzzy=given.flag("fuzzy") and not given.flag("regex") and not given.flag("invert"),
        include=() if include in ("", "*") else (include,),
        exclude=(exclude,) if exclude else (),
        language=given.maybe_text("language") or "",
        include_ignored=given.flag("include_ignored"),
        include_hidden=given.flag("include_hidden"),
        context=given.whole("context_lines"),
        mode=OutputMode(given.text("output_mode")),
        max_hits=given.maybe_whole("max_results") or workspace.settings.directory_hits,
        cursor=given.maybe_text("cursor") or "",
        breadcrumbs=session.output is Output.JSON,
        since=given.maybe_text("since") or "",
        until=given.maybe_text("until") or "",
        level=given.maybe_text("level") or "",
    )
    return _search(
        session,
        index,
        request,
        lambda answer: search_directory_fields(
            answer,
            request,
            path=workspace.absolute(index, path),
            include_pattern=include,
            name=workspace.naming_below(path),
        ),
        index.search,
    )


def _scopes(session: Session, given: Given) -> tuple[tuple[Index, RelPath], ...]:
    """Where to look up a name: the folder or file that was named, else every root."""
    named = given.maybe_text("absolute_dir_path")
    if named is not None:
        return (session.workspace.at(named),)
    return tuple((index, RelPath(b"")) for index in session.workspace.indexes)


def _find_symbol(session: Session, given: Given) -> Reply:
    name, kind, language = given.text("name"), given.maybe_text("kind"), given.maybe_text("language") or ""
    scopes = _scopes(session, given)
    pages = Pages("symbol", name, kind, language, [(index.root, path) for index, path in scopes])
    start = pages.start(given.maybe_text("cursor"))
    count = given.whole("max_results")
    asked = SymbolRequest(name, None if kind is None else SymbolKind(kind), language=language, max_hits=start + count)
    answers = [(index, index.find_symbol(replace(asked, scope=path))) for index, path in scopes]
    whole_answer = SymbolAnswer(
        hits=(),
        total=sum(answer.total for _, answer in answers),
        pending=sum(answer.pending for _, answer in answers),
        note="; ".join(answer.note for _, answer in answers if answer.note),
    )
    found = [(session.workspace.naming(index)(hit.path), hit) for index, answer in answers for hit in answer.hits]
    rest = found[start : start + count]

    def attempt(wanted: int) -> tuple[int, Reply]:
        shown = rest[:wanted]
        stop = start + len(shown)
        cursor = pages.cursor(stop) if shown and stop < whole_answer.total else ""
        return len(shown), session.reply(
            lambda: symbols_page(whole_answer, shown, cursor=cursor),
            lambda: symbols_fields(whole_answer, shown, cursor=cursor),
        )

    return fitted(attempt, len(rest), session.page_characters)


def _find_files(session: Session, given: Given) -> Reply:
    name, hidden, ignored = given.text("name"), given.flag("include_hidden"), given.flag("include_ignored")
    scopes = _scopes(session, given)
    pages = Pages("files", name, hidden, ignored, [(index.root, path) for index, path in scopes])
    start = pages.start(given.maybe_text("cursor"))
    count = given.whole("max_results")
    answers = [
        (index, index.find_files(name, path, start + count, include_hidden=hidden, include_ignored=ignored))
        for index, path in scopes
    ]
    total = sum(answer.total for _, answer in answers)
    found = [session.workspace.naming(index)(path) for index, answer in answers for path in answer.paths]
    rest = found[start : start + count]

    def attempt(wanted: int) -> tuple[int, Reply]:
        shown = rest[:wanted]
        stop = start + len(shown)
        cursor = pages.cursor(stop) if shown and stop < total else ""
        return len(shown), session.reply(
            lambda: files_page(shown, total, cursor=cursor), lambda: files_fields(shown, total, cursor=cursor)
        )

    return fitted(attempt, len(rest), session.page_characters)


_PATTERN = Parameter("pattern", text(), "Text within one line; with regex, an expression.")
_REGEX = Parameter("regex", flag(), r"pattern is a regular expression, as \bfoo\(.", default=False)
_CASE = Parameter("case_sensitive", flag(), "Upper and lower case differ.", default=False)
_WORD = Parameter("word", flag(), "Only whole words.", default=False)
_INVERT = Parameter("invert", flag(), "Lines that do not match.", default=False)
_CONTEXT = Parameter("context_lines", whole(0, MOST_CONTEXT), "Lines around each hit.", 2)
_SCOPE = Parameter("absolute_dir_path", text(), "Only below this folder, or in this file.", None)
_FOUND = Parameter("max_results", whole(1, MOST_RESULTS), "Results in a page.", 50)
_LANGUAGE = Parameter("language", text(WORDS), "Only files of this language, as python or c.", None)

TOOLS = (
    Tool(
        "search_content",
        "Lines of one file that hold a text or match a regular expression, with line numbers, context and the "
        "symbol around them; any size, logs of many GB too. Without an exact hit, near lines are given and "
        "marked. The last line says whether the answer is complete.",
        (
            FILE,
            _PATTERN,
            Parameter("max_results", whole(1, MOST_RESULTS), "Hits in a page.", 20),
            _CONTEXT,
            Parameter("fuzzy", flag(), "With no exact hit, give near lines.", default=True),
            _REGEX,
            _CASE,
            _WORD,
            _INVERT,
            Parameter("count_only", flag(), "Only the number of matching lines.", default=False),
            SINCE,
            UNTIL,
            LEVEL,
            CURSOR,
        ),
        _search_content,
        SEARCH_CONTENT,
    ),
    Tool(
        "search_directory",
        "Search a whole folder (index-backed grep): every line that holds a text or matches a regular "
        "expression. output_mode files or count is shorter for common words. The last line says how many files "
        "were searched or skipped and why, and whether that is complete: then no hit proves absence.",
        (
            Parameter("absolute_dir_path", text(), "Absolute, or as answers show it."),
            _PATTERN,
            Parameter("include_pattern", text(NAME), "Glob of names or, with a slash, of paths.", "*"),
            Parameter("exclude_pattern", text(NAME), "Glob of files to leave out.", None),
            _LANGUAGE,
            Parameter(
                "output_mode",
                choice(*(str(mode) for mode in OutputMode)),
                "files: only paths; count: hits of each file.",
                "matches",
            ),
            Parameter("max_results", whole(1, MOST_RESULTS), "Hits in a page; 100 unless set otherwise.", None),
            _CONTEXT,
            Parameter("fuzzy", flag(), "With no exact hit, give near lines; slow on many files.", default=False),
            _REGEX,
            _CASE,
            _WORD,
            _INVERT,
            SINCE,
            UNTIL,
            LEVEL,
            HIDDEN,
            IGNORED,
            CURSOR,
        ),
        _search_directory,
        SEARCH_DIRECTORY,
    ),
    Tool(
        "find_symbol",
        "Where a function, class, method, type or macro is defined, by name: exact, its start, a part, camel "
        "humps (gTU for getTheUser) or Class.method; best first, with signature. For uses of a name: "
        "search_directory with word.",
        (
            Parameter("name", text(NAME), "The name, a part of it, or Class.method."),
            Parameter("kind", choice(*(str(kind) for kind in SymbolKind)), "Only symbols of this kind.", None),
            _SCOPE,
            _LANGUAGE,
            _FOUND,
            CURSOR,
        ),
        _find_symbol,
        FIND_SYMBOL,
    ),
    Tool(
        "find_files",
        "Files by name or part of their path, best first; letters may be left out. For what stands in files use "
        "search_directory.",
        (Parameter("name", text(NAME), "Part of a name or path."), _SCOPE, _FOUND, HIDDEN, IGNORED, CURSOR),
        _find_files,
        FIND_FILES,
    ),
)
