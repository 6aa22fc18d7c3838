#!/usr/bin/env python3
"""Run linedex and its peers side by side on the same files, and write one table of ratios.

Whatever is installed takes part: ripgrep (every version), codesearch, ugrep, GNU grep and sed, lnav, Universal Ctags,
and the MCP servers largefile and filesystem; what is not is named as absent. `--install` fetches what pip and npm have.
linedex is asked as assistants ask it, in the protocol through bridge and daemon, and at the terminal.
Programs try in turn, after one try that is not counted; one that takes longer than `--slow` seconds has only that.

    scripts/bench/peers.py --tree /usr/src/linux-source-6.1 --log app1.log --log app10.log --edit app1.log --install \
        --against last --write

Logs are made by scripts/bench/logs.py. Without `--tree`, `--log` or `--edit` that part is left out. The status is 1 if
a ratio got worse than `--against` by more than `--worse`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from beside.contest import Bench, Measure
from beside.edits import Edits
from beside.large import Log
from beside.programs import found, install
from beside.report import Run, compared, last_kept, loaded, saved, table
from beside.server import others
from beside.starts import Starts
from beside.tree import Tree
from common import RESULTS, machine, write_result


def measures(bench: Bench, options: argparse.Namespace) -> Iterator[Measure]:
    """Hold all contests that are asked for."""
    empty = bench.folder / "empty"
    empty.mkdir()
    yield from Starts(bench, empty, [*others(bench, empty)], options.starts).measured()
    if options.tree:
        root = options.tree.resolve()
        yield from Tree(bench, root, [*others(bench, root)]).measured(options.index_runs, options.symbol_runs)
    for log in options.edit:
        yield from Edits(bench, log.resolve()).measured()
    for log in options.log:
        yield from Log(bench, log.resolve(), options.most).measured()


def plain_environment(home: Path) -> None:
    """Let nobody's own settings decide anything."""
    for name in [*os.environ]:
        if name.startswith(("LINEDEX_", "LARGEFILE_", "XDG_", "RIPGREP_", "GREP_")):
            del os.environ[name]
    os.environ["HOME"] = str(home)


def run(options: argparse.Namespace) -> Run:
    """Find or install the peers, hold the contests and clean up."""
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="linedex-peers-", dir=options.folder))
    try:
        installed = install(folder / "installed") if options.install else []
        peers = found([*options.programs, *installed])
        print("Here:", ", ".join(program.name for program in peers.programs), flush=True)
        for kind, hint in peers.absent.items():
            print(f"Absent: {kind} ({hint})", flush=True)
        plain_environment(folder)
        bench = Bench(peers, folder, options.memory, options.runs, options.slow, options.patience)
        held = [*measures(bench, options)]
        how = (
            f"Medians of {options.runs} tries in turn (indexes {options.index_runs}, symbols {options.symbol_runs}, "
            f"starts {options.starts}); of one where a try takes over {options.slow:g} s."
        )
        return Run(f"{datetime.now(UTC):%Y-%m-%d}", machine(), held, peers.absent, how)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def arguments() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, help="a folder of sources")
    parser.add_argument("--log", type=Path, action="append", default=[], help="a large log; may be given again")
    parser.add_argument("--edit", type=Path, action="append", default=[], help="a log whose copies are edited")
    parser.add_argument("--programs", type=Path, action="append", default=[], help="a folder of peers, before PATH")
    parser.add_argument("--install", action="store_true", help="fetch peers by pip and npm, for this run")
    parser.add_argument("--folder", type=Path, help="where to work; needs the edited log eight times over")
    parser.add_argument("--runs", type=int, default=5, help="counted tries of each program")
    parser.add_argument("--index-runs", type=int, default=3)
    parser.add_argument("--symbol-runs", type=int, default=1)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--slow", type=float, default=10, help="seconds after which one try of a program is all")
    parser.add_argument("--patience", type=float, default=900, help="seconds after which a program has failed")
    parser.add_argument("--memory", type=float, default=8, help="GiB of addresses that largefile may have")
    parser.add_argument("--most", type=int, default=1_500_000_000, help="bytes of a log that largefile is asked about")
    parser.add_argument("--given", type=Path, help="measure nothing: show and compare the figures of this run")
    parser.add_argument("--against", help="the figures of a run to compare with; last: the last kept one")
    parser.add_argument("--worse", type=float, default=0.25, help="the share by which a ratio may be higher")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--write", action="store_true", help="keep table and figures in docs/benchmarks")
    return parser.parse_args()


def main() -> None:
    """Measure, compare, keep."""
    options = arguments()
    kept = last_kept(RESULTS) if options.against == "last" else options.against and Path(options.against)
    then = loaded(kept) if kept else None
    now = loaded(options.given) if options.given else run(options)
    text = table(now)
    verdict = (
        compared(now, then, options.worse) if then else "Against nothing: no run is kept." if options.against else ""
    )
    print(f"\n{text}\n\n{verdict}")
    if options.json:
        saved(now, options.json)
    if options.write:
        print(write_result("peers", f"{text}\n\n{verdict}"))
        saved(now, RESULTS / f"{now.date}-peers.json")
    sys.exit(verdict.count("\n- ") > 0)


if __name__ == "__main__":
    main()
