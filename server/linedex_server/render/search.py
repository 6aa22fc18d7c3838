"""Search results as ripgrep shows them under `--heading`: the path, then `N:hit` and `N-context` lines.

A near line, given only where there is no exact hit, stands as `N~line`. `@ Class.method` before a line says what is
around it. Lines of one file that do not follow each other are parted by `--`, as ripgrep does.
"""

from __future__ import annotations

from dataclasses import replace

from linedex.answers import FileHits, Hit, OutputMode, SearchAnswer
from linedex_server.render.words import Naming, bracketed, counted, coverage

ELLIPSIS = "…"


def search_page(
    answer: SearchAnswer,
    name: Naming,
    *,
    mode: OutputMode = OutputMode.MATCHES,
    excerpt: int = 500,
    note: str = "",
) -> str:
    """Return one page of a search.

    Args:
        answer: the page.
        name: how files are called.
        mode: hits, paths, or `path:count` lines.
        excerpt: length of a context line, in code points, over which it is cut.
        note: a sentence for the last line.
    """
    if mode is OutputMode.MATCHES:
        blocks = [name(found.path) + "\n" + "\n".join(_lines(found, excerpt)) + "\n\n" for found in answer.files]
    elif mode is OutputMode.FILES:
        blocks = [name(found.path) + "\n" for found in answer.files]
    else:
        blocks = [f"{name(found.path)}:{found.count or 0}\n" for found in answer.files]
    return (
        "".join(blocks).removesuffix("\n").removesuffix("\n")
        + ("\n" if blocks else "")
        + search_footer(answer, mode=mode, note=note)
    )


def search_footer(answer: SearchAnswer, *, mode: OutputMode = OutputMode.MATCHES, note: str = "") -> str:
    """Return the last line of a search: hits, files, coverage and cursor."""
    matched = answer.matched_files if mode is OutputMode.COUNT else len(answer.files)
    files = counted(matched, "file")
    shown = sum(len(found.hits) for found in answer.files)
    if answer.near:
        similar = [hit.similarity or 0.0 for found in answer.files for hit in found.hits]
        between = f"{min(similar):.2f} to {max(similar):.2f}" if similar else "unknown"
        hits = f"no exact hit; {counted(shown, 'near line')} (marked N~) in {files}, similarity {between}"
    elif mode is OutputMode.FILES:
        hits = files
    elif answer.total_hits:
        hits = f"{counted(answer.total_hits, 'hit')} in {files}"
    else:
        hits = "0 hits"
    if len(answer.files) < matched:
        hits += f", the first {counted(len(answer.files), 'file')} shown"
    return bracketed((hits, note, coverage(answer.coverage), f"next cursor={answer.cursor}" if answer.cursor else ""))


def hit_text(hit: Hit) -> str:
    """Return the line of a hit; when cut, with an ellipsis on each cut side and the columns it spans."""
    if not hit.cut:
        return hit.text
    first, last = hit.text_column, hit.text_column + len(hit.text) - 1
    left = ELLIPSIS if first > 1 else ""
    return f"{left}{hit.text}{ELLIPSIS} [columns {first}-{last}; match at column {hit.column}]"


def without_context(answer: SearchAnswer) -> SearchAnswer:
    """Return the same hits without their context lines."""
    return replace(
        answer,
        files=tuple(
            replace(found, hits=tuple(replace(hit, before=(), after=()) for hit in found.hits))
            for found in answer.files
        ),
    )


def _lines(found: FileHits, excerpt: int) -> list[str]:
    """The numbered lines of one file; a hit wins over the context of its neighbours."""
    lines: dict[int, str] = {}
    for hit in found.hits:
        before = enumerate(hit.before, hit.line - len(hit.before))
        for number, text in (*before, *enumerate(hit.after, hit.line + 1)):
            lines.setdefault(number, f"{number}-{_shortened(text, excerpt)}")
    crumbs = {}
    crumb = ""
    for hit in found.hits:
        lines[hit.line] = f"{hit.line}{':' if hit.similarity is None else '~'}{hit_text(hit)}"
        if hit.breadcrumb and hit.breadcrumb != crumb:
            crumbs[hit.line - len(hit.before)] = crumb = hit.breadcrumb
    return _parted(lines, crumbs)


def _parted(lines: dict[int, str], crumbs: dict[int, str]) -> list[str]:
    numbers = sorted(lines)
    has_context = any(lines[number][len(str(number))] == "-" for number in numbers)
    out: list[str] = []
    for index, number in enumerate(numbers):
        if has_context and index and number != numbers[index - 1] + 1:
            out.append("--")
        if number in crumbs:
            out.append(f"@ {crumbs[number]}")
        out.append(lines[number])
    return out


def _shortened(text: str, excerpt: int) -> str:
    return text if len(text) <= excerpt else text[:excerpt] + ELLIPSIS
