"""The forms a search is printed in, from constructed pages."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import Coverage, CoverageReport, FileHits, Hit, Occurrence, OutputMode
from linedex.model import Column, LineNumber, RelPath
from linedex_server.cli.search_output import (
    CountWriter,
    JsonWriter,
    LineStyle,
    LineWriter,
    PathWriter,
    SearchWriter,
    added,
)
from linedex_server.cli.terminal import Screen


def pipe() -> Screen:
    return Screen(io.BytesIO(), terminal=False, color=False)


def terminal(*, color: bool = False) -> Screen:
    return Screen(io.BytesIO(), terminal=True, color=color)


def written(screen: Screen) -> str:
    assert isinstance(screen.out, io.BytesIO)
    return screen.out.getvalue().decode("utf-8", "surrogateescape")


def hit(line: int, text: str, column: int = 1, end_column: int = 1, **more: object) -> Hit:
    return Hit(LineNumber(line), Column(column), Column(end_column), text, **more)  # type: ignore[arg-type]


def found(path: bytes, *hits: Hit, count: int | None = None) -> FileHits:
    return FileHits(RelPath(path), hits, count)


def printed(writer: SearchWriter, *files: FileHits) -> None:
    for file in files:
        writer.file(file.path, file)
    writer.end()


def test_hits_on_a_pipe_are_path_line_text() -> None:
    screen = pipe()
    printed(LineWriter(screen, LineStyle()), found(b"a.py", hit(3, "x = 1"), hit(9, "")), found(b"b", hit(1, "\tx")))
    assert written(screen) == "a.py:3:x = 1\na.py:9:\nb:1:\tx\n"


def test_under_headings_files_are_parted_by_an_empty_line() -> None:
    screen = pipe()
    printed(LineWriter(screen, LineStyle(heading=True)), found(b"a", hit(3, "x")), found(b"b", hit(1, "y")))
    assert written(screen) == "a\n3:x\n\nb\n1:y\n"


def test_numbers_and_names_can_be_left_out() -> None:
    screen = pipe()
    printed(LineWriter(screen, LineStyle(filename=False, numbers=False)), found(b"a", hit(3, "x")))
    assert written(screen) == "x\n"


def context_hits(lines: list[bool], width: int) -> list[Hit]:
    """Return a hit for each true line of a file whose line N reads `line N`, with `width` lines around each."""
    last = len(lines)
    return [
        hit(
            number,
            f"line {number}",
            before=tuple(f"line {n}" for n in range(max(1, number - width), number)),
            after=tuple(f"line {n}" for n in range(number + 1, min(last, number + width) + 1)),
        )
        for number, matches in enumerate(lines, start=1)
        if matches
    ]


def grep(lines: list[bool], before: int, after: int) -> list[str]:
    """Say what `grep -n -A -B` prints, line by line: every line near a hit once, and `--` over gaps."""
    near = [
        number
        for number in range(1, len(lines) + 1)
        if any(lines[other - 1] for other in range(max(1, number - after), min(len(lines), number + before) + 1))
    ]
    out: list[str] = []
    for index, number in enumerate(near):
        if index and number != near[index - 1] + 1 and (before or after):
            out.append("--")
        out.append(f"{number}{':' if lines[number - 1] else '-'}line {number}")
    return out


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 4), st.integers(0, 4), st.integers(1, 5))
def test_contexts_are_printed_as_grep_does_however_hits_are_paged(
    lines: list[bool], before: int, after: int, page: int
) -> None:
    hits = context_hits(lines, max(before, after))
    screen = pipe()
    pages = [found(b"f", *hits[start : start + page]) for start in range(0, len(hits), page)]
    printed(LineWriter(screen, LineStyle(filename=False, before=before, after=after)), *pages)
    assert written(screen).splitlines() == grep(lines, before, after)


def test_context_lines_have_dashes_and_files_are_parted() -> None:
    screen = pipe()
    style = LineStyle(before=1, after=1)
    printed(LineWriter(screen, style), found(b"a", hit(2, "b", before=("a",), after=("c",))), found(b"d", hit(1, "e")))
    assert written(screen) == "a-1-a\na:2:b\na-3-c\n--\nd:1:e\n"


def test_the_match_is_in_colour_and_the_rest_is_not() -> None:
    screen = terminal(color=True)
    printed(LineWriter(screen, LineStyle(filename=False, numbers=False)), found(b"a", hit(1, "one two", 5, 8)))
    assert written(screen) == "one \x1b[1;31mtwo\x1b[0m\n"


@given(st.text(), st.integers(1, 20), st.integers(0, 20), st.binary(min_size=1, max_size=8))
def test_what_a_file_holds_or_is_called_never_steers_a_terminal(text: str, column: int, width: int, raw: bytes) -> None:
    screen = terminal()
    line = hit(1, text + raw.decode("utf-8", "surrogateescape"), column, column + width, before=(text,))
    printed(LineWriter(screen, LineStyle(heading=True, before=1)), found(b"n\x1b[2J\n" + raw, line))
    shown = written(screen)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert len(shown.split("\n")) == 3


@given(st.binary(max_size=20).filter(lambda raw: b"\n" not in raw))
def test_bytes_pass_through_a_pipe_as_they_are(raw: bytes) -> None:
    screen = pipe()
    text = raw.decode("utf-8", "surrogateescape")
    printed(LineWriter(screen, LineStyle(numbers=False)), found(b"\xff", hit(1, text)))
    assert isinstance(screen.out, io.BytesIO)
    assert screen.out.getvalue() == b"\xff:" + raw + b"\n"


def test_a_shortened_line_shows_where_it_was_cut() -> None:
    screen = pipe()
    writer = LineWriter(screen, LineStyle(filename=False))
    printed(writer, found(b"a", hit(1, "middle", 12, 14, text_column=Column(10), cut=True)))
    assert written(screen) == "1:…middle…\n"
    assert writer.shortened == 1


def test_only_paths_each_once() -> None:
    screen = pipe()
    printed(PathWriter(screen), found(b"a"), found(b"b/c"), found(b"b/c"))
    assert written(screen) == "a\nb/c\n"


def test_counts_with_and_without_names() -> None:
    named, bare = pipe(), pipe()
    printed(CountWriter(named), found(b"a", count=3), found(b"b", count=1))
    printed(CountWriter(bare, filename=False), found(b"a", count=3))
    assert (written(named), written(bare)) == ("a:3\nb:1\n", "3\n")


def objects(screen: Screen) -> list[dict[str, object]]:
    return [json.loads(line) for line in written(screen).splitlines()]


def test_json_has_an_object_for_each_hit_and_a_summary() -> None:
    screen = pipe()
    writer = JsonWriter(screen, LineStyle(before=1))
    printed(writer, found(b"a", hit(2, "é x", 3, 4, before=("p", "q"), after=("r",))))
    writer.summary(1, 1, CoverageReport(Coverage.COMPLETE, by_scan=4, skipped={"binary": 1}, seconds=0.25))
    first, last = objects(screen)
    assert first == {
        "type": "hit", "path": "a", "line": 2, "column": 3, "end_column": 4, "text": "é x", "before": ["q"],
    }  # fmt: skip
    assert last["complete"] is True
    assert (last["hits"], last["by_scan"], last["skipped"], last["seconds"]) == (1, 4, {"binary": 1}, 0.25)


@given(st.binary(min_size=1, max_size=8))
def test_json_is_utf_8_and_keeps_a_path_of_other_bytes(path: bytes) -> None:
    screen = pipe()
    printed(JsonWriter(screen, LineStyle(), OutputMode.FILES), found(path))
    assert isinstance(screen.out, io.BytesIO)
    told = json.loads(screen.out.getvalue().decode("utf-8"))
    kept = base64.b64decode(told["path_base64"]) if "path_base64" in told else told["path"].encode()
    assert kept == path


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ((Coverage.COMPLETE, Coverage.COMPLETE), Coverage.COMPLETE),
        ((Coverage.COMPLETE, Coverage.PARTIAL), Coverage.PARTIAL),
        ((Coverage.DEADLINE, Coverage.PAGE), Coverage.DEADLINE),
    ],
)
def test_several_searches_are_as_complete_as_the_least_of_them(verdicts: Iterable[Coverage], worst: Coverage) -> None:
    report = added([CoverageReport(one, by_index=2, skipped={"binary": 1}, notes=("n",)) for one in verdicts])
    assert (report.verdict, report.by_index, report.skipped, report.notes) == (worst, 4, {"binary": 2}, ("n",))


def test_every_match_of_a_line_is_in_colour_also_over_line_ends() -> None:
    red, off = "\x1b[1;31m", "\x1b[0m"
    screen = terminal(color=True)
    style = LineStyle(filename=False, numbers=False)
    more = (Occurrence(Column(5), Column(6)), Occurrence(Column(7), Column(8)))
    printed(LineWriter(screen, style), found(b"a", hit(1, "x - x.x", 1, 2, more=more)))
    printed(LineWriter(screen, style), found(b"a", hit(2, "one\ntwo", 3, 6, lines=2)))
    assert written(screen) == f"{red}x{off} - {red}x{off}.{red}x{off}\non{red}e{off}\n{red}t{off}wo\n"


def test_a_long_line_is_printed_as_the_parts_around_its_matches() -> None:
    screen = pipe()
    part = Occurrence(Column(900), Column(902), "yy!", Column(900))
    cut = hit(1, "xx!", 500, 502, text_column=Column(500), cut=True, more=(part,))
    printed(LineWriter(screen, LineStyle(filename=False)), found(b"a", cut))
    assert written(screen) == "1:…xx!…yy!…\n"


def test_context_behind_a_hit_of_several_lines_has_the_numbers_that_follow() -> None:
    screen = pipe()
    printed(LineWriter(screen, LineStyle(before=1, after=1)), found(b"a", hit(2, "b\nc", lines=2, after=("d",))))
    assert written(screen) == "a:2:b\na:3:c\na-4-d\n"
