"""Which language a file is written in, by our own table: name, suffix, first line, modeline, then content.

Promise: `detect` costs a few microseconds and never guesses: a file that no rule knows has no language (""), is
searched like any other and only goes without an outline. A wrong language would cost time and give a false outline.

The tables that ship with parser packs were measured and left aside: they call every `.txt` a vim help file and know
no Makefile, Dockerfile or Kconfig.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

import re2

from linedex.content.language_table import ALIASES, INTERPRETERS, NAMES, SUFFIXES
from linedex.errors import BadArgument

LANGUAGES: tuple[str, ...] = tuple(sorted({*SUFFIXES, *NAMES}))
"""Every language name that `detect` can give."""

_BY_NAME: dict[bytes, str] = {name.encode(): language for language, names in NAMES.items() for name in names.split()}
_BY_SUFFIX: dict[bytes, str] = {
    suffix.encode(): language for language, suffixes in SUFFIXES.items() for suffix in suffixes.split()
}
_STEMS = frozenset(
    {b"Dockerfile", b"Containerfile", b"Makefile", b"GNUmakefile", b"Kconfig", b"Kbuild", b"Jenkinsfile"}
)
"""Names that keep their meaning with any unknown suffix, as in `Dockerfile.dev`."""
_BY_CASED_SUFFIX = {b"C": "cpp", b"H": "cpp"}
_BY_INTERPRETER = {program: language for language, programs in INTERPRETERS.items() for program in programs.split()}
_BY_ALIAS = {alias: language for language, aliases in ALIASES.items() for alias in aliases.split()}

_MODELINE_VIM = re.compile(rb"\b(?:vim?|ex):[^\n]{0,200}?\b(?:ft|filetype|syntax)=([\w+#-]+)")
_MODELINE_EMACS = re.compile(rb"-\*-(?:[^\n]{0,200}?\bmode:)?[ \t]*([\w+#-]+)[ \t]*(?:;[^\n]{0,200}?)?-\*-")
_VERSION = re.compile(r"[\d.]+$")
_COMMENTS = re.compile(rb"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_BYTES = re2.Options()
_BYTES.encoding = re2.Options.Encoding.LATIN1
# by RE2, since every header is asked: both expressions take 20 us where `re` took 70
_CPP_LINE = re2.compile(
    rb"(?m)^[ \t]*(?:class[ \t]+\w|(?:inline[ \t]+)?namespace\b[ \t\w:]*(?:\{|$)|template[ \t]*<"
    rb"|using[ \t]+[\w: \t]+[=;]|(?:public|private|protected)(?:[ \t]+\w+)?[ \t]*:)",
    _BYTES,
)
_OBJECTIVE_C_LINE = re2.compile(
    rb"(?m)^[ \t]*(?:@(?:interface|import|protocol|implementation|class)\b|#[ \t]*import\b)", _BYTES
)
_MATLAB_LINE = re.compile(rb"^[ \t]*(?:%|function\b)", re.MULTILINE)
_PROLOG_LINE = re.compile(rb"^(?::-|[a-z]\w*(?:\([^\n]*\))?[ \t]*:-)", re.MULTILINE)
_XML_HEAD = re.compile(rb"\s*<(?:\?xml\b|!DOCTYPE TS\b)")
_TRANSPORT_STREAM_PACKET = 188


def canonical(name: str) -> str:
    """Return our name for the language `name`, in any case and by any usual alias (`py`, `c++`, `C#`).

    Raises:
        BadArgument: no such language; the hint names near ones.
    """
    folded = name.strip().lower().lstrip(".")
    if folded in _LANGUAGE_SET:
        return folded
    known = _BY_ALIAS.get(folded) or _BY_SUFFIX.get(folded.encode())
    if known:
        return known
    near = get_close_matches(folded, [*LANGUAGES, *_BY_ALIAS], n=4, cutoff=0.6)
    hint = f"Did you mean {', '.join(near)}?" if near else "Use a language name such as python, typescript or c."
    raise BadArgument(f"No language is called {name!r}.", hint)


def detect(path: bytes, head: bytes = b"", tail: bytes = b"", *, cpp_folder: bool = False) -> str:
    """Return the language of a file, or "" when no rule knows it.

    Args:
        path: its path or name.
        head: the first bytes of its text, at most 64 KiB are looked at; b"" judges by the name alone.
        tail: the last bytes of its text, for a modeline there.
        cpp_folder: whether its folder holds C++ sources and no C sources; decides `.h` files that could be either.
    """
    name = path[path.rfind(b"/") + 1 :]
    known = _BY_NAME.get(name) or _BY_NAME.get(name.lower())
    if known is not None:
        return known
    language, settled = _by_suffix(name, head, cpp_folder)
    if settled:
        return language
    stem = name[: name.find(b".", 1)]
    if stem in _STEMS:
        return _BY_NAME[stem]
    return _by_first_line(head) or _by_modeline(head, tail) or _by_content(head)


def _by_suffix(name: bytes, head: bytes, cpp_folder: bool) -> tuple[str, bool]:
    """Return the language by the longest known suffix, and whether that settles it ("" may be a settled answer)."""
    dot = name.find(b".", 1)
    while dot >= 0:
        suffix = name[dot + 1 :]
        if suffix in _BY_CASED_SUFFIX:
            return _BY_CASED_SUFFIX[suffix], True
        suffix = suffix.lower()
        if suffix in (b"in", b"inc", b"template", b"tmpl", b"sample", b"example", b"dist", b"orig", b"bak"):
            below = detect(name[:dot], head, cpp_folder=cpp_folder) if dot else ""
            return below, bool(below)
        known = _BY_SUFFIX.get(suffix)
        if known is not None:
            return _by_ambiguous_suffix(suffix, known, head, cpp_folder), True
        dot = name.find(b".", dot + 1)
    return "", False


def _by_ambiguous_suffix(suffix: bytes, known: str, head: bytes, cpp_folder: bool) -> str:
    if suffix == b"h":
        return _header(head, cpp_folder)
    if suffix in (b"ts", b"tsx"):
        return _typescript(known, head)
    if suffix == b"m":
        if _OBJECTIVE_C_LINE.search(head):
            return "objc"
        return "matlab" if _MATLAB_LINE.search(head) else ""
    if suffix == b"pl":
        return "prolog" if _PROLOG_LINE.search(head) else "perl"
    return known


def _header(head: bytes, cpp_folder: bool) -> str:
    head = head[: 64 << 10]
    if _OBJECTIVE_C_LINE.search(head):
        return "objc"
    # a line of a comment may look like one of code
    if _CPP_LINE.search(head) and _CPP_LINE.search(_COMMENTS.sub(b"", head)):
        return "cpp"
    return "cpp" if cpp_folder else "c"


def _typescript(known: str, head: bytes) -> str:
    if not head:
        return known
    if _XML_HEAD.match(head):
        return "xml"
    packets = head[: 4 * _TRANSPORT_STREAM_PACKET : _TRANSPORT_STREAM_PACKET]
    video = len(packets) > 1 and packets.count(b"G") == len(packets)
    return "" if video or b"\0" in head[:4096] else known


def _by_first_line(head: bytes) -> str:
    """Return the language by `#!`, seen through `env`, its options, `NAME=value`, `uv run` and version numbers."""
    if not head.startswith(b"#!"):
        return ""
    line = head[2:256].split(b"\n", 1)[0].decode("utf-8", "replace")
    for word in line.split():
        program = word.rsplit("/", 1)[-1]
        if program in ("env", "uv", "run", "nix-shell", "exec") or word.startswith("-") or "=" in word:
            continue
        return _BY_INTERPRETER.get(program) or _BY_INTERPRETER.get(_VERSION.sub("", program).rstrip("-"), "")
    return ""


def _by_modeline(head: bytes, tail: bytes) -> str:
    first = b"\n".join(head[:4096].split(b"\n", 5)[:5])
    last = b"\n".join((tail or head)[-4096:].rsplit(b"\n", 6)[-6:])
    for text in (first, last):
        if b":" not in text and b"-*-" not in text:
            continue
        match = _MODELINE_VIM.search(text) or (_MODELINE_EMACS.search(text) if text is first else None)
        if match:
            word = match.group(1).decode("ascii", "replace").lower()
            found = word if word in _LANGUAGE_SET else _BY_ALIAS.get(word, "")
            if found:
                return found
    return ""


def _by_content(head: bytes) -> str:
    start = head[:512].lstrip()
    if start.startswith(b"<?php"):
        return "php"
    if start.startswith(b"<?xml"):
        return "svg" if b"<svg" in head[:2048] else "xml"
    folded = start[:64].lower()
    if folded.startswith((b"<!doctype html", b"<html")):
        return "html"
    if start.startswith((b"diff --git ", b"--- a/")):
        return "diff"
    return ""


_LANGUAGE_SET = frozenset(LANGUAGES)
