"""Writes and processes that are killed: nothing that was answered is lost, and nothing half done is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import House


def chunk_of(number: int, size: int) -> str:
    """Return the text of a chunk, which no other has; line ends are split between chunks now and then."""
    line = f"{number:06d} łódź\r\n"
    return (line * (size // len(line) + 1))[number % 2 : size + number % 2]


def characters(text: str) -> int:
    """Return how many characters an answer counts."""
    found = re.search(r"([\d,]+) characters", text)
    assert found, text
    return int(found[1].replace(",", ""))


def append(session: str, content: str) -> dict[str, Any]:
    """Return a call that adds a chunk."""
    return {"name": "append_write_chunk", "arguments": {"session_id": session, "content": content}}


def written_through_a_killed_daemon(house: House, root: Path, chunks: list[str]) -> None:
    """Write a file in chunks; the daemon is killed while one of them is under way, and the client goes on."""
    client = house.client(root, LINEDEX_TOOLS="all")
    client.begin()
    session = client.call("begin_write_session", path="big.txt").split("Session: ")[1]
    sent = 0
    for number, chunk in enumerate(chunks):
        call = client.send("tools/call", **append(session, chunk))
        if number == len(chunks) // 2:
            os.kill(house.daemon().pid, signal.SIGKILL)
        answer = client.answer(call)
        if "content" not in answer:
            assert "may or may not have been made" in answer["error"]["message"]
            held = characters(client.call("append_write_chunk", session_id=session, content=""))
            assert held in (sent, sent + len(chunk))
            if held == sent:
                client.call("append_write_chunk", session_id=session, content=chunk)
        sent += len(chunk)
    client.call("commit_write_session", session_id=session)
    expected = "".join(chunks).replace("\r\n", "\n").encode()
    assert (root / "big.txt").read_bytes() == expected
    assert [path.name for path in root.iterdir()] == ["big.txt"]
    left = [path.name for path in (house.state / "sessions").iterdir()]
    assert left == [f"{session}.committed"]


def test_a_file_written_in_chunks_is_whole_though_the_daemon_was_killed(house: House) -> None:
    written_through_a_killed_daemon(house, house.root("root"), [chunk_of(number, 5_000) for number in range(60)])


@pytest.mark.long
@pytest.mark.timeout(900)
def test_100_mb_in_1000_chunks_are_whole_though_the_daemon_was_killed(house: House) -> None:
    written_through_a_killed_daemon(house, house.root("root"), [chunk_of(number, 100_000) for number in range(1_000)])


def test_a_large_text_replaces_a_file_in_its_own_style(house: House) -> None:
    root = house.root("root")
    (root / "a.txt").write_bytes(b"\xef\xbb\xbfold\r\nfile\r\n")
    client = house.client(root, LINEDEX_TOOLS="all")
    client.begin()
    session = client.call("begin_write_session", path="a.txt").split("Session: ")[1]
    line = "a line of the new text, which is longer than what is compared line by line\n"
    count = (17 << 20) // len(line)
    for start in range(0, count, 50_000):
        client.call("append_write_chunk", session_id=session, content=line * min(50_000, count - start))
    client.call("commit_write_session", session_id=session)
    content = (root / "a.txt").read_bytes()
    assert content == b"\xef\xbb\xbf" + line.replace("\n", "\r\n").encode() * count
    client.call("revert_edit", absolute_file_path="a.txt")
    assert (root / "a.txt").read_bytes() == b"\xef\xbb\xbfold\r\nfile\r\n"
    assert "revert" in client.call("edit_history", path="a.txt")


KILLED = """
import os, signal, sys
from pathlib import Path
from linedex.files.places import Roots
from linedex_server.edit.put.commit import Committer
from linedex_server.edit.history.history import History
from linedex_server.edit.put.plans import Plan, Target
from linedex_server.edit.splice import Splice

state, root, step = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def fault(reached):
    if reached == step:
        os.kill(os.getpid(), signal.SIGKILL)

place = Roots([root]).resolve(str(root / "a.txt"))
plan = lambda snapshot: Plan((Splice(0, 3, b"new text"),))
committer = Committer(History(state / "history" / "history.db"), faults=fault)
committer.commit([Target(place, "a.txt", plan)], tool="test")
"""


@pytest.mark.parametrize("step", ["flush the temporary file", "look at what came out"])
@pytest.mark.parametrize("daemon", [True, False])
def test_what_a_killed_process_left_is_tidied_up_at_the_next_start(house: House, step: str, *, daemon: bool) -> None:
    root = house.root("root", a="old\n")
    (root / "mine.tmp").write_bytes(b"a user's own\n")
    house.state.mkdir(mode=0o700)
    (house.state / "history").mkdir(mode=0o700)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(house.state), str(root), step], env=house.environ, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(list(root.iterdir())) == 3
    client = house.client(root, options=() if daemon else ("--no-daemon",))
    client.begin()
    house.until(lambda: len(list(root.iterdir())) == 2, "no stray file is left")
    assert (root / "a.txt").read_bytes() in (b"old\n", b"new text\n")
    assert (root / "mine.tmp").read_bytes() == b"a user's own\n"
