"""A tree of hostile names and bytes that is changed at random, and what it holds by a model that never reads it.

The model is told of each change as it is made; `differences` says where the disk has something else, which would be a
fault of the model. It knows nothing of linedex but the names of its ignore files.
"""

from __future__ import annotations

import os
import random
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trials.rules import RULE_FILES, ignored

INERT_RULES = b".gitignore"
"""Counts inside a repository only, and there is none."""
EXTENSIONS = (b".txt", b".txt", b".log", b".log", b".dat", b"", b".py", b".md", b".tmp", b".journal.log")
_PIECES = (
    *(b"qa", b"Zed", b"mix", b"Ub", b"\n", b"\t", b" ", b"\\", b"\x1b[31m", b"\xff\xfe", b"\xc3", b"*", b"?", b"[x]"),
    *(
        b"-rf",
        b"--",
        b"'",
        b'"',
        b"$(x)",
        b"%41",
        "\u202e".encode(),
        "é".encode(),
        "e\u0301".encode(),
        b"~",
        b"#",
        b"!",
    ),
    *("漢字".encode(), "Straße".encode(), b"\x7f", b"\xed\xa0\x80", b"&amp;", b"{a,b}", b"C:", b"|", b"\r"),
)
WORDS = (
    *(
        "alpha",
        "Beta",
        "gamma_delta",
        "epsilonZeta",
        "eta-theta",
        "iota.kappa",
        "a.b(c)*",
        "[x]",
        "\\n",
        "$1",
        "^",
        "@@",
    ),
    *(
        "foo",
        "FOO",
        "bar",
        "error",
        "WARN",
        "x" * 40,
        "0xDEADBEEF",
        "10.0.0.17",
        "192.168.1.1",
        "naïve",
        "Straße",
        "漢字",
    ),
    *("привет", "Größe", "ﬁn", "😀", "ÄÖÜ", "äöü", "ΣΑΣ", "σας", "K", "ſ", "\u00a0", "tab\there", "  ", "é", "e\u0301"),
)
LOCAL_WORDS = {
    "cp1252": ("schön", "für", "Übung", "Größe", "über", "Äpfel", "Straße", "heute"),
    "gb18030": ("我们", "今天", "学习", "中文", "编码", "问题", "字符", "文件", "索引", "程序"),
    "cp932": ("日本語", "表示", "ソース", "能力", "文字", "テスト", "検索", "ひらがな", "です"),
    "euc-kr": ("한국어", "문서", "검색", "편집", "우리는", "오늘", "공부합니다", "글자"),
    "koi8-r": ("привет", "мир", "как", "дела", "сегодня", "строка", "ещё", "файл", "поиск"),
    "utf-16-le": ("naïve", "漢字", "привет", "€", "😀", "ਊ"),
    "utf-16-be": ("naïve", "漢字", "привет", "€", "😀", "ഊ"),
}
MARKS = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-8-sig": b"\xef\xbb\xbf"}
STRAYS = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xe6\xbc", b"\x80")
PACKED = (b".gz", b".zst", b".xz")
JOURNAL = b".journal.log"
"""Logs with a stamp and a level in each record, which only grow and rotate."""
CLOCK = datetime(2026, 3, 4, 5, 0, 0, tzinfo=UTC)
SMALL = 28 << 10
"""Below this size anything may be drawn; larger files are whole lines of valid UTF-8, whose encoding nobody guesses."""
LARGEST = 400 << 10
DEEPEST = 7


@dataclass(slots=True, eq=False)
class Node:
    """The bytes of a file, whatever names it has.

    Attributes:
        content: its bytes.
        encoding: what it is written in.
        end: what ends its lines.
        began: counts each change that is no append.
        plain: the text of a compressed file, None for any other.
        cut: whether a compressed file ends too early.
    """

    content: bytes = b""
    encoding: str = "utf-8"
    end: str = "\n"
    began: int = 0
    plain: bytes | None = None
    cut: bool = False

    @property
    def told(self) -> bytes:
        """What is told of the file."""
        return self.content if self.plain is None else self.plain


@dataclass(slots=True)
class World:
    """The tree and its model.

    Attributes:
        root: the tree, absolute.
        outside: a folder beside it.
        draw: decides.
        files: the regular files by their path below the root.
        folders: the folders, the root (b"") among them.
        others: links and FIFOs.
        tokens: words that stood in a line once, the newest last.
        changes: what was done, the newest last.
        large_lines: of how many lines large files are made.
        settle: lets the index take in what was changed.
        marks: what was done to files since it did: `grown`, `inside`, `moved`.
    """

    root: bytes
    outside: bytes
    draw: random.Random
    files: dict[bytes, Node] = field(default_factory=dict)
    folders: set[bytes] = field(default_factory=lambda: {b""})
    others: set[bytes] = field(default_factory=set)
    tokens: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    large_lines: tuple[int, ...] = (60, 120, 120, 300)
    settle: Callable[[], None] = lambda: None
    marks: dict[Node, set[str]] = field(default_factory=dict)
    seconds: int = 0
    made: int = 0
    version: int = 0
    functions: int = 0

    # names and paths

    def full(self, path: bytes) -> bytes:
        """Return where a path of the tree is on the disk."""
        return self.root + b"/" + path if path else self.root

    def taken(self, path: bytes) -> bool:
        """Say whether there is anything by this path."""
        return path in self.files or path in self.folders or path in self.others

    def name(self, extension: bytes) -> bytes:
        """Return a name."""
        draw = self.draw
        self.made += 1
        kind = draw.random()
        if kind < 0.35:
            stem = draw.choice((b"one", b"two", b"Two", b"app", b"APP", b"three", b"notes"))
        elif kind < 0.38:
            unique = f"long{self.made}".encode()
            stem = (unique + draw.choice((b"n", "漢".encode(), b"\n")) * 250)[: 250 - len(extension)]
        else:
            stem = b"".join(draw.choices(_PIECES, k=draw.randint(1, 3))) + f"{self.made % 97}".encode()
        if draw.random() < 0.06:
            stem = b"." + stem
        return stem + extension

    def new_path(self, extension: bytes | None = None) -> bytes | None:
        """Return a free path in a folder that is not too deep; None if the one that was drawn is taken."""
        folder = self.draw.choice(sorted(self.folders))
        name = self.name(self.draw.choice(EXTENSIONS) if extension is None else extension)
        path = join(folder, name)
        return None if self.taken(path) or len(self.full(path)) > 3500 else path

    def some_file(self, *, text: bool = True) -> bytes | None:
        """Return a file that is no rule file, no journal and not compressed; with `text` neither one of code."""
        found = [path for path in sorted(self.files) if is_common(path)]
        if text:
            found = [path for path in found if not path.endswith(b".py")]
        return self.draw.choice(found) if found else None

    def did(self, what: str, *paths: bytes) -> None:
        """Note a change."""
        self.version += 1
        self.changes.append(f"{what} {' '.join(map(repr, paths))}")
        del self.changes[:-400]

    def mark(self, node: Node, kind: str) -> None:
        """Note what is about to be done to a file, and let the index catch up first where it could not tell.

        An edit inside of a file together with growth, or with a renaming that leaves no trace of it, is a known limit.
        """
        marks = self.marks.get(node, set())
        if "inside" in (marks | {kind}) and (marks | {kind}) & {"grown", "moved"}:
            self.settle()
            self.marks.clear()
        self.marks.setdefault(node, set()).add(kind)

    def mark_below(self, path: bytes) -> None:
        """Note that what is at or below a path is about to be moved."""
        for one, node in list(self.files.items()):
            if one == path or one.startswith(path + b"/"):
                self.mark(node, "moved")

    # bytes

    def token(self) -> str:
        """Return a word that stood nowhere before."""
        token = f"t{len(self.tokens)}{self.draw.choice(string.ascii_letters)}x"
        self.tokens.append(token)
        return token

    def line(self, encoding: str, *, valid: bool = True) -> bytes:
        """Return a line without its end."""
        draw = self.draw
        encoding = encoding.removesuffix("-sig")
        pool = LOCAL_WORDS.get(encoding)
        words = draw.choices(
            WORDS if encoding == "utf-8" else (*pool, "error", "foo") if pool else WORDS, k=draw.randint(0, 7)
        )
        if draw.random() < 0.4:
            words.insert(draw.randint(0, len(words)), self.token())
        kind = draw.random()
        if kind < 0.1:
            level = draw.choice(("INFO", "WARN", "ERROR", "DEBUG"))
            words.insert(0, f"2026-03-0{draw.randint(1, 9)} 0{draw.randint(0, 9)}:{draw.randint(10, 59)}:00 {level}")
        elif kind < 0.12:
            words = words * draw.randint(2, 60)
        elif kind < 0.14:
            words = ["".join(draw.choices(string.hexdigits, k=draw.choice((16, 200, 3000))))]
        made = " ".join(words).encode(encoding)
        if not valid and encoding == "utf-8" and draw.random() < 0.1:
            at = draw.randint(0, len(made))
            made = made[:at] + draw.choice(STRAYS) + made[at:]
        if not valid and draw.random() < 0.02:
            made += "\rz".encode(encoding)
        return made

    def lines(self, node: Node, count: int, *, valid: bool = True) -> bytes:
        """Return so many lines as the file has them."""
        end = node.end.encode(node.encoding.removesuffix("-sig"))
        return b"".join(self.line(node.encoding, valid=valid) + end for _ in range(count))

    def fresh(self, path: bytes) -> Node:
        """Return a new file's bytes."""
        draw = self.draw
        if path.endswith(b".py"):
            return Node(self.code(draw.randint(0, 6)))
        if JOURNAL in path:
            return Node(self.records(draw.choice((3, 8, 40, 150))))
        kind = draw.random()
        if kind < 0.55:
            node = Node()
        elif kind < 0.65:
            node = Node(encoding="utf-8", end=draw.choice(("\r\n", "\r")))
        elif kind < 0.7:
            node = Node(encoding="utf-8-sig")
        else:
            node = Node(encoding=draw.choice(sorted(LOCAL_WORDS)), end=draw.choice(("\n", "\n", "\r\n")))
        mark = MARKS.get(node.encoding, b"")
        if draw.random() < 0.03:
            node.content = draw.choice((b"", b"\n", b"\0" * 300, bytes(range(256)), b"\r", b"x", mark))
            return node
        count = draw.choice((0, 1, 2, 3, 5, 8, 12, 25))
        if node.encoding == "utf-8" and node.end == "\n" and draw.random() < 0.08:
            node.content = self.lines(node, draw.choice(self.large_lines))[:LARGEST]
            node.content = node.content[: node.content.rfind(b"\n") + 1]
            return node
        node.content = mark + self.lines(node, count, valid=False)
        if draw.random() < 0.3:
            node.content += self.line(node.encoding)
        return node

    def code(self, count: int) -> bytes:
        """Return so many functions of Python."""
        parts = []
        for _ in range(count):
            self.functions += 1
            parts.append(f"def fn_{self.functions}(a, b):\n    # {self.token()}\n    return a + {self.functions}\n\n\n")
        return "".join(parts).encode()

    def records(self, count: int) -> bytes:
        """Return so many records of a journal, some with lines of a trace; the clock goes back a little at times."""
        draw, lines = self.draw, []
        for _ in range(count):
            self.seconds += draw.choice((0, 1, 7, 30, 60, 90, -20))
            moment = CLOCK + timedelta(seconds=self.seconds)
            level = draw.choice(("INFO", "INFO", "WARN", "ERROR"))
            message = draw.choice(("disk full", "user bob", "x" * 60, "request took 17 ms"))
            lines.append(f"{moment:%Y-%m-%d %H:%M:%S} {level} {message} {self.token()}")
            lines += ["  at disk.place(bob)"] * draw.choice((0, 0, 0, 2))
        return "".join(line + "\n" for line in lines).encode()

    # the disk

    def write(self, path: bytes, content: bytes) -> None:
        """Write a file as most programs do: cut to nothing, then written."""
        with open(self.full(path), "wb") as file:
            file.write(content)

    def forget(self, path: bytes) -> None:
        """Forget what is at or below a path."""
        below = path + b"/"
        for known in (self.files, self.folders, self.others):
            for one in [one for one in known if one == path or one.startswith(below)]:
                if isinstance(known, dict):
                    del known[one]
                else:
                    known.discard(one)

    def moved(self, path: bytes, target: bytes) -> None:
        """Know what is at or below a path by another."""
        below = path + b"/"

        def renamed(one: bytes) -> bytes:
            return target + one[len(path) :] if one == path or one.startswith(below) else one

        self.files = {renamed(one): node for one, node in self.files.items()}
        self.folders = {renamed(one) for one in self.folders}
        self.others = {renamed(one) for one in self.others}

    def differences(self) -> list[str]:
        """Return where the disk is not as the model has it."""
        found: list[str] = []
        files, folders, others = set(), set(), set()
        for at, below, names in os.walk(self.root):
            folder = at[len(self.root) + 1 :]
            folders.add(folder)
            for name in below:
                if os.path.islink(os.path.join(at, name)):
                    others.add(join(folder, name))
            for name in names:
                path = join(folder, name)
                whole = self.full(path)
                if os.path.islink(whole) or not os.path.isfile(whole):
                    others.add(path)
                    continue
                files.add(path)
                held = Path(os.fsdecode(whole)).read_bytes()
                if path in self.files and held != self.files[path].content:
                    found.append(f"{path!r} holds {len(held)} bytes, not the {len(self.files[path].content)} it should")
        for kind, here, known in (
            ("files", files, set(self.files)),
            ("folders", folders, self.folders),
            ("others", others, self.others),
        ):
            if here != known:
                found.append(f"{kind}: only on the disk {sorted(here - known)!r}, only known {sorted(known - here)!r}")
        return found

    def ignored(self, path: bytes, *, is_folder: bool = False) -> bool:
        """Say whether rules leave a path out, by itself or with a folder around it."""
        return ignored(self.files, path, is_folder=is_folder)


def join(folder: bytes, name: bytes) -> bytes:
    """Return a path of the tree."""
    return folder + b"/" + name if folder else name


def is_rule_file(path: bytes) -> bool:
    """Say whether a path is of a file of rules."""
    return path.rpartition(b"/")[2] in (*RULE_FILES, INERT_RULES)


def is_common(path: bytes) -> bool:
    """Say whether anything may be done to a file: it is no rule file, no journal and not compressed."""
    return not is_rule_file(path) and JOURNAL not in path and not path.endswith(PACKED)


def is_hidden(path: bytes, below: bytes = b"") -> bool:
    """Say whether a component of a path, below a folder, starts with a dot."""
    return b"/." in b"/" + path[len(below) :].lstrip(b"/")


def journals(world: World) -> list[bytes]:
    """Return the journals that are written to."""
    return [path for path in sorted(world.files) if path.endswith(JOURNAL)]
