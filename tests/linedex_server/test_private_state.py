"""The state folder is believed, so it must be its owner's alone: who lays one, or writes in one, gains nothing."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linedex.errors import Unreadable
from linedex_server.asking.control import daemon_status
from linedex_server.config import Settings, variables
from linedex_server.http_token import http_token
from linedex_server.rendezvous.address import Address
from linedex_server.rendezvous.election import elect
from linedex_server.rendezvous.hello import MCP, Hello, Launcher
from linedex_server.rendezvous.launch import start
from linedex_server.rendezvous.listening import publish
from linedex_server.rendezvous.private import demand_private
from linedex_server.rendezvous.reach import reach
from linedex_server.workspace import Workspace

if TYPE_CHECKING:
    from conftest import House

SOMEBODY = 65_534


def _workspace(state: Path) -> None:
    Workspace(Settings(state_dir=state, allowed_roots=(str(state.parent),))).close()


DOORS: list[Callable[[Path], object]] = [
    elect,
    lambda state: start(state, Launcher.own()),
    lambda state: reach(state, Hello.here(MCP, {}, variables()), starting=False),
    daemon_status,
    http_token,
    _workspace,
]


def _laid_by_another(state: Path) -> None:
    state.mkdir(mode=0o700)
    os.chown(state, SOMEBODY, SOMEBODY)


def _linked_by_another(state: Path) -> None:
    (state.parent / "mine").mkdir(mode=0o700)
    state.symlink_to("mine")
    os.chown(state, SOMEBODY, SOMEBODY, follow_symlinks=False)


def _open_to_all(state: Path) -> None:
    state.mkdir()
    state.chmod(0o777)


def _open_to_the_group(state: Path) -> None:
    state.mkdir()
    state.chmod(0o770)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("lay", [_laid_by_another, _linked_by_another, _open_to_all, _open_to_the_group])
def test_a_state_folder_of_anybody_else_is_refused_before_anything_is_read_or_made(
    tmp_path: Path, lay: Callable[[Path], None], door: Callable[[Path], object]
) -> None:
    if lay in (_laid_by_another, _linked_by_another) and os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    state = tmp_path / "state"
    lay(state)
    # an interpreter that would be started, and a socket that would be spoken to, were they believed
    ran = tmp_path / "ran"
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n", encoding="ascii")
    program.chmod(0o755)
    stored = {"version": "999.0", "python": str(program), "folder": str(tmp_path)}
    (state / "launcher.json").write_text(json.dumps(stored), encoding="ascii")
    publish(state, Address(str(tmp_path / "socket")))
    before = sorted(os.listdir(state))
    with pytest.raises(Unreadable, match=r"another user|other users") as refusal:
        door(state)
    assert "LINEDEX_STATE_DIR" in refusal.value.hint
    assert sorted(os.listdir(state)) == before
    assert not ran.exists()


def test_a_link_of_ones_own_to_a_folder_of_ones_own_is_fine(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir(mode=0o755)
    (tmp_path / "state").symlink_to("far")
    demand_private(tmp_path / "state")
    demand_private(tmp_path / "none")


def test_a_socket_of_another_user_is_not_spoken_to(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    place = tmp_path / "theirs"
    place.mkdir()
    place.chmod(0o777)
    listening = (
        "import os, socket, sys\n"
        f"os.setgid({SOMEBODY}); os.setuid({SOMEBODY})\n"
        "listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1]); listener.listen(1)\n"
        "print('ready', flush=True)\n"
        "sys.stdout.write(repr(listener.accept()[0].recv(10000)))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", listening, str(place / "s")], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        publish(state, Address(str(place / "s")))
        assert reach(state, Hello.here(MCP, {}, variables()), starting=False, seconds=5) is None
        assert other.stdout.read() == "b''"


def test_everything_below_the_state_folder_is_for_its_owner_whatever_the_umask(house: House) -> None:
    house.environ["XDG_RUNTIME_DIR"] = ""
    root = house.root("proj", a="hit\n" * 10)
    daemon = subprocess.Popen(
        ["sh", "-c", 'umask 0; exec "$0" -m linedex_server serve --http 0 --root "$1"', sys.executable, str(root)],
        env=house.environ,
        cwd=house.folder,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    house.daemons.append(daemon)
    house.until(lambda: house.status() is not None, "the daemon serves")
    client = house.client(root, options=["--tools", "all"])
    client.begin()
    assert "1:hit" in client.call("search_directory", absolute_dir_path=".", pattern="hit")
    client.call("write_full_text", path="b.txt", content="new\n")
    client.call("begin_write_session", path="c.txt")
    assert house.run("index", str(root)).returncode == 0
    found = [path for path in house.state.rglob("*") if not path.is_symlink()]
    assert {"token", "index.db", "daemon.sock", "daemon.json", "daemon.lock"} <= {path.name for path in found}
    assert any("history" in str(path) for path in found)
    open_to_others = {
        str(path.relative_to(house.state)): oct(path.stat().st_mode)
        for path in (house.state, *found)
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    }
    assert open_to_others == {}
