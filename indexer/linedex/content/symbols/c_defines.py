"""Headers of C that are nothing but macros, comments and conditions, read without a parser.

Promise: `only_defines` gives what the parser and the line scan together give for such a text, or None: one line of a
form that is not known here makes the text one for the parser. Register headers hold most macros of the Linux tree:
4,800 files, 136 MB.
"""

from __future__ import annotations

import re

from linedex.content.symbols.capture import Found, Row
from linedex.model import SymbolKind

# a comment behind something closes on its line; nothing follows a comment on its line
_REST = rb"[^\n\\/]*+(?:(?:/(?!\*)|\\(?:\r?\n|[^\r\n]))[^\n\\/]*+)*+(?:/\*(?:[^*\n\\]|\*(?!/))*+\*/[ \t\r]*+)?+\n"
_LINE = re.compile(
    rb"[ \t]*+(?P<hash>\#)[ \t]*+define[ \t]++(?P<name>[A-Za-z_]\w*+)(?=[ \t\r\n(])" + _REST +
    rb"|[ \t]*+(?P<block>/\*(?:[^*]|\*(?!/))*+\*/)[ \t\r]*+\n"
    rb"|[ \t]*+(?P<line>//[^\n\\]*+)\n"
    rb"|[ \t]*+\#[ \t]*+(?!define\b)[a-z]++\b" + _REST +
    rb"|[ \t\r]*+\n"
)  # fmt: skip


def only_defines(text: bytes) -> Found | None:
    """Return the macros and comments of a C text, or None if it is anything else but macros and conditions."""
    found = Found(flat=True)
    rows, docs = found.rows, found.docs
    at = 0
    while (match := _LINE.match(text, at)) is not None:
        at = match.end()
        group = match.lastgroup
        if group == "name":
            rows.append(Row(SymbolKind.MACRO, match.start("hash"), at, *match.span("name")))
        elif group is not None:
            start, end = match.span(group)
            docs[end - text.endswith(b"\r", start, end)] = start
    return found if at == len(text) else None
