"""A file without seek points has a seekable copy, as long as the budget lasts."""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.linedex.build.plain_search import mounted, use_up
from tests.linedex.files.compressed.packing import KINDS, log, reading, zst

from linedex.files.compressed.codec import Codec
from linedex.files.compressed.decoding import Way
from linedex.files.compressed.frames import declared_points
from linedex.files.compressed.reader import DecodedReader
from linedex.files.compressed.shadow import FRAME, Shadows
from linedex.files.compressed.survey import survey
from linedex.limits import Limits
from linedex.model import Fingerprint

TEXT = log(30_000)
LIMITS = Limits(frame_bytes=400_000)


def mark(number: int, raw: bytes) -> Fingerprint:
    return Fingerprint(1, number, len(raw), 3, 4, b"head", b"tail")


def read_all(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size

    def read(offset: int, count: int) -> bytes:
        return os.pread(descriptor, count, offset)

    found = declared_points(read, size, FRAME)
    assert found is not None
    points, decoded = found
    reader = DecodedReader(read, Codec.ZSTD, decoded, points)
    assert not reader.sequential
    tail = reader.read(decoded - 10, 10)
    text = reader.read(0, decoded)
    assert text.endswith(tail)
    return text


@pytest.mark.parametrize("kind", ["zstd, one frame", "xz, one block"])
def test_the_copy_holds_the_text_and_is_read_from_the_middle(kind: str, tmp_path: Path) -> None:
    codec, pack = KINDS[kind]
    raw = pack(TEXT)
    shadows = Shadows(tmp_path / "shadows", 1 << 30)
    found = survey(reading(raw), mark(1, raw), codec, LIMITS, shadows)
    assert (found.decoding.way, found.decoding.size) == (Way.SHADOW, len(TEXT))
    descriptor = shadows.open(mark(1, raw))
    assert descriptor is not None
    try:
        assert read_all(descriptor) == TEXT
    finally:
        os.close(descriptor)
    assert (tmp_path / "shadows").stat().st_mode & 0o777 == 0o700


def test_another_state_of_the_file_has_no_copy(tmp_path: Path) -> None:
    raw = zst(TEXT)
    shadows = Shadows(tmp_path, 1 << 30)
    survey(reading(raw), mark(1, raw), Codec.ZSTD, LIMITS, shadows)
    assert shadows.open(mark(2, raw)) is None


def test_a_text_over_the_budget_has_no_copy_and_leaves_nothing_behind(tmp_path: Path) -> None:
    raw = zst(TEXT)
    found = survey(reading(raw), mark(1, raw), Codec.ZSTD, LIMITS, Shadows(tmp_path, 100_000))
    assert found.decoding.way is Way.SEQUENTIAL
    assert list(tmp_path.iterdir()) == []


def test_the_copy_that_was_read_least_recently_makes_room(tmp_path: Path) -> None:
    raw = zst(TEXT)
    budget = int(len(raw) * 2.5)
    shadows = Shadows(tmp_path, budget)
    for number in (1, 2):
        survey(reading(raw), mark(number, raw), Codec.ZSTD, LIMITS, shadows)
    for number, path in ((1, shadows.path(mark(1, raw))), (2, shadows.path(mark(2, raw)))):
        os.utime(path, (number, number))
    read = shadows.open(mark(1, raw))
    assert read is not None
    os.close(read)
    survey(reading(raw), mark(3, raw), Codec.ZSTD, LIMITS, shadows)
    there = []
    for number in (1, 2, 3):
        if (descriptor := shadows.open(mark(number, raw))) is not None:
            os.close(descriptor)
            there.append(number)
    assert there == [1, 3]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= budget


@pytest.mark.parametrize("room", [0, 1, 4, 40, 300])
def test_on_a_full_disk_there_is_no_copy_nothing_is_left_behind_and_the_file_is_read_without(
    tmp_path: Path, room: int
) -> None:
    # a copy of 1.5 MiB, of which some frames fit and others do not
    text = random.Random(7).randbytes(3 * FRAME // 2).hex().encode()
    raw = zst(text)
    with mounted(tmp_path / "disk", "2m"):
        filler = use_up(tmp_path / "disk")
        os.truncate(filler, filler.stat().st_size - room * 4096)
        copies = tmp_path / "disk" / "copies"
        found = survey(reading(raw), mark(1, raw), Codec.ZSTD, LIMITS, Shadows(copies, 1 << 30))
        assert (found.decoding.way, found.decoding.size) == (Way.SEQUENTIAL, len(text))
        assert not copies.exists() or list(copies.iterdir()) == []
        filler.unlink()
        again = survey(reading(raw), mark(1, raw), Codec.ZSTD, LIMITS, Shadows(copies, 1 << 30))
        assert again.decoding.way is Way.SHADOW


def test_a_small_copy_that_the_full_disk_has_no_room_for_is_given_up_too(tmp_path: Path) -> None:
    # less than a buffer: it reaches the disk only at the end
    text = b"abc\n" * 150_000
    raw = zst(text)
    limits = replace(LIMITS, frame_bytes=100_000)
    with mounted(tmp_path / "disk", "1m"):
        copies = tmp_path / "disk" / "copies"
        copies.mkdir()
        filler = use_up(tmp_path / "disk")
        found = survey(reading(raw), mark(1, raw), Codec.ZSTD, limits, Shadows(copies, 1 << 30))
        assert found.decoding.way is Way.SEQUENTIAL
        assert list(copies.iterdir()) == []
        filler.unlink()
        found = survey(reading(raw), mark(1, raw), Codec.ZSTD, limits, Shadows(copies, 1 << 30))
        assert found.decoding.way is Way.SHADOW
