"""Tools for logs: counts over time, and recurring messages."""

from __future__ import annotations

from linedex.log_answers import PatternsRequest, TimelineRequest
from linedex_server.render.log_fields import LOG_PATTERNS, LOG_TIMELINE, patterns_fields, timeline_fields
from linedex_server.render.logs import patterns_page, timeline_page
from linedex_server.tools.parameters import NAME, WORDS, Given, Parameter, flag, text, whole
from linedex_server.tools.tool import Reply, Session, Tool, fitted

SINCE = Parameter(
    "since", text(WORDS), "Log lines from this time on: 2026-03-04T05:06, 10:00 or -15m (from the end).", None
)
UNTIL = Parameter("until", text(WORDS), "Log lines before this time.", None)
LEVEL = Parameter("level", text(WORDS), "Log lines of these levels: error, or warn+ for warn and graver.", None)
_MOST_BUCKETS = 400
_MOST_PATTERNS = 100


def _timeline(session: Session, given: Given) -> Reply:
    index, path = session.workspace.at(given.text("absolute_path"))
    name = session.workspace.naming(index)
    include = given.text("include_pattern")

    def attempt(buckets: int) -> tuple[int, Reply]:
        request = TimelineRequest(
            path,
            pattern=given.maybe_text("pattern") or "",
            regex=given.flag("regex"),
            since=given.maybe_text("since") or "",
            until=given.maybe_text("until") or "",
            level=given.maybe_text("level") or "",
            include=() if include in ("", "*") else (include,),
            bucket_minutes=given.whole("bucket_minutes"),
            max_buckets=buckets,
        )
        answer = index.timeline(request, session.progress)
        return len(answer.buckets), session.reply(
            lambda: timeline_page(answer, name), lambda: timeline_fields(answer, name)
        )

    return fitted(attempt, given.whole("max_buckets"), session.page_characters)


def _patterns(session: Session, given: Given) -> Reply:
    index, path = session.workspace.file(given.text("absolute_file_path"))
    name = session.workspace.naming(index)
    request = PatternsRequest(
        path,
        since=given.maybe_text("since") or "",
        until=given.maybe_text("until") or "",
        level=given.maybe_text("level") or "",
        compare=given.flag("compare"),
        compare_since=given.maybe_text("compare_since") or "",
        max_patterns=given.whole("max_results"),
    )
    answer = index.patterns(request, session.progress)

    def attempt(wanted: int) -> tuple[int, Reply]:
        shown = answer.patterns[:wanted]
        return len(shown), session.reply(
            lambda: patterns_page(answer, shown, name), lambda: patterns_fields(answer, shown, name)
        )

    return fitted(attempt, len(answer.patterns), session.page_characters)


TOOLS = (
    Tool(
        "log_timeline",
        "Counts of log records over time, by level, of one log or of all logs of a folder merged; with pattern, of the "
        "lines that match. Shows when errors began before you read any. Exact; from the index in milliseconds.",
        (
            Parameter("absolute_path", text(), "The log, or a folder of logs."),
            Parameter("pattern", text(), "Only lines with this text.", None),
            Parameter("regex", flag(), "pattern is a regular expression.", default=False),
            SINCE,
            UNTIL,
            LEVEL,
            Parameter("bucket_minutes", whole(0), "Minutes of a bucket; 0 chooses.", 0),
            Parameter("max_buckets", whole(1, _MOST_BUCKETS), "At most so many buckets.", 60),
            Parameter("include_pattern", text(NAME), "Of a folder only files that match this glob.", "*"),
        ),
        _timeline,
        LOG_TIMELINE,
    ),
    Tool(
        "log_patterns",
        "The recurring messages of a log with exact counts, levels, first and last time and an example line: read it "
        "before lines. With compare it tells what is new or changed since a time, against the time before it.",
        (
            Parameter("absolute_file_path", text(), "The log."),
            SINCE,
            UNTIL,
            LEVEL,
            Parameter("compare", flag(), "Against the time before since: what is new or changed first.", default=False),
            Parameter(
                "compare_since", text(WORDS), "Where the time before begins; the file's beginning if left out.", None
            ),
            Parameter("max_results", whole(1, _MOST_PATTERNS), "Patterns in a page.", 20),
        ),
        _patterns,
        LOG_PATTERNS,
    ),
)
