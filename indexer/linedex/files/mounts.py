"""Mounts at and below a root: where the kernel's events do not tell of every change.

Promise: `blind` names each folder of the root whose changes may come from elsewhere than this kernel's file calls
(another machine, a process that serves a FUSE mount, a bind mount of a folder seen twice), and `changed` notices when
the mounts around and below the root are no longer the same. Only Linux tells; elsewhere there is nothing to say.
"""

from __future__ import annotations

import os
import re
import select
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from linedex.files.names import display
from linedex.files.roots import Root
from linedex.model import RelPath

_TABLE = "/proc/self/mountinfo"
_REMOTE = re.compile(
    rb"(?:nfs4?|cifs|smb3|smbfs|9p|afs|ceph|ncpfs|lustre|gpfs|glusterfs|ocfs2|gfs2|beegfs|orangefs|virtiofs|vboxsf"
    rb"|vmhgfs|prl_fs|drvfs|davfs|fuse|fuseblk|fuse\..*)"
)
_ESCAPE = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class _Mount:
    point: bytes
    kind: bytes
    device: bytes


class Mounts:
    """The mounts that matter to one root.

    Attributes:
        blind: folders below the root whose changes no event tells, and why, in words; the root itself is b"".
    """

    def __init__(self, root: Root) -> None:
        self._root = root
        self.blind: Mapping[RelPath, str] = MappingProxyType({})
        self._known: tuple[_Mount, ...] = ()
        try:
            self._table = os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._table = -1
            return
        self._news = select.poll()
        self._news.register(self._table, select.POLLERR | select.POLLPRI)
        self._read()

    def changed(self) -> bool:
        """Say whether other mounts matter to the root than at the last call; `blind` is of now."""
        return self._table >= 0 and bool(self._news.poll(0)) and self._read()

    def close(self) -> None:
        """Let go of the system's table."""
        if self._table >= 0:
            os.close(self._table)

    def _read(self) -> bool:
        mounts = _parsed(self._table)
        around = max((mount for mount in mounts if _holds(mount.point, self._root.path)), key=_depth, default=None)
        below = [mount for mount in mounts if _holds(self._root.path, mount.point) and mount is not around]
        known = (*(() if around is None else (around,)), *below)
        if known == self._known:
            return False
        self._known = known
        blind: dict[RelPath, str] = {}
        devices = set()
        for mount in known:
            place = self._root.below(mount.point) if mount is not around else RelPath(b"")
            if place is None:
                continue
            if _REMOTE.fullmatch(mount.kind):
                blind[place] = (
                    f"{_named(place)} is on a {mount.kind.decode()} file system, whose changes raise no events"
                )
            elif mount.device in devices:
                blind[place] = f"{_named(place)} is mounted here from elsewhere in the same file system"
            devices.add(mount.device)
        self.blind = MappingProxyType(blind)
        return True


def _named(place: RelPath) -> str:
    return f"`{display(place)}`" if place else "the folder"


def _depth(mount: _Mount) -> int:
    return len(mount.point)


def _holds(folder: bytes, path: bytes) -> bool:
    return path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def _parsed(table: int) -> list[_Mount]:
    content = b""
    os.lseek(table, 0, os.SEEK_SET)
    while part := os.read(table, 64 << 10):
        content += part
    mounts = []
    for line in content.splitlines():
        before, _, after = line.partition(b" - ")
        fields = before.split()
        point = _ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), fields[4])
        mounts.append(_Mount(point, after.split()[0], fields[2]))
    return mounts
