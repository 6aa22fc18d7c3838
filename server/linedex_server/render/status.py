"""The state of indexes in words."""

from __future__ import annotations

from collections.abc import Sequence

from linedex.answers import IndexStatus, Phase
from linedex_server.render.words import bracketed, counted, elapsed, reasons, size

_PHASES = {
    Phase.CATALOGUE: "listing files",
    Phase.TEXT: "indexing text",
    Phase.SIGNATURES: "indexing large files",
    Phase.SYMBOLS: "indexing symbols",
}

MOST_PROBLEMS = 20


def status_page(statuses: Sequence[IndexStatus], *, state_dir: str, version: str) -> str:
    """Return the state of each root's index, a paragraph each.

    Args:
        statuses: one for each root.
        state_dir: the folder that holds the sidecars.
        version: linedex's own.
    """
    paragraphs = ["\n".join(status_lines(status)) + "\n" for status in statuses]
    footer = bracketed((counted(len(statuses), "root"), f"state in {state_dir}", f"linedex {version}"))
    return "\n".join(paragraphs) + footer


def status_lines(status: IndexStatus) -> list[str]:
    """Return the state of one index, its root first, then indented lines."""
    skipped = sum(status.skipped.values())
    lines = [f"{status.root}: {phase(status)}"]
    files = f"{counted(status.files, 'file')}: {status.indexed:,} indexed, {status.pending:,} pending"
    files += f", {skipped:,} skipped" + (f" ({reasons(status.skipped)})" if skipped else "")
    lines.append(f"  {files}; {size(status.text_bytes)} of text")
    symbols = f"{counted(status.symbols, 'symbol')} in {counted(status.symbol_files, 'file')}"
    symbols += f"; {status.symbol_pending:,} pending" if status.symbol_pending else ""
    without = sum(status.symbol_skipped.values())
    symbols += f"; {counted(without, 'file')} without ({reasons(status.symbol_skipped)})" if without else ""
    lines.append(f"  {symbols}")
    writer = "this process writes it" if status.writer else "this process only reads it"
    lines.append(f"  sidecar {size(status.sidecar_bytes)}, signatures {size(status.signature_bytes)}; {writer}")
    lines.append(f"  freshness: {status.freshness}")
    verified, of_large = status.checkpoints_verified, status.checkpoints
    checked = [f"checkpoints verified: {verified:,} of {of_large:,}"] if verified < of_large else []
    if wrong := status.checkpoint_mismatches:
        checked.append(
            f"{counted(wrong, 'checkpoint')} had changed unseen and {'was' if wrong == 1 else 'were'} read anew"
        )
    lines += [f"  {'; '.join(checked)}"] if checked else []
    lines.extend(f"  problem: {' '.join(problem.split())}" for problem in status.problems[:MOST_PROBLEMS])
    if len(status.problems) > MOST_PROBLEMS:
        lines.append(f"  and {counted(len(status.problems) - MOST_PROBLEMS, 'problem')} more")
    return lines


def phase(status: IndexStatus) -> str:
    """Return what is being done, with how far it is: `indexing text, 812 of 78,579 files, 41 MB/s`."""
    if status.phase in (Phase.IDLE, Phase.WAITING):
        return "up to date" if status.phase is Phase.IDLE and not status.pending else "waiting"
    progress = status.progress.get(status.phase)
    text = _PHASES[status.phase]
    if progress is None:
        return text
    of = f" of {progress.total_files:,}" if progress.total_files else ""
    text += f", {progress.done_files:,}{of} files"
    if progress.total_bytes:
        text += f", {size(progress.done_bytes)} of {size(progress.total_bytes)}"
    if progress.rate:
        text += f", {size(int(progress.rate))}/s"
    return f"{text}, {elapsed(progress.seconds)}"
