"""Texts as plain splitting gives them, questions, and what an index answers in a form to compare with them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from linedex.answers import Coverage, OutputMode, ReadAnswer, SearchAnswer, SearchRequest
from linedex.errors import LinedexError
from linedex.files.text_format import detect_bytes
from linedex.index import Index
from linedex.model import Newline

if TYPE_CHECKING:
    from trials.remote import Remote

Asker: TypeAlias = "Index | Remote"
"""Who answers: the library, or a client of a daemon."""
REFUSED = "refused"
PACKED_MARK = "rev:"
LONE = re.compile("[\udc80-\udcff]")
_LONGEST_SHOWN = 500
LONGEST_READ = 5_000


@dataclass(slots=True)
class Text:
    """The text of some bytes.

    Attributes:
        lines: its lines without their ends, invalid bytes as lone surrogates; None for bytes that are no text.
        clear: whether it is certain; it is not where an encoding of several bytes was cut.
        joined: the lines as one.
        folded: the same with case folded.
    """

    lines: list[str] | None
    clear: bool = True
    encoding: str = ""
    joined: str = ""
    folded: str = ""


def text_of(content: bytes) -> Text:
    """Return the text of a file."""
    found = detect_bytes(content)
    if found.binary:
        return Text(None)
    try:
        errors = "surrogateescape" if found.encoding == "utf-8" else "strict"
        whole = content[found.bom :].decode(found.encoding, errors)
    except UnicodeDecodeError:
        return Text([], clear=False)
    if found.newline is Newline.CR:
        lines = whole.split("\r")
    else:
        lines = whole.split("\n")
        lines[:-1] = [line.removesuffix("\r") for line in lines[:-1]]
    if not lines[-1]:
        lines.pop()
    joined = "\n".join(lines)
    return Text(lines, encoding=found.encoding, joined=joined, folded=joined.casefold())


@dataclass(slots=True)
class Question:
    """A question with what must come of it.

    Attributes:
        kind: for the count of operations.
        told: what is asked, for a report.
        ask: asks, and returns what can be compared; None where the answer says that it does not know yet.
        wanted: what must come, or a function of what came where several are right; None where nobody knows.
    """

    kind: str
    told: str
    ask: Callable[[Asker], object]
    wanted: object


def escaped(literal: str) -> str:
    """Return a literal as a pattern of RE2's syntax."""
    return "".join(one if one.isalnum() or ord(one) > 127 else f"\\x{{{ord(one):x}}}" for one in literal)


def mark_of(content: bytes) -> str:
    """Return the hash by which readings name a state of a file."""
    return hashlib.sha256(content).hexdigest()[:16]


def mark_told(mark: str) -> str:
    """Return the hash of a reading; of compressed files, which have a token instead, only that it is one."""
    return PACKED_MARK if mark.startswith(PACKED_MARK) else mark


def shown_lines(lines: list[str]) -> list[str]:
    """Return lines as readings show them."""
    return [LONE.sub("\ufffd", line)[:LONGEST_READ] for line in lines]


def hits_of(lines: list[str], compiled: re.Pattern[str], *, invert: bool) -> Iterator[tuple[int, int, int, str]]:
    """Yield number, columns and text of each line that matches, or that does not."""
    for number, line in enumerate(lines, 1):
        found = compiled.search(line)
        if invert and found is None:
            yield number, 1, 1, line
        elif found is not None and not invert:
            yield number, found.start() + 1, found.end() + 1, line


def searched(index: Asker, request: SearchRequest, unclear: set[bytes], *, partial: bool) -> object:
    """Return what a search finds over all of its pages; with `partial` it may say that a file ends too early."""
    also = (Coverage.PARTIAL,) if partial else ()
    found: dict[bytes, object] = {}
    cursor = ""
    order: list[bytes] = []
    while True:
        asked = replace(request, cursor=cursor)
        answer = index.search(asked)
        for file in answer.files:
            path = bytes(file.path)
            if path in unclear:
                continue
            if path not in order:
                order.append(path)
            if request.mode is OutputMode.FILES:
                found[path] = None
            elif request.mode is OutputMode.COUNT:
                found[path] = file.count
            else:
                hits = found.setdefault(path, [])
                assert isinstance(hits, list)
                hits += [
                    (hit.line, hit.column, hit.end_column, (hit.text, hit.text_column, hit.cut)) for hit in file.hits
                ]
        cursor = answer.cursor
        if request.mode is OutputMode.COUNT:
            # the first page tells of all, each other of what it begins with and all that follows
            if not unclear and not asked.cursor:
                found |= {b"/lines": answer.total_hits, b"/files": answer.matched_files}
            demand_complete(answer, allowed=(Coverage.COMPLETE, *also))
            assert bool(cursor) == (len(answer.files) < answer.matched_files), f"a count ends too soon: {answer}"
        if not cursor:
            demand_complete(answer, allowed=(Coverage.COMPLETE, *also))
            break
    assert order == sorted(order, key=lambda path: path.split(b"/")), f"not in path order: {order}"
    return found


def demand_complete(answer: SearchAnswer, allowed: tuple[Coverage, ...]) -> None:
    """Stop unless an answer says that it is all there is."""
    assert answer.coverage.verdict in allowed, f"not complete: {answer.coverage}"


def same_hits(found: object, wanted: object, *, invert: bool = False) -> bool:
    """Say whether a search found what it should: places, and the text of each line as far as it is shown."""
    if not isinstance(found, dict) or not isinstance(wanted, dict) or found.keys() != wanted.keys():
        return False
    for path, hits in wanted.items():
        told = found[path]
        if not isinstance(hits, list):
            if told != hits:
                return False
            continue
        if not isinstance(told, list) or len(told) != len(hits):
            return False
        for (line, column, end, (text, text_column, cut)), (number, start, stop, whole) in zip(told, hits, strict=True):
            shown = LONE.sub("\ufffd", whole)
            if (line, column) != (number, start) or (end != stop and not invert):
                return False
            if len(shown) <= _LONGEST_SHOWN:
                if cut or text != shown:
                    return False
            elif shown[text_column - 1 :][: len(text)] != text:
                return False
    return True


def compared(ask: Callable[[], ReadAnswer], text: Text, first: int, count: int) -> object:
    """Return a reading as it can be compared; where the page was full, what the reading would be without that bound."""
    try:
        answer = ask()
    except LinedexError:
        return REFUSED
    lines = list(answer.lines)
    whole = (text.lines or [])[first - 1 : first - 1 + count]
    if lines and len(lines) < len(whole):
        given = sum(len(line) + 1 for line in lines)
        assert given + len(whole[len(lines)][:LONGEST_READ]) + 1 > 20_000, "the page is not full"
        assert answer.next_line == first + len(lines)
        lines += shown_lines(whole[len(lines) :])
    return (answer.first_line or first), lines, answer.total_lines, mark_told(answer.hash)
