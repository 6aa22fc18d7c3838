"""What an index is asked, asked over MCP: the same names as `Index` has, answered by the tools of a daemon."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from trials.answers import escaped
from trials.client import Client

from linedex.answers import (
    Coverage,
    CoverageReport,
    FileHits,
    FolderEntry,
    Hit,
    OutputMode,
    PathAnswer,
    ReadAnswer,
    SearchAnswer,
    SearchRequest,
    SymbolRequest,
)
from linedex.files.names import display, parse
from linedex.log_answers import TimelineRequest
from linedex.model import Column, LineCount, LineNumber, RelPath

_MOST = 100
"""Results that a tool gives in a page at most."""


@dataclass(frozen=True, slots=True)
class Remote:
    """One client's way to ask about a root.

    Attributes:
        client: the client.
        root: the root.
    """

    client: Client
    root: Path

    def called(self, path: bytes) -> str:
        """Return how the client names a path below the root."""
        whole = bytes(self.root) + (b"/" + path if path else b"")
        return display(whole)

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Return a page of a search."""
        named = not os.path.isdir(os.fsencode(self.root) + b"/" + request.scope)
        asked = self._asked(request)
        return self._searched_file(request, asked) if named else self._searched_folder(request, asked)

    @staticmethod
    def _asked(request: SearchRequest) -> dict[str, object]:
        asked: dict[str, object] = {
            "pattern": request.pattern,
            "regex": request.regex,
            "case_sensitive": request.case_sensitive,
            "word": request.word,
            "invert": request.invert,
            "fuzzy": False,
            "context_lines": 0,
            "max_results": min(request.max_hits, _MOST),
        }
        if request.whole_line:
            asked |= {"pattern": f"^(?:{escaped(request.pattern)})$", "regex": True}
        asked |= {name: value for name in ("since", "until", "level", "cursor") if (value := getattr(request, name))}
        return asked

    def search_file(self, request: SearchRequest) -> SearchAnswer:
        """Return a page of a search of one file."""
        return self._searched_file(request, self._asked(request))

    def _searched_file(self, request: SearchRequest, asked: dict[str, object]) -> SearchAnswer:
        if request.mode is not OutputMode.MATCHES:
            asked |= {"count_only": True, "max_results": 20, "context_lines": 2}
        told = self.client.call("search_content", absolute_file_path=self.called(request.scope), **asked)
        if request.mode is OutputMode.MATCHES:
            hits = tuple(_hit(one) for one in told["results"])
            assert told["total_matches"] >= len(hits)
            return _answer(told, (FileHits(request.scope, hits),) if hits else (), len(hits))
        count = told["count"]
        files = (FileHits(request.scope, (), count),) if count else ()
        return _answer(told, files, count)

    def _searched_folder(self, request: SearchRequest, asked: dict[str, object]) -> SearchAnswer:
        if request.include:
            asked["include_pattern"] = request.include[0]
        if request.exclude:
            asked["exclude_pattern"] = request.exclude[0]
        told = self.client.call(
            "search_directory",
            absolute_dir_path=self.called(request.scope),
            output_mode=str(request.mode),
            include_hidden=request.include_hidden,
            include_ignored=request.include_ignored,
            **asked,
        )
        below = request.scope + b"/" if request.scope else b""
        files = tuple(
            FileHits(RelPath(below + _path(one["file"])), tuple(_hit(hit) for hit in one["matches"]), one["count"])
            for one in told["results"]
        )
        return _answer(told, files, told["total_matches"], told["files_with_matches"])

    def read(self, path: RelPath, first: int, count: int) -> ReadAnswer:
        """Return lines of a file, of as many pages as they take."""
        lines: list[str] = []
        at = first
        while True:
            told = self._lines(path, offset=at, limit=count - len(lines))
            lines += _shown(told)
            at = told["next_offset"]
            if len(lines) >= count or at is None:
                return _read(path, told, lines, first if lines else 0)

    def tail(self, path: RelPath, count: int) -> ReadAnswer:
        """Return the last lines of a file."""
        told = self._lines(path, mode="tail", limit=count)
        return _read(path, told, _shown(told), told["start_line"])

    def read_on(self, path: RelPath, cursor: str, count: int) -> ReadAnswer:
        """Return what is new since a cursor."""
        told = self._lines(path, cursor=cursor, limit=count)
        return _read(path, told, _shown(told), told["start_line"])

    def read_at(self, path: RelPath, at: str, count: int) -> ReadAnswer:
        """Return the lines of a log from a time on."""
        told = self._lines(path, at=at, limit=count)
        return _read(path, told, _shown(told), told["start_line"])

    def _lines(self, path: RelPath, **asked: object) -> dict[str, Any]:
        return self.client.call("read_content", absolute_file_path=self.called(path), **asked)

    def count_lines(self, path: RelPath) -> int:
        """Return the number of lines of a file."""
        return int(self._overview(path)["line_count"])

    def outline(self, path: RelPath) -> Any:
        """Return the symbols of a file."""
        told = self._overview(path)["outline"]
        return SimpleNamespace(symbols=[SimpleNamespace(name=one["name"], line=one["name_line"]) for one in told])

    def _overview(self, path: RelPath) -> dict[str, Any]:
        found: dict[str, Any] = {"outline": []}
        cursor = {}
        while True:
            told = self.client.call("get_overview", absolute_file_path=self.called(path), **cursor)
            found = {**told, "outline": found["outline"] + told["outline"]}
            if told["cursor"] is None:
                return found
            cursor = {"cursor": told["cursor"]}

    def find_files(
        self, name: str, scope: RelPath, count: int, *, include_hidden: bool, include_ignored: bool
    ) -> PathAnswer:
        """Return all files with a part of a name."""
        assert count > _MOST
        asked: dict[str, object] = {"name": name, "max_results": _MOST}
        asked |= {"include_hidden": include_hidden, "include_ignored": include_ignored}
        if scope:
            asked["absolute_dir_path"] = self.called(scope)
        pages = self._pages("find_files", asked)
        paths = [RelPath(_path(one)) for told in pages for one in told["files"]]
        return PathAnswer(tuple(paths), pages[0]["total"])

    def find_symbol(self, request: SymbolRequest) -> Any:
        """Return all symbols of a name."""
        pages = self._pages("find_symbol", {"name": request.name, "max_results": _MOST})
        hits = [
            SimpleNamespace(path=_path(one["file"]), symbol=SimpleNamespace(name=one["name"]))
            for told in pages
            for one in told["symbols"]
        ]
        return SimpleNamespace(hits=hits, pending=max(told["pending_files"] for told in pages))

    def listing(self, path: RelPath, depth: int, count: int, *, include_hidden: bool, include_ignored: bool) -> Any:
        """Return the entries of a folder."""
        assert depth == 1
        asked: dict[str, object] = {"absolute_dir_path": self.called(path), "max_entries": count}
        asked |= {"include_hidden": include_hidden, "include_ignored": include_ignored}
        below = path + b"/" if path else b""
        entries = [
            FolderEntry(
                RelPath(below + _path(one["name"])),
                one["type"] == "dir",
                one["size_bytes"],
                ignored=one["ignored"],
                special=one["special"] or "",
            )
            for told in self._pages("list_directory", asked)
            for one in told["entries"]
        ]
        return SimpleNamespace(entries=entries)

    def timeline(self, request: TimelineRequest) -> Any:
        """Return counts over time."""
        asked = {name: value for name in ("pattern", "since", "until", "level") if (value := getattr(request, name))}
        told = self.client.call("log_timeline", absolute_path=self.called(request.scope), **asked)
        assert told["complete"], told
        buckets = [SimpleNamespace(**one) for one in told["buckets"]]
        return SimpleNamespace(buckets=buckets, levels=told["levels"], total=told["total"])

    def _pages(self, tool: str, asked: dict[str, object]) -> list[dict[str, Any]]:
        pages = [self.client.call(tool, **asked)]
        while pages[-1]["cursor"] is not None:
            pages.append(self.client.call(tool, **asked, cursor=pages[-1]["cursor"]))
        return pages


def _path(told: str) -> bytes:
    """Return the path that an answer tells, which has `./` where its name would read as something else."""
    return parse(told.removeprefix("./"))


def _hit(told: dict[str, Any]) -> Hit:
    cut = told["truncated"]
    return Hit(
        LineNumber(told["line_number"]),
        Column(told["column"]),
        Column(told["end_column"]),
        told["match"].removesuffix("...") if cut else told["match"],
        Column(told["text_column"]),
        cut,
    )


def _answer(told: dict[str, Any], files: tuple[FileHits, ...], total: int, matched: int | None = None) -> SearchAnswer:
    how = told["coverage"]
    report = CoverageReport(
        Coverage(how["verdict"]), how["by_index"], how["by_scan"], skipped=how["skipped"], notes=tuple(how["notes"])
    )
    return SearchAnswer(
        files,
        total,
        len(files) if matched is None else matched,
        bool(told.get("near")),
        told["cursor"] or "",
        report,
        later=told.get("later", ""),
        note=told.get("note", ""),
    )


def _shown(told: dict[str, Any]) -> list[str]:
    if not told["lines_returned"]:
        return []
    lines: list[str] = told["content"].split("\n")
    assert len(lines) == told["lines_returned"] == told["end_line"] - told["start_line"] + 1, told
    return lines


def _read(path: RelPath, told: dict[str, Any], lines: list[str], first: int) -> ReadAnswer:
    total = told["total_lines"]
    return ReadAnswer(
        path,
        tuple(lines),
        LineNumber(first),
        LineCount(total or 0),
        told["hash"],
        note="; ".join(told.get("warnings", ())),
        later=told.get("later", ""),
        counted=total is not None,
    )
