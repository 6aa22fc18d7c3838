"""Numbers, sizes, times and coverage as people write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from linedex.answers import Coverage, CoverageReport
from linedex.model import RelPath

Naming: TypeAlias = Callable[[RelPath], str]
"""How a file is called in an answer: escaped, on one line, and accepted as a path by every tool."""

_VERDICTS = {
    Coverage.COMPLETE: "complete",
    Coverage.PAGE: "more to come",
    Coverage.DEADLINE: "stopped by the time limit",
    Coverage.PARTIAL: "partial",
}


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return `1 hit`, `2,310 hits`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(number: int) -> str:
    """Return a size in bytes with the unit a person would choose, as `84.2 kB`; powers of 1,000."""
    if number < 10_000:
        return counted(number, "byte")
    value, unit = next(
        (number / factor, unit)
        for factor, unit in ((10**3, "kB"), (10**6, "MB"), (10**9, "GB"), (10**12, "TB"))
        if number / factor < 999.5 or unit == "TB"
    )
    return f"{value:.3g} {unit}" if value < 100 else f"{value:,.0f} {unit}"


def elapsed(seconds: float) -> str:
    """Return a time as `3 ms` or `1.4 s`."""
    if seconds < 0.9995:
        return f"{max(seconds * 1000, 0):.0f} ms"
    return f"{seconds:.1f} s"


def reasons(skipped: Mapping[str, int]) -> str:
    """Return `450 binary, 17 unreadable`, the commonest first."""
    ordered = sorted(skipped.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count:,} {reason}" for reason, count in ordered)


def coverage(report: CoverageReport) -> str:
    """Return how an answer came about, as `complete: 812 by index, 3 by scan, 4 skipped (4 binary); 3 ms`."""
    parts = []
    if report.by_index:
        parts.append(f"{report.by_index:,} by index")
    if report.by_scan or not report.by_index:
        parts.append(f"{report.by_scan:,} by scan")
    if report.sequential:
        parts.append(f"{report.sequential:,} of them sequential")
    left_out = sum(report.skipped.values())
    if left_out:
        parts.append(f"{left_out:,} skipped ({reasons(report.skipped)})")
    text = f"{_VERDICTS[report.verdict]}: {', '.join(parts)}"
    text += "".join(f"; {note}" for note in report.notes)
    text += f"; {elapsed(report.seconds)}"
    if report.check_seconds >= 0.0005:
        text += f" + {elapsed(report.check_seconds)} to check the files"
    return text


def bracketed(parts: Iterable[str]) -> str:
    """Return the last line of an answer: its non-empty parts in brackets, on one line."""
    return "[" + "; ".join(" ".join(part.splitlines()) for part in parts if part) + "]"


def encodable(text: str) -> str:
    """Return `text` with each lone surrogate, which UTF-8 cannot write, as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in text)
    return text
