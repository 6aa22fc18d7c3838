"""How much of a very large file is read to find the first of its lines."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.content.lines import LineIndex, Reader
from linedex.index import Index
from linedex.limits import DEFAULT_LIMITS, Limits
from linedex.model import LineNumber, Newline, RelPath, TextFormat
from linedex.query.line_scans import LineScan

STEPS = Limits(large_file=256, block_bytes=128, block_slack=64, batch_bytes=512, count_step=1024, count_bytes=8192)
UTF8 = TextFormat("utf-8", 0, Newline.LF, final_newline=True)


def lines(count: int) -> bytes:
    return b"".join(b"%06d a line of some length\n" % number for number in range(1, count + 1))


class Counted:
    """Reads a text and keeps how many of its bytes were asked for, and the end of the last of them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.bytes = self.end = 0

    def read(self, offset: int, size: int) -> bytes:
        part = self.data[offset : offset + size]
        self.bytes += len(part)
        self.end = max(self.end, offset + len(part))
        return part


def up_to(scan: LineScan, line: int, read: Reader, size: int, limits: Limits = STEPS, seconds: float = 60) -> LineIndex:
    return scan.up_to(LineNumber(line), read, size, UTF8, limits, time.monotonic() + seconds)


def test_the_head_of_a_file_costs_one_small_step() -> None:
    text = Counted(lines(10_000))
    found = up_to(LineScan(), 10, text.read, len(text.data))
    assert (found.size, found.total) == (1024, text.data.count(b"\n", 0, 1024) + 1)
    assert text.end == 1024
    assert text.bytes < 2 * 1024


def test_the_default_first_step_reads_some_mebibytes_of_a_file_of_any_size() -> None:
    asked = 0

    def read(offset: int, size: int) -> bytes:
        nonlocal asked
        asked += size
        return (b"a line\n" * (size // 7 + 2))[offset % 7 : offset % 7 + size]

    up_to(LineScan(), 100, read, 10 << 30, DEFAULT_LIMITS)
    assert 1 << 20 < asked < 5 << 20


def test_steps_double_up_to_their_bound() -> None:
    text = Counted(lines(2_000))
    scan, covered = LineScan(), []
    while not covered or covered[-1] < len(text.data):
        covered.append(up_to(scan, 2_001, text.read, len(text.data), seconds=-1).size)
    assert covered[:7] == [1024, 2048, 4096, 8192, 16384, 24576, 32768]
    assert covered[-1] == len(text.data)
    assert text.bytes < 1.5 * len(text.data)


@given(st.integers(0, 3_000), st.integers(1, 64), st.integers(16, 256), st.lists(st.integers(1, 400), max_size=6))
def test_lines_found_by_steps_are_those_of_a_split(size: int, step: int, most: int, asked: list[int]) -> None:
    data = lines(120)[:size]
    limits = Limits(block_bytes=16, block_slack=16, batch_bytes=64, count_step=step, count_bytes=most)
    whole = data.splitlines(keepends=True)
    scan = LineScan()
    for line in asked:
        found = up_to(scan, line, Counted(data).read, len(data), limits)
        found.check()
        assert found.total == len(data[: found.size].splitlines())
        assert found.size == len(data) or found.total > line
        if line <= len(whole):
            block = found.locate(LineNumber(line))
            start = sum(map(len, whole[: line - 1]))
            assert block.start <= start < block.end
            assert block.first_line == data.count(b"\n", 0, block.start) + 1


def test_the_first_lines_of_a_huge_file_are_read_without_reading_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    data = lines(200_000)
    (root / "big.log").write_bytes(data)
    limits = Limits(count_step=64 << 10, count_bytes=len(data) // 2, hash_bytes=1)
    with Index(root, tmp_path / "index.db", limits) as index:
        sizes = sizes_read(monkeypatch)
        answer = index.read(RelPath(b"big.log"), 1, 20)
        assert list(answer.lines) == data[:4000].decode().splitlines()[:20]
        assert not answer.counted
        assert sum(sizes) < len(data) // 4


def sizes_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that the sizes of all reads of files from now on are put into."""
    sizes: list[int] = []
    original = os.pread

    def counted(descriptor: int, size: int, offset: int) -> bytes:
        part = original(descriptor, size, offset)
        sizes.append(len(part))
        return part

    monkeypatch.setattr(os, "pread", counted)
    return sizes
