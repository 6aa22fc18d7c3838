"""`linedex search` on a small repository, with and without an index, against ripgrep and a brute-force scan."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from linedex_server.cli.app import run

RG = shutil.which("rg")

FILES: dict[str, str] = {
    "a.py": "import os\n\nclass Cart:\n    def total(self):\n        return 1  # TODO later\n",
    "src/b.c": "int main(void)\n{\n\treturn total(1);\n}\n/* todo: no newline */",
    "src/deep/c.txt": "Total\ntotal\ntotals\nsubtotal\nin total.\n",
    "src/deep/é ü.md": "# Überschrift\n\nein total wörtlicher Text\n",
    "src/deep/-n": "total of a file that is called like an option\n",
    "crlf.txt": "one\r\ntotal\r\nthree\r\n",
    ".hidden/d.py": "total = 3\n",
    ".gitignore": "ignored/\n*.log\n",
    "ignored/e.py": "total = 4\n",
    "x.log": "total 5\n",
}
VISIBLE = [name for name in FILES if not name.startswith((".", "ignored")) and not name.endswith(".log")]


def lay(folder: Path) -> None:
    """Write the repository: text, hidden, ignored and binary files."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
    (folder / "binary").write_bytes(b"total\0\1\2" * 100)
    (folder / ".git").mkdir()


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Return the repository twice, each with its state folder: one that was indexed, one that was not."""
    made = {}
    for name in ("scanned", "indexed"):
        folder = tmp_path_factory.mktemp(name)
        lay(folder)
        made[name] = folder, tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINEDEX_STATE_DIR", str(made["indexed"][1]))
        assert run(["index", str(made["indexed"][0])]) == 0
    return made


@pytest.fixture(params=["scanned", "indexed"])
def folder(
    request: pytest.FixtureRequest, places: dict[str, tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The repository as the working folder."""
    here, state = places[request.param]
    monkeypatch.chdir(here)
    monkeypatch.setenv("LINEDEX_STATE_DIR", str(state))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(state))
    return here


def found(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> tuple[int, list[str], str]:
    """Run a search; return its status, its lines, and what it said beside them."""
    capfdbinary.readouterr()
    status = run(["search", *arguments])
    out, err = capfdbinary.readouterr()
    return status, out.decode().splitlines(), err.decode()


def test_hits_are_those_of_a_brute_force_scan_in_grep_form(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    expected = sorted(
        f"{name}:{number}:{line}"
        for name in VISIBLE
        for number, line in enumerate(FILES[name].replace("\r\n", "\n").split("\n"), start=1)
        if re.search(r"tot\w+", line)
    )
    status, lines, said = found(capfdbinary, r"tot\w+")
    assert (status, sorted(lines), said) == (0, expected, "")


@pytest.mark.skipif(RG is None, reason="ripgrep is not installed")
@pytest.mark.parametrize(
    "options",
    [
        ["total"],
        ["-i", "TOTAL"],
        ["-S", "total"],
        ["-w", "total"],
        ["-x", "total"],
        ["-v", "-w", "total"],
        ["-F", "total("],
        ["-e", "todo", "-e", "main"],
        ["-c", "total"],
        ["-c", "-m", "2", "total"],
        ["-l", "total"],
        ["-m", "1", "total"],
        ["-C", "1", "total"],
        ["-A", "2", "totals"],
        ["-B", "2", "-A", "1", "subtotal"],
        ["-g", "*.c", "-g", "*.py", "total"],
        ["-g", "!src/**", "total"],
        ["--hidden", "-g", "!.git", "total"],
        ["--no-ignore", "total"],
        ["-N", "total"],
        ["-I", "total"],
        ["total", "src", "crlf.txt"],
        ["total", "src/deep/"],
        ["total", "./src"],
        ["total", "."],
        ["total", "crlf.txt"],
        ["-H", "total", "crlf.txt"],
        ["-c", "total", "crlf.txt"],
        ["total", "x.log"],
        ["total", ".hidden"],
        ["total", "ignored"],
        ["total", "--", "src/deep/-n"],
        ["nowhere to be found"],
        ["^$"],
        [r"\bw\S+licher"],
    ],
    ids=" ".join,
)
def test_it_prints_and_ends_as_ripgrep_does(
    folder: Path, options: list[str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert RG is not None
    command = [RG, "--no-config", "--sort", "path", "--no-heading", "-n", "--crlf", "--color", "never", *options]
    expected = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    wanted = [line for line in expected.stdout.splitlines() if "binary file matches" not in line]
    status, lines, said = found(capfdbinary, *options)
    assert (sorted(lines), status) == (sorted(wanted), expected.returncode), said


def test_a_quiet_search_says_nothing_when_it_stops_at_the_first_hit(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert found(capfdbinary, "-q", "total") == (0, [], "")


def test_a_search_that_cannot_be_made_says_why_and_sums_up_nothing(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    status, lines, said = found(capfdbinary, "--level", "grave", "total", "crlf.txt")
    assert (status, lines) == (2, [])
    assert "`grave` is no level" in said
    assert "0 hits" not in said
