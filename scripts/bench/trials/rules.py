"""Which files of a tree its ignore files leave out, as a plain reading of their lines has it."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trials.world import Node

RULE_FILES = (b".linedexignore", b".ignore")
"""In the order in which they are asked."""


def ignored(files: Mapping[bytes, Node], path: bytes, *, is_folder: bool = False) -> bool:
    """Say whether rules leave a path out, by itself or with a folder around it."""
    parts = path.split(b"/")
    for depth in range(len(parts)):
        folder = depth < len(parts) - 1 or is_folder
        if _verdict(files, b"/".join(parts[:depth]), parts[depth], is_folder=folder):
            return True
    return False


def _verdict(files: Mapping[bytes, Node], folder: bytes, name: bytes, *, is_folder: bool) -> bool:
    above = [b"/".join(folder.split(b"/")[:depth]) for depth in range(folder.count(b"/") + 1, 0, -1)] if folder else []
    for rule_file in RULE_FILES:
        for base in (*above, b""):
            node = files.get(base + b"/" + rule_file if base else rule_file)
            if node is None:
                continue
            inside = (folder + b"/" + name if folder else name)[len(base) + 1 if base else 0 :]
            for line in reversed(node.content.split(b"\n")):
                pattern = line.removeprefix(b"!")
                if not pattern or pattern.startswith(b"#") or (pattern.endswith(b"/") and not is_folder):
                    continue
                pattern = pattern.removesuffix(b"/")
                tested = inside if pattern.startswith(b"/") else name
                if fnmatch.fnmatchcase(tested, pattern.removeprefix(b"/")):
                    return not line.startswith(b"!")
    return False
