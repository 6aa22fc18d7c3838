"""Symbols of source files and outlines of documents: one query file a language, one engine for all.

`extract` gives the symbols of one text under a budget; `has_outline` says for which languages. Both are for worker
processes: see `linedex.build.outliner`.
"""

from __future__ import annotations

from linedex.content.symbols.capture import self_test
from linedex.content.symbols.extra import LanguageOffer, add, offers, register_folder
from linedex.content.symbols.extraction import Extraction, StoredExtraction, extract, extract_stored
from linedex.content.symbols.grammars import has_outline

__all__ = [
    "Extraction",
    "LanguageOffer",
    "StoredExtraction",
    "add",
    "extract",
    "extract_stored",
    "has_outline",
    "offers",
    "register_folder",
    "self_test",
]
