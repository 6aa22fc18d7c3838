"""C without a parser, and with less to parse: macros alone, and bodies as blanks, change no symbol."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linedex.content.languages import detect
from linedex.content.symbols import extract, extract_stored
from linedex.content.symbols.c_bodies import blank_bodies
from linedex.content.symbols.c_defines import only_defines
from linedex.limits import Limits

SAMPLES = [path for path in (Path(__file__).parents[2] / "data" / "outlines").iterdir() if path.suffix != ".outline"]
NAMES = st.sampled_from(["A", "_b2", "REG__FIELD_MASK", "__init", "x"])
VALUES = st.sampled_from(
    [
        "",
        " 1",
        "\t0x00FFL",
        "(a, b) ((a) / (b))",
        "(x...) x",
        " (1 << 3)",
        ' "a\\tb"',
        " do { x; } while (0)",
        " it's",
        "()",
    ]
)
TAILS = st.sampled_from(["", " /* tail */", "\t/**/", " // tail", "  ", " \\\n  + 1", " \\\n  more /* end */", "\r"])
LINES = st.one_of(
    st.builds("{}define {}{}{}".format, st.sampled_from(["#", "# ", "  #\t"]), NAMES, VALUES, TAILS),
    st.sampled_from(
        [
            *(
                "",
                "   ",
                "\t\r",
                "/* one */",
                "/* of\n * two */",
                "/**\n**/",
                "// line",
                "// line  ",
                "// a /* b",
                "/* a\n",
            ),
            *("#if defined(A) && B > 2", "#ifdef A /* a */", "#else", "#endif /* A */", "#undef A", "#include <a/b.h>"),
            *("#error don't", "#pragma once", "/* a */ /* b */", "/* a */ #define C 1", "#define D 1 /* of\n two */"),
            *("#define", "#define E", "#elif A \\\n || B", "text"),
        ]
    ),
)

NO_VALUE_BUT_BLANKS = re.compile(r"(?:define[ \t]+\w+(?:\([\w, .]*\))?|\*/)[ \t\r]+$", re.MULTILINE)
"""The grammar takes the line after such a one for the macro's value, and so its range is a line too long."""


@given(st.lists(LINES, max_size=12).map("\n".join), st.sampled_from(["\n", ""]))
@settings(max_examples=400, deadline=None)
def test_macros_read_without_a_parser_are_those_the_parser_finds(text: str, end: str) -> None:
    # a declaration, which is no symbol, makes any text one for the parser
    header = (text + end).encode()
    if only_defines(header) is None or NO_VALUE_BUT_BLANKS.search(text + end):
        return
    parsed = header + b"int f(void);\n"
    assert only_defines(parsed) is None
    assert extract(header, "c", Limits(), full=True).symbols == extract(parsed, "c", Limits(), full=True).symbols


def test_a_header_of_macros_is_read_without_a_parser() -> None:
    header = b"/* licence\n */\n#ifndef A_H\n#define A_H\n\n// about B\n#define B(x) \\\n  (x)  /* tail */\n#endif\n"
    found = only_defines(header)
    assert found is not None
    assert [
        (header[row.name_start : row.name_end], header[row.start : row.end].count(b"\n")) for row in found.rows
    ] == [
        (b"A_H", 1),
        (b"B", 2),
    ]
    assert [(s.name, s.start_line, s.end_line) for s in extract_stored(header, "c", Limits()).symbols] == [
        ("A_H", 4, 4),
        ("B", 6, 8),
    ]


@pytest.mark.parametrize("line", [b"int a;\n", b"/* open\n", b"#define A", b"#define A /* open\n", b"A\n#define B\n"])
def test_a_text_with_anything_else_is_for_the_parser(line: bytes) -> None:
    assert only_defines(b"#define Z\n" + line) is None


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("most", [20_000, 3])
def test_what_is_stored_is_what_an_outline_without_members_shows(path: Path, most: int) -> None:
    text, language, limits = (
        path.read_bytes(),
        detect(path.name.encode(), path.read_bytes()[:4096]),
        Limits(outline_symbols=most),
    )
    shown = extract(text, language, limits, full=False)
    stored = extract_stored(text, language, limits)
    assert stored.note == shown.note
    assert [tuple(symbol) for symbol in stored.symbols] == [
        (s.name, s.kind, s.container, s.parent, s.start_line, s.end_line, s.line, s.column) for s in shown.symbols
    ]


def test_what_is_stored_of_a_text_over_the_size_limit_is_what_its_lines_show() -> None:
    limits = Limits(parse_bytes=10, parse_header_bytes=10)
    for text, language in ((b"int f(void);\n# define B(x) \\\n  x\n" * 2, "c"), (b"# A\n\n## B\n# C\n", "markdown")):
        shown, stored = extract(text, language, limits, full=False), extract_stored(text, language, limits)
        assert stored.note == shown.note
        assert [(s.name, s.parent, s.start_line, s.end_line, s.line, s.column) for s in stored.symbols] == [
            (s.name, s.parent, s.start_line, s.end_line, s.line, s.column) for s in shown.symbols
        ]


def test_the_name_of_a_macro_may_be_that_of_an_attribute() -> None:
    text = b"#define __init\n#define A __section(1)\nint f(void);\n"
    found = extract(text, "c", Limits(), full=True).symbols
    assert [(s.name, s.start_line, s.end_line) for s in found] == [("__init", 1, 1), ("A", 2, 2)]


# bodies

STATEMENTS = st.sampled_from(
    [
        *(
            "\treturn 0;",
            "\tif (a) {\n\t\tb();\n\t}",
            "\tstruct s *p = q;",
            "\tx = (struct s) { 1 };",
            "\t/* a comment */",
        ),
        *(
            '\tlog("#%d\\n", a);',
            "\tenum e v = f(a);",
            "",
            "again:",
            "\tfor_each(p, list) {\n\t}",
            "\tdo { } while (0);",
        ),
    ]
)


@given(
    st.lists(st.lists(STATEMENTS, max_size=5).map("\n".join), min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"])
)
@settings(max_examples=100, deadline=None)
def test_functions_are_found_whatever_their_bodies_do(bodies: list[str], newline: str) -> None:
    text = "".join(f"int f{number}(int a)\n{{\n{body}\n}}\n\n" for number, body in enumerate(bodies))
    symbols = extract(text.replace("\n", newline).encode(), "c", Limits(), full=True).symbols
    expected = []
    line = 1
    for number, body in enumerate(bodies):
        last = line + 3 + body.count("\n")
        expected.append((f"f{number}", line, last))
        line = last + 2
    assert [(s.name, s.start_line, s.end_line) for s in symbols] == expected


def test_a_body_becomes_blanks_of_the_same_length_and_lines() -> None:
    text = b"int f(void)\n{\n\treturn g();\n}\nint v;\n"
    assert blank_bodies(text) == b"int f(void)\n{\n            \n}\nint v;\n"


@pytest.mark.parametrize(
    "body",
    [
        b"\tstruct in_it { int a; } s;",
        b"\tenum\n\t{ A } e;",
        b"#define IN_IT 1",
        b"\ttypedef int t;",
        b"\tif (a) {",
        b"\t/* open",
        b"\tif (a)\n{\n\tb();\n\t}",
        b"\tunion " + b"u " * 300 + b"{ int a; };",
    ],
)
def test_a_body_that_may_hold_a_symbol_or_is_not_closed_stays(body: bytes) -> None:
    text = b"int f(void)\n{\n" + body + b"\n}\n"
    assert blank_bodies(text) == text


@pytest.mark.parametrize("head", [b"struct s", b"#if defined(A)", b"int a[] =", b"f() // x", b""])
def test_braces_behind_anything_but_a_head_stay(head: bytes) -> None:
    text = head + b"\n{\n\tint b;\n}\n"
    assert blank_bodies(text) == text


def test_an_unfinished_function_hides_none_after_it() -> None:
    text = "int f(void)\n{\n\tif (a) {\n\t\tb();\n\t}\n\t}\n\nint g(void)\n{\n\treturn 0;\n}\n"
    assert [symbol.name for symbol in extract(text.encode(), "c", Limits(), full=True).symbols] == ["f", "g"]
    empty = "void f(void)\n{}\n\nint g(void)\n{\n\treturn 0;\n}\n"
    found = extract(empty.encode(), "c", Limits(), full=True).symbols
    assert [(s.name, s.start_line, s.end_line) for s in found] == [("f", 1, 2), ("g", 4, 7)]
