"""Daemons that are stopped, full disks and refused permissions, as clients and people at a terminal meet them."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any

import pytest
from tests.linedex.build.plain_search import mounted, use_up

from linedex_server.bridge import Bridge
from linedex_server.config import variables
from linedex_server.rendezvous.errors import NoDaemon
from linedex_server.rendezvous.hello import MCP, STATUS, Hello
from linedex_server.rendezvous.reach import reach

if TYPE_CHECKING:
    from conftest import House


class Answers(io.RawIOBase):
    """What a client reads, as messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: Queue[dict[str, Any]] = Queue()

    def write(self, line: Any) -> int:
        self.messages.put(json.loads(bytes(line)))
        return len(line)


class Talk:
    """A bridge inside this process, with little patience."""

    def __init__(self, house: House, root: Path) -> None:
        self.answers = Answers()
        hello = Hello.here(MCP, {"allowed_roots": (str(root),), "tools": "all"}, variables())
        self.lines: Queue[bytes | None] = Queue()
        self.bridge = Bridge(house.state, hello, self.answers, patience=1.0)  # type: ignore[arg-type]
        for work in (self.bridge.downward, self.bridge.watch, lambda: self.bridge.upward(iter(self.lines.get, None))):
            threading.Thread(target=work, daemon=True).start()
        self.ask(
            1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"}
        )
        assert self.answers.messages.get(timeout=30)["id"] == 1

    def ask(self, number: int, method: str, **params: Any) -> None:
        self.lines.put(
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
        )

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        self.ask(number, "tools/call", name=tool, arguments=arguments)

    def answer(self) -> dict[str, Any]:
        return self.answers.messages.get(timeout=30)


def test_calls_to_a_daemon_that_was_stopped_are_answered_and_it_may_go_on(house: House) -> None:
    root = house.root("root", a="needle\n")
    daemon = house.serve("--root", str(root))
    talk = Talk(house, root)
    talk.call(2, "search_directory", absolute_dir_path=".", pattern="needle")
    assert "needle" in str(talk.answer()["result"])
    daemon.send_signal(signal.SIGSTOP)
    try:
        talk.call(3, "search_directory", absolute_dir_path=".", pattern="needle")
        talk.call(4, "write_full_text", path="b.txt", content="written\n")
        refused = {answer["id"]: answer["error"]["message"] for answer in (talk.answer(), talk.answer())}
    finally:
        daemon.send_signal(signal.SIGCONT)
    assert set(refused) == {3, 4}
    for text in refused.values():
        assert f"`kill -CONT {daemon.pid}` lets it go on" in text
    assert "may or may not have been made" in refused[4]
    assert "may or may not" not in refused[3]
    talk.call(5, "search_directory", absolute_dir_path=".", pattern="needle")
    answer = talk.answer()  # nothing that was refused is answered a second time
    assert answer["id"] == 5
    assert "needle" in str(answer["result"])
    talk.lines.put(None)


def test_a_long_call_to_a_daemon_that_lives_is_waited_for(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    root = house.root("root", a="a" * 60 + "!\n")
    monkeypatch.setenv("LINEDEX_PATTERN_SECONDS", "2.5")
    house.serve("--root", str(root))
    talk = Talk(house, root)
    talk.call(2, "search_directory", absolute_dir_path=".", pattern="(?=a)(a|aa)+$", regex=True)
    assert "result" in talk.answer()
    talk.lines.put(None)


def test_who_comes_to_a_daemon_that_was_stopped_is_told_in_bounded_time(house: House) -> None:
    daemon = house.serve("--root", str(house.root("root", a="needle\n")))
    # of one that is stopped while it writes, the index is waited for twice five seconds
    assert house.run("index", str(house.folder / "root")).returncode == 0
    daemon.send_signal(signal.SIGSTOP)
    try:
        for starting in (True, False):
            with pytest.raises(NoDaemon, match=rf"process {daemon.pid}\) has not answered for \d+ s") as refused:
                reach(house.state, Hello.here(STATUS, {}, variables()), starting=starting, seconds=0.5)
            assert f"`kill -9 {daemon.pid}` ends it" in refused.value.hint
        found = house.run("search", "needle", str(house.folder / "root"))
        assert (found.returncode, "needle" in found.stdout) == (0, True)
    finally:
        daemon.send_signal(signal.SIGCONT)
    assert house.status() is not None


def test_an_edit_on_a_full_disk_is_refused_and_made_when_there_is_space(house: House) -> None:
    with mounted(house.folder / "root", "1m"):
        root = house.folder / "root"
        (root / "a.txt").write_text("needle\n" * 100)
        client = house.client(root, LINEDEX_TOOLS="all")
        client.begin()
        before = (root / "a.txt").read_bytes()
        filler = use_up(root)
        edit = {"path": "a.txt", "content": "written\n" * 2_000}
        refused = client.call("write_full_text", **edit)
        assert "the disk is full" in refused
        assert "Free some space" in refused
        assert (root / "a.txt").read_bytes() == before
        assert {entry.name for entry in root.iterdir()} == {"a.txt", "filler"}
        assert "needle" in client.call("search_directory", absolute_dir_path=".", pattern="needle")
        filler.unlink()
        client.call("write_full_text", **edit)
        assert (root / "a.txt").read_text() == edit["content"]
        client.kill()
        house.run("stop")


def test_where_the_history_cannot_be_written_nothing_is_edited(house: House) -> None:
    with mounted(house.state, "3m"):
        house.state.chmod(0o700)
        root = house.root("root", a="needle\n" * 100)
        client = house.client(root, LINEDEX_TOOLS="all")
        client.begin()
        client.call("write_full_text", path="a.txt", content="needle first\n")
        filler = use_up(house.state)
        content = "".join(f"needle {number} {number * 7919 % 10_007}\n" for number in range(20_000))
        refused = client.call("write_full_text", path="a.txt", content=content)
        assert "Free some space where the state folder lies." in refused
        assert (root / "a.txt").read_text() == "needle first\n"
        assert [entry.name for entry in root.iterdir()] == ["a.txt"]
        assert "first" in client.call("search_directory", absolute_dir_path=".", pattern="needle")
        filler.unlink()
        client.call("write_full_text", path="a.txt", content=content)
        assert (root / "a.txt").read_text() == content
        client.call("revert_edit", absolute_file_path="a.txt")
        assert (root / "a.txt").read_text() == "needle first\n"
        client.kill()
        house.run("stop")


def test_a_state_folder_that_is_removed_under_a_daemon_costs_no_answer_and_no_edit(house: House) -> None:
    root = house.root("root", a="needle\n")
    client = house.client(root, LINEDEX_TOOLS="all")
    client.begin()
    client.call("search_directory", absolute_dir_path=".", pattern="needle")
    shutil.rmtree(house.state)
    assert "needle" in client.call("search_directory", absolute_dir_path=".", pattern="needle")
    client.call("write_full_text", path="a.txt", content="needle again\n")
    assert (root / "a.txt").read_text() == "needle again\n"
    assert "again" in client.call("search_directory", absolute_dir_path=".", pattern="needle")
    client.call("revert_edit", absolute_file_path="a.txt")
    assert (root / "a.txt").read_text() == "needle\n"
    house.until(lambda: list(house.state.glob("indexes/*/index.db")) != [], "the index is made again")


WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None, reason="only root can give up root's rights")
def test_what_may_not_be_read_is_said_and_found_again_when_it_may(house: House) -> None:
    root = house.root("root", a="needle\n", b="needle\n")
    (root / "inner").mkdir()
    (root / "inner" / "c.txt").write_text("needle\n")
    command = [*WITHOUT_RIGHTS, sys.executable, "-m", "linedex_server", "search", "needle", str(root), "--color=never"]

    def searched() -> tuple[int, list[str], str]:
        ran = subprocess.run(command, env=house.environ, capture_output=True, text=True, timeout=60, check=False)
        return ran.returncode, sorted({Path(line.split(":")[0]).name for line in ran.stdout.splitlines()}), ran.stderr

    assert searched()[1] == ["a.txt", "b.txt", "c.txt"]
    (root / "b.txt").chmod(0)
    (root / "inner").chmod(0)
    _, files, said = searched()
    assert files == ["a.txt"]
    assert "inner: unreadable" in said
    assert "1 unreadable" in said
    (root / "b.txt").chmod(0o600)
    (root / "inner").chmod(0o700)
    assert searched()[1] == ["a.txt", "b.txt", "c.txt"]
