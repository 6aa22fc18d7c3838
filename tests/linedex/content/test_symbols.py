"""What holds for symbols of every language: budgets, recovery, nesting, and that nothing raises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linedex.content.symbols import Extraction, extract, has_outline, self_test
from linedex.content.symbols.c_macros import Parentheses, mask_c, mask_cpp
from linedex.content.symbols.capture import Found
from linedex.content.symbols.grammars import LANGUAGES, BadQuery, rule_of
from linedex.content.symbols.kinds import LSP_NUMBERS
from linedex.content.symbols.line_heads import line_heads
from linedex.limits import Limits
from linedex.model import SkipReason, SymbolKind

SAMPLES = [path for path in (Path(__file__).parents[2] / "data" / "outlines").iterdir() if path.suffix != ".outline"]


def outline(text: str, language: str, limits: Limits = Limits(), *, full: bool = True) -> Extraction:  # noqa: B008
    return extract(text.encode(), language, limits, full=full)


def paths(text: str, language: str) -> list[str]:
    return [f"{symbol.kind.value} {symbol.path}" for symbol in outline(text, language).symbols]


def test_an_unknown_language_has_no_outline() -> None:
    assert not has_outline("klingon")
    assert outline("x", "klingon").reason is SkipReason.NO_LANGUAGE


def test_an_empty_text_has_an_empty_outline() -> None:
    for language in LANGUAGES:
        assert extract(b"", language, Limits(), full=True) == Extraction()


def test_a_heading_without_text_is_no_symbol() -> None:
    found = extract(b"<h1></h1><h2>x</h2>", "html", Limits(), full=True)
    assert [symbol.name for symbol in found.symbols] == ["x"]


def test_the_self_test_of_the_parser_passes() -> None:
    self_test()


# ranges


def test_a_trailing_comment_belongs_to_its_own_line() -> None:
    symbols = outline("a = 1  # about a\ndef f(): pass\n", "python").symbols
    assert [(s.name, s.start_line) for s in symbols] == [("a", 1), ("f", 2)]


def test_comments_and_attributes_directly_before_belong_to_the_symbol() -> None:
    text = "// not this\n\n// this\n// and this\n#[a] #[b]\n#[c]\nfn f() {}\n"
    (symbol,) = outline(text, "rust").symbols
    assert (symbol.start_line, symbol.line) == (3, 7)


def test_a_definition_that_ends_with_its_line_end_does_not_reach_the_next_line() -> None:
    symbols = outline("#define A 1\n#define B 2\n", "c").symbols
    assert [(s.start_line, s.end_line) for s in symbols] == [(1, 1), (2, 2)]


def test_names_declared_together_stand_side_by_side() -> None:
    symbols = outline("enum E { case a, b(Int), c }\n", "swift").symbols
    assert [(s.name, s.parent) for s in symbols] == [("E", -1), ("a", 0), ("b", 0), ("c", 0)]


def test_columns_count_code_points_and_invalid_bytes_one_each() -> None:
    text = b"x = '\xff\xfe'; y = '\xf0\x9f\x98\x80'\nclass \xc3\x9c: a = '\xc3\xa9'; b = 1\n"
    symbols = extract(text, "python", Limits(), full=True).symbols
    assert [(s.name, s.line, s.column) for s in symbols] == [
        ("x", 1, 1),
        ("y", 1, 11),
        ("Ü", 2, 7),
        ("a", 2, 10),
        ("b", 2, 19),
    ]


def test_a_long_line_of_keys_has_right_columns() -> None:
    text = '{"ä": 1' + "".join(f', "k{number}": {number}' for number in range(1500)) + "}"
    for symbol in outline(text, "json").symbols:
        assert text[symbol.column - 1 :].startswith(symbol.name)


# languages


def test_go_methods_carry_their_receiver_and_cpp_methods_their_class() -> None:
    assert paths("package p\nfunc (s *Set[T]) Add(x T) {}\n", "go")[1] == "method Set.Add"
    assert paths("int ns::Box<int, Pair<a>>::get() { return 1; }\n", "cpp") == ["method ns.Box.get"]


def test_extern_functions_of_rust_are_functions() -> None:
    assert paths('extern "C" { fn f(); }\n', "rust") == ["function f"]


def test_clauses_of_one_name_are_one_symbol_unless_their_arity_differs() -> None:
    clauses = ["def f(1), do: 1", "def f(2), do: 2", "def f(1, 2), do: 3", "def g, do: 1", "def f(3), do: 3"]
    text = "\n".join(["defmodule A do", *clauses, "end"])
    assert paths(text, "elixir") == ["module A", "function A.f", "function A.f", "function A.g", "function A.f"]
    assert paths("f :: Int -> Int\nf 0 = 1\nf n = n\ng = f\n", "haskell") == ["function f", "function g"]


def test_an_anonymous_struct_takes_the_name_of_its_typedef() -> None:
    assert paths("typedef struct { int a; } box;\n", "c") == ["type box", "field box.a"]
    assert paths("typedef struct box { int a; } box_t;\n", "c") == ["type box_t", "struct box", "field box.a"]


def test_a_namespace_without_braces_reaches_to_the_next_one() -> None:
    text = "<?php\nnamespace A;\nclass X {}\nnamespace B;\nfunction f() {}\n"
    symbols = outline(text, "php").symbols
    assert [(s.path, s.start_line, s.end_line) for s in symbols] == [
        ("A", 2, 3),
        ("A.X", 3, 3),
        ("B", 4, 5),
        ("B.f", 5, 5),
    ]


# masking and recovery


@given(st.sampled_from([path.read_bytes() for path in SAMPLES if path.suffix in (".c", ".cpp")]), st.data())
@settings(max_examples=50, deadline=None)
def test_masking_keeps_length_and_lines(text: bytes, data: st.DataObject) -> None:
    cut = text[data.draw(st.integers(0, len(text))) :]
    for mask in (mask_c, mask_cpp):
        masked = mask(cut).text
        assert len(masked) == len(cut)
        assert [i for i, byte in enumerate(masked) if byte == 10] == [i for i, byte in enumerate(cut) if byte == 10]


def test_parentheses_that_never_close_are_looked_at_only_so_often() -> None:
    parentheses = Parentheses(0)
    assert parentheses.closing(b"f(a(b)c) d", 1) == 8
    for _ in range(3):
        assert parentheses.closing(b"(" * 5_000, 0) == -1
    assert parentheses.closing(b"()", 0) == -1


def test_a_function_that_a_macro_defines_has_its_real_name() -> None:
    (symbol,) = outline("SYSCALL_DEFINE2(open, const char *, name, int, flags)\n{\n\treturn 0;\n}\n", "c").symbols
    assert (symbol.name, symbol.line, symbol.column, symbol.end_line) == ("open", 1, 17, 4)
    assert symbol.signature.startswith("SYSCALL_DEFINE2(open")


def test_c_functions_after_an_unbalanced_brace_are_found() -> None:
    damaged = "int a(void)\n{\n#ifdef X\n\tif (1) {\n#else\n\tif (2) {\n#endif\n\t}\n}\n"
    text = damaged + "\nstatic int\nb(int x)\n{\n\treturn 1;\n}\nint c(void) { return 0; }\n"
    found = outline(text, "c").symbols
    assert [(s.name, s.parent) for s in found] == [("a", -1), ("b", -1), ("c", -1)]


def test_defines_inside_an_initialiser_are_found_but_not_those_in_comments() -> None:
    text = "int t[] = {\n#define A 1\n  A,\n};\n/*\n#define NOT 1\n*/\n"
    assert [path for path in paths(text, "c") if path.startswith("macro")] == ["macro A"]


def test_a_damaged_kotlin_file_keeps_what_its_lines_define() -> None:
    text = (SAMPLES[0].parent / "broken.kt").read_text("utf-8")
    found = outline(text, "kotlin")
    assert [symbol.path for symbol in found.symbols if symbol.kind.value != "package"] == [
        "OneLine",
        "OneLine.draw",
        "After",
        "After.kept",
        "Last",
    ]
    assert found.recovered > 0
    assert found.note == f"{found.recovered} recovered by lines"


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("java", "@A public final class X {\n  enum E { A }\n}\n", ["class X", "enum E"]),
        ("csharp", "namespace N.M {\n  public sealed class X {\n  }\n}\n", ["namespace N.M", "class X"]),
        ("swift", "@objc public struct S {\n  static func f() {\n  }\n}\n", ["struct S", "function f"]),
        ("scala", "sealed trait T\ncase class C(a: Int)\n  private def f = 1\n", ["trait T", "class C", "function f"]),
        ("php", "<?php\nabstract class C {\n  public function &f() {\n  }\n}\n", ["class C", "function f"]),
        ("rust", "pub(crate) async fn f() {\n}\nmod m {\n}\n", ["function f", "module m"]),
        ("go", "func (s *Set[T]) Add(x T) {\n}\nfunc Map[K any](k K) {\n}\n", ["function Add", "function Map"]),
        ("javascript", "export default async function* f() {\n}\nclass $A {\n}\n", ["function f", "class $A"]),
        ("tsx", "export interface P {\n}\nabstract class A {\n}\n", ["interface P", "class A"]),
        (
            "cpp",
            "template <class T> class V final : B {\n};\nstruct s *p;\nnamespace a {\n}\n",
            ["class V", "namespace a"],
        ),
        ("kotlin", "data class D(val a: Int)\nfun <T> List<T>.f() = 1\n", ["class D", "function f"]),
    ],
)
def test_lines_that_define_something_are_known_in_every_language(language: str, text: str, expected: list[str]) -> None:
    source = text.encode()
    rows = list(line_heads(source, language, Found()))
    assert [f"{row.kind} {source[row.name_start : row.name_end].decode()}" for row in rows] == expected
    for row in rows:
        if row.body >= 0:
            assert source[row.body : row.body + 1] == b"{"
            assert source[row.end - 1 : row.end] == b"}"


def test_a_head_in_a_comment_or_a_string_defines_nothing() -> None:
    text = b'/*\nclass A {\n*/\n// class B {\nString s = "\\\nclass C {";\nclass D {\n}\n'
    assert [text[row.name_start : row.name_end] for row in line_heads(text, "java", Found())] == [b"D"]


# budgets


def test_a_text_over_the_size_limit_is_not_parsed_and_says_so() -> None:
    limits = Limits(parse_bytes=20, parse_header_bytes=100)
    text = "def f(): pass\n" * 3
    assert outline(text, "python", limits).symbols
    found = outline(text, "python", limits, full=False)
    assert found.symbols == ()
    assert found.reason is SkipReason.TOO_LARGE
    assert found.note == "not outlined: 0.0 KiB, over the limit of 0.0 KiB"
    assert outline("x" * 5_452_596, "python").note == "not outlined: 5.2 MiB, over the limit of 2.0 MiB"


def test_defines_and_headings_are_listed_even_over_the_size_limit() -> None:
    limits = Limits(parse_bytes=10, parse_header_bytes=10)
    found = outline("int f(void);\n#define A 1\n# define B(x) \\\n  x\nint g;\n", "c", limits)
    assert [(s.name, s.start_line, s.end_line) for s in found.symbols] == [("A", 2, 2), ("B", 3, 4)]
    assert found.reason is SkipReason.TOO_LARGE
    assert "only its #define lines" in found.note
    found = outline("# A\n\n## B #\n```\n# no\n```\n# C\n", "markdown", limits)
    assert [(s.path, s.start_line, s.end_line) for s in found.symbols] == [("A", 1, 6), ("A.B", 3, 6), ("C", 7, 7)]


def test_minified_scripts_are_not_outlined() -> None:
    line = "function f(){return 1}" * 30 + "\n"
    found = outline(line * 3, "javascript")
    assert (found.symbols, found.reason) == ((), SkipReason.MINIFIED)
    long = "function f() {}\n" * 3000 + "x = '" + "y" * 25_000 + "'\n"
    assert outline(long, "javascript").reason is SkipReason.MINIFIED
    assert outline(line * 3, "python").reason is None


def test_symbols_over_the_limit_are_cut_and_counted() -> None:
    found = outline("def f(): pass\n" * 9, "python", Limits(outline_symbols=4))
    assert len(found.symbols) == 4
    assert (found.note, found.reason) == ("cut at 4 of 9 symbols", SkipReason.TOO_MANY)


def test_keys_of_data_are_bounded_in_depth_and_number() -> None:
    text = '{"a": {"b": [{"c": {"d": 1}}]}, "e": 1, "f": 2}'
    assert paths(text, "json") == ["object a", "object a.b", "object a.b.c", "key e", "key f"]
    found = outline(text, "json", Limits(data_keys=3))
    assert len(found.symbols) == 3
    assert (found.note, found.reason) == ("only the first 3 keys", SkipReason.TOO_MANY)


def test_keys_far_into_a_large_text_are_found_once_each() -> None:
    text = "{" + ",\n".join(f'"k{number}": "{"x" * 500}"' for number in range(1000)) + "}"
    assert [symbol.name for symbol in outline(text, "json").symbols] == [f"k{number}" for number in range(1000)]


def test_a_parse_over_its_time_is_given_up() -> None:
    found = outline("x = (1)\n" * 10_000, "python", Limits(parse_seconds=0.0))
    assert (found.symbols, found.reason) == ((), SkipReason.OVER_BUDGET)
    assert "parsing took over 0 s" in found.note
    assert outline("def f(): pass\n", "python", Limits(parse_seconds=0.0)).symbols  # too small to need the limit


def test_the_parser_is_usable_after_a_parse_was_given_up() -> None:
    limits = Limits(parse_seconds=0.0)
    for _ in range(3):
        outline("x = (1)\n" * 10_000, "python", limits)
    assert paths("def f(): pass\n", "python") == ["function f"]


def test_ten_thousand_nested_brackets_raise_nothing() -> None:
    for language in ("c", "python", "json", "javascript"):
        extract(b"[" * 10_000, language, Limits(), full=True)


@given(st.sampled_from(SAMPLES), st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_texts_raise_nothing_and_still_nest(path: Path, data: st.DataObject) -> None:
    from linedex.content.languages import detect

    text = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 9))] = data.draw(
            st.sampled_from([b"", b"{", b"}", b"(", b'"', b"\xff\n"])
        )
    symbols = extract(bytes(text), detect(path.name.encode()), Limits(), full=True).symbols
    for ordinal, symbol in enumerate(symbols):
        assert symbol.parent < ordinal
        assert 0 <= symbol.start_byte <= symbol.end_byte <= len(text)
        if symbol.parent >= 0:
            parent = symbols[symbol.parent]
            assert parent.start_byte <= symbol.start_byte
            if symbol.kind.value not in ("variable", "constant", "field", "key"):
                assert symbol.end_byte <= parent.end_byte


# query files


def test_every_kind_has_a_number_in_lsp() -> None:
    assert set(LSP_NUMBERS) == set(SymbolKind)


@pytest.mark.parametrize(
    "pattern",
    ["(a name: (_) @name) @widget", "(a name: (_) @name)", "(a (_) @name @class) @function", "(a) @definition.class"],
)
def test_a_query_that_says_what_the_engine_does_not_know_is_refused(pattern: str) -> None:
    with pytest.raises(BadQuery):
        rule_of(pattern)


def test_a_query_may_hold_an_at_sign_in_a_string() -> None:
    assert rule_of('(a operator: "@" @_x name: (_) @name (#eq? @_x "@")) @type').kind is SymbolKind.TYPE


def test_limits_are_those_given() -> None:
    found = outline("def f(): pass\n" * 9, "python", replace(Limits(), outline_symbols=1))
    assert len(found.symbols) == 1
