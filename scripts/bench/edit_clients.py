#!/usr/bin/env python3
"""Count with eight clients of one daemon on one file, each increment guarded by the hash of the read before it.

scripts/bench/edit_clients.py --clients 8 --increments 1000 --write
"""

from __future__ import annotations

import argparse
import json
import os
import re
import threading
import time
from contextlib import ExitStack

from bridge import LINEDEX, Spoken, mcp
from common import fresh_folder, ran, write_result

FILE = "counter.txt"
_STATE = re.compile(r"count (\d+)\n.*hash ([0-9a-f]+)", re.DOTALL)


def called(client: Spoken, tool: str, **arguments: object) -> tuple[bool, str]:
    """Return whether a call was refused, and its text."""
    result = json.loads(client.ask("tools/call", name=tool, arguments=arguments))["result"]
    return bool(result.get("isError")), str(result["content"][0]["text"])


def count(client: Spoken, increments: int, refusals: list[int]) -> None:
    """Add one so many times; whoever was quicker is read and tried again."""
    refused_times = 0
    for _ in range(increments):
        while True:
            _, text = called(client, "read_content", absolute_file_path=FILE)
            found = _STATE.search(text)
            assert found, text
            number, mark = int(found[1]), found[2]
            refused, text = called(
                client,
                "replace_literal",
                path=FILE,
                old_text=f"count {number}",
                new_text=f"count {number + 1}",
                base_hash=mark,
            )
            if not refused:
                break
            assert "has changed since" in text, text
            refused_times += 1
    refusals.append(refused_times)


def main() -> None:
    """Run the clients and say what the file holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--increments", type=int, default=1000, help="of each client")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks")
    given = parser.parse_args()
    folder = fresh_folder()
    root, state = folder / "root", folder / "state"
    root.mkdir()
    file = root / FILE
    file.write_text("count 0\n", encoding="ascii")
    environ = {**os.environ, "LINEDEX_STATE_DIR": str(state)}
    refusals: list[int] = []
    with ExitStack() as connected:
        clients = [connected.enter_context(Spoken(mcp(root, "--tools", "all"), environ)) for _ in range(given.clients)]
        threads = [threading.Thread(target=count, args=(one, given.increments, refusals)) for one in clients]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - began
    ran(*LINEDEX, "stop", env=environ)
    total = given.clients * given.increments
    held = file.read_text(encoding="ascii")
    left = sorted(path.name for path in root.iterdir() if path.name != FILE)
    text = (
        f"`scripts/bench/edit_clients.py --clients {given.clients} --increments {given.increments}`\n\n"
        f"{given.clients} clients of one daemon added 1 to the number in one file {given.increments:,} times each, "
        f"each by a read and a `replace_literal` with the hash of that read, tried again when refused.\n\n"
        f"The file holds `{held.strip()}`; expected {total}. {sum(refusals):,} calls were refused since the file had "
        f"changed; {seconds:.0f} s, {total / seconds:.0f} increments a second. Files left beside it: {left}.\n"
    )
    print(text)
    if given.write:
        print(write_result("edit-clients", text))
    assert held == f"count {total}\n"
    assert not left


if __name__ == "__main__":
    main()
