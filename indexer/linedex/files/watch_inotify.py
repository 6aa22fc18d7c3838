"""The watcher of Linux: inotify, read by whoever asks.

Promise: `drain` names every change inside watched folders that was made before the call. The kernel queues an event
inside the system call of the writer, so reading as many bytes as the queue held at the time of asking is the whole
barrier; nothing is written anywhere, and no thread stands between the queue and the question.

Which folder a watch descriptor stands for is kept by path. A folder that is moved keeps its descriptor and its old
path here until its new place is watched; that is enough, because its new place is walked as a tree, which watches it
under the new path and looks at all that its stale events could have meant.

Traps: watching an inode again gives the descriptor it has and raises no event, while removing a watch raises
IN_IGNORED, so that removing more than the queue holds (16,384) overflows it; after an overflow everything is therefore
watched again and nothing removed first. IN_CLOSE_WRITE is the only event of a writer through a mapping.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import struct
import termios
from collections.abc import Iterable
from pathlib import Path

from linedex.files.ignore import IGNORE_FILES, REPOSITORY
from linedex.files.roots import Root
from linedex.files.watch import Changes, Unwatchable
from linedex.model import RelPath

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_OVERFLOW, _IGNORED, _IS_FOLDER = 0x4000, 0x8000, 0x40000000
_ONLY_FOLDERS, _NO_LINKS, _NOT_UNLINKED = 0x01000000, 0x02000000, 0x04000000
_MASK = (_MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE) | (
    _ONLY_FOLDERS | _NO_LINKS | _NOT_UNLINKED
)
_TREE = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_EVENT = struct.Struct("iIII")
_READ_BYTES = 256 << 10
_REMOVALS_A_READ = 4_096
"""Each removed watch raises an event; the queue is read after so many of them, long before it overflows."""
_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")


class InotifyWatcher:
    """Watches folders through one inotify queue."""

    exact = True
    name = "inotify"

    def __init__(self, root: Root) -> None:
        """Make an empty queue.

        Raises:
            Unwatchable: the system gives none.
        """
        self._root = root
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._queue < 0:
            raise Unwatchable(f"this system gives no inotify queue ({os.strerror(ctypes.get_errno())})")
        self._woken = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._waiting = select.poll()
        self._waiting.register(self._queue, select.POLLIN)
        self._waiting.register(self._woken, select.POLLIN)
        self._paths: dict[int, RelPath] = {}
        self._descriptors: dict[RelPath, int] = {}
        self._names: set[RelPath] = set()
        self._trees: set[RelPath] = set()
        self._everything = False

    @property
    def folders(self) -> int:
        """How many folders are watched."""
        return len(self._paths)

    def watch(self, folder: RelPath) -> None:
        """Watch a folder; see `Watcher.watch`."""
        descriptor = self._libc.inotify_add_watch(self._queue, self._root.absolute(folder), _MASK)
        if descriptor < 0:
            code = ctypes.get_errno()
            if code == errno.ENOSPC:
                raise Unwatchable(
                    f"the system's limit of watched folders is reached ({len(self._paths):,} are watched; raise "
                    f"fs.inotify.max_user_watches, now {_limit()})"
                )
            if code == errno.ENOMEM:
                raise Unwatchable(f"the system has no memory to watch more than {len(self._paths):,} folders")
            return
        former = self._paths.get(descriptor)
        if former is not None and former != folder and self._descriptors.get(former) == descriptor:
            del self._descriptors[former]
        stale = self._descriptors.get(folder)
        self._paths[descriptor] = folder
        self._descriptors[folder] = descriptor
        if stale is not None and stale != descriptor and self._paths.get(stale) == folder:
            del self._paths[stale]
            self._libc.inotify_rm_watch(self._queue, stale)

    def forget(self, folders: Iterable[RelPath]) -> None:
        """Stop watching folders; see `Watcher.forget`."""
        removed = 0
        for folder in folders:
            descriptor = self._descriptors.pop(folder, None)
            if descriptor is None or self._paths.get(descriptor) != folder:
                continue
            del self._paths[descriptor]
            self._libc.inotify_rm_watch(self._queue, descriptor)
            removed += 1
            if removed % _REMOVALS_A_READ == 0:
                self._read()

    def drain(self) -> Changes:
        """Return what may have changed; see `Watcher.drain`."""
        self._read()
        found = Changes(frozenset(self._names), frozenset(self._trees), self._everything)
        if found:
            self._names, self._trees, self._everything = set(), set(), False
        return found

    def _read(self) -> None:
        """Take in all that the queue holds now; what comes meanwhile may wait, or a busy writer would hold us here."""
        held = int.from_bytes(fcntl.ioctl(self._queue, termios.FIONREAD, b"\0\0\0\0"), "little")
        while held > 0:
            try:
                events = os.read(self._queue, _READ_BYTES)
            except BlockingIOError:
                return
            held -= len(events)
            self._take(events)

    def _take(self, events: bytes) -> None:
        at, end = 0, len(events)
        while at < end:
            descriptor, mask, _, length = _EVENT.unpack_from(events, at)
            at += _EVENT.size
            name = events[at : at + length].rstrip(b"\0")
            at += length
            if mask & _OVERFLOW:
                self._everything = True
                continue
            folder = self._paths.get(descriptor)
            if folder is None:
                continue
            if mask & _IGNORED:
                del self._paths[descriptor]
                if self._descriptors.get(folder) == descriptor:
                    del self._descriptors[folder]
                    self._trees.add(folder)
                continue
            if not name:
                self._names.add(folder)
                continue
            path = RelPath(folder + b"/" + name if folder else name)
            if name == REPOSITORY or name in IGNORE_FILES:
                self._trees.add(folder)
            elif mask & _IS_FOLDER and mask & _TREE:
                self._trees.add(path)
            else:
                self._names.add(path)

    def wait(self, timeout: float) -> None:
        """Wait for an event; see `Watcher.wait`."""
        self._waiting.poll(timeout * 1000)
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._woken)

    def wake(self) -> None:
        """End a `wait`."""
        os.eventfd_write(self._woken, 1)

    def close(self) -> None:
        """Give back the queue and all watches."""
        os.close(self._queue)
        os.close(self._woken)
        self._paths.clear()
        self._descriptors.clear()


def _limit() -> str:
    try:
        return _LIMIT.read_text().strip()
    except OSError:
        return "unknown"
