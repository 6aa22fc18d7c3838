import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import ReadAnswer
from linedex.content.symbols import Extraction, extract
from linedex.errors import BadArgument, LineOutOfRange
from linedex.files.fingerprint import of as fingerprint_of
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import (
    ByteOffset,
    Column,
    FileId,
    FileState,
    LineNumber,
    Newline,
    RelPath,
    SkipReason,
    Symbol,
    SymbolKind,
    TextFormat,
)
from linedex.query.enclosing import breadcrumb, breadcrumbs, enclosing
from linedex.query.outline import Parse
from linedex.query.source import opened
from linedex.store import files
from linedex.store.catalogue import Catalogue
from linedex.store.database import Sidecar
from linedex.store.symbol_pack import packed
from linedex.store.symbol_writer import SymbolWriter

LIMITS = Limits()
SHOP = b"""LIMIT = 3


class Cart:
    def add(self, item):
        def once():
            return item
        return once()

    rows = [
        1,
    ]


def checkout(cart):
    return cart
"""


def parse(text: bytes, language: str, full: bool) -> Extraction:
    return extract(text, language, LIMITS, full=full)


def never(text: bytes, language: str, full: bool) -> Extraction:
    raise AssertionError("nothing is to be parsed")


def failing(text: bytes, language: str, full: bool) -> Extraction:
    return Extraction(note="not outlined: the parser crashed", reason=SkipReason.PARSER_CRASHED)


class Place:
    """A root with one file and, when `index` was called, a sidecar that knows it."""

    def __init__(self, folder: Path, data: bytes, name: str) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.path = self.root / name
        self.path.write_bytes(data)
        self.name = RelPath(name.encode())
        self.sidecar = Sidecar(folder / "index.db", str(self.root))
        self.catalogue = Catalogue.empty()

    def index(self, language: str = "python") -> FileId:
        descriptor = os.open(self.path, os.O_RDONLY)
        mark = fingerprint_of(descriptor)
        os.close(descriptor)
        seen = mark.ctime_ns + 3_600 * 10**9
        data = self.path.read_bytes()
        spelling = TextFormat("utf-8", 0, Newline.LF, final_newline=True)
        with self.sidecar.transaction() as db:
            catalogue = files.add(
                db, Catalogue.empty(), [files.FolderRow(b"", 0, 0)], [files.FileRow(bytes(self.name), mark, seen)]
            )
            file = FileId(int(catalogue.facts["id"][0]))
            facts = files.TextFacts(
                file, mark, seen, FileState.INDEXED, "", spelling, language, data.count(b"\n"), outlined=True
            )
            catalogue = catalogue.with_facts(files.set_text(db, catalogue, [facts]))
            found = extract(data, language, LIMITS, full=False)
            (state,) = SymbolWriter(db).put([(file, packed(found.symbols), found.note)])
            catalogue.facts["symbol_state"][0] = state
        self.catalogue = catalogue
        return file

    def enclosing(self, parser: Parse, line: int, *, limits: Limits = LIMITS, **how: Any) -> ReadAnswer:
        with (
            self.sidecar.reading() as db,
            opened(Root(self.root), self.name, self.catalogue, db, limits) as source,
        ):
            return enclosing(source, parser, line, **how)


@contextmanager
def place(folder: Path, data: bytes = SHOP, name: str = "shop.py") -> Iterator[Place]:
    made = Place(folder, data, name)
    yield made
    made.sidecar.close()


def shown(answer: ReadAnswer) -> tuple[str, int, int]:
    return answer.symbol.path if answer.symbol else "", answer.first_line, len(answer.lines)


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize(
    ("line", "depth", "wanted"),
    [
        (7, 1, ("Cart.add.once", 6, 2)),
        (8, 1, ("Cart.add", 5, 4)),
        (7, 2, ("Cart.add", 5, 4)),
        (7, 3, ("Cart", 4, 9)),
        (9, 1, ("Cart", 4, 9)),
        (15, 1, ("checkout", 15, 2)),
    ],
)
def test_the_nth_symbol_outward_is_given_whole(
    tmp_path: Path, line: int, depth: int, wanted: tuple[str, int, int], *, indexed: bool
) -> None:
    with place(tmp_path) as here:
        if indexed:
            here.index()
        answer = here.enclosing(never if indexed else parse, line, depth=depth)
    assert shown(answer) == wanted
    assert answer.note == ""
    assert answer.next_line is None
    assert answer.symbol is not None
    assert answer.symbol.name in answer.symbol.signature


def test_a_depth_beyond_the_outermost_gives_that_and_says_so(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        answer = here.enclosing(parse, 7, depth=9)
    assert shown(answer) == ("Cart", 4, 9)
    assert "depth 9" in answer.note


@pytest.mark.parametrize("indexed", [True, False])
def test_a_line_outside_any_symbol_gives_a_window_and_its_neighbours(tmp_path: Path, *, indexed: bool) -> None:
    with place(tmp_path) as here:
        if indexed:
            here.index()
        answer = here.enclosing(never if indexed else parse, 14, context_lines=4)
        first = here.enclosing(never if indexed else parse, 1, context_lines=4)
    assert shown(answer) == ("", 13, 4)
    assert "class Cart (lines 4-12)" in answer.note
    assert "function checkout (lines 15-16)" in answer.note
    assert shown(first) == ("", 1, 4)
    assert "class Cart" in first.note


def test_stored_symbols_of_other_bytes_are_not_used(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        here.index()
        here.path.write_bytes(b"# one more line\n" + SHOP)
        answer = here.enclosing(parse, 9)
    assert shown(answer) == ("Cart.add", 6, 4)


def test_without_a_parse_the_block_is_found_by_indentation_and_said(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        answer = here.enclosing(failing, 7)
        outer = here.enclosing(failing, 7, depth=3)
    assert shown(answer) == ("", 6, 2)
    assert "indentation" in answer.note
    assert "crashed" in answer.note
    assert outer.first_line == 4


def test_a_file_of_no_known_language_gives_a_window(tmp_path: Path) -> None:
    with place(tmp_path, b"".join(b"%d\n" % number for number in range(1, 101)), "notes") as here:
        answer = here.enclosing(never, 50, context_lines=5)
    assert answer.lines == ("48", "49", "50", "51", "52")
    assert "no known language" in answer.note


def test_a_long_symbol_comes_in_pages_that_end_with_it(tmp_path: Path) -> None:
    body = b"".join(b"    x = %d\n" % number for number in range(100))
    with place(tmp_path, b"def long():\n" + body + b"\n\nrest = 1\n") as here:
        limits = Limits(page_characters=200)
        answer = here.enclosing(parse, 60, limits=limits)
    assert answer.first_line == 1
    assert answer.next_line == len(answer.lines) + 1
    assert "line 60" in answer.note


def test_bad_numbers_and_lines_past_the_end_are_refused(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        with pytest.raises(LineOutOfRange) as refusal:
            here.enclosing(parse, 17)
        assert refusal.value.last_line == 16
        with pytest.raises(BadArgument, match=r"^`line` "):
            here.enclosing(parse, 0)
        with pytest.raises(BadArgument, match=r"^`depth` "):
            here.enclosing(parse, 1, depth=0)
        with pytest.raises(BadArgument, match=r"^`context_lines` "):
            here.enclosing(parse, 1, context_lines=0)


def symbol(name: str, container: str, parent: int, start: int, end: int) -> Symbol:
    line = LineNumber(start)
    none = ByteOffset(0)
    return Symbol(
        name, SymbolKind.FUNCTION, container, parent, line, LineNumber(end), none, none, line, Column(1), none, ""
    )


def nested(draw: st.DrawFn, start: int, end: int, container: str, parent: int, made: list[Symbol]) -> None:
    at = start
    while at <= end and draw(st.booleans()):
        first = draw(st.integers(at, end))
        last = draw(st.integers(first, end))
        name = f"f{len(made)}"
        own = len(made)
        made.append(symbol(name, container, parent, first, last))
        if last > first:
            nested(draw, first + 1, last, f"{container}.{name}" if container else name, own, made)
        at = last + 1


@st.composite
def trees(draw: st.DrawFn) -> list[Symbol]:
    made: list[Symbol] = []
    nested(draw, 1, 40, "", -1, made)
    return made


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    made = Sidecar(tmp_path_factory.mktemp("crumbs") / "index.db", "/root")
    yield made
    made.close()


@given(trees())
def test_breadcrumbs_name_the_smallest_range_around_each_line(sidecar: Sidecar, symbols: list[Symbol]) -> None:
    with sidecar.transaction() as db:
        SymbolWriter(db).put([(FileId(1), packed(symbols), "")])
    lines = range(1, 42)
    wanted = {}
    for line in lines:
        around = [one for one in symbols if one.start_line <= line <= one.end_line]
        wanted[line] = min(around, key=lambda one: one.end_line - one.start_line).path if around else ""
    with sidecar.reading() as db:
        assert breadcrumbs(db, FileId(1), lines) == wanted
        assert {line: breadcrumb(db, FileId(1), line) for line in lines} == wanted
