"""The token of the HTTP door on a real disk."""

from __future__ import annotations

import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from linedex.errors import Unreadable
from linedex_server.http_token import http_token, token_path

TOKEN = "A" * 43


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def put(state: Path, text: str, permissions: int = 0o600) -> Path:
    path = token_path(state)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(permissions)
    return path


def test_it_is_made_once_for_its_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        token = http_token(tmp_path / "state")
    finally:
        os.umask(before)
    path = token_path(tmp_path / "state")
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert path.read_text() == token + "\n"
    assert (mode(path), mode(path.parent), mode(tmp_path / "state")) == (0o600, 0o700, 0o700)
    assert os.listdir(path.parent) == ["token"]
    assert http_token(tmp_path / "state") == token


def test_each_state_folder_has_its_own(tmp_path: Path) -> None:
    assert http_token(tmp_path / "one") != http_token(tmp_path / "two")


def test_many_that_make_it_at_once_agree(tmp_path: Path) -> None:
    barrier = Barrier(8)

    def make(_: int) -> str:
        barrier.wait(10)
        return http_token(tmp_path)

    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(make, range(8)))
    assert made == {token_path(tmp_path).read_text().strip()}
    assert os.listdir(tmp_path / "http") == ["token"]


def test_a_folder_that_others_could_enter_is_closed(tmp_path: Path) -> None:
    put(tmp_path, TOKEN).parent.chmod(0o755)
    assert http_token(tmp_path) == TOKEN
    assert mode(tmp_path / "http") == 0o700


@pytest.mark.parametrize("permissions", [0o640, 0o604, 0o620])
def test_one_that_others_could_read_or_write_is_refused(tmp_path: Path, permissions: int) -> None:
    put(tmp_path, TOKEN, permissions)
    with pytest.raises(Unreadable, match="other users") as refused:
        http_token(tmp_path)
    assert "Delete it" in refused.value.hint


@pytest.mark.parametrize("text", ["", "\n", "short", "A" * 31, "A" * 40 + " " + "A" * 40, "A" * 600, "ä" * 40])
def test_a_file_that_holds_no_token_is_refused(tmp_path: Path, text: str) -> None:
    put(tmp_path, text)
    with pytest.raises(Unreadable, match="no token"):
        http_token(tmp_path)


def test_a_link_a_pipe_or_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    real = put(tmp_path / "real", TOKEN)
    for name in ("link", "pipe", "folder"):
        path = token_path(tmp_path / name)
        path.parent.mkdir(parents=True)
        if name == "link":
            path.symlink_to(real)
        elif name == "pipe":
            os.mkfifo(path, 0o600)
        else:
            path.mkdir(0o700)
        with pytest.raises(Unreadable, match="HTTP token"):
            http_token(tmp_path / name)


def test_a_state_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unreadable, match="cannot be used") as refused:
        http_token(tmp_path / "file")
    assert "LINEDEX_STATE_DIR" in refused.value.hint
