"""Compare our outlines with Universal Ctags, by line, over the folders named on the command line.

Counted are functions, classes, methods, structs, unions, enums, typedefs and macros. Left out are JavaScript's object
literals, which ctags calls classes, names that do not stand on the line ctags gives (it names anonymous things), and
files that are not outlined at all, which are counted. Prints recall a folder (by line, and by line and name) and the
misses.

    python scripts/bench/outline_recall.py [--misses N] FOLDER...
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "indexer"))

from linedex.content.languages import detect
from linedex.content.symbols import extract
from linedex.limits import Limits

KINDS = {
    "python": {"class", "function", "member"},
    "javascript": {"class", "function", "method", "generator", "getter", "setter"},
    "c": {"function", "struct", "union", "enum", "typedef", "macro"},
}
CTAGS_LANGUAGES = {"Python": "python", "JavaScript": "javascript", "C": "c", "C++": "c"}


def files_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the sources of a folder in a language that is compared."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "site-packages")
        for name in sorted(names):
            path = Path(parent, name)
            if path.is_symlink() or not path.is_file():
                continue
            language = detect(os.fsencode(path), path.read_bytes()[: 64 << 10])
            if language in KINDS:
                yield path, language


def ctags_of(paths: list[Path]) -> dict[str, list[tuple[int, str, str, str]]]:
    """Return what ctags finds: path -> (line, name, kind, text of the line)."""
    command = [
        "ctags", "--output-format=json", "--fields=+nKl", "--map-C=+.h", "--kinds-C=+defgstum",
        "-f", "-", "-L", "-",
    ]  # fmt: skip
    done = subprocess.run(
        command, input="\n".join(map(str, paths)), capture_output=True, text=True, errors="replace", check=True
    )
    found: dict[str, list[tuple[int, str, str, str]]] = defaultdict(list)
    for row in done.stdout.split("\n"):
        tag = json.loads(row or "{}")
        if tag.get("_type") == "tag" and tag.get("language") in CTAGS_LANGUAGES:
            found[tag["path"]].append((tag["line"], tag["name"], tag["kind"], tag.get("pattern", "")))
    return found


def text_of(path: Path) -> bytes:
    """Return a file as the parser gets it."""
    raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        raw = raw.decode("latin-1").encode()
    return raw if b"\n" in raw else raw.replace(b"\r", b"\n")


def compare(folder: Path, most_misses: int) -> float:
    """Print the comparison of one folder; return its recall by line."""
    sources = list(files_of(folder))
    tags = ctags_of([path for path, _ in sources])
    expected = by_line = by_name = size = found = outlined = 0
    spent = 0.0
    misses: list[str] = []
    notes: Counter[str] = Counter()
    for path, language in sources:
        text = text_of(path)
        size += len(text)
        began = time.perf_counter()
        outline = extract(text, language, Limits(), full=True)
        spent += time.perf_counter() - began
        if outline.note:
            notes[outline.note.split(":")[-1].split("recovered")[-1].strip()] += 1
        if outline.reason is not None:
            continue
        outlined += 1
        found += len(outline.symbols)
        lines = {int(symbol.line) for symbol in outline.symbols}
        lines_of_text = text.split(b"\n")
        names = {(int(symbol.line), symbol.name) for symbol in outline.symbols}
        for line, name, kind, pattern in tags.get(str(path), []):
            if kind not in KINDS[language] or name.strip("#\"'").encode() not in lines_of_text[line - 1]:
                continue
            if language == "javascript" and kind == "class" and not {"class", "function"} & set(_words(pattern)):
                continue
            expected += 1
            by_name += (line, name) in names
            if line in lines:
                by_line += 1
            else:
                misses.append(f"{path}:{line}: {kind} {name}")
    print(f"{folder}: {outlined} of {len(sources)} files outlined, {size / 1e6:.1f} MB, {found:,} symbols, ", end="")
    print(f"{size / 1e6 / spent:.1f} MB/s a core")
    print(f"  same line {by_line:,} of {expected:,} = {by_line / expected:.2%}; and same name {by_name / expected:.2%}")
    print(f"  notes: {dict(notes.most_common(8))}")
    print("\n".join(f"  missed {miss}" for miss in misses[:most_misses]))
    return by_line / expected


def _words(pattern: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in pattern).split()


def main() -> None:
    """Compare every folder named on the command line; fail when one is under 99 %."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--misses", type=int, default=1_000, help="print at most so many misses a folder")
    arguments = parser.parse_args()
    recalls = [compare(folder, arguments.misses) for folder in arguments.folders]
    sys.exit(min(recalls) < 0.99)


if __name__ == "__main__":
    main()
