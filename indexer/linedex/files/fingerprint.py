"""Fingerprints: what tells one state of a file from another, and what kind of change lies between two of them.

Promise: `change` answers UNCHANGED only for a file that the system says was not touched, and APPENDED only after the
bytes around the old end and at the head were compared; everything in doubt is REWRITTEN. A file changed in the same
clock tick as it was read keeps its old times; `is_racy` names such files so that they are looked at again (git's
"racy clean" rule).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from linedex.model import Change, Fingerprint

EDGE_BYTES = 1024
"""How much of either end of a file its digests cover."""

_SECOND = 1_000_000_000
# The kernel stamps files from a clock that moves once a tick: 10 ms at HZ=100, the slowest in use.
_FINE_TICK = 10_000_000
# FAT keeps two seconds, HFS+ and old NFS one; such a file system shows by stamps without a fraction.
_COARSE_TICK = 2 * _SECOND


def signed(number: int) -> int:
    """Return a number of the system as 64 bits with a sign, which is what is stored and compared.

    Inodes may take all 64 bits, and times in nanoseconds more: file systems keep years from before 1678 and after 2261.
    """
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def from_stat(status: os.stat_result) -> Fingerprint:
    """Return the fingerprint that a stat alone gives; its digests are empty."""
    times = signed(status.st_mtime_ns), signed(status.st_ctime_ns)
    return Fingerprint(status.st_dev, status.st_ino, status.st_size, *times)


def of(descriptor: int) -> Fingerprint:
    """Return the full fingerprint of the open file: its stat, and 8-byte digests of its first and last 1 KiB.

    The stat is taken before the bytes, so that a write in between shows as a change at the next look.
    """
    status = os.fstat(descriptor)
    head = os.pread(descriptor, min(EDGE_BYTES, status.st_size), 0)
    tail = head if status.st_size <= EDGE_BYTES else os.pread(descriptor, EDGE_BYTES, status.st_size - EDGE_BYTES)
    return replace(from_stat(status), head=digest(head), tail=digest(tail))


def settled(descriptor: int) -> tuple[Fingerprint, int]:
    """Return the full fingerprint of the open file and when it was seen, in ns; what is read later is not racy.

    It waits until the clock tick of the last change is over, for two seconds at most. Who writes to the file all the
    time makes it longer meanwhile, and the fingerprint is of the bytes it had at first.
    """
    status = os.fstat(descriptor)
    mark = from_stat(status)
    wait = max(mark.mtime_ns, mark.ctime_ns) + _tick(mark) - time.time_ns()
    if 0 <= wait <= _COARSE_TICK:
        time.sleep((wait + 1) / _SECOND)
    edge = min(EDGE_BYTES, mark.size)
    head = os.pread(descriptor, edge, 0)
    tail = os.pread(descriptor, edge, mark.size - edge)
    return replace(mark, head=digest(head), tail=digest(tail)), time.time_ns()


def digest(edge: bytes) -> bytes:
    """Return the 8-byte digest that fingerprints keep of the first or last 1 KiB of a file."""
    return blake2b(edge, digest_size=8).digest()


def change(old: Fingerprint, new: Fingerprint, read: Callable[[int, int], bytes] | None = None) -> Change:
    """Say what happened to a file between two looks at it.

    The device number is left out of UNCHANGED: it differs after a reboot for btrfs, LVM and network mounts, while the
    inode with two times to the nanosecond does not come back by chance.

    Args:
        old: the earlier fingerprint, with digests.
        new: the later one; its stat is enough.
        read: reads (offset, size) bytes of the file as it is now. Without it nothing counts as appended.
    """
    if (old.inode, old.size, old.mtime_ns, old.ctime_ns) == (new.inode, new.size, new.mtime_ns, new.ctime_ns):
        same_edges = not (old.head and new.head) or (old.head, old.tail) == (new.head, new.tail)
        return Change.UNCHANGED if same_edges else Change.REWRITTEN
    if new.size <= old.size or (old.device, old.inode) != (new.device, new.inode):
        return Change.REWRITTEN
    if old.size == 0:
        return Change.APPENDED
    if read is None or not old.head:
        return Change.REWRITTEN
    edge = min(EDGE_BYTES, old.size)
    if digest(read(0, edge)) == old.head and digest(read(old.size - edge, edge)) == old.tail:
        return Change.APPENDED
    return Change.REWRITTEN


def begins_with(descriptor: int, mark: Fingerprint) -> bool:
    """Say whether the open file is as `mark` has it or has only grown since, as far as its stat and its edges tell."""
    now = from_stat(os.fstat(descriptor))
    return change(mark, now, lambda offset, size: os.pread(descriptor, size, offset)) is not Change.REWRITTEN


def is_racy(fingerprint: Fingerprint, seen_ns: int) -> bool:
    """Say whether the file may have changed after it was seen without its times showing it.

    Args:
        fingerprint: what was seen.
        seen_ns: the system's clock when its bytes were read (nanoseconds since 1970).
    """
    return max(fingerprint.mtime_ns, fingerprint.ctime_ns) + _tick(fingerprint) >= seen_ns


def outlasts_tick(fingerprint: Fingerprint, *, wait: bool) -> bool:
    """Say whether what is read from now on of a file in this state is not racy.

    Args:
        fingerprint: the state.
        wait: whether to wait for the rest of a clock tick, 10 ms at most.
    """
    left = max(fingerprint.mtime_ns, fingerprint.ctime_ns) + _tick(fingerprint) - time.time_ns()
    if wait and 0 <= left <= _FINE_TICK:
        time.sleep((left + 1) / _SECOND)
        return True
    return left < 0


def _tick(fingerprint: Fingerprint) -> int:
    coarse = fingerprint.mtime_ns % _SECOND == 0 and fingerprint.ctime_ns % _SECOND == 0
    return _COARSE_TICK if coarse else _FINE_TICK


def suspects(
    mtime_ns: npt.NDArray[np.int64], ctime_ns: npt.NDArray[np.int64], seen_ns: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Say of many files at once what `is_racy` says of one."""
    coarse = (mtime_ns % _SECOND == 0) & (ctime_ns % _SECOND == 0)
    # the tick is taken from the clock's time: added to the last moment that can be stored it would turn to the first
    racy: npt.NDArray[np.bool_] = np.maximum(mtime_ns, ctime_ns) >= seen_ns - np.where(coarse, _COARSE_TICK, _FINE_TICK)
    return racy
