"""The language of a file: by name, suffix, first line, modeline and content, and nothing guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.content.languages import LANGUAGES, canonical, detect
from linedex.content.symbols.grammars import LANGUAGES as OUTLINED
from linedex.errors import BadArgument


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/app.py", "python"),
        ("a/b/APP.PY", "python"),
        ("Makefile", "make"),
        ("sub/Makefile.am", "make"),
        ("Makefile.in", "make"),
        ("Dockerfile", "dockerfile"),
        ("Dockerfile.dev", "dockerfile"),
        ("Kconfig", "kconfig"),
        ("Kconfig.hz", "kconfig"),
        ("CMakeLists.txt", "cmake"),
        ("notes.txt", "text"),
        ("README", "text"),
        ("Rakefile", "ruby"),
        ("Gemfile", "ruby"),
        ("x.gemspec", "ruby"),
        ("Jenkinsfile", "groovy"),
        (".bashrc", "bash"),
        ("x.mm", "objc"),
        ("x.hh", "cpp"),
        ("x.inl", "cpp"),
        ("x.c++", "cpp"),
        ("x.C", "cpp"),
        ("x.c", "c"),
        ("x.H", "cpp"),
        ("x.h", "c"),
        ("config.h.in", "c"),
        ("x.d.ts", "typescript"),
        ("x.tsx", "tsx"),
        ("x.jsx", "javascript"),
        ("x.phtml", "php"),
        ("view.blade.php", "php"),
        ("tsconfig.jsonc", "json"),
        ("x.mdx", "markdown"),
        ("x.xhtml", "html"),
        ("x.svg", "svg"),
        ("Cargo.lock", "toml"),
        ("x.S", "asm"),
        ("x.dts", "devicetree"),
        ("nginx.conf", ""),
        ("x.cls", "latex"),
        ("x.v", "verilog"),
        ("x.tar.gz", ""),
        (".py", ""),
        ("noext", ""),
    ],
)
def test_a_name_or_suffix_decides(path: str, language: str) -> None:
    assert detect(path.encode()) == language


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("run", b"#!/usr/bin/env python3.11\n", "python"),
        ("run", b"#!/bin/sh -e\n", "bash"),
        ("run", b"#! /usr/bin/env -S uv run --script python\n", "python"),
        ("run", b"#!/usr/bin/env -S FOO=1 node --x\n", "javascript"),
        ("run", b"#!/usr/bin/awk -f\n", "awk"),
        ("run", b"#!/usr/bin/env deno\n", "javascript"),
        ("run", b"#!/usr/bin/env escript\n", "erlang"),
        ("run", b"#!/usr/bin/runghc\n", "haskell"),
        ("run", b"#!/opt/strange\n", ""),
        ("run.py", b"#!/bin/sh\n", "python"),
        ("x", b"/* vim: set ft=c ts=4: */\nint a;\n", "c"),
        ("x", b"# -*- mode: ruby; x: y -*-\n", "ruby"),
        ("x", b"; -*- lisp -*-\n", "commonlisp"),
        ("x", b"<?php echo 1;", "php"),
        ("x", b'<?xml version="1.0"?><a/>', "xml"),
        ("x", b"  <!DOCTYPE html><html>", "html"),
        ("x", b"vim: this is prose about vim", ""),
        ("x.h", b"// class of its own\nint a;\n/*\nclass\nusing this = x;\n*/\n", "c"),
        ("x.h", b"#pragma once\nnamespace a {\n", "cpp"),
        ("x.h", b"  template <class T>\nT f();\n", "cpp"),
        ("x.h", b"struct device { struct class *class; };\n", "c"),
        ("x.h", b"#import <Foundation/Foundation.h>\n", "objc"),
        ("x.h", b"@interface A : B\n@end\n", "objc"),
        ("x.m", b"#import <A.h>\n", "objc"),
        ("x.m", b"function y = f(x)\n", "matlab"),
        ("x.m", b"say hello", ""),
        ("x.pl", b":- use_module(x).\n", "prolog"),
        ("x.pl", b"use strict;\n", "perl"),
        ("x.ts", b'<?xml version="1.0"?>\n<!DOCTYPE TS>\n', "xml"),
        ("x.ts", b"G" + b"\0" * 187 + b"G", ""),
        ("x.ts", b"const a = 1;\n", "typescript"),
        ("x.inc", b"<?php\n", "php"),
        ("script.sh.in", b"", "bash"),
    ],
)
def test_content_decides_where_the_name_does_not(path: str, head: bytes, language: str) -> None:
    assert detect(path.encode(), head) == language


def test_a_modeline_may_stand_at_the_end() -> None:
    assert detect(b"x", b"a\n" * 5000, b"a\n" * 500 + b"# vim: ft=python\n") == "python"


def test_a_header_among_cpp_sources_is_cpp() -> None:
    assert detect(b"x.h", b"int f();\n", cpp_folder=True) == "cpp"
    assert detect(b"x.h", b"int f();\n") == "c"


@pytest.mark.parametrize(
    ("name", "language"),
    [("py", "python"), ("JS", "javascript"), ("c++", "cpp"), ("C#", "csharp"), ("Python", "python"), (".rs", "rust"),
     ("golang", "go"), ("shell", "bash"), ("yml", "yaml"), ("tsx", "tsx"), ("objective-c", "objc"), ("make", "make")],
)  # fmt: skip
def test_usual_names_of_a_language_are_taken(name: str, language: str) -> None:
    assert canonical(name) == language


def test_an_unknown_language_is_refused_with_near_names() -> None:
    with pytest.raises(BadArgument, match="'pythn'") as raised:
        canonical("pythn")
    assert "python" in raised.value.hint
    with pytest.raises(BadArgument):
        canonical("")


def test_every_name_is_its_own_canonical_name_and_every_outlined_language_is_known() -> None:
    assert [canonical(name) for name in LANGUAGES] == list(LANGUAGES)
    assert set(OUTLINED) <= set(LANGUAGES)


@given(st.binary(max_size=40), st.binary(max_size=200), st.binary(max_size=100))
def test_any_bytes_are_answered_with_a_known_name_or_none(path: bytes, head: bytes, tail: bytes) -> None:
    assert detect(path, head, tail) in {"", *LANGUAGES}
