"""Edits by the tools of a daemon, some guarded by the hash of what is edited, some by a wrong one."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

from trials.answers import mark_of
from trials.client import Client, Refused

from linedex.files.names import display


@dataclass
class RemoteWriter:
    """Edits through one client.

    Attributes:
        client: the client.
        root: the root.
    """

    client: Client
    root: Path
    _draw: random.Random = field(default_factory=lambda: random.Random(0))

    def whole(self, path: bytes, content: str) -> None:
        """Write a whole text."""
        self._written("write_full_text", path, content=content)

    def line(self, path: bytes, number: int, text: str) -> None:
        """Replace a line."""
        edit = {"start_line": number, "end_line": number, "new_text": text}
        self._written("apply_text_edits", path, edits=[edit])

    def literal(self, path: bytes, old: str, new: str) -> None:
        """Replace a text wherever it stands."""
        if self._draw.random() < 0.5:
            self._written("replace_literal", path, old_text=old, new_text=new, expected_occurrences=None)
            return
        change = {"search": old, "replace": new, "replace_all": True}
        self._written("edit_content", path, changes=[change], preview=False)

    def undo(self, path: bytes) -> None:
        """Take back the newest edit of a file."""
        told = self.client.call("revert_edit", absolute_file_path=self._called(path))
        assert told["success"], told
        assert told["hash"] == mark_of(self._held(path)), told

    def _written(self, tool: str, path: bytes, **asked: object) -> None:
        name = "absolute_file_path" if tool == "edit_content" else "path"
        asked[name] = self._called(path)
        guard = self._draw.random()
        before = self._held(path)
        if guard < 0.2:
            self._demand_refused(tool, path, before, asked)
        if guard < 0.6:
            asked["base_hash"] = mark_of(before)
        told = self.client.call(tool, **asked)
        assert told["success"], told
        assert told["hash"] == mark_of(self._held(path)), told

    def _demand_refused(self, tool: str, path: bytes, before: bytes, asked: dict[str, object]) -> None:
        try:
            told = self.client.call(tool, **asked, base_hash=mark_of(before + b"other"))
        except Refused as refused:
            if "has changed since" not in str(refused):
                raise
        else:
            raise AssertionError(f"{tool} took a wrong hash: {told}")
        assert self._held(path) == before

    def _called(self, path: bytes) -> str:
        return display(os.fsencode(self.root) + b"/" + path)

    def _held(self, path: bytes) -> bytes:
        return Path(os.fsdecode(os.fsencode(self.root) + b"/" + path)).read_bytes()
