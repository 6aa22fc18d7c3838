"""Look-ups that the daemon answers: printed as if they had been made here, and fresh."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linedex.answers import Outline, PathAnswer
from linedex.errors import BadArgument
from linedex.model import RelPath
from linedex_server import VERSION
from linedex_server.json_lines import error_line
from linedex_server.lookups import NOBODY, answer_line
from linedex_server.rendezvous.hello import Welcome

if TYPE_CHECKING:
    from conftest import House

LATIN = os.fsdecode(b"caf\xe9.py")
FILES: dict[str, bytes] = {
    "a.py": b"import os\n\nclass Cart:\n    def total(self, rate=1):\n        return 1\n\ndef total():\n    pass\n",
    "src/b.c": b"int total(int a)\n{\n\treturn a;\n}\n#define TOTAL 1\nstruct cart { int total; };\n",
    f"src/{LATIN}": "def total_gr\u00f6\u00dfe():\n    pass\n".encode(),
    "src/deep/cart_test.py": b"def test_total():\n    pass\n",
    "notes.txt": b"no symbols\n",
    "broken.py": b"def total(:\n  class",
    ".hidden/c.py": b"def total():\n    pass\n",
    ".gitignore": b"ignored/\n",
    "ignored/e.py": b"def total():\n    pass\n",
}
SAME = [
    ["symbols", "total"],
    ["symbols", "Cart.total"],
    ["symbols", "total", "src"],
    ["symbols", "total", "./src/deep/"],
    ["symbols", "total", "a.py"],
    ["symbols", "-k", "class", "cart"],
    ["symbols", "-t", "c", "total"],
    ["symbols", "-m", "1", "total"],
    ["symbols", "gr\u00f6\u00dfe"],
    ["symbols", "nowhere"],
    ["symbols", "\udce9"],
    ["files", "cart"],
    ["files", "caf"],
    ["files", "-m", "1", "a"],
    ["files", "cart", "src/deep"],
    ["files", "\udce9"],
    ["files", "xyzzyxyzzy"],
    ["outline", "a.py"],
    ["outline", "src/b.c"],
    ["outline", f"src/{LATIN}"],
    ["outline", "notes.txt"],
    ["outline", "broken.py"],
    ["outline", ".hidden/c.py"],
]
HERE = [
    ["symbols", "total", "absent"],
    ["symbols", "-t", "klingon", "total"],
    ["symbols", "total", "../beside"],
    ["files", "f", "../beside"],
    ["outline", "../beside/f.py"],
    ["outline", "src"],
    ["outline", "absent.py"],
    ["outline", "ignored/e.py"],
    ["symbols", ""],
    ["files", ""],
]
"""Those that may be answered by this process, whether a daemon runs or not."""


@pytest.fixture
def tree(house: House) -> Path:
    house.plant("beside", {"f.py": b"def f():\n    pass\n"})
    return house.plant("tree", FILES)


def test_the_daemon_answers_as_the_command_itself_does_and_no_engine_is_loaded(house: House, tree: Path) -> None:
    with house.keeping(tree):
        asked = house.commands(tree, *SAME, engine=False)
        both = house.commands(tree, *HERE)
    assert house.status() is None
    alone = house.commands(tree, *SAME, *HERE)
    for words, told, own in zip([*SAME, *HERE], [*asked, *both], alone, strict=True):
        assert told == own, words
    assert {status for status, _, _ in asked} == {0, 1}
    assert asked[0][1].count(b"total") > 5
    assert re.search(rb"^  4-5 method total\(self, rate=1\)$", asked[SAME.index(["outline", "a.py"])][1], re.MULTILINE)


def test_a_look_up_knows_each_change_before_it(house: House, tree: Path) -> None:
    with house.keeping(tree):
        for number in range(3):
            (tree / "fresh.py").write_text(f"def needle_{number}():\n    pass\n", encoding="utf-8")
            outline, files = house.commands(tree, ["outline", "fresh.py"], ["files", "fresh.py"], engine=False)
            assert outline == (0, b"1-2 function needle_%d()\n" % number, b"")
            assert files == (0, b"fresh.py\n", b"")
        (tree / "fresh.py").unlink()
        (files,) = house.commands(tree, ["files", "-m", "1", "fresh.py"], engine=False)
        assert b"fresh.py" not in files[1]


def test_a_look_up_starts_no_daemon_and_makes_none_take_a_folder_in(house: House, tree: Path) -> None:
    assert house.run("index", str(tree)).returncode == 0
    assert house.commands(tree, ["files", "cart_test.py"]) == [(0, b"src/deep/cart_test.py\n", b"")]
    assert house.status() is None
    other = house.root("other", a="needle\n")
    with house.keeping(other):
        assert house.commands(tree, ["files", "cart_test.py"]) == [(0, b"src/deep/cart_test.py\n", b"")]
        assert [index.root for index in house.daemon().indexes] == [str(other)]


FOUND = answer_line(RelPath(b""), PathAnswer((RelPath(b"told/by.other"),), 1))


@pytest.mark.parametrize(
    ("welcome", "said"),
    [
        (b"", b""),
        (b"nonsense\n", b""),
        (Welcome(error="no purpose").line(), b""),
        (Welcome(version=VERSION + ".1").line(), FOUND),
        (Welcome().line(), b""),
        (Welcome().line(), NOBODY),
        (Welcome().line(), b"[]\n"),
        (Welcome().line(), b"{}\n"),
        (Welcome().line(), b"nonsense\n"),
        (Welcome().line(), FOUND.rstrip()),
        (Welcome().line(), answer_line(RelPath(b""), Outline((), "python"))),
    ],
)
def test_whoever_does_not_answer_is_done_without(house: House, tree: Path, welcome: bytes, said: bytes) -> None:
    house.run("index", str(tree))
    (house.state).rename(house.folder / "kept")
    with house.standing_in(welcome, said):
        (house.folder / "kept" / "indexes").rename(house.state / "indexes")
        assert house.commands(tree, ["files", "cart_test.py"]) == [(0, b"src/deep/cart_test.py\n", b"")]


def test_what_the_daemon_answers_is_printed(house: House, tree: Path) -> None:
    with house.standing_in(Welcome().line(), FOUND):
        assert house.commands(tree, ["files", "cart_test.py"]) == [(0, b"told/by.other\n", b"")]


def test_an_error_of_the_daemon_is_told(house: House, tree: Path) -> None:
    with house.standing_in(Welcome().line(), error_line(BadArgument("No such language.", "Name another."))):
        ((status, out, said),) = house.commands(tree, ["symbols", "x"])
    assert (status, out, said) == (2, b"", b"linedex: No such language.\n  Name another.\n")
