r"""The lines found are those that the real ripgrep finds; what is left out of the comparison is a rule with a reason.

- Lone CR: `rg --crlf` lets no class match a CR; here a CR inside a line is a character like any other.
- `\A`, `\z`, and `\B`, `-w` or `-x` with a pattern that can match nothing at all: under `--crlf` ripgrep 13 hands such
  patterns lines with their LF when they end at LF alone, and sees a place after it.
- ripgrep 14 and later let `-w` stand beside a byte that is not UTF-8; 13 and linedex do not.
- U+0390/U+1FD3, U+FB05/U+FB06: equal under ignored case since Unicode 15.1, which ripgrep 13 does not know.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linedex.answers import SearchRequest
from linedex.limits import Limits
from linedex.query.matcher import compile_pattern

if TYPE_CHECKING:
    from conftest import Hostile

RG = shutil.which("rg")
VERSION = subprocess.run([RG, "--version"], capture_output=True, check=True).stdout if RG else b""
needs_rg_13 = pytest.mark.skipif(not VERSION.startswith(b"ripgrep 13."), reason="ripgrep 13 (rg) is not installed")
CLASSES = (
    *(".", "[^a]", "[a-z]", "[ks]", "[^k]", r"\pL", r"\p{Greek}", r"\PL", "[[:alpha:]]", "[[:^upper:]]", "[0-9]"),
    *(r"[\x{80}-\x{ffff}]", "[\u0130a]", "(?s:.)", r"\p{Lu}", r"\P{Lu}", r"[b\PL]", r"\s", r"\S", r"\w", r"\W"),
    *(r"\d", r"\D", r"[^\W_]", r"[\w-]", r"[\Wa]", r"[^\s]", r"[\D\d]", r"[^\n]"),
)
EQUAL_SINCE_15_1 = set("\u0390\u1fd3\ufb05\ufb06")
LIMITS = Limits()

Lines = set[tuple[int, int]]


def found_by_rg(request: SearchRequest, folder: Path) -> Lines:
    options = ["-a", "--crlf", "--no-config", "--no-ignore", "-n", "--no-heading", "--null"]
    options += [] if request.regex else ["-F"]
    options += [] if request.case_sensitive else ["-i"]
    options += ["-w"] if request.word else []
    options += ["-x"] if request.whole_line else []
    options += ["-v"] if request.invert else []
    assert RG
    run = subprocess.run([RG, *options, "-e", request.pattern, "."], cwd=folder, capture_output=True, check=False)
    assert run.returncode < 2, run.stderr
    lines: Lines = set()
    for line in run.stdout.split(b"\n"):
        # a file may hold NUL, but never a name followed by one and by a number
        name, _, rest = line.partition(b"\0")
        number, colon, _ = rest.partition(b":")
        if name.startswith(b"./") and colon and number.isdigit():
            lines.add((int(name[2:]), int(number)))
    return lines


def found_here(request: SearchRequest, texts: list[bytes]) -> Lines:
    matcher = compile_pattern(request, LIMITS)
    return {
        (index, text.count(b"\n", 0, hit.line_start) + 1)
        for index, text in enumerate(texts)
        for hit in matcher.find(text)
    }


def compared(request: SearchRequest) -> bool:
    pattern = request.pattern
    insensitive = not request.case_sensitive or "(?i" in pattern
    if insensitive and EQUAL_SINCE_15_1 & set(pattern):
        return False
    can_be_empty = compile_pattern(SearchRequest(pattern, regex=request.regex), LIMITS).matches(b"\n")
    return not can_be_empty or not (request.word or request.whole_line or r"\B" in pattern)


def write(folder: Path, raw: list[bytes]) -> list[bytes]:
    for index, text in enumerate(raw):
        (folder / str(index)).write_bytes(text)
    return [text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n") for text in raw]


@needs_rg_13
@pytest.mark.parametrize("seed", range(3))
def test_random_patterns_find_the_lines_that_ripgrep_finds(seed: int, tmp_path: Path, hostile: type[Hostile]) -> None:
    draw = hostile(seed)
    texts = write(tmp_path, [draw.text(lone_cr=False) for _ in range(120)])
    hits = 0
    for _ in range(150):
        regex = draw.random.random() < 0.9
        request = SearchRequest(
            draw.pattern(CLASSES, ("^", "$", r"\b", r"\B"))
            if regex
            else draw.literal().replace("\0", "-"),  # no NUL in an argument
            regex=regex,
            case_sensitive=draw.random.random() < 0.5,
            word=draw.random.random() < 0.2,
            invert=draw.random.random() < 0.1,
        )
        if not compared(request):
            continue
        here = found_here(request, texts)
        assert here == found_by_rg(request, tmp_path), request
        hits += len(here)
    assert hits > 1000


@needs_rg_13
@pytest.mark.parametrize(
    ("pattern", "word", "whole_line"),
    [
        *(
            ("foo", True, False),
            ("foo|bar", True, False),
            ("-x", True, False),
            ("fo+", False, True),
            ("foo|x", False, True),
        ),
        *((r"\bfoo\b", False, False), (r"\Bo\b", False, False), (r"^\s*foo", False, False), ("o$", False, False)),
        *(("^$", False, False), ("c++", False, False), ("fo{2}{2}", False, False), (r"\u00e9", False, False)),
        *((r"[^[:^alpha:]]", False, False), ("(?-m)^foo", False, False), ("(?U)fo+$", False, False)),
    ],
)
def test_chosen_patterns_find_the_lines_that_ripgrep_finds(
    pattern: str, *, word: bool, whole_line: bool, tmp_path: Path
) -> None:
    lines = "foo,xfoo, foo,foo²,fooé,\u0301foo,foo\u200d,foo-x,a -x,,fo,fooo,bar foo,çfoo,c++,foofoo foo,_foo,"
    text = lines.replace(",", "\n").encode()
    raw = [
        text,
        text.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + text,
        text + b"foo",
        b"\xfffoo\nfoo\xff\n\xe2\x82foo\n",
    ]
    texts = write(tmp_path, raw)
    for case_sensitive in (True, False):
        request = SearchRequest(pattern, regex=True, case_sensitive=case_sensitive, word=word, whole_line=whole_line)
        assert found_here(request, texts) == found_by_rg(request, tmp_path)
