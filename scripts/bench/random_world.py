"""What files hold while random edits are made, as a plain model has it; any difference ends the run."""

from __future__ import annotations

import hashlib
import random
import re
import string
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from byte_model import MARKS, Modelled
from mcp import Client

WORDS = {
    "utf-8": "naïve Straße 漢字 привет € 😀 ﬁn",
    "utf-16-le": "naïve 漢字 привет € 😀 ਊ",
    "utf-16-be": "naïve 漢字 привет € 😀 ഊ",
    "utf-32-le": "naïve 漢字 😀",
    "utf-32-be": "naïve 漢字 😀",
    "cp1252": "Straße schön für Übung Größe “so” über Äpfel",
    "gb18030": "我们 今天 学习 中文 编码 问题 字符 文件 索引 程序",
    "cp932": "日本語 表示 ソース 能力 文字 テスト 検索 ひらがな です ます",
    "euc-jp": "日本語 表示 文字 検索 ひらがな です ます これは 本文",
    "euc-kr": "한국어 문서 검색 편집 우리는 오늘 공부합니다 글자",
    "koi8-r": "привет мир как дела сегодня строка ещё одна файл поиск",
}
STRAYS = {
    "utf-8": (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xe6\xbc"),
    "utf-16-le": (b"\x00\xd8",),
    "utf-16-be": (b"\xd8\x00",),
}
ENDS = (("\n",), ("\r\n",), ("\r",), ("\n", "\r\n"))


@dataclass(slots=True)
class Step:
    """One step of the history: each file's bytes before and after, and what could be undone in it before."""

    files: dict[str, tuple[bytes | None, bytes | None]]
    piles: dict[str, list[str]]


@dataclass(slots=True)
class World:
    """What the files hold, and what can be taken back."""

    root: Path
    client: Client
    draw: random.Random
    files: dict[str, bytes | None] = field(default_factory=dict)
    encodings: dict[bytes, str] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    piles: dict[str, list[str]] = field(default_factory=dict)
    left: dict[str, bytes | None] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    words: int = 0

    def fresh(self) -> str:
        """Return a word that stands nowhere yet."""
        self.words += 1
        return f"w{self.words}{self.draw.choice(string.ascii_letters)}"

    async def call(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Return whether a call was refused, and its text."""
        result = await self.client.call_tool(tool, arguments)
        (block,) = result.content
        self.counts[tool + (" refused" if result.is_error else "")] += 1
        return bool(result.is_error), str(block.text)

    async def expect(self, tool: str, wanted: dict[str, bytes | None] | None, **arguments: Any) -> str:
        """Make a call; with `wanted` None it must be refused, else these files must hold these bytes after it."""
        refused, text = await self.call(tool, **arguments)
        self.demand(refused == (wanted is None), tool, arguments, text)
        before = dict(self.files)
        for name, content in (wanted or {}).items():
            self.hold(name, content, self.encoding(name))
        self.demand_bytes(tool, arguments, text)
        changed = {name: (before.get(name), content) for name, content in (wanted or {}).items()}
        changed = {name: pair for name, pair in changed.items() if pair[0] != pair[1]}
        found = re.search(r"undo ([0-9a-z]+)\]", text)
        self.demand((found is not None) == bool(changed), tool, arguments, text)
        if found:
            step = found[1]
            self.steps[step] = Step(changed, {name: list(self.piles.get(name, [])) for name in changed})
            for name, (_, after) in changed.items():
                self.piles.setdefault(name, []).append(step)
                self.left[name] = after
            for name, content in (wanted or {}).items():
                if content is not None and f"Updated {name}" in text:
                    self.demand(hashlib.sha256(content).hexdigest()[:16] in text, tool, arguments, text)
            return step
        return ""

    def demand_bytes(self, *told: object) -> None:
        """Stop if a file does not hold what the model holds, or there is another."""
        held = {path.name: path.read_bytes() for path in self.root.iterdir()}
        wanted = {name: content for name, content in self.files.items() if content is not None}
        if held != wanted:
            for name in sorted(held.keys() | wanted.keys()):
                if held.get(name) != wanted.get(name):
                    print(f"{name} holds {held.get(name)!r}\nand should hold {wanted.get(name)!r}")
            self.demand(held == wanted, *told)

    def demand(self, holds: bool, *told: object) -> None:
        """Stop with what was called, unless all is as it should be."""
        if not holds:
            print(*told, *(f"{name} held {content!r}" for name, content in self.files.items()), sep="\n")
            raise SystemExit(f"wrong after {sum(self.counts.values())} calls")

    def foreign(self, name: str, content: bytes | None, encoding: str = "utf-8") -> None:
        """Write a file as another program does."""
        path = self.root / name
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        self.hold(name, content, encoding)

    def hold(self, name: str, content: bytes | None, encoding: str) -> None:
        """Take it that a file holds these bytes, in this encoding if they were not held before."""
        self.files[name] = content
        if content is not None:
            self.encodings.setdefault(content, encoding)

    def encoding(self, name: str) -> str:
        """Return what a file is written in where its bytes do not say it: ASCII is UTF-8."""
        content = self.files.get(name)
        return "utf-8" if not content or content.isascii() else self.encodings[content]

    def text_of(self, name: str) -> Modelled:
        """Return a file's text."""
        return Modelled(self.files[name] or b"", self.encoding(name))

    def some(self, model: Modelled, *, plain: bool = False) -> str:
        """Return some new words that the encoding has."""
        words = [self.fresh()]
        if not plain:
            words += self.draw.choices(WORDS[model.encoding].split(), k=self.draw.randint(0, 2))
        self.draw.shuffle(words)
        return " ".join(words)

    def some_lines(self, model: Modelled, most: int) -> list[str]:
        """Return some new lines."""
        return [self.some(model) for _ in range(self.draw.randint(1, most))]


def drawn_file(world: World) -> tuple[str, bytes]:
    """Return an encoding, and the bytes of a random file in it."""
    draw = world.draw
    encoding = draw.choice(sorted(WORDS))
    mark = next((one for one, name in MARKS if name == encoding), b"")
    if encoding == "utf-8" and draw.random() < 0.7:
        mark = b""
    ends = draw.choice(ENDS)
    parts = [mark]
    strays = STRAYS.get(encoding, ())
    for number in range(count := draw.choice((0, 1, 2, 5, 12, 30))):
        words = draw.choices(WORDS[encoding].split(), k=draw.randint(0, 5))
        words += [world.fresh(), *draw.choices(("xx", "xxx", "\tif", "  else", "{", "="), k=draw.randint(0, 3))]
        draw.shuffle(words)
        line = " ".join(words).encode(encoding)
        if strays and draw.random() < 0.1:
            line = draw.choice(strays) + line
        if "\n" in ends and draw.random() < 0.03:
            line += "\rz".encode(encoding)
        end = draw.choice(ends) if number < count - 1 or draw.random() < 0.7 else ""
        parts += [line, end.encode(encoding)]
    return encoding, b"".join(parts)
