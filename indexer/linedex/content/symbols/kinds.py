"""What the kinds of symbols mean to the engine, and their numbers in LSP."""

from __future__ import annotations

from linedex.model import SymbolKind as K

TYPES = frozenset({K.CLASS, K.STRUCT, K.UNION, K.ENUM, K.INTERFACE, K.TRAIT, K.IMPL, K.OBJECT})
"""A function directly inside one of these is a method."""

BODIES = frozenset({K.FUNCTION, K.METHOD, K.CONSTRUCTOR, K.PROPERTY, K.OPERATOR, K.MACRO})
"""Data directly inside one of these is local and is no symbol."""

DATA = frozenset({K.VARIABLE, K.CONSTANT, K.FIELD, K.KEY})

UNSTORED = frozenset({K.FIELD, K.ENUM_MEMBER, K.KEY})
"""Shown in the outline of one file, never stored: a third of all symbols, found by reading that file again."""

LSP_NUMBERS: dict[K, int] = {
    K.MODULE: 2,
    K.NAMESPACE: 3,
    K.PACKAGE: 4,
    K.CLASS: 5,
    K.METHOD: 6,
    K.PROPERTY: 7,
    K.FIELD: 8,
    K.CONSTRUCTOR: 9,
    K.ENUM: 10,
    K.INTERFACE: 11,
    K.FUNCTION: 12,
    K.VARIABLE: 13,
    K.CONSTANT: 14,
    K.STRING: 15,
    K.OBJECT: 19,
    K.KEY: 20,
    K.ENUM_MEMBER: 22,
    K.STRUCT: 23,
    K.EVENT: 24,
    K.OPERATOR: 25,
    K.MACRO: 12,
    K.TYPE: 5,
    K.UNION: 23,
    K.TRAIT: 11,
    K.IMPL: 19,
}
"""Kind -> LSP SymbolKind; the five words LSP lacks take the number nearest in meaning."""
