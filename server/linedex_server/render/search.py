"""Search results as ripgrep shows them under `--heading`: the path, then `N:hit` and `N-context` lines.

A near line, given only where there is no exact hit, stands as `N~line`. `@ Class.method` before a line says what is
around it. Lines of one file that do not follow each other are parted by `--`, as ripgrep does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linedex.answers import FileHits, Hit, OutputMode, SearchAnswer
from linedex.model import Column
from linedex_server.render.logs import spanned
from linedex_server.render.words import Naming, bracketed, counted, coverage

ELLIPSIS = "…"
_COLUMNS = 10
"""Columns of matches that are listed beside one part of a line."""


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
        low, high = (f"{bound(similar, default=0.0):.2f}" for bound in (min, max))
        between = low if low == high else f"{low} to {high}"
        hits = f"no exact hit; {counted(shown, 'near line')} (marked N~) in {files}, similarity {between}"
    elif mode is OutputMode.FILES:
        hits = files
    elif answer.total_hits:
        hits = f"{counted(answer.total_hits, 'hit')} in {files}"
    else:
        hits = "0 hits"
    if len(answer.files) < matched:
        hits += f", the first {counted(len(answer.files), 'file')} shown"
    later = f"later lines: cursor={answer.later}" if answer.later else ""
    more = f"next cursor={answer.cursor}" if answer.cursor else later
    return bracketed((hits, spanned(answer.span), note, answer.note, coverage(answer.coverage), more))


def hit_text(hit: Hit) -> str:
    """Return the line of a hit; when cut, the parts around its matches, each with the columns it spans.

    An ellipsis stands on each side that is cut.
    """
    if not hit.cut:
        return hit.text
    parts = [(hit.text_column, hit.text, [hit.column])]
    unseen: list[Column] = []
    for one in hit.more:
        if one.text:
            parts.append((one.text_column, one.text, [one.column]))
            continue
        home = (at for first, text, at in parts if first <= one.column and one.end_column <= first + len(text))
        next(home, unseen).append(one.column)
    shown = " ".join(_part(*part) for part in parts)
    if unseen:
        shown += f" [{counted(len(unseen), 'more match', 'more matches')}, up to column {unseen[-1]}]"
    return shown


def _part(first: Column, text: str, matches: Sequence[Column]) -> str:
    left = ELLIPSIS if first > 1 else ""
    few = ", ".join(map(str, matches[:_COLUMNS])) + (", ..." if len(matches) > _COLUMNS else "")
    where = f"match at column {few}" if len(matches) == 1 else f"{len(matches)} matches at columns {few}"
    return f"{left}{text}{ELLIPSIS} [columns {first}-{first + len(text) - 1}; {where}]"


def without_context(answer: SearchAnswer) -> SearchAnswer:
    """Return the same hits without their context lines."""
    return replace(
        answer,
        files=tuple(
            replace(found, hits=tuple(hit._replace(before=(), after=()) for hit in found.hits))
            for found in answer.files
        ),
    )


def _lines(found: FileHits, excerpt: int) -> list[str]:
    """The numbered lines of one file; a hit wins over the context of its neighbours."""
    lines: dict[int, str] = {}
    for hit in found.hits:
        before = enumerate(hit.before, hit.line - len(hit.before))
        for number, text in (*before, *enumerate(hit.after, hit.last_line + 1)):
            lines.setdefault(number, f"{number}-{_shortened(text, excerpt)}")
    crumbs = {}
    crumb = ""
    for hit in found.hits:
        mark = ":" if hit.similarity is None else "~"
        texts = hit_text(hit).split("\n") if hit.lines > 1 else [hit_text(hit)]
        for number, text in enumerate(texts, hit.line):
            lines[number] = f"{number}{mark}{text}"
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
