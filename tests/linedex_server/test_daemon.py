"""One daemon for every client of a state folder: its election, what each session sees, and its end."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linedex_server import VERSION
from linedex_server.config import variables
from linedex_server.rendezvous.address import Address, connect, published
from linedex_server.rendezvous.election import elect
from linedex_server.rendezvous.errors import NoDaemon
from linedex_server.rendezvous.hello import MCP, Hello, Launcher, Welcome, version_of
from linedex_server.rendezvous.launch import newest, record
from linedex_server.rendezvous.listening import PATH_BYTES
from linedex_server.tools.registry import GROUPS

if TYPE_CHECKING:
    from conftest import House


def test_five_clients_and_the_command_line_on_two_roots_have_one_daemon_and_see_only_their_own(house: House) -> None:
    roots = house.root("one", a="alpha needle\n"), house.root("two", b="beta needle\n")
    clients = [house.client(roots[number % 2], era=era) for number, era in enumerate(_eras(5))]
    for client in clients:
        client.begin()
    indexed = house.run("index", str(roots[0]))
    assert (indexed.returncode, indexed.stderr) == (0, "")
    found = house.run("search", "needle", str(roots[0]))
    assert (found.returncode, found.stderr) == (0, "")
    for number, client in enumerate(clients):
        own, other = roots[number % 2], roots[1 - number % 2]
        assert "needle" in client.call("search_directory", absolute_dir_path=str(own), pattern="needle")
        refused = client.call("search_directory", absolute_dir_path=str(other), pattern="needle")
        assert "search_directory failed" in refused
        assert "needle" not in refused
        state = client.call("index_status")
        assert str(own) in state
        assert str(other) not in state
    daemon = house.daemon()
    assert len(daemon.clients) == 5
    assert {index.root for index in daemon.indexes} == {str(root) for root in roots}
    assert all(index.writer for index in daemon.indexes)
    assert not any(b"lock" in client.errors for client in clients)


def _eras(count: int) -> list[str]:
    return [("2025-11-25", "2026-07-28")[number % 2] for number in range(count)]


def test_the_settings_of_one_client_decide_nothing_for_another(house: House) -> None:
    root = house.root("tree", a="needle\n")
    first = house.client(root, LINEDEX_OUTPUT="json", LINEDEX_TOOLS="largefile")
    second = house.client(root)
    first.begin()
    second.begin()
    assert first.call("search_directory", absolute_dir_path=".", pattern="needle").startswith("{")
    assert second.call("search_directory", absolute_dir_path=".", pattern="needle").startswith("a.txt")
    offered = [[tool["name"] for tool in client.ask("tools/list")["tools"]] for client in (first, second)]
    assert offered == [list(GROUPS["largefile"]), list(GROUPS["default"])]


def test_a_client_without_a_folder_of_settings_has_its_own_and_not_that_of_who_started_the_daemon(
    house: House,
) -> None:
    root = house.root("tree", a="needle\n")
    for place, output in ((house.folder / "config", "json"), (house.folder / "home" / ".config", "text")):
        (place / "linedex").mkdir(parents=True)
        (place / "linedex" / "config.toml").write_text(f'output = "{output}"\n', encoding="utf-8")
    first = house.client(root)
    first.begin()
    assert first.call("search_directory", absolute_dir_path=".", pattern="needle").startswith("{")
    second = house.client(root, XDG_CONFIG_HOME="", HOME=str(house.folder / "home"))
    second.begin()
    assert second.call("search_directory", absolute_dir_path=".", pattern="needle").startswith("a.txt")
    assert len(house.daemon().clients) == 2


def test_a_file_of_settings_that_is_named_from_a_folder_is_that_of_the_client(house: House) -> None:
    root = house.root("tree", a="needle\n")
    (house.folder / "own.toml").write_text('output = "json"\n', encoding="utf-8")
    first = house.client(root)
    first.begin()
    second = house.client(root, LINEDEX_CONFIG="own.toml")
    second.begin()
    assert second.call("search_directory", absolute_dir_path=".", pattern="needle").startswith("{")


def test_a_client_whose_settings_a_running_daemon_does_not_have_is_told_which(house: House) -> None:
    root = house.root("tree", a="needle\n")
    first = house.client(root, LINEDEX_HISTORY_STEPS="500")
    first.begin()
    second = house.client(root, LINEDEX_HISTORY_STEPS="70")
    second.begin()
    same = house.client(root, LINEDEX_HISTORY_STEPS="500")
    same.begin()
    for client in (first, second, same):
        client.kill()
    assert b"history_steps is 500, not 70" in second.errors
    assert b"linedex stop" in second.errors
    assert b"other settings" not in first.errors + same.errors


def test_a_client_with_a_setting_that_cannot_be_used_is_told_and_the_others_are_served(house: House) -> None:
    root = house.root("tree", a="needle\n")
    good = house.client(root)
    good.begin()
    refused = house.client(house.folder / "absent")
    assert refused.process.wait(30) == 2
    refused.kill()
    assert b"absent" in refused.errors
    assert "needle" in good.call("search_directory", absolute_dir_path=".", pattern="needle")


def test_of_many_starters_one_serves_and_the_others_end_in_peace(house: House) -> None:
    starters = [
        subprocess.Popen(
            [sys.executable, "-m", "linedex_server", "serve"],
            env=house.environ,
            cwd=house.folder,
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    house.daemons.extend(starters)
    house.until(lambda: house.status() is not None, "one serves")
    house.until(lambda: sum(process.poll() == 0 for process in starters) == 3, "three end")
    house.run("stop")
    for process in starters:
        process.communicate(timeout=30)


def test_the_socket_is_for_its_owner_only(house: House) -> None:
    house.serve()
    address = published(house.state)
    assert address is not None
    assert stat.S_IMODE(Path(address.path).stat().st_mode) == 0o600
    assert stat.S_IMODE((house.state / "daemon.json").stat().st_mode) == 0o600
    assert Path(address.path).is_relative_to(house.folder / "linedex")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_daemon_and_leaves_no_socket(house: House, number: signal.Signals) -> None:
    process = house.serve("--root", str(house.root("tree", a="x\n")))
    address = published(house.state)
    assert address is not None
    process.send_signal(number)
    assert process.wait(10) == 0
    assert not Path(address.path).exists()
    assert published(house.state) is None


def test_a_call_that_does_not_end_holds_up_the_end_of_the_daemon_no_longer_than_its_grace(house: House) -> None:
    root = house.root("tree", a="a" * 60 + "!\n")
    process = house.serve("--root", str(root))
    client = house.client(root, LINEDEX_PATTERN_SECONDS="600", LINEDEX_QUERY_SECONDS="3600")
    client.begin()
    stuck = {"absolute_dir_path": ".", "pattern": "(?=a)(a|aa)+$", "regex": True}
    client.send("tools/call", name="search_directory", arguments=stuck)
    assert "tree" in client.call("index_status")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0


def test_stop_ends_the_daemon_under_a_client_that_waits_for_nothing_and_none_is_started(house: House) -> None:
    client = house.client(house.root("tree", a="needle\n"))
    client.begin()
    pid = house.daemon().pid
    stopped = house.run("stop")
    assert f"process {pid}" in stopped.stderr
    assert house.status() is None
    assert "needle" in client.call("search_directory", absolute_dir_path=".", pattern="needle")
    assert house.daemon().pid != pid


def test_stop_without_a_daemon_starts_none(house: House) -> None:
    stopped = house.run("stop")
    assert (stopped.returncode, stopped.stderr) == (0, "linedex: no daemon runs\n")
    assert house.status() is None


def test_a_daemon_that_a_client_started_ends_when_nobody_needs_it(house: House) -> None:
    client = house.client(house.root("tree", a="x\n"), LINEDEX_IDLE_SECONDS="1")
    client.begin()
    pid = house.daemon().pid
    assert client.end() == 0
    house.until(lambda: not _lives(pid), "the daemon ends")
    assert published(house.state) is None


def test_a_daemon_that_a_person_started_stays(house: House) -> None:
    house.environ["LINEDEX_IDLE_SECONDS"] = "1"
    process = house.serve()
    client = house.client(house.root("tree", a="x\n"))
    client.begin()
    client.end()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2.5)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # the process that started it may not have looked yet
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc/self").exists() else True


def test_an_index_that_the_daemon_writes_is_brought_up_to_date_by_it(house: House) -> None:
    root = house.root("tree", a="needle\n")
    house.client(root).begin()
    (root / "b.txt").write_text("another needle\n", encoding="utf-8")
    indexed = house.run("index", str(root))
    assert (indexed.returncode, indexed.stderr) == (0, "")
    assert "2 indexed + 0 skipped = 2 seen" in indexed.stdout


def test_status_names_the_daemon_and_its_clients(house: House) -> None:
    root = house.root("tree", a="needle\n")
    client = house.client(root)
    client.begin()
    told = house.run("status").stdout
    assert f"daemon: process {house.daemon().pid}, version {VERSION}" in told
    assert f"process {client.process.pid} sees {root}" in told
    house.run("stop")
    assert "none runs" in house.run("status").stdout


def test_what_is_no_hello_gets_no_answer_and_harms_nobody(house: House) -> None:
    house.serve()
    address = published(house.state)
    assert address is not None
    for line in (b"nonsense\n", b"[]\n", b'{"purpose": "mcp"}\n', b"\xff\n"):
        with connect(address, 10) as connection:
            connection.sendall(line)
            assert connection.recv(1) == b""
    assert house.status() is not None


def test_a_loopback_port_asks_for_its_secret(tmp_path: Path) -> None:
    seat = elect(tmp_path / "state", loopback=True)
    assert seat is not None
    try:
        found = published(tmp_path / "state")
        assert found == seat.address
        assert found.path == ""
        assert len(found.secret) == 64
        with connect(found, 10) as client, seat.listener.accept()[0] as server:
            client.sendall(b"x")
            assert server.recv(1) == b"x"
    finally:
        seat.withdraw()
        seat.listener.close()
        seat.lock.release()


def test_who_finds_the_lock_taken_waits_for_the_holder_to_end(tmp_path: Path) -> None:
    first = elect(tmp_path)
    assert first is not None
    first.withdraw()  # it retires
    first.listener.close()
    elected = []
    starter = threading.Thread(target=lambda: elected.append(elect(tmp_path)))
    starter.start()
    first.lock.release()
    starter.join(30)
    (second,) = elected
    assert second is not None
    second.withdraw()
    second.listener.close()
    second.lock.release()


def test_who_finds_the_lock_taken_for_too_long_says_where_to_look(tmp_path: Path) -> None:
    seat = elect(tmp_path)
    assert seat is not None
    seat.withdraw()
    with pytest.raises(NoDaemon, match=r"daemon\.lock"):
        elect(tmp_path, wait=0.05)
    seat.listener.close()
    seat.lock.release()


@pytest.mark.parametrize("runtime", [True, False])
def test_a_path_too_long_for_a_socket_gets_a_short_name_in_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtime: bool
) -> None:
    long = tmp_path / ("x" * PATH_BYTES)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long if runtime else ""))
    seat = elect(long / "state")
    assert seat is not None
    path = Path(seat.address.path)
    assert len(os.fsencode(path)) <= PATH_BYTES
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    connect(seat.address, 10).close()
    seat.withdraw()
    assert not path.parent.exists()
    seat.listener.close()
    seat.lock.release()


def test_a_runtime_folder_that_others_can_enter_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run" / "linedex").mkdir(parents=True)
    (tmp_path / "run" / "linedex").chmod(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    seat = elect(tmp_path / "state")
    assert seat is not None
    assert Path(seat.address.path).parent == tmp_path / "state"
    seat.withdraw()
    seat.listener.close()
    seat.lock.release()


def test_what_a_dead_daemon_left_is_cleared_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    for _ in range(2):  # the second finds the socket file of the first
        seat = elect(tmp_path)
        assert seat is not None
        connect(seat.address, 10).close()
        seat.listener.close()
        seat.lock.release()
        assert Path(seat.address.path).exists()


def test_a_hello_and_a_welcome_come_over_the_wire_as_they_were(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINEDEX_TOOLS", "read")
    hello = Hello.here(MCP, {"allowed_roots": ("sub", "*", "/b\udcff"), "output": None}, variables())
    assert Hello.of(hello.line()) == hello
    assert hello.arguments == {"allowed_roots": [str(tmp_path / "sub"), "*", "/b\udcff"]}
    assert hello.environ["LINEDEX_TOOLS"] == "read"
    welcome = Welcome(retry=["a"], notices=["b"])
    assert Welcome.of(welcome.line()) == welcome


def test_the_newest_version_that_was_seen_is_started(tmp_path: Path) -> None:
    own = Launcher.own()
    assert own.version == VERSION
    newer = Launcher("99.10.0", sys.executable, str(tmp_path))
    assert newest(tmp_path, own) == own
    record(tmp_path, newer)
    record(tmp_path, own)
    assert newest(tmp_path, own) == newer
    assert newest(tmp_path, Launcher("99.11.0", "python", "/")).version == "99.11.0"
    record(tmp_path, Launcher("100.0", str(tmp_path / "gone"), str(tmp_path)))
    assert newest(tmp_path, own) == own


def test_versions_compare_as_numbers() -> None:
    assert version_of("0.10.0") > version_of("0.9.9") > version_of("0.9")


def test_the_version_in_the_code_is_the_one_of_the_package() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{VERSION}"' in project


def test_nobody_listens_where_nothing_is_published(tmp_path: Path) -> None:
    assert published(tmp_path) is None
    (tmp_path / "daemon.json").write_text("[]")
    assert published(tmp_path) is None
    with pytest.raises(OSError, match="No such file"):
        connect(Address(str(tmp_path / "s")), 1)
