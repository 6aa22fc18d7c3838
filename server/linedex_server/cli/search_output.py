"""The forms a search is printed in: lines like grep's, paths, counts, JSON lines.

Promise: hits may come in any number of pages; what is printed is the same as if they had come in one. A writer holds
back nothing but the context after the last hit.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from linedex.answers import CoverageReport, FileHits, Hit, OutputMode
from linedex_server.cli.terminal import MATCH_COLOR, NUMBER_COLOR, PATH_COLOR, Screen

_ELLIPSIS = "…"


class SearchWriter(Protocol):
    """Takes the files of a search in order, a file perhaps in several pieces, and prints them."""

    def file(self, path: bytes, found: FileHits) -> None:
        """Print hits of the file that a person would call `path`."""

    def end(self) -> None:
        """Print what was held back."""


@dataclass(frozen=True, slots=True)
class LineStyle:
    """How hits are laid out.

    Attributes:
        heading: the path once above its hits, instead of in front of each.
        filename: whether paths are printed at all.
        numbers: whether line numbers are.
        before: lines of context before a hit.
        after: lines of context after a hit.
    """

    heading: bool = False
    filename: bool = True
    numbers: bool = True
    before: int = 0
    after: int = 0


@dataclass(slots=True)
class LineWriter:
    """Prints `path:line:text` for hits and `path-line-text` for context, or the like under headings."""

    screen: Screen
    style: LineStyle
    shortened: int = 0
    """Hits of which only a part was shown."""
    _path: bytes | None = None
    _name: str = ""
    _last: int = 0
    _held: list[tuple[int, str]] = field(default_factory=list)

    def file(self, path: bytes, found: FileHits) -> None:
        """Print hits of one file, each line once however contexts overlap."""
        if path != self._path:
            self._begin(path)
        if self._as_they_are(found.hits):
            self._write_all(found.hits)
            return
        for hit in found.hits:
            self._hit(hit)

    def end(self) -> None:
        """Print the context after the last hit."""
        self._release(None)

    def _as_they_are(self, hits: Sequence[Hit]) -> bool:
        """Return whether each hit is one line that is printed as it was told."""
        if self.screen.terminal or self.screen.color or self._has_context:
            return False
        return not any(hit.cut or hit.lines > 1 for hit in hits)

    def _write_all(self, hits: Sequence[Hit]) -> None:
        """Print such hits at once: a quarter of the time that they take one by one."""
        name = self._name + ":" if self._name else ""
        if self.style.numbers:
            lines = [f"{name}{hit.line}:{hit.text}\n" for hit in hits]
        else:
            lines = [f"{name}{hit.text}\n" for hit in hits]
        self.screen.write("".join(lines))

    def _begin(self, path: bytes) -> None:
        self._release(None)
        if self._path is not None:
            if self.style.heading:
                self.screen.line("")
            elif self._has_context:
                self.screen.line("--")
        self._path = path
        name = self.screen.painted(self.screen.path(path), PATH_COLOR) if self.style.filename else ""
        if name and self.style.heading:
            self.screen.line(name)
        self._name = "" if self.style.heading else name
        self._last = 0

    def _hit(self, hit: Hit) -> None:
        self._release(hit.line)
        before = (
            hit.before[len(hit.before) - self.style.before :] if self.style.before < len(hit.before) else hit.before
        )
        context = [(hit.line - len(before) + index, text) for index, text in enumerate(before)]
        fresh = [(number, text) for number, text in context if number > self._last]
        first = fresh[0][0] if fresh else hit.line
        if self._has_context and self._last and first > self._last + 1:
            self.screen.line("--")
        for number, text in fresh:
            self._line(number, self.screen.text(text), "-")
        for number, text in enumerate(self._marked(hit), hit.line):
            self._line(number, text, ":")
        self._held = [(hit.last_line + 1 + index, text) for index, text in enumerate(hit.after[: self.style.after])]

    def _release(self, next_hit: int | None) -> None:
        """Print the held context, up to the next hit of the same file: that one prints itself."""
        for number, text in self._held:
            if next_hit is None or number < next_hit:
                self._line(number, self.screen.text(text), "-")
        self._held = []

    def _line(self, number: int, text: str, mark: str) -> None:
        name = self._name + mark if self._name else ""
        place = self.screen.painted(str(number), NUMBER_COLOR) + mark if self.style.numbers else ""
        self.screen.line(name + place + text)
        self._last = number

    def _marked(self, hit: Hit) -> list[str]:
        """Return the lines of a hit with its matches in colour; of a long one the parts around them, and ellipses."""
        spans = [(hit.column, hit.end_column), *((one.column, one.end_column) for one in hit.more)]
        texts = hit.text.split("\n") if hit.lines > 1 else [hit.text]
        lines = self._coloured(texts, hit.text_column, spans)
        if hit.cut:
            self.shortened += 1
            lines[0] = (_ELLIPSIS if hit.text_column > 1 else "") + lines[0]
            parts = [self._coloured([one.text], one.text_column, spans)[0] for one in hit.more if one.text]
            lines[-1] = _ELLIPSIS.join((lines[-1], *parts)) + _ELLIPSIS
        return lines

    def _coloured(self, lines: Sequence[str], first: int, spans: Sequence[tuple[int, int]]) -> list[str]:
        """Return lines, of which the first begins at column `first`, with the spans in colour."""
        coloured = []
        for line in lines:
            shown, at = "", 0
            for column, end_column in spans:
                low, high = max(column - first, at), min(end_column - first, len(line))
                if low < high:
                    shown += self.screen.text(line[at:low])
                    shown += self.screen.painted(self.screen.text(line[low:high]), MATCH_COLOR)
                    at = high
            coloured.append(shown + self.screen.text(line[at:]))
            first += len(line) + 1
        return coloured

    @property
    def _has_context(self) -> bool:
        return bool(self.style.before or self.style.after)


@dataclass(slots=True)
class PathWriter:
    """Prints the path of each file with a hit, once."""

    screen: Screen
    _path: bytes | None = None

    def file(self, path: bytes, _found: FileHits) -> None:
        """Print the path."""
        if path != self._path:
            self.screen.line(self.screen.painted(self.screen.path(path), PATH_COLOR))
        self._path = path

    def end(self) -> None:
        """Nothing is held back."""


@dataclass(slots=True)
class CountWriter:
    """Prints `path:count`; the count alone when `filename` is off."""

    screen: Screen
    filename: bool = True

    def file(self, path: bytes, found: FileHits) -> None:
        """Print the number of matching lines of a file."""
        name = self.screen.painted(self.screen.path(path), PATH_COLOR) + ":" if self.filename else ""
        self.screen.line(f"{name}{found.count or 0}")

    def end(self) -> None:
        """Nothing is held back."""


@dataclass(slots=True)
class JsonWriter:
    """Prints one JSON object a line: a hit, or a file where only files or counts are asked for."""

    screen: Screen
    style: LineStyle
    mode: OutputMode = OutputMode.MATCHES
    _path: bytes | None = None
    _encode: Callable[[object], str] = field(init=False)

    def __post_init__(self) -> None:
        # json.dumps would make an encoder for each object
        self._encode = json.JSONEncoder(ensure_ascii=self.screen.terminal).encode

    def file(self, path: bytes, found: FileHits) -> None:
        """Print hits of one file, or the file."""
        if self.mode is OutputMode.MATCHES:
            head = {"type": "hit", **_path_fields(path)}
            lines = [self._encode(head | self._hit_fields(hit)) + "\n" for hit in found.hits]
            self.screen.write("".join(lines))
        elif path != self._path:
            count = {"count": found.count or 0} if self.mode is OutputMode.COUNT else {}
            self._object({"type": "file", **_path_fields(path), **count})
        self._path = path

    def end(self) -> None:
        """Nothing is held back."""

    def summary(self, hits: int, files: int, report: CoverageReport) -> None:
        """Print the last line: what was found and how far it can be trusted."""
        self._object(
            {
                "type": "summary",
                "hits": hits,
                "files": files,
                "complete": report.verdict.value == "complete",
                "verdict": report.verdict.value,
                "by_index": report.by_index,
                "by_scan": report.by_scan,
                "verified": report.verified,
                "skipped": dict(report.skipped),
                "notes": list(report.notes),
                "seconds": round(report.seconds + report.check_seconds, 6),
            }
        )

    def _hit_fields(self, hit: Hit) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "line": hit.line,
            "column": hit.column,
            "end_column": hit.end_column,
            "text": _unicode(hit.text),
        }
        if hit.cut:
            fields |= {"cut": True, "text_column": hit.text_column}
        if hit.lines > 1:
            fields["last_line"] = hit.last_line
        if hit.more:
            fields["more"] = [[one.column, one.end_column] for one in hit.more]
        if self.style.before:
            fields["before"] = [_unicode(line) for line in hit.before[-self.style.before :]]
        if self.style.after:
            fields["after"] = [_unicode(line) for line in hit.after[: self.style.after]]
        return fields

    def _object(self, fields: dict[str, Any]) -> None:
        self.screen.line(self._encode(fields))


def _path_fields(path: bytes) -> dict[str, str]:
    """Return a path for JSON: as text, and in base64 too where its bytes are not UTF-8."""
    text = os.fsdecode(path)
    shown = _unicode(text)
    if shown == text:
        return {"path": text}
    return {"path": shown, "path_base64": base64.b64encode(path).decode("ascii")}


def _unicode(text: str) -> str:
    """Return text that JSON can carry: bytes that did not decode as U+FFFD."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def added(reports: Sequence[CoverageReport]) -> CoverageReport:
    """Return the reports of several searches as one: numbers added, the least good verdict, each note once."""
    order = ("complete", "page", "deadline", "partial")
    worst = max(reports, key=lambda report: order.index(report.verdict.value))
    skipped: dict[str, int] = {}
    for report in reports:
        for reason, count in report.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
    return CoverageReport(
        verdict=worst.verdict,
        by_index=sum(report.by_index for report in reports),
        by_scan=sum(report.by_scan for report in reports),
        verified=sum(report.verified for report in reports),
        skipped=skipped,
        notes=tuple(dict.fromkeys(note for report in reports for note in report.notes)),
        check_seconds=sum(report.check_seconds for report in reports),
        seconds=sum(report.seconds for report in reports),
        plan=worst.plan,
    )
