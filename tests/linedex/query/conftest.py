"""Texts and patterns over an alphabet chosen to break folding, decoding and line ends."""

from __future__ import annotations

import random

import pytest

LETTERS = (
    # letters whose case partners are far away, fold to two letters, or have none
    *(
        "a",
        "b",
        "k",
        "K",
        "\u212a",
        "s",
        "S",
        "\u017f",
        "ss",
        "ß",
        "\u1e9e",
        "i",
        "I",
        "\u0130",
        "\u0131",
        "σ",
        "ς",
        "Σ",
    ),
    *(
        "é",
        "É",
        "e\u0301",
        "\ufb01",
        "fi",
        "\u0149",
        "\u0345",
        "ι",
        "\u1fb3",
        "\u01c5",
        "и",
        "И",
        "\U00010400",
        "\U00010428",
    ),
    *(
        "\u0390",
        "\u1fd3",
        "\ufb05",
        "\ufb06",
        "x",
        "1",
        "\u0663",
        "²",
        "\u24b6",
        "\u200d",
        "\ufffd",
        "\x00",
        " ",
        "_",
        "-",
    ),
)
LINE_ENDS = ("\n", "\n", "\r\n", "\n", "\x0b", "\x85", "\u2028")
NOT_UTF8 = (
    *(b"\xff", b"\xe2", b"\x84", b"\xc5", b"\xf0", b"\x90", b"\x80", b"\xc0\xaf"),
    *(b"\xed\xa0\x80", b"\xe0\x80\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf"),
)
CLASSES = (
    *(
        ".",
        "[^a]",
        "[a-z]",
        r"[^\n]",
        "[ks]",
        "[^k]",
        r"\pL",
        r"\p{Greek}",
        r"\PL",
        "[[:alpha:]]",
        "[[:^upper:]]",
        "[0-9]",
    ),
    *(
        r"[\x{80}-\x{ffff}]",
        r"\x{212a}",
        r"\x{85}",
        "[\u0130a]",
        "(?s:.)",
        r"\p{Lu}",
        r"\P{Lu}",
        r"[^\P{Lu}]",
        r"[b\PL]",
    ),
)
UNICODE_CLASSES = (r"\s", r"\S", r"\w", r"\W", r"\d", r"\D", r"[^\W_]", r"[\w-]", r"[\Wa]", r"[^\s]", r"[\D\d]")
EDGES = ("^", "$", r"\A", r"\z")
WORD_EDGES = (r"\b", r"\B")
COUNTS = ("*", "?", "+", "{0,2}", "*?", "??", "+?", "{0}", "{2}", "{2,}", "{1,3}")
FLAGS = ("i", "-i", "s", "i", "U", "m")


class Hostile:
    """Draws texts and patterns from one seed."""

    classes = (*CLASSES, *UNICODE_CLASSES)
    edges = (*EDGES, *WORD_EDGES)

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self, *, lone_cr: bool = True, invalid: bool = True, letters: tuple[str, ...] = LETTERS) -> bytes:
        draw, parts = self.random, []
        for _ in range(draw.randrange(40)):
            kind = draw.random()
            if kind < 0.74 or (kind > 0.94 and not invalid):
                parts.append(draw.choice(letters).encode())
            elif kind < 0.94:
                parts.append(draw.choice((*LINE_ENDS, "\r") if lone_cr else LINE_ENDS).encode())
            else:
                parts.append(draw.choice(NOT_UTF8))
        return b"".join(parts)

    def literal(self) -> str:
        return "".join(self.random.choice(LETTERS) for _ in range(self.random.randrange(1, 5)))

    def pattern(self, classes: tuple[str, ...], edges: tuple[str, ...], depth: int = 0) -> str:
        draw = self.random

        def inner() -> str:
            return self.pattern(classes, edges, depth + 1)

        kind = draw.random()
        if depth > 3 or kind < 0.42:
            return "".join(
                f"\\x{{{ord(char):x}}}" if char.isascii() and not char.isalnum() else char for char in self.literal()
            )
        if kind < 0.52:
            return f"(?:{inner()}){draw.choice(COUNTS)}"
        if kind < 0.60:
            return f"({inner()})"
        if kind < 0.66:
            return f"(?{draw.choice(FLAGS)}:{inner()})"
        if kind < 0.74:
            return f"(?:{inner()}|{inner()})"
        if kind < 0.86:
            return draw.choice(classes)
        if kind < 0.90 and edges:
            return draw.choice(edges)
        return inner() + inner()


@pytest.fixture
def hostile() -> type[Hostile]:
    return Hostile
