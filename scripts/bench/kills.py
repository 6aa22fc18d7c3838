#!/usr/bin/env python3
"""Kill `linedex index` at random moments, let the next one go on, and compare the end with an index made at once.

scripts/bench/kills.py /usr/src/linux-source-6.1/fs --kills 20 --write
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import time
from pathlib import Path

from common import LINEDEX, fresh_folder, write_result

from linedex.build.contents import contents
from linedex_server.workspace import sidecar_path


def start(root: Path, state: Path) -> subprocess.Popen[bytes]:
    """Begin to index `root`."""
    environ = {**os.environ, "LINEDEX_STATE_DIR": str(state)}
    return subprocess.Popen([LINEDEX, "index", str(root)], env=environ, stdout=subprocess.DEVNULL)


def main() -> None:
    """Read the options, kill and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="keep the result in docs/benchmarks")
    options = parser.parse_args()
    root = options.root.resolve()
    whole_state, killed_state = fresh_folder(), fresh_folder()
    began = time.monotonic()
    if start(root, whole_state).wait():
        raise SystemExit("the index made at once failed")
    whole = time.monotonic() - began
    randomness = random.Random(options.seed)
    moments = []
    # short enough that the builds that are killed rarely come to their end before the last
    for _ in range(options.kills):
        process = start(root, killed_state)
        moment = randomness.uniform(0.3, 0.3 + 2 * whole / options.kills)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
            moments.append(moment)
        process.wait()
    if start(root, killed_state).wait():
        raise SystemExit("the last build failed")
    fresh, resumed = (contents(sidecar_path(state, root)) for state in (whole_state, killed_state))
    differing = sorted(path for path in fresh.keys() | resumed.keys() if fresh.get(path) != resumed.get(path))
    text = (
        f"{root.name}: {len(fresh) - 1:,} files, {whole:.1f} s at once. {len(moments)} builds killed after "
        f"{min(moments):.1f} to {max(moments):.1f} s each (seed {options.seed}); then one to the end. "
        f"{len(differing)} files differ from the index made at once{': ' + repr(differing[:5]) if differing else ''}."
    )
    print(text)
    if options.write:
        print(write_result("kills", text))
    raise SystemExit(bool(differing))


if __name__ == "__main__":
    main()
