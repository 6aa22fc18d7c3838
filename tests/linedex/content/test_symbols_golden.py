"""Outlines of the samples in tests/data/outlines, one text form a sample, in every spelling of the same text.

After an intended change, write them anew: LINEDEX_WRITE_GOLDEN=1 pytest tests/linedex/content/test_symbols_golden.py
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import tree_sitter as ts

from linedex.content.languages import detect
from linedex.content.symbols import extract
from linedex.content.symbols.grammars import LANGUAGES, load_grammar, rule_of
from linedex.limits import Limits
from linedex.model import Symbol

SAMPLES = Path(__file__).parents[2] / "data" / "outlines"
FILES = sorted(path for path in SAMPLES.iterdir() if path.suffix != ".outline")


def language_of(path: Path) -> str:
    return detect(os.fsencode(path.name), path.read_bytes())


def depth(symbols: tuple[Symbol, ...], symbol: Symbol) -> int:
    return 0 if symbol.parent < 0 else 1 + depth(symbols, symbols[symbol.parent])


def printed(text: bytes, language: str) -> str:
    found = extract(text, language, Limits(), full=True)
    rows = [
        f"{'  ' * depth(found.symbols, s)}{s.start_line}-{s.end_line} {s.kind.value} {s.path} "
        f"@{s.line}:{s.column} | {s.signature}"
        for s in found.symbols
    ]
    return "\n".join([*rows, *([f"({found.note})"] if found.note else []), ""])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_outline_of_a_sample_is_as_recorded(path: Path) -> None:
    golden = path.with_name(path.name + ".outline")
    outline = printed(path.read_bytes(), language_of(path))
    if os.environ.get("LINEDEX_WRITE_GOLDEN"):
        golden.write_text(outline, "utf-8")
    assert outline == golden.read_text("utf-8")


def test_every_language_has_a_sample() -> None:
    assert {language_of(path) for path in FILES} == set(LANGUAGES)


def _as_utf_16(text: str) -> bytes:
    return text.encode("utf-16").decode("utf-16").encode()


def _as_latin_1(text: str) -> bytes:
    return text.encode("latin-1").decode("latin-1").encode()


def _with_bom(text: str) -> bytes:
    return text.encode("utf-8-sig").removeprefix(b"\xef\xbb\xbf")


def _with_cr(text: str) -> bytes:
    return text.replace("\n", "\r").encode().replace(b"\r", b"\n")


def _with_crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("spelling", [_as_utf_16, _as_latin_1, _with_bom, _with_cr, _with_crlf])
def test_the_outline_is_the_same_in_every_spelling(path: Path, spelling: Callable[[str], bytes]) -> None:
    text = path.read_text("utf-8")
    assert printed(spelling(text), language_of(path)) == printed(text.encode(), language_of(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("crlf", [False, True])
def test_positions_point_at_what_they_name(path: Path, crlf: bool) -> None:
    text = path.read_bytes()
    text = text.replace(b"\n", b"\r\n") if crlf else text
    symbols = extract(text, language_of(path), Limits(), full=True).symbols
    lines = text.split(b"\n")
    for symbol in symbols:
        first_word = symbol.name.split()[0].encode()
        assert text[symbol.name_byte :].startswith(first_word)
        before = b"\n".join(lines[: symbol.line - 1])
        line_start = len(before) + 1 if symbol.line > 1 else 0
        in_line = symbol.name_byte - line_start
        assert 0 <= in_line <= len(lines[symbol.line - 1])
        assert symbol.column == len(lines[symbol.line - 1][:in_line].decode()) + 1
        assert symbol.start_line == text[: symbol.start_byte].count(b"\n") + 1
        assert symbol.end_line == text[: symbol.end_byte - 1].count(b"\n") + 1
        assert symbol.start_byte <= symbol.name_byte < symbol.end_byte <= len(text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_symbols_nest_and_parents_come_first(path: Path) -> None:
    symbols = extract(path.read_bytes(), language_of(path), Limits(), full=True).symbols
    for ordinal, symbol in enumerate(symbols):
        if symbol.parent >= 0:
            parent = symbols[symbol.parent]
            assert symbol.parent < ordinal
            assert parent.start_byte <= symbol.start_byte
            assert symbol.end_byte <= parent.end_byte
    starts = [symbol.start_byte for symbol in symbols]
    assert starts == sorted(starts)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_is_stored_is_the_whole_outline_without_members_and_keys(path: Path) -> None:
    language = language_of(path)
    whole = extract(path.read_bytes(), language, Limits(), full=True).symbols
    stored = extract(path.read_bytes(), language, Limits(), full=False).symbols
    if LANGUAGES[language].data:
        assert stored == ()
        return
    left = [symbol for symbol in whole if symbol.kind.value not in ("field", "enummember", "key")]
    assert [(s.path, s.kind, s.start_byte, s.end_byte, s.line, s.column, s.signature) for s in stored] == [
        (s.path, s.kind, s.start_byte, s.end_byte, s.line, s.column, s.signature) for s in left
    ]
    assert all(symbol.parent < ordinal for ordinal, symbol in enumerate(stored))


def _query_files() -> list[str]:
    return sorted({name for spec in LANGUAGES.values() for name in spec.queries})


@pytest.mark.parametrize("query_file", _query_files())
def test_every_pattern_of_a_query_matches_in_a_sample(query_file: str) -> None:
    unmatched: set[str] | None = None
    for language, spec in LANGUAGES.items():
        if query_file not in spec.queries:
            continue
        patterns = _patterns(language, query_file)
        matched = set()
        for path in FILES:
            if language_of(path) == language:
                matched |= _matched(language, query_file, path.read_bytes())
        missing = {text for number, text in enumerate(patterns) if number not in matched}
        unmatched = missing if unmatched is None else unmatched & missing
    assert unmatched == set()


def _query(language: str, query_file: str) -> tuple[ts.Query, bytes]:
    import linedex.content.symbols as package

    text = (Path(package.__file__).parent / "queries" / f"{query_file}.scm").read_bytes()
    return ts.Query(load_grammar(language, full=True).parser.language, text.decode()), text  # type: ignore[arg-type]


def _patterns(language: str, query_file: str) -> list[str]:
    query, text = _query(language, query_file)
    found = [
        text[query.start_byte_for_pattern(number) : query.end_byte_for_pattern(number)].decode()
        for number in range(query.pattern_count)
    ]
    for pattern in found:
        rule_of(pattern)
    return found


def _matched(language: str, query_file: str, text: bytes) -> set[int]:
    query, _ = _query(language, query_file)
    root = load_grammar(language, full=True).parser.parse(text).root_node
    return {number for number, _ in ts.QueryCursor(query).matches(root)}
