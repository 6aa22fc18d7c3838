"""Added languages: fetched only on demand, kept in a folder, and clear when they cannot be had."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest
import tree_sitter as ts
import tree_sitter_ruby

from linedex.content.symbols import add, extract, has_outline, offers, register_folder
from linedex.content.symbols.extra import converted, load_library
from linedex.content.symbols.grammars import LANGUAGES, register, rule_of
from linedex.errors import BadArgument, LinedexError
from linedex.limits import Limits
from linedex.model import SymbolKind

# a stand-in for the pack as its 1.25 behaves without a network
OFFLINE_PACK = """
class Error(Exception): pass
class DownloadError(Error): pass
def has_language(name): return name != "klingon"
def get_tags_query(name): return None if name == "cobol" else "(a name: (_) @name) @definition.class"
def download(names): raise DownloadError("Failed to fetch manifest")
def cache_dir(): return "/nonexistent"
"""


def ruby() -> ts.Language:
    return ts.Language(tree_sitter_ruby.language())


def test_every_built_in_language_is_offered_with_its_kinds() -> None:
    offered = {offer.name: offer for offer in offers()}
    assert set(offered) == set(LANGUAGES)
    assert {SymbolKind.CLASS, SymbolKind.FUNCTION, SymbolKind.CONSTRUCTOR} <= set(offered["python"].kinds)
    assert not any(offer.added for offer in offered.values())


def test_without_the_pack_adding_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tree_sitter_language_pack.py").write_text("raise ImportError('absent')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(LinedexError, match="not installed") as raised:
        add("dart", tmp_path / "state")
    assert "pip install 'linedex[languages]'" in raised.value.hint
    assert not (tmp_path / "state").exists()


@pytest.fixture
def _offline_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    pack = ModuleType("tree_sitter_language_pack")
    exec(OFFLINE_PACK, pack.__dict__)
    monkeypatch.setitem(sys.modules, "tree_sitter_language_pack", pack)


@pytest.mark.usefixtures("_offline_pack")
def test_without_a_network_adding_fails_clearly_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(LinedexError, match="could not be fetched: Failed to fetch manifest"):
        add("dart", tmp_path / "state")
    assert not (tmp_path / "state").exists()


@pytest.mark.usefixtures("_offline_pack")
@pytest.mark.parametrize(
    ("name", "words"),
    [("py", "built in"), ("klingon", "has no language"), ("cobol", "no query"), ("../x", "not a language name")],
)
def test_a_language_that_cannot_be_added_is_refused(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(BadArgument, match=words):
        add(name, tmp_path)


def test_definitions_of_a_tags_query_become_ours_and_references_go() -> None:
    tags = (files("tree_sitter_ruby") / "queries" / "tags.scm").read_text()
    query = converted(ruby(), tags)
    compiled = ts.Query(ruby(), query)
    rules = [
        rule_of(query[compiled.start_byte_for_pattern(n) : compiled.end_byte_for_pattern(n)])
        for n in range(compiled.pattern_count)
    ]
    assert {rule.kind for rule in rules} >= {SymbolKind.CLASS, SymbolKind.METHOD, SymbolKind.MODULE}
    assert "@reference" not in query


def test_an_added_language_is_outlined_like_a_built_in_one() -> None:
    tags = (files("tree_sitter_ruby") / "queries" / "tags.scm").read_text()
    register("rubyish", ruby, converted(ruby(), tags))
    assert has_outline("rubyish")
    found = extract(b"module A\n  class B\n    def c; end\n  end\nend\n", "rubyish", Limits(), full=True)
    assert [symbol.path for symbol in found.symbols] == ["A", "A.B", "A.B.c"]


def test_a_built_in_language_is_never_replaced() -> None:
    register("python", ruby, "(class name: (_) @name) @class")
    assert extract(b"class A: pass\n", "python", Limits(), full=True).symbols


def test_a_folder_of_added_languages_is_registered_without_loading_them(tmp_path: Path) -> None:
    (tmp_path / "dartish.scm").write_text("(a name: (_) @name) @class")
    (tmp_path / "dartish.so").write_bytes(b"not a library")
    (tmp_path / "lonely.scm").write_text("(a name: (_) @name) @class")
    assert register_folder(tmp_path) == ("dartish",)
    assert [offer.name for offer in offers(tmp_path) if offer.added] == ["dartish", "lonely"]
    assert register_folder(None) == ()
    assert register_folder(tmp_path / "absent") == ()


def test_a_damaged_parser_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "dartish.so").write_bytes(b"not a library")
    with pytest.raises(LinedexError, match="cannot be loaded"):
        load_library(tmp_path / "dartish.so", "dartish")


def test_an_added_language_that_cannot_be_loaded_has_no_outline_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "dartish.scm").write_text("(a name: (_) @name) @class")
    (tmp_path / "dartish.so").write_bytes(b"not a library")
    register_folder(tmp_path)
    found = extract(b"class A {}", "dartish", Limits(), full=True)
    assert found.symbols == ()
    assert "the parser of dartish cannot be loaded" in found.note
