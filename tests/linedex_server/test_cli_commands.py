"""The commands beside `search`, run in this process on a small folder with an empty state folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from linedex_server.cli.app import run


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    status: int
    out: str
    err: str = ""


Shell = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of text and one binary file, which is the working folder."""
    here = tmp_path / "tree"
    (here / "sub").mkdir(parents=True)
    (here / "a.py").write_text("def total(self):\n    return 1\n\n\nclass Cart:\n    def add(self):\n        ...\n")
    (here / "sub" / "b.txt").write_text("".join(f"total {number}\n" for number in range(1, 101)))
    (here / "zero").write_bytes(b"total\0\1" * 50)
    monkeypatch.chdir(here)
    monkeypatch.setenv("LINEDEX_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "state"))
    return here


@pytest.fixture
def shell(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Shell:
    """Runs one command line."""

    def call(*arguments: str) -> Ran:
        capfdbinary.readouterr()
        status = run(arguments)
        out, err = capfdbinary.readouterr()
        return Ran(status, out.decode(), err.decode())

    return call


@pytest.mark.parametrize(
    ("where", "options", "numbers"),
    [
        ("sub/b.txt", [], range(1, 101)),
        ("sub/b.txt:40-42", [], range(40, 43)),
        ("sub/b.txt:98-", [], range(98, 101)),
        ("sub/b.txt:7", ["-C", "2"], range(5, 10)),
        ("sub/b.txt:1", ["-C", "2"], range(1, 4)),
        ("sub/b.txt", ["--head", "3"], range(1, 4)),
        ("sub/b.txt", ["--tail", "3"], range(98, 101)),
        ("sub/b.txt:99-2000", [], range(99, 101)),
    ],
)
def test_read_prints_the_lines_that_were_named(shell: Shell, where: str, options: list[str], numbers: range) -> None:
    assert shell("read", where, *options).out == "".join(f"{number}\ttotal {number}\n" for number in numbers)


def test_read_without_numbers_is_the_text(shell: Shell, folder: Path) -> None:
    assert shell("read", "-N", "sub/b.txt").out == (folder / "sub" / "b.txt").read_text()


@pytest.mark.parametrize(
    ("where", "words"),
    [("a.py:99", "7 lines"), ("absent", "absent"), ("sub", "folder"), ("zero", "binary"), ("a.py:0", "1")],
)
def test_read_refuses_in_words(shell: Shell, where: str, words: str) -> None:
    ran = shell("read", where)
    assert (ran.status, ran.out) == (2, "")
    assert words in ran.err


def test_outline_symbols_and_files_name_places(shell: Shell) -> None:
    assert shell("outline", "a.py").out.splitlines() == [
        "1-2 function total(self)",
        "5-7 class Cart",
        "  6-7 method add(self)",
    ]
    unindexed = shell("symbols", "Cart.add")
    assert (unindexed.status, unindexed.out) == (2, "")
    assert "linedex index" in unindexed.err
    shell("index", ".")
    assert shell("symbols", "Cart.add") == Ran(0, "a.py:6: method Cart.add(self)\n")
    assert shell("symbols", "absent") == Ran(1, "")
    assert shell("files", "b.txt", "sub") == Ran(0, "sub/b.txt\n")


def test_status_and_check_speak_of_the_index_around_a_folder(shell: Shell, folder: Path) -> None:
    assert shell("status") == Ran(
        0, "daemon: none runs; `linedex mcp` starts one\nnothing is indexed yet; `linedex index DIR` does it\n"
    )
    assert shell("status", "sub").status == 2
    shell("index", ".")
    assert [state["root"] for state in json.loads(shell("status", "--json").out)["indexes"]] == [str(folder.resolve())]
    state = json.loads(shell("status", "--json", "sub").out)
    assert (state["root"], state["files"], state["indexed"]) == (str(folder.resolve()), 3, 2)
    assert "3 files: 2 indexed" in shell("status").out
    assert shell("check", "sub").status == 0


def test_json_lines_end_with_a_summary(shell: Shell) -> None:
    ran = shell("search", "--json", "total", "a.py")
    hit, summary = map(json.loads, ran.out.splitlines())
    assert (hit["path"], hit["line"], hit["column"], hit["end_column"]) == ("a.py", 1, 5, 10)
    assert (summary["hits"], summary["files"], summary["complete"]) == (1, 1, True)


def test_the_languages_are_listed(shell: Shell) -> None:
    listed = shell("languages", "list").out.splitlines()
    assert any(re.match(r"python +.*class.*function", line) for line in listed)


def test_indexing_again_reads_nothing(shell: Shell) -> None:
    shell("index", ".")
    assert re.search(r"^  text +[0-9.,]+ \w+; nothing had changed$", shell("index", ".").out, re.MULTILINE)


@pytest.mark.parametrize(("option", "form"), [("-c", "f{}:1"), ("-l", "f{}"), ("-n", "f{}:1:total")])
def test_however_many_files_match_all_are_printed(shell: Shell, folder: Path, option: str, form: str) -> None:
    (folder / "many").mkdir()
    for number in range(250):
        (folder / "many" / f"f{number}").write_text("total\n")
    lines = shell("search", option, "total", "many").out.splitlines()
    assert sorted(lines) == sorted("many/" + form.format(number) for number in range(250))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a(b"], "use -F"),
        (["-F", ""], "empty"),
        (["total", "-"], "Standard input"),
        (["total", "-t", "no such"], "no such"),
        (["total", "absent"], "absent"),
    ],
)
def test_what_cannot_be_searched_is_refused_in_words(shell: Shell, arguments: list[str], words: str) -> None:
    ran = shell("search", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("linedex: ")
    assert words in ran.err
