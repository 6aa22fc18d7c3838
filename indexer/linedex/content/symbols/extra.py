"""Languages beyond the built-in ones: fetched once, on demand, and kept in a folder of ours.

Promise: only `add` reaches for the network, and only through tree-sitter-language-pack, which need not be installed.
What it stores (a parser library and our query) is all that `register_folder` needs: no query ever loads the pack, whose
`get_parser` downloads inside the call.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import shutil
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import tree_sitter as ts

from linedex.content.languages import canonical
from linedex.content.symbols.grammars import LANGUAGES, BadQuery, query_text, register, rule_of
from linedex.errors import BadArgument, LinedexError
from linedex.model import SymbolKind

_PACK = "tree_sitter_language_pack"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_DEFINITION = re.compile(r"@definition\.(\w+)")
_CAPTURE = re.compile(r"@([\w.-]+)")
_DIRECTIVE = re.compile(r"\(#(?:strip!|select-adjacent!|set!)[^()]*\)")
_KINDS = {kind.value: kind.value for kind in SymbolKind} | {
    "enum_variant": "enummember",
    "attribute": "field",
    "const": "constant",
    "protocol": "interface",
    "component": "class",
    "section": "string",
    "heading": "string",
}


@dataclass(frozen=True, slots=True)
class LanguageOffer:
    """A language with an outline.

    Attributes:
        name: our name for it.
        kinds: what is found in it.
        added: whether it came by `add`.
    """

    name: str
    kinds: tuple[SymbolKind, ...]
    added: bool = False


def offers(folder: Path | None = None) -> tuple[LanguageOffer, ...]:
    """Return the built-in languages and those added to `folder`, by name."""
    built_in = [LanguageOffer(name, _kinds_of(query_text(name))) for name in LANGUAGES]
    added = [LanguageOffer(path.stem, _kinds_of(path.read_text("utf-8")), added=True) for path in _queries(folder)]
    return tuple(sorted([*built_in, *added], key=lambda offer: offer.name))


def add(name: str, folder: Path) -> LanguageOffer:
    """Fetch the parser of a language and keep it, with its query in our words, in `folder`.

    Raises:
        BadArgument: it is built in, or the pack has no such language, or no query that finds definitions in it.
        LinedexError: the pack is not installed, or the parser could not be fetched or loaded.
    """
    ours = _our_name(name)
    if ours in LANGUAGES:
        raise BadArgument(f"`{ours}` is built in.", "Nothing needs to be added for it.")
    pack = _pack()
    if not pack.has_language(ours):
        raise BadArgument(
            f"The package tree-sitter-language-pack has no language {ours!r}.", "See its list of languages."
        )
    tags = pack.get_tags_query(ours)
    if not tags:
        raise BadArgument(f"The pack has a parser for {ours} but no query of definitions, so there is no outline.")
    library = _fetched(pack, ours)
    query = converted(load_library(library, ours), tags)
    if not query:
        raise BadArgument(
            f"No pattern of the pack's query for {ours} fits its parser.", "Try another version of the pack."
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _copied(library, folder / f"{ours}{library.suffix}")
    staged = folder / f".{ours}.scm"
    staged.write_text(query, "utf-8")
    staged.replace(folder / f"{ours}.scm")
    return LanguageOffer(ours, _kinds_of(query), added=True)


def register_folder(folder: Path | None) -> tuple[str, ...]:
    """Make the languages added to a folder known to this process; return their names. Loads nothing yet."""
    names = []
    for path in _queries(folder):
        library = next((p for p in path.parent.glob(f"{path.stem}.*") if p.suffix in (".so", ".dylib", ".dll")), None)
        if library is not None and path.stem not in LANGUAGES:
            register(path.stem, partial(load_library, library, path.stem), path.read_text("utf-8"))
            names.append(path.stem)
    return tuple(names)


def converted(language: ts.Language, tags: str) -> str:
    """Return the definitions of a `tags.scm` in our captures; patterns that don't fit the parser are left out."""
    encoded = tags.encode()
    query = ts.Query(language, tags)
    kept = []
    for number in range(query.pattern_count):
        pattern = encoded[query.start_byte_for_pattern(number) : query.end_byte_for_pattern(number)].decode()
        words = set(_DEFINITION.findall(pattern))
        if len(words) != 1 or "@reference." in pattern or "@name" not in pattern:
            continue
        pattern = _DIRECTIVE.sub("", _CAPTURE.sub(_our_capture, pattern)).strip()
        try:
            rule_of(pattern)
            ts.Query(language, pattern)
        except (BadQuery, ts.QueryError):
            continue
        kept.append(pattern)
    return "\n".join(kept)


def load_library(library: Path, name: str) -> ts.Language:
    """Return the language that a parser library exports.

    Raises:
        LinedexError: it is no such library, or of another version of the parser interface.
    """
    try:
        function = getattr(ctypes.CDLL(os.fspath(library)), f"tree_sitter_{name}")
        function.restype = ctypes.c_void_p
        new_capsule = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype = ctypes.py_object
        new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return ts.Language(new_capsule(function(), b"tree_sitter.Language", None))
    except (OSError, AttributeError, ValueError) as error:
        hint = f"Run `linedex languages add {name}` again."
        raise LinedexError(f"the parser of {name} cannot be loaded: {error}", hint) from error


def _our_name(name: str) -> str:
    try:
        ours = canonical(name)
    except BadArgument:
        ours = name.strip().lower()
    if not _NAME.fullmatch(ours):
        raise BadArgument(f"{name!r} is not a language name.", "Use a name such as dart, erlang or ocaml.")
    return ours


def _pack() -> Any:
    try:
        return importlib.import_module(_PACK)
    except ImportError as error:
        hint = "Install it into linedex's environment: pip install 'linedex[languages]'"
        raise LinedexError(
            "More languages come from tree-sitter-language-pack, which is not installed.", hint
        ) from error


def _fetched(pack: Any, name: str) -> Path:
    """Return the parser library of a language after having the pack download it."""
    try:
        pack.download([name])
        cache = Path(pack.cache_dir())
    except pack.Error as error:
        hint = "It is fetched from the network once; connect and try again."
        raise LinedexError(f"the parser of {name} could not be fetched: {error}", hint) from error
    suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    found = sorted(cache.rglob(f"*tree_sitter_{name}{suffix}"))
    if not found:
        raise LinedexError(f"the pack downloaded {name}, but its parser is not in {cache}")
    return found[-1]


def _copied(source: Path, target: Path) -> None:
    staged = target.with_name(f".{target.name}")
    shutil.copyfile(source, staged)
    staged.replace(target)


def _our_capture(match: re.Match[str]) -> str:
    word = match.group(1)
    if word == "name":
        return "@name"
    if word.startswith("definition."):
        return f"@{_KINDS.get(word.removeprefix('definition.'), 'object')}"
    return f"@_{word.replace('.', '_')}"


def _kinds_of(query: str) -> tuple[SymbolKind, ...]:
    words = set(_CAPTURE.findall(query))
    return tuple(kind for kind in SymbolKind if kind.value in words)


def _queries(folder: Path | None) -> list[Path]:
    return [] if folder is None else sorted(path for path in folder.glob("*.scm") if not path.name.startswith("."))
