"""Units that keep the daemon running without a client: for systemd's user manager, and for launchd."""

from __future__ import annotations

import plistlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from linedex.errors import BadArgument
from linedex_server.install.clients import Machine

LABEL = "io.linedex.daemon"
_MARK = "made by `linedex install"


@dataclass(frozen=True, slots=True)
class Unit:
    """A kind of unit.

    Attributes:
        title: whose it is.
        place: where such units are.
        text: the unit that runs a command line.
        then: what a person does next.
    """

    title: str
    place: Callable[[Machine], Path]
    text: Callable[[Sequence[str]], str]
    then: str

    def edited(self, text: str, command: Sequence[str], roots: Sequence[str]) -> str:
        """Return the unit that runs the daemon; `text` is the one that is there, "" for none.

        Raises:
            BadArgument: the unit that is there is not one that linedex made.
        """
        if text.strip() and _MARK not in text:
            raise BadArgument("A unit of that name is there, and linedex did not make it.", "Move it away first.")
        return self.text([*command, "serve", *(word for root in roots for word in ("--root", root))])


def _systemd(words: Sequence[str]) -> str:
    return f"""\
# {_MARK} systemd`
[Unit]
Description=linedex, the index of folders and logs behind AI assistants

[Service]
ExecStart={" ".join(map(_systemd_word, words))}
Restart=on-failure

[Install]
WantedBy=default.target
"""


def _systemd_word(word: str) -> str:
    """Return a word as systemd's unit files quote it: `%` and `$` would be replaced otherwise."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    escaped = escaped.replace("\n", "\\n")
    return escaped if escaped == word and word and not any(one in word for one in " \t';#") else f'"{escaped}"'


def _launchd(words: Sequence[str]) -> str:
    unit = {
        "Label": LABEL,
        "ProgramArguments": list(words),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
    }
    head, doctype, rest = plistlib.dumps(unit, sort_keys=False).decode().split("\n", 2)
    return f"{head}\n{doctype}\n<!-- {_MARK} launchd` -->\n{rest}"


UNITS: dict[str, Unit] = {
    "systemd": Unit(
        "systemd",
        lambda machine: machine.config("systemd", "user", "linedex.service"),
        _systemd,
        "Run `systemctl --user daemon-reload` and `systemctl --user enable --now linedex`.",
    ),
    "launchd": Unit(
        "launchd",
        lambda machine: machine.home / "Library" / "LaunchAgents" / f"{LABEL}.plist",
        _launchd,
        f"Run `launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/{LABEL}.plist`.",
    ),
}
