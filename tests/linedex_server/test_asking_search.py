"""A search that the daemon answers: printed as if it had been made here, fresh, bounded, and ended with its reader."""

from __future__ import annotations

import gzip
import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linedex.answers import Coverage, CoverageReport, FileHits, Hit, SearchAnswer, SearchRequest
from linedex.errors import NotFound
from linedex.model import Column, LineNumber, RelPath
from linedex_server import VERSION
from linedex_server.asking.search import ask
from linedex_server.json_lines import error_line
from linedex_server.pages import Question, page_lines, scopes_line
from linedex_server.rendezvous.address import connect, published
from linedex_server.rendezvous.hello import LOOKUP, SEARCH, Hello, Welcome

if TYPE_CHECKING:
    from conftest import House, Told

LATIN = os.fsdecode(b"caf\xe9.txt")
LOG = "".join(
    f"2026-03-04 {hour:02}:{minute:02}:00 {level} total of {hour * 60 + minute}\n  at frame {minute}\n"
    for hour in range(9, 12)
    for minute, level in enumerate(("INFO", "ERROR", "WARN") * 20)
)
FILES: dict[str, bytes] = {
    "a.py": b"import os\n\nclass Cart:\n    def total(self):\n        return 1  # TODO later\n",
    "src/b.c": b"int main(void)\n{\n\treturn total(1) + total(2);\n}\n/* todo: no newline */",
    "src/deep/c.txt": b"Total\ntotal\ntotals\nsubtotal\nin total.\n",
    "src/deep/\u00e9 \u00fc.md": "# \u00dcberschrift\n\nein total w\u00f6rtlicher Text, total\n".encode(),
    "src/deep/-n": b"total of a file that is called like an option\n",
    f"src/{LATIN}": b"a total in a file of another name\n",
    " spaced ": b"total in blanks\n",
    "latin.txt": "Stra\u00dfe total gro\u00df \u00e4\u00f6\u00fc\n".encode("latin-1") * 5,
    "broken.txt": b"total \xff\xfe and more\nrest \x80 total\n",
    "crlf.txt": b"one\r\ntotal\r\nthree\r\n",
    "long.txt": b"x" * 3000 + b" total " + b"y" * 3000 + b" total\nshort total\n",
    "longer.txt": b"x" * 700_000 + b" total " + b"y" * 700_000 + b"\nshort total\n",
    "many.txt": b"".join(b"line %d of the total\nnone\n" % number for number in range(15_000)),
    "app.log": LOG.encode(),
    "old.log.gz": gzip.compress(LOG.encode(), mtime=0),
    ".hidden/d.py": b"total = 3\n",
    ".gitignore": b"ignored/\n",
    "ignored/e.py": b"total = 4\n",
    "binary": b"total\0\1\2" * 100,
}
SAME = [
    ["total"],
    ["-i", "TOTAL"],
    ["-S", "total"],
    ["-w", "total"],
    ["-x", "total"],
    ["-v", "total", "src"],
    ["-vc", "total"],
    ["-F", "total("],
    ["-e", "todo", "-e", "main"],
    ["-c", "total"],
    ["-c", "-m", "2", "total"],
    ["-l", "total"],
    ["-l", "-C", "2", "total"],
    ["-m", "3", "total"],
    ["-C", "1", "total"],
    ["-A", "2", "totals"],
    ["-B", "2", "-A", "1", "subtotal"],
    ["-C", "2", "total", "many.txt"],
    ["-g", "*.c", "-g", "*.py", "total"],
    ["-g", "!src/**", "total"],
    ["-t", "python", "total"],
    ["--hidden", "total"],
    ["--no-ignore", "total"],
    ["-N", "total"],
    ["-I", "total"],
    ["--heading", "total"],
    ["--color", "always", "total"],
    ["--color", "always", "-C", "1", "-M", "50", "total"],
    ["-M", "40", "total"],
    ["--json", "total"],
    ["--json", "-C", "1", "total", "src"],
    ["--json", "-l", "total"],
    ["--json", "-c", "total"],
    ["--json", "-M", "30", "total", "long.txt"],
    ["--stats", "total"],
    ["--stats", "-l", "total"],
    ["--stats", "nowhere to be found"],
    ["--stats", "-q", "total"],
    ["-q", "total"],
    ["-q", "total", "src", "a.py"],
    ["-q", "nowhere to be found", "src", "a.py"],
    ["total", "src", "crlf.txt"],
    ["total", "src/deep/"],
    ["total", "./src"],
    ["total", "."],
    ["total", "crlf.txt"],
    ["-H", "total", "crlf.txt"],
    ["total", "src", "absent", "a.py", "absent too"],
    ["total", f"src/{LATIN}"],
    ["total", " spaced "],
    ["total", "app.log", "old.log.gz"],
    ["total", ".hidden"],
    ["total", "--", "src/deep/-n"],
    ["nowhere to be found"],
    ["^$"],
    [r"\bw\S+licher"],
    [r"total\(self\):\n"],
    [r"(?<=sub)total"],
    ["\u00e4"],
    ["--since", "10:00", "--level", "error", "total", "app.log"],
    ["--since", "10:00", "--until", "10:30", "total", "app.log", "old.log.gz"],
    ["--level", "warn+", "--stats", "total"],
    ["--json", "--level", "info", "total", "app.log"],
]
"""Searches that the daemon answers."""
HERE = [
    ["("],
    ["-F", ""],
    ["(?P<x"],
    ["--level", "grave", "total", "app.log"],
    ["-g", "[", "total"],
    ["-t", "klingon", "total"],
    ["--brute", "total"],
    ["total", "absent"],
    ["total", "ignored"],
    ["-q", "total", "ignored", "src"],
    ["total", "src", "../beside", "a.py"],
    ["total", "-"],
    ["total", "/dev/null"],
]
"""Those that this process answers, all or a part, whether a daemon runs or not."""


@pytest.fixture
def tree(house: House) -> Path:
    house.plant("beside", {"f.txt": b"total beside\n"})
    return house.plant("tree", FILES)


def searched(house: House, folder: Path, *searches: Sequence[str], engine: bool = True) -> list[Told]:
    """Return what searches from `folder` give; without the engine none of them may load it."""
    return house.commands(folder, *(["search", *options] for options in searches), engine=engine)


def without_times(said: bytes) -> bytes:
    said = re.sub(rb'"seconds": [\d.e-]+', b'"seconds": T', said)
    return re.sub(rb"; [\d.,]+ m?s( \+ [\d.,]+ m?s to check the files)?$", b"; T", said, flags=re.MULTILINE)


def test_the_daemon_answers_as_the_command_itself_does_and_no_engine_is_loaded(house: House, tree: Path) -> None:
    with house.keeping(tree):
        asked = searched(house, tree, *SAME, engine=False)
        both = searched(house, tree, *HERE)
    assert house.status() is None
    alone = searched(house, tree, *SAME, *HERE)
    for options, (status, out, said), own in zip([*SAME, *HERE], [*asked, *both], alone, strict=True):
        assert status == own[0], options
        assert without_times(out) == without_times(own[1]), options
        assert without_times(said) == without_times(own[2]), options
    assert {status for status, _, _ in asked} == {0, 1, 2}
    assert sum(len(out) for _, out, _ in asked) > 1_000_000


def test_a_search_of_the_daemon_sees_each_change_before_it(house: House, tree: Path) -> None:
    with house.keeping(tree):
        for number in range(5):
            (tree / "fresh.txt").write_text(f"needle {number}\n", encoding="utf-8")
            (found,) = searched(house, tree, [r"needle \d"], engine=False)
            assert found == (0, b"fresh.txt:1:needle %d\n" % number, b"")
        (tree / "fresh.txt").unlink()
        assert searched(house, tree, [r"needle \d"], engine=False) == [(1, b"", b"")]


def test_a_search_starts_no_daemon_and_makes_none_take_a_folder_in(house: House, tree: Path) -> None:
    assert searched(house, tree, ["-q", "total"]) == [(0, b"", b"")]
    assert house.status() is None
    other = house.root("other", a="needle\n")
    assert house.run("index", str(tree)).returncode == 0
    with house.keeping(other):
        assert searched(house, tree, ["-l", "main"]) == [(0, b"src/b.c\n", b"")]
        assert [index.root for index in house.daemon().indexes] == [str(other)]
        state = sorted(path.name for path in (house.state / "indexes").iterdir())
        assert searched(house, house.folder / "beside", ["-l", "total"]) == [(0, b"f.txt\n", b"")]
        assert sorted(path.name for path in (house.state / "indexes").iterdir()) == state


def test_settings_of_who_asks_decide_and_not_those_of_the_daemon(house: House, tree: Path) -> None:
    with house.keeping(tree):
        house.environ["LINEDEX_EXCLUDE"] = "src/"
        assert searched(house, tree, ["-l", "main"]) == [(1, b"", b"")]
        house.environ["LINEDEX_QUERY_SECONDS"] = "many"
        ((status, _, said),) = searched(house, tree, ["-l", "main"])
        assert (status, b"LINEDEX_QUERY_SECONDS is 'many'" in said) == (2, True)
        del house.environ["LINEDEX_EXCLUDE"], house.environ["LINEDEX_QUERY_SECONDS"]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what a process has read")
def test_the_daemon_waits_for_a_reader_and_stops_when_there_is_none(house: House) -> None:
    root = house.folder / "wide"
    root.mkdir()
    for number in range(60):
        (root / f"{number:02}.txt").write_bytes(b"a line with a hit, and more that follows it\n" * 20_000)
    with house.keeping(root):
        pid = house.daemon().pid

        def read() -> int:
            return int(re.findall(r"rchar: (\d+)", Path(f"/proc/{pid}/io").read_text(encoding="ascii"))[0])

        before = read()
        asked = ask(house.state, Question((str(root),), SearchRequest("hit"), 500, 0))
        assert asked is not None
        parts = asked.parts()
        assert next(parts).files
        # other questions are answered meanwhile, and who asks is told of
        for _ in range(30):
            assert [roots for _, roots in house.daemon().clients] == [(str(root),)]
        asked.close()
        house.until(lambda: not house.daemon().clients, "the search ends")
        assert read() - before < 60 * 880_000 / 4


def test_a_closed_pipe_ends_the_search_in_the_daemon(house: House, tree: Path) -> None:
    with house.keeping(tree):
        process = subprocess.Popen(
            [sys.executable, "-m", "linedex_server", "search", "-C", "50", "line", str(tree)],
            env=house.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait(30)) == (b"", 0)
        process.stderr.close()
        house.until(lambda: not house.daemon().clients, "the search ends")


@pytest.mark.parametrize("purpose", [SEARCH, LOOKUP])
@pytest.mark.parametrize("question", [b"", b"\n", b"null\n", b"[" * 9_999 + b"\n", b"x" * (2 << 20)])
def test_what_is_no_question_ends_its_own_connection_only(house: House, purpose: str, question: bytes) -> None:
    house.serve()
    address = published(house.state)
    assert address is not None
    pid = house.daemon().pid
    with connect(address, 30) as connection:
        connection.sendall(Hello(purpose, "/").line())
        received = connection.makefile("rb")
        assert not Welcome.of(received.readline()).error
        try:
            connection.sendall(question)
            connection.shutdown(socket.SHUT_WR)
            assert received.read() == b""
        except ConnectionError:
            pass  # it would not read all of it
    assert house.daemon().pid == pid


HIT = FileHits(RelPath(b"a.py"), (Hit(LineNumber(7), Column(1), Column(2), "told by the other"),))
REPORT = CoverageReport(Coverage.PAGE, by_index=1)


def page(*files: FileHits, more: bool = False) -> bytes:
    return b"".join(page_lines(SearchAnswer(files, 0, 0, near=False, cursor="", coverage=REPORT), more=more))


SCOPES = scopes_line([RelPath(b"")])


@pytest.mark.parametrize(
    ("welcome", "said"),
    [
        (b"", []),
        (b"nonsense\n", []),
        (Welcome(retiring=True).line(), []),
        (Welcome(error="no purpose").line(), []),
        (Welcome(version=VERSION + ".1").line(), [SCOPES, page(HIT)]),
        (Welcome().line(), [b""]),
        (Welcome().line(), [b"[]\n"]),
        (Welcome().line(), [scopes_line([None]), page(HIT)]),
        (Welcome().line(), [scopes_line([]), page(HIT)]),
        (Welcome().line(), [SCOPES]),
        (Welcome().line(), [SCOPES, b"{}\n{}\n"]),
        (Welcome().line(), [SCOPES, b'["torn']),
        (Welcome().line(), [SCOPES, b"nonsense\n"]),
        (Welcome().line(), [SCOPES, error_line(NotFound("gone"))]),
    ],
)
def test_whoever_does_not_answer_is_done_without(house: House, tree: Path, welcome: bytes, said: list[bytes]) -> None:
    with house.standing_in(welcome, *said):
        assert searched(house, tree, ["-l", "main"]) == [(0, b"src/b.c\n", b"")]


def test_a_daemon_that_ends_when_something_was_printed_is_an_error(house: House, tree: Path) -> None:
    with house.standing_in(Welcome().line(), SCOPES, page(HIT, more=True)):
        ((status, out, said),) = searched(house, tree, ["main"])
    assert (status, out) == (2, b"a.py:7:told by the other\n")
    assert said.startswith(b"linedex: the daemon that was answering has ended\n  ")


def test_a_daemon_that_ends_between_two_paths_is_done_without(house: House, tree: Path) -> None:
    with house.standing_in(Welcome().line(), scopes_line([RelPath(b""), RelPath(b"src/b.c")]), page(HIT)):
        ((status, out, _),) = searched(house, tree, ["main", ".", "src/b.c"])
    assert (status, out) == (0, b"./a.py:7:told by the other\nsrc/b.c:1:int main(void)\n")
