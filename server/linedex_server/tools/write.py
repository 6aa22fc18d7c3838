"""Tools that write a file: whole, by lines, by offsets, by literal text, by regular expression, between markers."""

from __future__ import annotations

from collections.abc import Callable

from linedex_server.edit.content.document import Document
from linedex_server.edit.content.style import conversions
from linedex_server.edit.find.verdicts import lines_told
from linedex_server.edit.plan.block import BlockRequest, block
from linedex_server.edit.plan.lines import LineEdit, lines
from linedex_server.edit.plan.literal import LiteralRequest, literal
from linedex_server.edit.plan.planned import Planned
from linedex_server.edit.plan.regex import RegexRequest, regex
from linedex_server.edit.plan.spans import SpanEdit, spans
from linedex_server.edit.planners import Changes, Outcome, changing
from linedex_server.edit.planners import whole as whole_text
from linedex_server.edit.put.plans import Target
from linedex_server.render.edit import occurrences, whole_text_told
from linedex_server.render.schemas import WRITTEN
from linedex_server.render.words import counted
from linedex_server.tools.parameters import Given, Parameter, choice, flag, or_null, records, text, whole
from linedex_server.tools.tool import Reply, Session, Tool
from linedex_server.tools.writing import (
    BASE_HASH,
    CREATE_DIRS,
    ENCODING,
    IF_EXISTS,
    PATH,
    STYLE,
    reply,
    skipped,
    style_of,
)

MOST_ITEMS = 1_000
_FINAL_NEWLINE_KEPT = "only its final newline would differ; say final_newline=add or remove to change that"
OCCURRENCES = Parameter(
    "expected_occurrences",
    or_null(whole(0)),
    "Places there must be; null: one or more, all replaced; 0: none.",
    1,
)
_OLD = Parameter("expected_old_text", text(None), "What must stand there, else refused.", None)


def _write_full_text(session: Session, given: Given) -> Reply:
    editor = session.editor
    place = editor.place(given.text("path"), must_exist=False)
    style = style_of(given)
    plan = whole_text(
        editor.subject(place),
        given.text("content"),
        style,
        if_exists=given.text("if_exists"),
        base_hash=given.maybe_text("base_hash"),
    )
    target = Target(place, editor.shown(place), plan, given.flag("create_dirs"))
    (done,) = editor.commit((target,), tool="write_full_text", progress=session.progress)
    return reply(session, done, whole_text_told(done), "exists" if skipped(done) else "")


def _apply_text_edits(session: Session, given: Given) -> Reply:
    edits = [
        LineEdit(
            one.whole("start_line"),
            one.text("new_text"),
            one.maybe_whole("end_line"),
            one.maybe_text("expected_old_text"),
        )
        for one in given.records("edits")
    ]
    return _changed(session, given, "apply_text_edits", lambda document: lines(document, edits), _edits_told)


def _apply_text_spans(session: Session, given: Given) -> Reply:
    edits = [
        SpanEdit(
            one.whole("start_offset"),
            one.whole("end_offset"),
            one.text("new_text"),
            one.maybe_text("expected_old_text"),
        )
        for one in given.records("spans")
    ]
    return _changed(session, given, "apply_text_spans", lambda document: spans(document, edits), _edits_told)


def _replace_literal(session: Session, given: Given) -> Reply:
    request = LiteralRequest(given.text("old_text"), given.text("new_text"), given.maybe_whole("expected_occurrences"))
    return _changed(
        session,
        given,
        "replace_literal",
        lambda document: literal(document, request),
        _occurrences_told,
        "old_text does not occur",
    )


def _replace_regex(session: Session, given: Given) -> Reply:
    limits = session.workspace.settings.limits
    request = RegexRequest(
        given.text("pattern"),
        given.text("replacement"),
        given.maybe_whole("expected_occurrences"),
        case_sensitive=given.flag("case_sensitive"),
        dotall=given.flag("dotall"),
    )
    return _changed(
        session,
        given,
        "replace_regex",
        lambda document: regex(document, request, limits),
        _occurrences_told,
        "pattern does not match",
    )


def _replace_block(session: Session, given: Given) -> Reply:
    request = BlockRequest(
        given.text("start_marker"),
        given.text("end_marker"),
        given.text("replacement"),
        given.whole("occurrence"),
        given.text("mode"),
    )

    def told(made: Planned) -> str:
        return f"replaced block {request.occurrence:,} (line {made.lines[0]:,})"

    return _changed(session, given, "replace_block", lambda document: block(document, request), told)


def _edits_told(made: Planned) -> str:
    where = lines_told(made.lines, len(made.lines))
    return f"{counted(made.count, 'edit')} ({where})"


def _occurrences_told(made: Planned) -> str:
    return occurrences(made.count)


def _changed(
    session: Session,
    given: Given,
    tool: str,
    work: Callable[[Document], Planned],
    told: Callable[[Planned], str],
    unchanged: str = "",
) -> Reply:
    """Have a planner's changes made in the file of a call, and answer with what `told` says of them."""
    editor = session.editor
    style = style_of(given)
    place = editor.place(given.text("path"))
    shown = editor.shown(place)

    def worked(document: Document) -> tuple[Changes, object]:
        made = work(document)
        return made.edits, Outcome(made, conversions(document, style))

    base_hash = given.maybe_text("base_hash")
    plan = changing(editor.subject(place), worked, base_hashes=() if base_hash is None else (base_hash,), style=style)
    (done,) = editor.commit((Target(place, shown, plan),), tool=tool, progress=session.progress)
    outcome = done.told
    assert isinstance(outcome, Outcome)
    made = outcome.made
    parts = [told(made)] if made.count else []
    parts += outcome.converted
    what = "; ".join(parts) + (f" ({made.note})" if made.note else "")
    if not made.count:
        return reply(session, done, what, unchanged, replacements=0)
    kept = _FINAL_NEWLINE_KEPT if not done.changed and made.alters else ""
    return reply(session, done, what, kept, replacements=made.count)


TOOLS = (
    Tool(
        "write_full_text",
        "Write a whole file, new or existing, in one step. An existing file keeps its encoding, BOM, line ends "
        "and final newline unless told otherwise. For a part of a file edit_content or apply_text_edits is "
        "shorter and safer.",
        (
            PATH,
            Parameter("content", text(None), "The whole new text."),
            ENCODING,
            *STYLE,
            CREATE_DIRS,
            IF_EXISTS,
            BASE_HASH,
        ),
        _write_full_text,
        WRITTEN,
        writes=True,
        destructive=True,
    ),
    Tool(
        "apply_text_edits",
        "Replace, insert or delete lines by number, several in one call, all or none. Numbers are those before "
        "the call, as read_content shows them. end_line = start_line - 1 inserts before start_line. Give "
        "base_hash or expected_old_text, so that lines which moved meanwhile are not hit.",
        (
            PATH,
            Parameter(
                "edits",
                records(
                    (
                        Parameter("start_line", whole(1), "First line, from 1."),
                        Parameter(
                            "end_line",
                            whole(0),
                            "Last line, included; start_line if left out.",
                            None,
                        ),
                        Parameter("new_text", text(None), 'The new lines; "" deletes.'),
                        _OLD,
                    ),
                    MOST_ITEMS,
                ),
                "Ranges of lines; they must not overlap.",
            ),
            ENCODING,
            *STYLE,
            BASE_HASH,
        ),
        _apply_text_edits,
        WRITTEN,
        writes=True,
        destructive=True,
        idempotent=False,
    ),
    Tool(
        "apply_text_spans",
        "Replace text by offsets, several in one call, all or none. Offsets count code points from 0 in the text "
        "before the call, a line end as one, the BOM not at all. Prefer edit_content or apply_text_edits unless "
        "a program computed them.",
        (
            PATH,
            Parameter(
                "spans",
                records(
                    (
                        Parameter("start_offset", whole(0), "From 0."),
                        Parameter("end_offset", whole(0), "Excluded; start_offset inserts."),
                        Parameter("new_text", text(None), "New text."),
                        _OLD,
                    ),
                    MOST_ITEMS,
                ),
                "They must not overlap.",
            ),
            ENCODING,
            *STYLE,
            BASE_HASH,
        ),
        _apply_text_spans,
        WRITTEN,
        writes=True,
        destructive=True,
        idempotent=False,
    ),
    Tool(
        "replace_literal",
        "Replace a text by another, exactly as given: no patterns, escapes or tolerance, tabs and blanks count. "
        "Refused unless it occurs expected_occurrences times. A miss says what differs at the nearest place. For "
        "a rename in one file.",
        (
            PATH,
            Parameter("old_text", text(None), "Text to replace; may be several lines."),
            Parameter("new_text", text(None), "New text, literal."),
            ENCODING,
            OCCURRENCES,
            *STYLE,
            BASE_HASH,
        ),
        _replace_literal,
        WRITTEN,
        writes=True,
        destructive=True,
        idempotent=False,
    ),
    Tool(
        "replace_regex",
        r"Replace matches of a regular expression (RE2; look-around and back-references too). ^ and $ match at "
        r"every line. replacement takes \1, \g<name>, \g<0>, \n, \t and \\; $1 is text. Refused unless it matches "
        r"expected_occurrences times.",
        (
            PATH,
            Parameter("pattern", text(), "May span lines."),
            Parameter("replacement", text(None), "New text."),
            ENCODING,
            OCCURRENCES,
            Parameter("case_sensitive", flag(), "Upper and lower case differ.", default=True),
            Parameter("dotall", flag(), "The dot matches line ends too.", default=False),
            *STYLE,
            BASE_HASH,
        ),
        _replace_regex,
        WRITTEN,
        writes=True,
        destructive=True,
        idempotent=False,
    ),
    Tool(
        "replace_block",
        "Replace what stands between a start marker and the next end marker, as a generated section between two "
        "comments. Markers are literal; mode inclusive replaces them too. Refused where a marker is missing or "
        "blocks nest.",
        (
            PATH,
            Parameter("start_marker", text(), "Text that begins the block."),
            Parameter("end_marker", text(), "Text that ends it."),
            Parameter("replacement", text(None), "The new text."),
            ENCODING,
            Parameter("occurrence", whole(1), "Which block, from 1.", 1),
            Parameter("mode", choice("between", "inclusive"), "Whether the markers stay.", "between"),
            *STYLE,
            BASE_HASH,
        ),
        _replace_block,
        WRITTEN,
        writes=True,
        destructive=True,
        idempotent=False,
    ),
)
