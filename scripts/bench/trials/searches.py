"""Random searches, each with the hits that Python's own `re` finds in the model's texts."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trials.answers import LONE, Question, escaped, hits_of, searched
from trials.world import WORDS

from linedex.answers import OutputMode, SearchRequest
from linedex.model import RelPath

if TYPE_CHECKING:
    from trials.oracle import Oracle

# to Python a fraction or a raised digit of Latin-1 is of a word, to RE2 and ripgrep it is not
_NO_WORD = r"(?:[^\W\xb2\xb3\xb9\xbc-\xbe]|[\u0300-\u036f\udc80-\udcff])"


def some_literal(oracle: Oracle) -> str:
    """Return a literal that stands somewhere, or did, or never."""
    draw, kind = oracle.draw, oracle.draw.random()
    tokens = oracle.world.tokens
    if kind < 0.6 and tokens:
        return draw.choice(tokens[-60:] if draw.random() < 0.8 else tokens)
    if kind < 0.68:
        return draw.choice(WORDS).strip() or "foo"
    found = oracle.some_text()
    if found is None or kind > 0.97:
        return draw.choice(("nowhere at all", "t0", "zzzz", "x\u0301"))
    line = draw.choice(found[1].lines or [""])
    start = draw.randrange(len(line)) if line else 0
    part = line[start : start + draw.choice((1, 3, 4, 5, 9, 9, 16, 30, 200))]
    # blanks at the ends are the caller's, an invalid byte or a CR cannot be asked for
    return part if part and not LONE.search(part) and not set("\r\0") & set(part) else "foo"


def searching(oracle: Oracle) -> Question:
    """Search a scope."""
    draw = oracle.draw
    scope = oracle.scope()
    request = SearchRequest(
        "",
        RelPath(scope),
        case_sensitive=draw.random() < 0.6,
        include_hidden=draw.random() < 0.5,
        include_ignored=draw.random() < 0.1,
        mode=draw.choice(
            (OutputMode.MATCHES, OutputMode.MATCHES, OutputMode.MATCHES, OutputMode.COUNT, OutputMode.FILES)
        ),
        max_hits=draw.choice((2, 25, *[100_000] * 6)),
        brute=draw.random() < 0.05,
    )
    values: dict[str, Any] = {}
    if draw.random() < 0.3:
        pattern, ours, must = _regex(oracle)
        values |= {"pattern": pattern, "regex": True}
    else:
        literal = some_literal(oracle)
        kind = draw.random()
        ours, must = re.escape(literal), literal
        if kind < 0.15 and re.fullmatch(r"\w.*\w|\w", literal):
            ours = f"(?<!{_NO_WORD}){ours}(?!{_NO_WORD})"
            values["word"] = True
        elif kind < 0.2:
            ours = rf"\A{ours}\Z"
            values["whole_line"] = True
        values["pattern"] = literal
    if draw.random() < 0.1:
        values["include"] = (f"*{draw.choice(('.txt', '.log', '.dat'))}",)
    if draw.random() < 0.05:
        values["exclude"] = ("*.log",)
    if draw.random() < 0.2 and request.mode is OutputMode.MATCHES and scope in oracle.world.files:
        values["invert"] = True
    request = replace(request, **values)
    compiled = re.compile(ours, 0 if request.case_sensitive else re.IGNORECASE)
    wanted, unclear = _found(oracle, request, compiled, must)
    if request.mode is not OutputMode.COUNT:
        # some pages, not hundreds
        least = sum(len(hits) if isinstance(hits, list) else 1 for hits in wanted.values()) // 3
        request = replace(request, max_hits=max(request.max_hits, least))
    partial = any(node.cut for node in oracle.world.files.values())
    return Question(
        f"search {request.mode.value}" + (" regex" if request.regex else ""),
        repr(request),
        lambda index: searched(index, request, unclear, partial=partial),
        wanted,
    )


def _regex(oracle: Oracle) -> tuple[str, str, str]:
    r"""Return a pattern, what it is to Python, and a literal that stands in each of its matches.

    No part of either matches an invalid byte.
    """
    draw = oracle.draw
    literal = some_literal(oracle)
    one = escaped(literal)
    other = some_literal(oracle)
    plain = r"[^\n\udc80-\udcff]"
    return draw.choice(
        (
            (one, re.escape(literal), literal),
            (rf"^{one}", rf"\A{re.escape(literal)}", literal),
            (rf"{one}$", rf"{re.escape(literal)}\Z", literal),
            (rf"{one}|{escaped(other)}", rf"{re.escape(literal)}|{re.escape(other)}", ""),
            (rf"{one}.{{0,9}}[a-z]", rf"{re.escape(literal)}{plain}{{0,9}}[a-z]", literal),
            (r"t\d{1,3}[a-z]x", r"t\d{1,3}[a-z]x", "t"),
            (rf"({one})+ *[A-Z]", rf"({re.escape(literal)})+ *[A-Z]", literal),
            (r"\d{4}-03-0[1-5] .*ERROR", rf"\d{{4}}-03-0[1-5] {plain}*ERROR", "error"),
            (r"(?:foo|bar) (?:error|WARN)", r"(?:foo|bar) (?:error|WARN)", ""),
            (rf"[tT]{one[:0]}\d+.x", rf"[tT]\d+{plain}x", "t"),
            (r"^$", r"\A\Z", ""),
        )
    )


def _found(
    oracle: Oracle, request: SearchRequest, compiled: re.Pattern[str], must: str
) -> tuple[dict[bytes, object], set[bytes]]:
    """Return what a search must find, as `searched` gives it, and the files of which nothing is certain."""
    found: dict[bytes, list[tuple[int, int, int, str]]] = {}
    unclear: set[bytes] = set()
    needle = must.casefold()
    named = request.scope in oracle.world.files
    for path in oracle.in_scope(request.scope, hidden=request.include_hidden, ignored=request.include_ignored):
        name = path.rpartition(b"/")[2]
        if not named and request.include and not name.endswith(request.include[0][1:].encode()):
            continue
        if not named and request.exclude and name.endswith(b".log"):
            continue
        text = oracle.text(oracle.world.files[path])
        if not text.clear:
            unclear.add(path)
        if not text.lines or (needle not in text.folded and not request.invert):
            continue
        hits = list(hits_of(text.lines, compiled, invert=request.invert))
        if hits:
            found[path] = hits
    if request.mode is OutputMode.FILES:
        return dict.fromkeys(found), unclear
    if request.mode is OutputMode.COUNT:
        numbers = {path: len(hits) for path, hits in found.items()}
        told: dict[bytes, object] = dict(numbers)
        if not unclear:
            told |= {b"/lines": sum(numbers.values()), b"/files": len(numbers)}
        return told, unclear
    return dict(found), unclear
