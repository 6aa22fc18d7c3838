"""Holes are known without reading them, and are what a reading gives."""

import errno
import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linedex.files import holes

KIB = 1 << 10
TOLD = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells holes")


def write_sparse(path: Path, pieces: list[tuple[bool, int]]) -> None:
    """Write data (True) and holes (False) of so many bytes each."""
    with path.open("wb") as file:
        for data, size in pieces:
            if data:
                file.write(b"x" * size)
            else:
                file.truncate(file.seek(size, 1))


PIECES = st.lists(st.tuples(st.booleans(), st.integers(1, 300 * KIB)), max_size=5)


@settings(max_examples=50, deadline=None)
@given(PIECES, st.integers(0, 1200 * KIB), st.integers(0, 400 * KIB))
def test_any_range_of_a_sparse_file_is_read_as_the_system_reads_it(
    pieces: list[tuple[bool, int]], offset: int, size: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sparse")
        write_sparse(path, pieces)
        with path.open("rb") as file:
            assert holes.pread(file.fileno(), size, offset) == os.pread(file.fileno(), size, offset)


@TOLD
def test_a_hole_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sparse"
    write_sparse(path, [(True, 64 * KIB), (False, 1024 * KIB), (True, 1)])
    if path.stat().st_blocks * 512 > 512 * KIB:
        pytest.skip("this file system keeps no holes")
    with path.open("rb") as file:
        monkeypatch.setattr(os, "pread", None)
        assert holes.pread(file.fileno(), 512 * KIB, 128 * KIB) == bytes(512 * KIB)


def test_a_file_whose_holes_are_not_told_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(descriptor: int, offset: int, whence: int) -> int:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    path = tmp_path / "sparse"
    write_sparse(path, [(True, 100 * KIB), (False, 100 * KIB), (True, 10)])
    with path.open("rb") as file:
        monkeypatch.setattr(os, "lseek", refused)
        assert holes.pread(file.fileno(), 300 * KIB, 0) == b"x" * 100 * KIB + bytes(100 * KIB) + b"x" * 10
        assert holes.pread(file.fileno(), 90 * KIB, 105 * KIB) == bytes(90 * KIB)
