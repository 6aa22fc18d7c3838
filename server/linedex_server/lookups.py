"""A look-up as lines of JSON between the command line and the daemon: where names are defined, files, one outline.

Promise: what is read back equals what was written, for any text and any bytes of a path.

    -> {"path": "...", "subject": "symbols", "name": "parse", "kind": "class", "language": "", "most": 50}
    <- {"scope": "src", "symbols": [["src/cart.py", [...]], ...], "total": 2, ...}
    <- {"nobody": true}                         nobody here answers for the path
    <- {"error": "...", "hint": "..."}          or it ends so
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from linedex.answers import Outline, PathAnswer, SymbolAnswer, SymbolHit, SymbolRequest
from linedex.limits import Limits
from linedex.model import RelPath, Symbol, SymbolKind
from linedex_server.json_lines import alike, error_of, line_of

if TYPE_CHECKING:
    from linedex.index import Index

NOBODY = line_of({"nobody": True})

LookupAnswer: TypeAlias = SymbolAnswer | PathAnswer | Outline

_fields_of = attrgetter(*Symbol.__slots__)
_KIND = Symbol.__slots__.index("kind")


class Subject(StrEnum):
    """What is looked up."""

    SYMBOLS = "symbols"
    FILES = "files"
    OUTLINE = "outline"


@dataclass(frozen=True, slots=True)
class Lookup:
    """What is looked up, and where.

    Attributes:
        path: the file of an outline, else a file or folder; real and absolute.
        subject: of which kind the answer is.
        name: of a symbol or file.
        kind: the only kind of symbols that is wanted, "" for all.
        language: the only language whose files are asked, "" for all.
        most: how many are wanted.
    """

    path: str
    subject: Subject
    name: str = ""
    kind: str = ""
    language: str = ""
    most: int = 50

    def line(self) -> bytes:
        """Return this as a line."""
        return line_of(asdict(self))

    @classmethod
    def of(cls, line: bytes) -> Lookup:
        """Return the look-up that a line holds.

        Raises:
            ValueError: it holds none, or a part is of another kind.
        """
        try:
            lookup = cls(**alike(cls("", Subject.FILES), json.loads(line)))
        except (TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a look-up: {error}") from None
        if not os.path.isabs(os.fsencode(lookup.path)) or (lookup.kind and lookup.kind not in {*SymbolKind}):
            raise ValueError("not a look-up: its path is relative, or its kind not known")
        return lookup

    def limits(self, limits: Limits) -> Limits:
        """Return limits for an answer that is printed whole, without a hash that nobody sees."""
        return replace(limits, page_characters=sys.maxsize, hash_bytes=0)

    def answered(self, index: Index, scope: RelPath) -> LookupAnswer:
        """Return the answer of an index in which the path is `scope`; raises as the methods of `Index` do."""
        match self.subject:
            case Subject.OUTLINE:
                return index.outline(scope)
            case Subject.FILES:
                return index.find_files(self.name, scope, self.most)
            case Subject.SYMBOLS:
                kind = SymbolKind(self.kind) if self.kind else None
                return index.find_symbol(SymbolRequest(self.name, kind, scope, self.language, self.most))


def answer_line(scope: RelPath, answer: LookupAnswer) -> bytes:
    """Return an answer as a line, with where the path lies in the index that gave it."""
    told: dict[str, Any] = {"scope": os.fsdecode(scope)}
    match answer:
        case SymbolAnswer(hits, total, pending, note):
            told["symbols"] = [[os.fsdecode(hit.path), _fields_of(hit.symbol)] for hit in hits]
            told |= {"total": total, "pending": pending, "note": note}
        case PathAnswer(paths, total):
            told |= {"files": [os.fsdecode(path) for path in paths], "total": total}
        case Outline(symbols, language, note):
            told |= {"outline": [_fields_of(symbol) for symbol in symbols], "language": language, "note": note}
    return line_of(told)


def answer_of(line: bytes, subject: Subject) -> tuple[RelPath, LookupAnswer] | None:
    """Return what `answer_line` made a line of, None when nobody answered.

    Raises:
        ValueError: it holds something else, or an answer about another subject.
        LinedexError: the look-up ended so.
    """
    try:
        told = json.loads(line)
        if "error" in told:
            raise error_of(told)
        if "nobody" in told:
            return None
        return _path(told["scope"]), _answer(told, subject)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"not an answer to a look-up: {error}") from None


def _answer(told: dict[str, Any], subject: Subject) -> LookupAnswer:
    match subject:
        case Subject.SYMBOLS:
            hits = tuple(SymbolHit(_path(path), _symbol(fields)) for path, fields in told["symbols"])
            return SymbolAnswer(hits, told["total"], told["pending"], told["note"])
        case Subject.FILES:
            return PathAnswer(tuple(map(_path, told["files"])), told["total"])
        case Subject.OUTLINE:
            return Outline(tuple(map(_symbol, told["outline"])), told["language"], told["note"])


def _path(told: str) -> RelPath:
    return RelPath(os.fsencode(told))


def _symbol(told: list[Any]) -> Symbol:
    told[_KIND] = SymbolKind(told[_KIND])
    return Symbol(*told)
