"""A search between the command line and the daemon: what one side writes, the other reads back as it was."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import Coverage, CoverageReport, FileHits, Hit, Occurrence, OutputMode, SearchAnswer, SearchRequest
from linedex.errors import BadPattern, LinedexError, NotFound
from linedex.limits import DEFAULT_LIMITS
from linedex.model import Column, LineNumber, RelPath
from linedex_server.json_lines import error_line
from linedex_server.pages import (
    STILL_AT_WORK,
    WHOLE_LINE,
    Question,
    page_lines,
    part_of,
    scopes_line,
    scopes_of,
)

PATHS = st.binary(max_size=12).filter(lambda raw: b"\0" not in raw).map(RelPath)
COLUMNS = st.integers(1, 1 << 40).map(Column)
HITS = st.builds(
    Hit,
    line=st.integers(1, 1 << 40).map(LineNumber),
    column=COLUMNS,
    end_column=COLUMNS,
    text=st.text(),
    text_column=st.just(Column(1)) | COLUMNS,
    cut=st.booleans(),
    before=st.lists(st.text(), max_size=2).map(tuple),
    after=st.lists(st.text(), max_size=2).map(tuple),
    similarity=st.none() | st.floats(0, 1),
    lines=st.integers(1, 3),
    more=st.lists(st.builds(Occurrence, COLUMNS, COLUMNS, st.text(), COLUMNS), max_size=2).map(tuple),
)
PLAIN_HITS = st.tuples(st.integers(1, 9).map(LineNumber), COLUMNS, COLUMNS, st.text()).map(lambda told: Hit(*told))
FILES = st.builds(
    FileHits, PATHS, st.lists(HITS | PLAIN_HITS, max_size=4).map(tuple), st.none() | st.integers(0, 1 << 40)
)
REPORTS = st.builds(
    CoverageReport,
    st.sampled_from(Coverage),
    by_index=st.integers(0),
    skipped=st.dictionaries(st.text(), st.integers(0), max_size=2),
    notes=st.lists(st.text(), max_size=2).map(tuple),
    seconds=st.floats(0, 1e9),
    plan=st.text(),
)


@given(st.lists(FILES, max_size=5).map(tuple), REPORTS, st.booleans())
def test_a_page_is_read_back_as_it_was(files: tuple[FileHits, ...], report: CoverageReport, more: bool) -> None:
    parts = [
        part_of(line)
        for line in page_lines(SearchAnswer(files, 0, 0, near=False, cursor="", coverage=report), more=more)
    ]
    assert tuple(found for part in parts for found in part.files) == files
    assert (parts[-1].coverage, parts[-1].more) == (report, more)
    assert all(part.coverage is None and part.more for part in parts[:-1])


def test_a_list_of_very_many_files_takes_several_lines() -> None:
    files = tuple(FileHits(RelPath(b"%d" % number), (), number) for number in range(5000))
    report = CoverageReport(Coverage.COMPLETE)
    lines = list(page_lines(SearchAnswer(files, 0, 5000, near=False, cursor="", coverage=report), more=False))
    assert max(map(len, lines)) < 50_000
    assert tuple(found for line in lines for found in part_of(line).files) == files


@given(st.lists(st.none() | PATHS, max_size=4).map(tuple))
def test_places_are_read_back_as_they_were(scopes: tuple[RelPath | None, ...]) -> None:
    assert scopes_of(scopes_line(scopes)) == scopes


QUESTION = Question(
    ("/a/caf\udce9", "/b c "),
    SearchRequest("x\ud800", regex=True, include=("*.\udce9",), context=3, mode=OutputMode.COUNT, max_hits=1 << 62),
    500,
    7,
    first_page_only=True,
)


def test_a_question_is_read_back_as_it_was() -> None:
    assert Question.of(QUESTION.line()) == QUESTION
    assert Question.of(replace(QUESTION, request=SearchRequest("y")).line()).request == SearchRequest("y")


def test_a_question_shortens_lines_and_has_no_end_of_time() -> None:
    limits = QUESTION.limits(replace(DEFAULT_LIMITS, query_seconds=1, pattern_seconds=3))
    assert (limits.excerpt, limits.line_matches, limits.pattern_seconds) == (500, 7, 3)
    assert limits.query_seconds > 1e6


def _told(**parts: object) -> bytes:
    return json.dumps({**json.loads(QUESTION.line()), **parts}).encode()


def _asked(**parts: object) -> bytes:
    return _told(request={**json.loads(QUESTION.line())["request"], **parts})


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        _told(paths=["relative"]),
        _told(paths=["/a\0b"]),
        _told(paths=["/a\ud800b"]),
        _told(paths="/"),
        _told(excerpt=WHOLE_LINE + 1),
        _told(excerpt=-1),
        _told(excerpt=True),
        _told(limits=1),
        _told(request=None),
        _asked(pattern=1),
        _asked(scope="/"),
        _asked(mode="all"),
        _asked(regex=1),
        _asked(include=[1]),
        _asked(context=-1),
        _asked(max_hits=1.5),
        _asked(unknown=1),
    ],
)
def test_what_is_no_question_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        Question.of(line)


@pytest.mark.parametrize(
    "line", [b"", b"null", b"1", b"[1]", b'[["a"]]', b'{"coverage":{}}', b'{"coverage":{"verdict":"x"}}']
)
def test_what_is_no_part_of_an_answer_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        part_of(line)


def test_an_answer_that_is_still_made_has_nothing_yet() -> None:
    part = part_of(STILL_AT_WORK)
    assert (part.files, part.coverage, part.more) == ((), None, True)


def test_why_a_search_ends_is_said_in_the_same_words() -> None:
    with pytest.raises(BadPattern, match="bad") as pattern:
        part_of(error_line(BadPattern("bad", 3, "mend")))
    assert (pattern.value.position, pattern.value.hint) == (3, "mend")
    with pytest.raises(LinedexError, match="gone") as other:
        part_of(error_line(NotFound("gone", "look")))
    assert other.value.hint == "look"
