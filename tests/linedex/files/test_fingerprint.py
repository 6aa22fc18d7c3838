"""Fingerprints tell appended from rewritten files, and never take one for the other."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.files import fingerprint
from linedex.model import Change, Fingerprint


def taken(path: Path) -> Fingerprint:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return fingerprint.of(descriptor)
    finally:
        os.close(descriptor)


def reader(content: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, size: content[offset : offset + size]


def seen(content: bytes, time_ns: int = 1, inode: int = 7) -> Fingerprint:
    edge = fingerprint.EDGE_BYTES
    head, tail = fingerprint.digest(content[:edge]), fingerprint.digest(content[-edge:])
    return Fingerprint(1, inode, len(content), time_ns, time_ns, head, tail)


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 5000])
def test_the_digests_are_of_the_first_and_last_kibibyte(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "f").write_bytes(content)
    found = taken(tmp_path / "f")
    assert (found.head, found.tail) == (fingerprint.digest(content[:1024]), fingerprint.digest(content[-1024:]))
    assert replace(found, head=b"", tail=b"") == fingerprint.from_stat(os.stat(tmp_path / "f"))


def test_an_untouched_file_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"text")
    before = taken(tmp_path / "f")
    assert fingerprint.change(before, taken(tmp_path / "f")) is Change.UNCHANGED
    assert fingerprint.change(before, fingerprint.from_stat(os.stat(tmp_path / "f"))) is Change.UNCHANGED


def test_an_edit_that_restores_size_and_mtime_is_a_rewrite(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"text")
    status = path.stat()
    before = taken(path)
    path.write_bytes(b"TEXT")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = taken(path)
    assert fingerprint.change(before, after, reader(b"TEXT")) is Change.REWRITTEN


@given(st.binary(max_size=3000), st.binary(min_size=1, max_size=3000))
def test_appending_is_seen_as_such(old: bytes, added: bytes) -> None:
    assert fingerprint.change(seen(old), seen(old + added, 2), reader(old + added)) is Change.APPENDED


@given(st.binary(min_size=1, max_size=1500), st.binary(min_size=1, max_size=1500), st.data())
def test_a_byte_changed_within_the_compared_edges_is_a_rewrite(old: bytes, added: bytes, data: st.DataObject) -> None:
    near = [at for at in range(len(old)) if at < 1024 or at >= len(old) - 1024]
    at = data.draw(st.sampled_from(near))
    new = old[:at] + bytes([old[at] ^ 1]) + old[at + 1 :] + added
    assert fingerprint.change(seen(old), seen(new, 2), reader(new)) is Change.REWRITTEN


@pytest.mark.parametrize("new", [seen(b"abc", 2), seen(b"abcdef", 2), seen(b"abcdefgh", 2, inode=8)])
def test_shrinking_touching_and_replacing_are_rewrites(new: Fingerprint) -> None:
    assert fingerprint.change(seen(b"abcdef"), new, reader(b"abcdefgh")) is Change.REWRITTEN


def test_growth_that_cannot_be_compared_is_a_rewrite() -> None:
    old, new = seen(b"abc"), seen(b"abcdef", 2)
    assert fingerprint.change(old, new) is Change.REWRITTEN
    assert fingerprint.change(replace(old, head=b"", tail=b""), new, reader(b"abcdef")) is Change.REWRITTEN


def test_a_new_device_number_alone_is_no_change() -> None:
    assert fingerprint.change(seen(b"abc"), replace(seen(b"abc"), device=9)) is Change.UNCHANGED


def test_equal_stats_with_other_bytes_are_a_rewrite() -> None:
    assert fingerprint.change(seen(b"abc"), seen(b"abd")) is Change.REWRITTEN


@pytest.mark.parametrize(
    ("mtime_ns", "seen_ns", "racy"),
    [
        (5_000_000_001, 5_000_000_001, True),
        (5_000_000_001, 5_009_000_000, True),
        (5_000_000_001, 5_020_000_000, False),
        (5_000_000_000, 6_900_000_000, True),  # whole seconds: a file system that keeps no more
        (5_000_000_000, 7_100_000_000, False),
        (9_000_000_001, 5_000_000_000, True),  # a server's clock that runs ahead
        (2**63 - 1, 5_000_000_000, True),
        (-(2**63), 5_000_000_000, False),
    ],
)
def test_a_file_changed_in_the_tick_it_was_read_stays_suspect(mtime_ns: int, seen_ns: int, racy: bool) -> None:
    assert fingerprint.is_racy(Fingerprint(1, 1, 1, mtime_ns, mtime_ns), seen_ns) is racy
    times, seen = np.array([mtime_ns], np.int64), np.array([seen_ns], np.int64)
    assert fingerprint.suspects(times, times, seen).tolist() == [racy]
