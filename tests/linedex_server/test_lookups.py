"""A look-up and its answer come out of a line as they went in."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import Outline, PathAnswer, SymbolAnswer, SymbolHit
from linedex.errors import LinedexError
from linedex.model import ByteOffset, Column, LineNumber, RelPath, Symbol, SymbolKind
from linedex_server.json_lines import error_line, line_of
from linedex_server.lookups import NOBODY, Lookup, LookupAnswer, Subject, answer_line, answer_of

TEXTS = st.text(st.characters(exclude_characters="\0"), max_size=20)
PATHS = st.binary(max_size=12).map(lambda path: RelPath(path.replace(b"\0", b"x")))
NUMBERS = st.integers(1, 10**12)
SYMBOLS = st.builds(
    Symbol,
    name=TEXTS,
    kind=st.sampled_from(SymbolKind),
    container=TEXTS,
    parent=st.integers(-1, 9),
    start_line=NUMBERS.map(LineNumber),
    end_line=NUMBERS.map(LineNumber),
    start_byte=NUMBERS.map(ByteOffset),
    end_byte=NUMBERS.map(ByteOffset),
    line=NUMBERS.map(LineNumber),
    column=NUMBERS.map(Column),
    name_byte=st.integers(-1, 9).map(ByteOffset),
    signature=TEXTS,
)
ANSWERS = st.one_of(
    st.builds(
        SymbolAnswer,
        st.lists(st.builds(SymbolHit, PATHS, SYMBOLS), max_size=3).map(tuple),
        NUMBERS,
        st.integers(0, 9),
        TEXTS,
    ),
    st.builds(PathAnswer, st.lists(PATHS, max_size=5).map(tuple), NUMBERS),
    st.builds(Outline, st.lists(SYMBOLS, max_size=3).map(tuple), TEXTS, TEXTS),
)
SUBJECTS = {SymbolAnswer: Subject.SYMBOLS, PathAnswer: Subject.FILES, Outline: Subject.OUTLINE}


@given(
    st.builds(
        Lookup,
        PATHS.map(lambda path: "/" + os.fsdecode(path)),
        st.sampled_from(Subject),
        TEXTS,
        st.sampled_from(["", *map(str, SymbolKind)]),
        TEXTS,
        st.integers(0, 10**9),
    )
)
def test_a_look_up_comes_back(lookup: Lookup) -> None:
    line = lookup.line()
    assert line.count(b"\n") == 1
    assert Lookup.of(line) == lookup


@given(PATHS, ANSWERS)
def test_an_answer_comes_back(scope: RelPath, answer: LookupAnswer) -> None:
    line = answer_line(scope, answer)
    assert line.count(b"\n") == 1
    assert answer_of(line, SUBJECTS[type(answer)]) == (scope, answer)
    for subject in Subject:
        if subject is not SUBJECTS[type(answer)]:
            with pytest.raises(ValueError, match="not an answer"):
                answer_of(line, subject)


@pytest.mark.parametrize(
    "change",
    [
        {"path": "relative"},
        {"path": 3},
        {"path": "/a\0b"},
        {"path": "/\ud800"},
        {"subject": "everything"},
        {"name": None},
        {"kind": "klass"},
        {"most": -1},
        {"most": "3"},
        {"most": True},
        {"further": 1},
    ],
)
def test_what_is_no_look_up_is_refused(change: dict[str, object]) -> None:
    good = {"path": "/a", "subject": "files", "name": "b", "kind": "", "language": "", "most": 3}
    assert Lookup.of(line_of(good)) == Lookup("/a", Subject.FILES, "b", most=3)
    with pytest.raises(ValueError, match=r"."):
        Lookup.of(line_of({**good, **change}))


@pytest.mark.parametrize("line", [b"", b"null", b"3", b"[]", b"{}", b'{"scope": 3}', b'{"scope": "", "files": 3}'])
def test_what_is_no_answer_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        answer_of(line, Subject.FILES)


def test_nobody_and_an_error_are_no_answers() -> None:
    assert answer_of(NOBODY, Subject.OUTLINE) is None
    with pytest.raises(LinedexError, match="gone"):
        answer_of(error_line(LinedexError("gone", "look")), Subject.OUTLINE)
