"""`linedex install`: the change is shown, written only on demand, and never into what cannot be read."""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from linedex_server.cli.install import program
from linedex_server.install.clients import CLIENTS, Machine
from linedex_server.install.units import UNITS

PLACES = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "zed": ".config/zed/settings.json",
    "systemd": ".config/systemd/user/linedex.service",
    "launchd": "Library/LaunchAgents/io.linedex.daemon.plist",
}
KEYS = {"vscode": "servers", "codex": "mcp_servers", "zed": "context_servers"}
linux = pytest.mark.skipif(sys.platform != "linux", reason="places are those of Linux")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "a root"
    folder.mkdir()
    return folder


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: text for name, text in os.environ.items() if name.startswith(("PYTHON", "LC_", "LANG", "PATH"))}
    return subprocess.run(
        [sys.executable, "-m", "linedex_server", "install", *arguments],
        env={**kept, "HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


@linux
@pytest.mark.parametrize("name", PLACES)
def test_nothing_is_written_unless_asked_and_then_the_file_that_was_shown(
    tmp_path: Path, root: Path, name: str
) -> None:
    place = tmp_path / PLACES[name]
    shown = run(tmp_path, name, "--root", str(root))
    assert shown.returncode == 0, shown.stderr
    assert f"+++ {place}" in shown.stdout
    assert "a root" in shown.stdout
    assert "nothing was written" in shown.stderr
    assert not place.exists()
    wrote = run(tmp_path, name, "--root", str(root), "--write")
    assert wrote.stdout == shown.stdout
    added = [line[1:] for line in shown.stdout.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert place.read_text(encoding="utf-8").splitlines() == added
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    again = run(tmp_path, name, "--root", str(root), "--write")
    assert (again.returncode, again.stdout) == (0, "")
    assert "has it already" in again.stderr


@linux
@pytest.mark.parametrize("name", CLIENTS)
def test_the_entry_starts_a_server_from_anywhere(tmp_path: Path, root: Path, name: str) -> None:
    run(tmp_path, name, "--root", str(root), "--write")
    text = (tmp_path / PLACES[name]).read_text(encoding="utf-8")
    settings = tomllib.loads(text) if name == "codex" else json.loads(text)
    entry = settings[KEYS.get(name, "mcpServers")]["linedex"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-3:] == ["mcp", "--root", str(root)]
    helped = subprocess.run(
        [entry["command"], *entry["args"], "--help"], cwd="/", capture_output=True, text=True, check=True
    )
    assert "MCP" in helped.stdout


@linux
@pytest.mark.parametrize("name", [name for name in CLIENTS if name != "codex"])
def test_what_stands_in_the_file_stays_and_a_link_stays_a_link(tmp_path: Path, root: Path, name: str) -> None:
    place, real = tmp_path / PLACES[name], tmp_path / "dotfiles.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    key = KEYS.get(name, "mcpServers")
    real.write_text(f'\ufeff// mine\n{{\n\t"{key}": {{\n\t\t"b": {{}} // b\n\t}},\n\t"z": [1,],\n}}', encoding="utf-8")
    real.chmod(0o640)
    place.symlink_to(real)
    made = run(tmp_path, name, "--root", str(root), "--write")
    assert made.returncode == 0, made.stderr
    lines = real.read_text(encoding="utf-8").split("\n")
    assert lines[:3] == ["\ufeff// mine", "{", f'\t"{key}": {{']
    assert lines[3:5] == ['\t\t"b": {}, // b', '\t\t"linedex": {']
    assert lines[-3:] == ["\t},", '\t"z": [1,],', "}"]
    assert place.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) != []
    assert not [entry for entry in os.listdir(tmp_path) if entry.startswith(".dotfiles")]


@linux
@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("content", [b'{"a": ', b"\xff\xfe{}", b"= x"])
def test_a_file_that_cannot_be_parsed_is_left_alone(tmp_path: Path, root: Path, name: str, content: bytes) -> None:
    place = tmp_path / PLACES[name]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    refused = run(tmp_path, name, "--root", str(root), "--write")
    assert refused.returncode == 2
    assert str(place) in refused.stderr
    assert place.read_bytes() == content
    assert refused.stdout == ""


@linux
@pytest.mark.parametrize("name", UNITS)
def test_a_unit_that_somebody_else_wrote_is_left_alone(tmp_path: Path, root: Path, name: str) -> None:
    place = tmp_path / PLACES[name]
    place.parent.mkdir(parents=True)
    place.write_text("[Service]\nExecStart=mine\n", encoding="utf-8")
    refused = run(tmp_path, name, "--root", str(root), "--write")
    assert refused.returncode == 2
    assert "did not make it" in refused.stderr
    assert place.read_text(encoding="utf-8") == "[Service]\nExecStart=mine\n"


@linux
def test_without_a_root_editors_get_their_word_for_the_folder_at_hand(tmp_path: Path) -> None:
    for name in ("cursor", "vscode"):
        assert '"${workspaceFolder}"' in run(tmp_path, name).stdout
    for name in ("claude-code", "codex", "gemini"):
        assert "--root" not in run(tmp_path, name).stdout
    for name in ("claude-desktop", "zed"):
        refused = run(tmp_path, name)
        assert refused.returncode == 2
        assert "--root DIR" in refused.stderr


@linux
def test_a_root_that_is_not_there_is_refused(tmp_path: Path) -> None:
    refused = run(tmp_path, "zed", "--root", "nowhere", "--write")
    assert refused.returncode == 2
    assert "`nowhere` is no folder" in refused.stderr


def test_settings_are_where_each_system_and_its_variables_say() -> None:
    home = Path("/home/me")
    mac, plain = Machine(home, {}, "darwin"), Machine(home, {}, "linux")
    windows = Machine(home, {"APPDATA": "/roaming"}, "win32")
    moved = Machine(home, {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "XDG_CONFIG_HOME": "/g"}, "linux")
    support = home / "Library" / "Application Support"

    def place(name: str, machine: Machine) -> Path:
        return CLIENTS[name].place(machine)

    assert place("claude-desktop", mac) == support / "Claude" / "claude_desktop_config.json"
    assert place("claude-desktop", windows) == Path("/roaming/Claude/claude_desktop_config.json")
    assert place("vscode", mac) == support / "Code" / "User" / "mcp.json"
    assert place("vscode", windows) == Path("/roaming/Code/User/mcp.json")
    assert place("zed", mac) == home / ".config" / "zed" / "settings.json"
    assert place("zed", windows) == Path("/roaming/Zed/settings.json")
    assert place("zed", moved) == Path("/g/zed/settings.json")
    assert place("claude-code", moved) == Path("/c/.claude.json")
    assert place("codex", moved) == Path("/x/config.toml")
    assert {name: str(CLIENTS[name].place(plain).relative_to(home)) for name in CLIENTS} == {
        name: PLACES[name] for name in CLIENTS
    }


HARD = ["/opt/li ne/linedex", "serve", "--root", '/a "b" 100% $HOME \\ é']


def test_a_systemd_unit_passes_systemd_s_own_check_and_keeps_every_character(tmp_path: Path) -> None:
    text = UNITS["systemd"].edited("", [sys.executable, "-m", "linedex_server"], [HARD[3]])
    (start,) = [line.removeprefix("ExecStart=") for line in text.splitlines() if line.startswith("ExecStart=")]
    unescaped = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(start)]
    assert unescaped == [sys.executable, "-m", "linedex_server", "serve", "--root", HARD[3]]
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed: the unit was checked by its text only")
    unit = tmp_path / "linedex.service"
    unit.write_text(text, encoding="utf-8")
    checked = subprocess.run(
        [analyze, "--user", "verify", unit], capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert "linedex.service" not in checked.stderr, checked.stderr


def test_a_launchd_unit_is_a_property_list_that_keeps_every_character() -> None:
    text = UNITS["launchd"].edited("", HARD[:1], [HARD[3]])
    unit = plistlib.loads(text.encode())
    assert unit["ProgramArguments"] == HARD
    assert unit["KeepAlive"] == {"SuccessfulExit": False}
    assert UNITS["launchd"].edited(text, HARD[:1], [HARD[3]]) == text


def test_without_a_script_beside_the_interpreter_no_module_of_the_working_folder_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert program() == [str(tmp_path / "python"), "-P", "-m", "linedex_server"]
