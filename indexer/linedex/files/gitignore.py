r"""The rules of one ignore file, in gitignore syntax, byte for byte as git reads them.

Promise: `Rules.verdict` answers as git's own matching does, quirks included, for any rule and any name. Names and
rules are bytes, so `?` is one byte. Matching takes linear time whatever the rule, for globs become RE2 patterns.

Speed comes from asking a whole folder at once: `Rules.suspects` returns the few names that a rule may match, by one
set intersection and one search over all names joined, so a folder without ignored names costs microseconds.

Source: git's Documentation/gitignore.txt, dir.c (parse_path_pattern, match_basename, match_pathname) and wildmatch.c.
"""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import re2

_BOM = b"\xef\xbb\xbf"
_SPECIAL = frozenset(b"*?[\\")
_STAR, _QUESTION, _OPEN, _CLOSE, _BACKSLASH, _SLASH, _DASH = b"*?[]\\/-"

_IN_COMPONENT = rb"[^/\x00]"
_ANYTHING = rb"[^\x00]*"
_ALTERNATIVES = 200
"""Globs in one RE2 pattern; many more would not fit its memory budget."""

_ASCII_CLASSES = {
    b"alnum": string.ascii_letters + string.digits,
    b"alpha": string.ascii_letters,
    b"blank": " \t",
    b"cntrl": "".join(map(chr, [*range(32), 127])),
    b"digit": string.digits,
    b"graph": "".join(map(chr, range(33, 127))),
    b"lower": string.ascii_lowercase,
    b"print": "".join(map(chr, range(32, 127))),
    b"punct": string.punctuation,
    b"space": string.whitespace,
    b"upper": string.ascii_uppercase,
    b"xdigit": string.hexdigits,
}


class _Matched(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Pattern(Protocol):
    def search(self, text: bytes, pos: int = 0) -> _Matched | None: ...

    def fullmatch(self, text: bytes) -> _Matched | None: ...


class _MatchesNothing(ValueError):
    """The glob is malformed in a way that makes git match nothing."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of an ignore file.

    Attributes:
        negated: whether it brings names back (`!`).
        folders_only: whether it is about folders alone (a final `/`).
        anchored: whether it is matched against the path below its file's folder, not against the bare name.
        literal: the start of the glob up to its first special character.
        glob: RE2 pattern of the whole glob, None when `literal` is all of it.
        depth: components of an anchored match, None for any number.
    """

    negated: bool
    folders_only: bool
    anchored: bool
    literal: bytes
    glob: bytes | None
    depth: int | None


class Rules:
    """The rules of one ignore file; of those that match, the last decides.

    Args:
        content: the bytes of the file.
        ignore_case: whether ASCII letters match in either case, as under git's core.ignoreCase.
    """

    def __init__(self, content: bytes, *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case
        self._rules = tuple(_parsed(content, ignore_case=ignore_case))
        self._matchers = tuple(_matcher(rule) for rule in self._rules)
        bare = [rule for rule in self._rules if not rule.anchored]
        self._names = frozenset(rule.literal for rule in bare if rule.glob is None)
        self._name_globs = _alternations(tuple(rule.glob for rule in bare if rule.glob is not None))
        self._paths: dict[bytes, set[bytes]] = defaultdict(set)
        self._path_globs: dict[int | None, list[tuple[bytes, bytes]]] = defaultdict(list)
        for rule in self._rules:
            if rule.anchored and rule.glob is None:
                folder, slash, name = rule.literal.rpartition(b"/")
                self._paths[folder + slash].add(name)
            elif rule.anchored and rule.glob is not None:
                self._path_globs[rule.depth].append((rule.literal[: rule.literal.rfind(b"/") + 1], rule.glob))

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self._rules)

    def suspects(self, folder: bytes, listed: Sequence[bytes]) -> set[bytes]:
        """Return those of the names that some rule may match: all that one does match, and few others.

        Args:
            folder: path of their folder below the folder of the rules: b"", or ending in b"/".
            listed: the names, none empty.
        """
        if not self._ignore_case:
            return self._suspects(folder, listed)
        spellings: dict[bytes, list[bytes]] = defaultdict(list)
        for name in listed:
            spellings[name.lower()].append(name)
        return {name for found in self._suspects(folder.lower(), list(spellings)) for name in spellings[found]}

    def _suspects(self, folder: bytes, listed: Sequence[bytes]) -> set[bytes]:
        found = self._names.intersection(listed) if self._names else frozenset()
        suspects = set(found)
        if named := self._paths.get(folder):
            suspects.update(named.intersection(listed))
        if self._name_globs:
            suspects.update(_found(self._name_globs, b"", listed))
        if self._path_globs:
            depth = folder.count(b"/") + 1
            globs = [*self._path_globs.get(depth, ()), *self._path_globs.get(None, ())]
            near = tuple(glob for above, glob in globs if folder.startswith(above))
            if near:
                suspects.update(_found(_alternations(near), folder, listed))
        return suspects

    def verdict(self, folder: bytes, name: bytes, *, is_folder: bool) -> bool | None:
        """Say whether a name is ignored (True), brought back (False), or not spoken of (None); `folder` as above."""
        if self._ignore_case:
            folder, name = folder.lower(), name.lower()
        path = folder + name
        for rule, matches in zip(reversed(self._rules), reversed(self._matchers), strict=True):
            if (is_folder or not rule.folders_only) and matches(path if rule.anchored else name):
                return not rule.negated
        return None


@lru_cache(maxsize=1024)
def compiled(content: bytes, *, ignore_case: bool = False) -> Rules:
    """Return the rules of an ignore file with this content; the same content is compiled once."""
    return Rules(content, ignore_case=ignore_case)


def _parsed(content: bytes, *, ignore_case: bool) -> Iterator[_Rule]:
    for line in content.removeprefix(_BOM).split(b"\n"):
        if line.startswith(b"#"):
            continue
        text = _trimmed(line.removesuffix(b"\r").partition(b"\0")[0])
        glob = text.removeprefix(b"!")
        folders_only = glob.endswith(b"/")
        glob = glob.removesuffix(b"/")
        anchored = b"/" in glob
        glob = glob.removeprefix(b"/")
        if not glob:
            continue
        length = next((at for at, byte in enumerate(glob) if byte in _SPECIAL), len(glob))
        literal, rest = glob[:length], glob[length:]
        if ignore_case:
            literal = literal.lower()
        try:
            # git compares the literal start by itself and hands only the rest to its matcher, so that in `foo**/bar`
            # the stars stand at a start and match across folders.
            pattern, slashes = _translated(rest, anchored=anchored, ignore_case=ignore_case)
        except _MatchesNothing:
            continue
        yield _Rule(
            negated=text.startswith(b"!"),
            folders_only=folders_only,
            anchored=anchored,
            literal=literal,
            glob=b"".join(map(_quoted, literal)) + pattern if rest else None,
            depth=None if slashes is None else slashes + literal.count(b"/") + 1,
        )


def _trimmed(line: bytes) -> bytes:
    """Drop trailing blanks, but for one that a backslash protects."""
    text = line.rstrip(b" ")
    backslashes = len(text) - len(text.rstrip(b"\\"))
    return text + b" " if backslashes % 2 and len(text) < len(line) else text


def _translated(glob: bytes, *, anchored: bool, ignore_case: bool) -> tuple[bytes, int | None]:
    """Return the RE2 pattern of a glob and the number of slashes in what it matches, None for any number."""
    out: list[bytes] = []
    slashes = 0
    across = False
    at, end = 0, len(glob)
    while at < end:
        byte = glob[at]
        if byte == _STAR:
            stop = at
            while stop < end and glob[stop] == _STAR:
                stop += 1
            opens = at == 0 or glob[at - 1] == _SLASH
            closes = stop == end or glob.startswith((b"/", b"\\/"), stop)
            if anchored and stop - at > 1 and opens and closes:
                across = True
                if glob.startswith(b"/", stop):
                    out.append(b"(?:" + _ANYTHING + b"/)?")
                    stop += 1
                else:
                    out.append(_ANYTHING)
            else:
                out.append(_IN_COMPONENT + b"*")
            at = stop
        elif byte == _QUESTION:
            out.append(_IN_COMPONENT)
            at += 1
        elif byte == _OPEN:
            members, at = _class(glob, at + 1, ignore_case=ignore_case)
            out.append(b"[" + b"".join(map(_quoted, sorted(members))) + b"]")
        else:
            if byte == _BACKSLASH:
                at += 1
                if at == end:
                    raise _MatchesNothing
            slashes += glob[at] == _SLASH
            out.append(_quoted(glob[at : at + 1].lower()[0] if ignore_case else glob[at]))
            at += 1
    return b"".join(out), None if across else slashes


def _class(glob: bytes, at: int, *, ignore_case: bool) -> tuple[frozenset[int], int]:
    """Return the bytes that the class starting behind its bracket at `at` matches, and where the glob goes on."""

    def byte_at(position: int) -> int:
        if position >= len(glob):
            raise _MatchesNothing
        return glob[position]

    negated = byte_at(at) in b"!^"
    at += negated
    members: set[int] = set()
    previous = 0
    while True:
        byte = byte_at(at)
        if byte == _BACKSLASH:
            at += 1
            byte = byte_at(at)
            members.add(byte)
        elif byte == _DASH and previous and byte_at(at + 1) != _CLOSE:
            at += 1
            byte = byte_at(at)
            if byte == _BACKSLASH:
                at += 1
                byte = byte_at(at)
            members.update(range(previous, byte + 1))
            byte = 0
        elif byte == _OPEN and glob.startswith(b":", at + 1):
            close = glob.find(b"]", at + 2)
            if close < 0:
                raise _MatchesNothing
            if close > at + 2 and glob[close - 1] == ord(":"):
                name = glob[at + 2 : close - 1]
                if name not in _ASCII_CLASSES:
                    raise _MatchesNothing
                members.update(_ASCII_CLASSES[name].encode())
                at = close
                byte = 0
            else:
                members.add(byte)
        else:
            members.add(byte)
        previous = byte
        at += 1
        if byte_at(at) == _CLOSE:
            break
    if ignore_case:
        members.update(bytes(members).lower())
    matched = (set(range(256)) - members if negated else members) - {0, _SLASH}
    if not matched:
        raise _MatchesNothing
    return frozenset(matched), at + 1


def _quoted(byte: int) -> bytes:
    return b"\\x%02x" % byte


def _pattern(expression: bytes) -> _Pattern:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.encoding = re2.Options.Encoding.LATIN1
    pattern: _Pattern = re2.compile(expression, options)
    return pattern


@lru_cache(maxsize=4096)
def _alternations(globs: tuple[bytes, ...]) -> tuple[_Pattern, ...]:
    """Return patterns that together find, among names joined by NUL, all that any of the globs matches."""
    chunks = (globs[at : at + _ALTERNATIVES] for at in range(0, len(globs), _ALTERNATIVES))
    return tuple(_pattern(rb"\x00(?:" + b"|".join(chunk) + rb")\x00") for chunk in chunks)


def _found(patterns: Iterable[_Pattern], folder: bytes, listed: Sequence[bytes]) -> Iterator[bytes]:
    separator = b"\0" + folder
    joined = separator + separator.join(listed) + b"\0"
    for pattern in patterns:
        position = 0
        while matched := pattern.search(joined, position):
            start, end = matched.span()
            yield joined[start + len(separator) : end - 1]
            position = end - 1


def _matcher(rule: _Rule) -> Callable[[bytes], bool]:
    if rule.glob is None:
        literal = rule.literal
        return lambda text: text == literal
    pattern = _pattern(rule.glob)
    return lambda text: pattern.fullmatch(text) is not None
