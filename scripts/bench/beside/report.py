"""What a run of all contests is kept as: figures in JSON, one table to read, and its comparison with another run."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from beside.contest import OURS, Measure

_NOTES = """\
Each peer's figure is followed by two ratios, of linedex over MCP to it and of linedex at the terminal to it: under 1
linedex took less. Over MCP a search answers with its first page, and with the number of all hits where it knows it; at
the terminal, and from the peers, come all hits. lnav and largefile read a log anew each time. Edits of linedex are
flushed to disk, the others' are not. Where programs tell different numbers, a row ends with them.
"""

Key = tuple[str, str, str, str]
"""One ratio: measure, of which files, which of ours, which peer in which version."""


@dataclass(frozen=True)
class Run:
    """All measures of one run.

    Attributes:
        date: its day, as 2026-01-31.
        machine: in a line.
        absent: the peers that were not there, and what installs them.
        how: how often everybody tried, in a sentence.
    """

    date: str
    machine: str
    measures: Sequence[Measure]
    absent: Mapping[str, str] = field(default_factory=dict)
    how: str = ""

    def ratios(self) -> dict[Key, list[float]]:
        """Return every ratio of ours to a peer's, run by run; more is worse."""
        return {
            (measure.name, measure.on, ours, peer): measure.ratios(ours, peer)
            for measure in self.measures
            for ours in OURS
            for peer in measure.amounts
            if ours in measure.amounts and peer not in OURS
        }


def saved(run: Run, path: Path) -> Path:
    """Write the figures of a run and return where."""
    path.write_text(json.dumps(asdict(run), indent=1) + "\n", encoding="utf-8")
    return path


def loaded(path: Path) -> Run:
    """Return a run that was saved."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    return Run(**{**kept, "measures": [Measure(**measure) for measure in kept["measures"]]})


def last_kept(folder: Path) -> Path | None:
    """Return the figures of the latest day in a folder."""
    return max(folder.glob("????-??-??-peers.json"), default=None)


def table(run: Run) -> str:
    """Return all measures as one table in Markdown, with the peers that are absent below it."""
    rows = [
        f"{run.how}\n{_NOTES}\n".lstrip(),
        "| measure | of | linedex MCP | linedex CLI | peers |",
        "|---|---|---|---|---|",
        *map(_row, run.measures),
        "",
    ]
    rows += [f"Absent: {peer} ({how})." for peer, how in run.absent.items()] or ["Absent: none."]
    return "\n".join(rows)


def _row(measure: Measure) -> str:
    ours = [shown(measure.median(who), measure.unit) if who in measure.amounts else "" for who in OURS]
    ours = [measure.failed.get(who, text) for who, text in zip(OURS, ours, strict=True)]
    peers = []
    for peer in measure.amounts:
        if peer not in OURS:
            ratios = [_ratio(measure, who, peer) if who in measure.amounts else "-" for who in OURS]
            peers.append(f"{peer} {shown(measure.median(peer), measure.unit)} ({', '.join(ratios)})")
    peers += [f"{peer}: {why}" for peer, why in measure.failed.items() if peer not in OURS]
    if len({*measure.told.values()}) > 1:
        peers.append("told: " + ", ".join(f"{who} {number:,}" for who, number in measure.told.items()))
    cells = [measure.name, measure.on, *ours, "; ".join(peers)]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _ratio(measure: Measure, ours: str, peer: str) -> str:
    ratio = statistics.median(measure.ratios(ours, peer))
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def shown(amount: float, unit: str) -> str:
    """Return an amount for people, in three digits or so."""
    if unit == "bytes":
        return f"{amount / 2**20:,.0f} MiB" if amount >= 10 << 20 else f"{amount / 2**20:.1f} MiB"
    if amount >= 1:
        return f"{amount:.1f} s"
    return f"{amount * 1e3:.0f} ms" if amount >= 0.1 else f"{amount * 1e3:.1f} ms"


def worse(now: Run, then: Run, share: float) -> Iterator[str]:
    """Yield what got worse: each ratio that is higher than then by more than a share, and what fails now.

    A machine that is busy with other things disturbs one pair of tries or another, so it counts only if not even the
    best pair of now is as good as the median of then.

    Args:
        now: the run that is judged.
        then: the run that was kept.
        share: how much higher a median may be, 0.25 for a quarter.
    """
    before = then.ratios()
    for key, ratios in now.ratios().items():
        if key not in before:
            continue
        median, was = statistics.median(ratios), statistics.median(before[key])
        if median > was * (1 + share) and min(ratios) > was:
            name, on, ours, peer = key
            yield f"{name} ({on}), {ours} to {peer}: {median:.3g}, was {was:.3g}"
    could = {key[:3] for key in before}
    for measure in now.measures:
        for ours in OURS:
            if ours in measure.failed and (measure.name, measure.on, ours) in could:
                yield f"{measure.name} ({measure.on}), {ours} failed: {measure.failed[ours]}"


def compared(now: Run, then: Run, share: float) -> str:
    """Return what got worse, and how many ratios could be compared."""
    both, mine = len(now.ratios().keys() & then.ratios().keys()), len(now.ratios())
    found = [*worse(now, then, share)]
    head = f"Against {then.date}: {both} of {mine} ratios stand in both; worse by more than {share:.0%}: "
    return head + (f"{len(found)}.\n\n" + "\n".join(f"- {line}" for line in found) if found else "none.")
