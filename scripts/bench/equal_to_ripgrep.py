#!/usr/bin/env python3
"""Compare the lines that linedex finds, asked over MCP, with those of ripgrep and with reading everything.

300 literals and 150 regular expressions are drawn from the tree's own files with a fixed seed. A pattern with at most
`--whole` matching lines is compared line by line through all pages; one with more by the count of each file and line by
line in five folders drawn from those that hold it, since nobody pages through ten million hits of `e`.

    scripts/bench/equal_to_ripgrep.py /usr/src/linux-source-6.1 --write
"""

from __future__ import annotations

import argparse
import os
import random
import re
import time
from collections import Counter
from pathlib import Path

import anyio
from common import fresh_folder, ran, served, told, write_result
from mcp import Client

from linedex.answers import OutputMode, SearchRequest
from linedex.files.names import parse
from linedex.index import Index
from linedex.limits import Limits
from linedex_server.workspace import sidecar_path

RG = ("rg", "-a", "--crlf", "--no-config")


class Pattern:
    """One question: a pattern, and whether it is a regular expression, ignores case, wants whole words."""

    def __init__(self, text: str, *, regex: bool, ignore_case: bool, word: bool = False) -> None:
        self.text, self.regex, self.ignore_case, self.word = text, regex, ignore_case, word

    def __str__(self) -> str:
        flags = "".join(
            letter for letter, on in zip("Fiw", (not self.regex, self.ignore_case, self.word), strict=True) if on
        )
        return f"{self.text!r} -{flags}"

    def rg(self) -> list[str]:
        """Return ripgrep's options and pattern."""
        flags = ["-F"] * (not self.regex) + ["-i"] * self.ignore_case + ["-w"] * self.word
        return [*flags, "-e", self.text]


def sampled_lines(root: Path, count: int, randomness: random.Random) -> list[str]:
    """Return lines drawn from the tree's files."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    lines: list[str] = []
    while len(lines) < count:
        text = randomness.choice(files).read_bytes().decode("utf-8", "replace")
        found = [line for line in text.splitlines() if len(line.strip()) > 3 and "\ufffd" not in line]
        if found:
            lines.append(randomness.choice(found))
    return lines


def patterns(root: Path, literals: int, regexes: int, seed: int) -> list[Pattern]:
    """Return the questions."""
    randomness = random.Random(seed)
    made = []
    for at, line in enumerate(sampled_lines(root, literals, randomness)):
        length = min(len(line), 1 + at % 24 if at % 3 else randomness.randint(4, 60))
        start = randomness.randrange(len(line) - length + 1)
        made.append(Pattern(line[start : start + length], regex=False, ignore_case=bool(at % 2), word=at % 11 == 0))
    for at, line in enumerate(sampled_lines(root, regexes, randomness)):
        made.append(
            Pattern(_as_regex(line.strip(), at, randomness), regex=True, ignore_case=at % 3 == 0, word=at % 13 == 0)
        )
    return made


def _as_regex(line: str, kind: int, randomness: random.Random) -> str:
    words = re.findall(r"\w+", line) or ["x"]
    word, other = randomness.choice(words), randomness.choice(words)
    escaped = _escaped(line[: randomness.randint(3, 20)])
    return [
        f"^{escaped}",
        rf"{_escaped(line[-12:])}$",
        rf"{word}\s*\(",
        rf"\b{word}\b",
        f"({word}|{other})",
        rf"{word}[a-z_]*{other[:3]}",
        rf"[A-Z]{{2,}}_{word}",
        rf"{word}.*{other}",
        rf"(?:{word}){{1,2}}[^a-z]",
        rf"{word[:2]}\w+{word[-2:]}\b",
        rf"^\s+{word}",
        rf"{word}\d+|{other}_\w+",
        rf"\w{{3}}{word}",
        rf"^$|{word}",
        rf"{word}(?:,|;|\))\s*$",
    ][kind % 15]


def _escaped(text: str) -> str:
    """Return `text` as a pattern for itself; `re.escape` writes escapes that ripgrep refuses."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


def rg_output(root: Path, folder: bytes, *arguments: str) -> bytes:
    """Return what ripgrep prints; an error of its own is raised, no match is none."""
    done = ran(*RG, *arguments, f"./{os.fsdecode(folder)}", cwd=root, check=False)
    if done.returncode > 1:
        raise RuntimeError(done.stderr.decode())
    return done.stdout


def rg_lines(root: Path, folder: bytes, pattern: Pattern) -> list[tuple[bytes, int]]:
    """Return the (path, line) pairs of ripgrep below a folder of the tree, paths from the root."""
    output = rg_output(root, folder, "-n", "--no-heading", "-0", *pattern.rg())
    found = []
    for row in output.split(b"\n"):
        path, mark, rest = row.partition(b"\0")
        if mark:
            found.append((path.removeprefix(b"./"), int(rest.partition(b":")[0])))
    return found


def rg_counts(root: Path, pattern: Pattern) -> dict[bytes, int]:
    """Return ripgrep's count of each file."""
    output = rg_output(root, b"", "-c", "-0", *pattern.rg())
    rows = (row.partition(b"\0") for row in output.split(b"\n"))
    return {path.removeprefix(b"./"): int(count) for path, mark, count in rows if mark}


_HIT = re.compile(r"(\d+):")


async def our_lines(client: Client, root: Path, folder: bytes, pattern: Pattern) -> set[tuple[bytes, int]]:
    """Return the (path, line) pairs of linedex over MCP, through all pages; paths from the root."""
    found: set[tuple[bytes, int]] = set()
    cursor: dict[str, str] = {}
    while True:
        text = await told(
            client,
            "search_directory",
            absolute_dir_path=os.fsdecode(os.path.join(os.fsencode(root), folder)),
            pattern=pattern.text,
            regex=pattern.regex,
            case_sensitive=not pattern.ignore_case,
            word=pattern.word,
            context_lines=0,
            max_results=100,
            **cursor,
        )
        *body, last = text.split("\n")
        path = ""
        for row in body:
            if hit := _HIT.match(row):
                found.add((parse(path), int(hit.group(1))))
            elif row:
                path = row
        following = re.search(r"next cursor=([\w-]+)", last)
        if following is None:
            return found
        cursor = {"cursor": following.group(1)}


def drawn_folders(counts: dict[bytes, int], number: int, randomness: random.Random) -> list[bytes]:
    """Return folders, drawn from those of at most 2,000 hits with all that is below them."""
    below: Counter[bytes] = Counter()
    for path, count in counts.items():
        for end in (at for at, letter in enumerate(path) if letter == ord("/")):
            below[path[:end]] += count
    fitting = sorted(folder for folder, count in below.items() if count <= 2_000)
    return randomness.sample(fitting, min(number, len(fitting)))


def counts_of(index: Index, pattern: Pattern, *, brute: bool) -> dict[bytes, int]:
    """Return the library's count of each file."""
    request = SearchRequest(
        pattern.text,
        regex=pattern.regex,
        case_sensitive=not pattern.ignore_case,
        word=pattern.word,
        mode=OutputMode.COUNT,
        max_hits=10**9,
        brute=brute,
    )
    return {bytes(found.path): found.count or 0 for found in index.search(request).files}


async def compare(options: argparse.Namespace) -> None:
    """Ask every question of all and report."""
    root = options.root.resolve()
    state = fresh_folder() if options.state is None else options.state
    report: list[str] = []
    differences = whole = counted = folders = brutes = 0
    randomness = random.Random(options.seed)
    asked = patterns(root, options.literals, options.regexes, options.seed)[options.skip :]
    began = time.perf_counter()
    async with served(root, state) as client:
        reader = Index(root, sidecar_path(state, root), Limits(query_seconds=3600))
        left_out = {bytes(path) for path, _ in reader.skipped()}
        for at, pattern in enumerate(asked):
            counts = {path: count for path, count in rg_counts(root, pattern).items() if path not in left_out}
            total = sum(counts.values())
            if total <= options.whole:
                whole += 1
                theirs = {hit for hit in rg_lines(root, b"", pattern) if hit[0] not in left_out}
                ours = await our_lines(client, root, b"", pattern)
                missing, extra = theirs - ours, ours - theirs
            else:
                counted += 1
                mine = counts_of(reader, pattern, brute=False)
                missing = {(path, count) for path, count in counts.items() if mine.get(path) != count}
                extra = {(path, count) for path, count in mine.items() if counts.get(path) != count}
                for folder in drawn_folders(counts, 5, randomness):
                    folders += 1
                    theirs = {hit for hit in rg_lines(root, folder, pattern) if hit[0] not in left_out}
                    ours = await our_lines(client, root, folder, pattern)
                    missing |= theirs - ours
                    extra |= ours - theirs
            if options.brute and at % options.brute == 0:
                brutes += 1
                index, brute = counts_of(reader, pattern, brute=False), counts_of(reader, pattern, brute=True)
                if index != brute:
                    differences += 1
                    report.append(f"- {pattern}: the index and reading everything differ")
                    print(report[-1], flush=True)
            if missing or extra:
                differences += 1
                report.append(f"- {pattern}: missing {sorted(missing)[:4]}, extra {sorted(extra)[:4]}")
                print(report[-1], flush=True)
            if at % 25 == 0:
                print(f"{at + 1}/{len(asked)} {time.perf_counter() - began:.0f} s, {differences} differ", flush=True)
        reader.close()
    text = (
        f"{len(asked)} patterns (seed {options.seed}) on {root.name}: {whole} compared line by line, {counted} with "
        f"more than {options.whole:,} hits by the count of each file, and line by line in {folders} folders drawn for "
        f"them; {brutes} compared with reading everything. {len(left_out)} binary files are left out of both (rule 1). "
        f"{differences} differ.\n\n" + "\n".join(report)
    )
    print(text)
    if options.write:
        print(write_result("equal-to-ripgrep", text))


def main() -> None:
    """Read the options and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--literals", type=int, default=300)
    parser.add_argument("--regexes", type=int, default=150)
    parser.add_argument("--skip", type=int, default=0, help="begin behind so many of the patterns")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--whole", type=int, default=3_000, help="compare patterns of up to so many hits line by line")
    parser.add_argument("--brute", type=int, default=10, help="compare every n-th with reading everything; 0 none")
    parser.add_argument("--state", type=Path, help="a state folder that may hold the index already")
    parser.add_argument("--write", action="store_true", help="keep the result in docs/benchmarks")
    anyio.run(compare, parser.parse_args())


if __name__ == "__main__":
    main()
