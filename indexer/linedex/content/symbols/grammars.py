"""Which grammar and which query files serve a language, and what is particular about its symbols.

Promise: a grammar is loaded and its query compiled at first use (11 to 145 ms), once a process; a query that uses a
capture the engine does not know, or a kind that does not exist, fails when it is loaded, not when it matches.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib.resources import files

import tree_sitter as ts

from linedex.content.symbols.kinds import UNSTORED
from linedex.model import SymbolKind


@dataclass(frozen=True, slots=True)
class LanguageSpec:
    """What the engine must know of a language.

    Attributes:
        module: the grammar's Python module, without `tree_sitter_`.
        queries: query files, in order; an earlier pattern wins.
        factory: function of the module that gives the grammar.
        quotes: characters taken off both ends of a name.
        name_stop: character at which a name is cut, or "".
        data: whether its symbols are keys of data: never local, bounded in depth and number, not stored.
        nested_functions: False where a function inside a function is a macro the grammar took for one.
        joins_clauses: whether neighbouring definitions of one name (and arity) are one symbol.
        masks: which pass over the text comes before the parse: "c", "cpp" or "".
        methods_by_container: whether a function with a written container (`A::f`) is a method.
    """

    module: str
    queries: tuple[str, ...]
    factory: str = "language"
    quotes: str = "\"'`"
    name_stop: str = ""
    data: bool = False
    nested_functions: bool = True
    joins_clauses: bool = False
    masks: str = ""
    methods_by_container: bool = False


LANGUAGES: dict[str, LanguageSpec] = {
    "bash": LanguageSpec("bash", ("bash",), name_stop="="),
    "c": LanguageSpec("c", ("c",), nested_functions=False, masks="c"),
    "cpp": LanguageSpec("cpp", ("cpp", "c"), masks="cpp", methods_by_container=True),
    "csharp": LanguageSpec("c_sharp", ("csharp",)),
    "css": LanguageSpec("css", ("css",)),
    "elixir": LanguageSpec("elixir", ("elixir",), quotes="\"'`: ", joins_clauses=True),
    "go": LanguageSpec("go", ("go",)),
    "haskell": LanguageSpec("haskell", ("haskell",), quotes="", joins_clauses=True),
    "html": LanguageSpec("html", ("html",)),
    "java": LanguageSpec("java", ("java",)),
    "javascript": LanguageSpec("javascript", ("ecma", "javascript")),
    "json": LanguageSpec("json", ("json",), data=True),
    "kotlin": LanguageSpec("kotlin", ("kotlin",)),
    "lua": LanguageSpec("lua", ("lua",)),
    "markdown": LanguageSpec("markdown", ("markdown",), quotes=""),
    "php": LanguageSpec("php", ("php",), factory="language_php"),
    "python": LanguageSpec("python", ("python",)),
    "ruby": LanguageSpec("ruby", ("ruby",), quotes="\"'`:"),
    "rust": LanguageSpec("rust", ("rust",)),
    "scala": LanguageSpec("scala", ("scala",)),
    "sql": LanguageSpec("sql", ("sql",)),
    "swift": LanguageSpec("swift", ("swift",)),
    "toml": LanguageSpec("toml", ("toml",), data=True),
    "tsx": LanguageSpec("typescript", ("ecma", "typescript"), factory="language_tsx"),
    "typescript": LanguageSpec("typescript", ("ecma", "typescript"), factory="language_typescript"),
    "yaml": LanguageSpec("yaml", ("yaml",), data=True),
    "zig": LanguageSpec("zig", ("zig",)),
}
"""Our name of a language -> how its symbols are found."""


class Role(Enum):
    """What a pattern of a query says."""

    SYMBOL = "symbol"
    DOC = "doc"
    WRAP = "wrap"
    SCOPE = "scope"


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern of a query: its role, and its kind when it finds a symbol."""

    role: Role
    kind: SymbolKind | None = None


_MODIFIERS = frozenset({"name", "declarator", "container", "inner", "arity", "open"})
_ROLES = {"doc": Role.DOC, "wrap": Role.WRAP, "scope": Role.SCOPE}
_KINDS = frozenset(kind.value for kind in SymbolKind)
_STRINGS_AND_COMMENTS = re.compile(r'"(?:\\.|[^"\\])*"|;[^\n]*')
_CAPTURE = re.compile(r"@([\w.-]+)")


@dataclass(frozen=True, slots=True)
class Grammar:
    """A loaded language: parser, compiled query, and the meaning of each of its patterns."""

    language: str
    spec: LanguageSpec
    parser: ts.Parser
    query: ts.Query
    rules: tuple[Rule, ...] = field(repr=False)


class BadQuery(ValueError):
    """A query file says something the engine does not understand."""


@dataclass(frozen=True, slots=True)
class _Added:
    spec: LanguageSpec
    load: Callable[[], ts.Language]
    query: str


_added: dict[str, _Added] = {}


def has_outline(language: str) -> bool:
    """Return whether symbols of `language` can be found."""
    return language in LANGUAGES or language in _added


def spec_of(language: str) -> LanguageSpec:
    """Return what the engine must know of a language that `has_outline`."""
    return LANGUAGES[language] if language in LANGUAGES else _added[language].spec


def register(language: str, load: Callable[[], ts.Language], query: str) -> None:
    """Make an added language known to this process. A built-in language is never replaced."""
    if language not in LANGUAGES:
        _added[language] = _Added(LanguageSpec("", ()), load, query)
        load_grammar.cache_clear()


def registered() -> tuple[str, ...]:
    """Return the names of the added languages."""
    return tuple(sorted(_added))


def query_text(language: str) -> str:
    """Return the query of a language: its files one after the other."""
    if language in _added:
        return _added[language].query
    folder = files("linedex.content.symbols") / "queries"
    return "\n".join((folder / f"{name}.scm").read_text(encoding="utf-8") for name in LANGUAGES[language].queries)


@cache
def load_grammar(language: str, *, full: bool) -> Grammar:
    """Return the grammar of a language, loaded once a process.

    Args:
        language: one that `has_outline`.
        full: also with the patterns of kinds that are not stored; without them a third fewer matches cross into
            Python.

    Raises:
        BadQuery: the query uses an unknown capture or kind, or a pattern has no role.
    """
    spec = spec_of(language)
    if language in _added:
        grammar = _added[language].load()
    else:
        grammar = ts.Language(getattr(importlib.import_module(f"tree_sitter_{spec.module}"), spec.factory)())
    text = query_text(language)
    query = ts.Query(grammar, text)
    encoded = text.encode()
    rules = []
    for pattern in range(query.pattern_count):
        source = encoded[query.start_byte_for_pattern(pattern) : query.end_byte_for_pattern(pattern)].decode()
        rule = rule_of(source)
        # a member with a body can hold what is stored (a Java enum constant with methods)
        if not full and rule.kind in UNSTORED and "body:" not in source:
            query.disable_pattern(pattern)
        rules.append(rule)
    return Grammar(language, spec, ts.Parser(grammar), query, tuple(rules))


def rule_of(pattern: str) -> Rule:
    """Return what one pattern of a query file says.

    Raises:
        BadQuery: it uses a capture that is neither a kind nor a word of the engine, or has no or several roles.
    """
    captures = set(_CAPTURE.findall(_STRINGS_AND_COMMENTS.sub('""', pattern)))
    words = {capture for capture in captures if not capture.startswith("_")} - _MODIFIERS
    if unknown := words - _KINDS - set(_ROLES):
        raise BadQuery(f"unknown capture @{min(unknown)} in the pattern {pattern.strip()!r}")
    if len(words) != 1:
        raise BadQuery(f"a pattern needs one kind or role, this has {sorted(words)}: {pattern.strip()!r}")
    word = words.pop()
    if word in _ROLES:
        return Rule(_ROLES[word])
    return Rule(Role.SYMBOL, SymbolKind(word))
