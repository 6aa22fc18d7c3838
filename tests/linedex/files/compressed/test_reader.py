"""A read by decoded offset gives what stands there in the plain text."""

import tempfile
import threading
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linedex.files.compressed.packing import KINDS, gz, log, reading, zst, zst_of_unknown_size

from linedex.files.compressed.codec import Codec
from linedex.files.compressed.decoding import Survey, Way
from linedex.files.compressed.frames import declared_points
from linedex.files.compressed.points import Points
from linedex.files.compressed.reader import DecodedReader
from linedex.files.compressed.stream import Start
from linedex.files.compressed.survey import survey
from linedex.limits import Limits
from linedex.model import Fingerprint

TEXT = log(20_000)
LIMITS = Limits(seek_spacing=40_000, frame_bytes=400_000)
SEEKABLE = [
    "gzip, one member",
    "gzip, many members",
    "zstd, many frames",
    "zstd, frames of unknown size",
    "xz, many blocks",
    "xz, many streams",
    "xz, streams of many blocks",
]


def mark(raw: bytes) -> Fingerprint:
    return Fingerprint(1, 2, len(raw), 3, 4)


@lru_cache
def surveyed(kind: str) -> tuple[bytes, Survey]:
    codec, pack = KINDS[kind]
    raw = pack(TEXT)
    return raw, survey(reading(raw), mark(raw), codec, LIMITS, None)


def opened(raw: bytes, found: Survey, chunk: int = 10_000) -> DecodedReader:
    decoding = found.decoding
    return DecodedReader(reading(raw), decoding.codec, decoding.size, decoding.points, found.windows, chunk=chunk)


@pytest.mark.parametrize("kind", KINDS)
def test_the_survey_finds_the_size_and_no_damage(kind: str) -> None:
    _, found = surveyed(kind)
    assert (found.decoding.size, found.decoding.damage) == (len(TEXT), "")


@pytest.mark.parametrize("kind", SEEKABLE)
def test_what_can_be_read_from_the_middle_has_many_points(kind: str) -> None:
    raw, found = surveyed(kind)
    assert found.decoding.way is Way.POINTS
    assert len(found.decoding.points) > 3
    assert not opened(raw, found).sequential


@pytest.mark.parametrize("kind", ["zstd, one frame", "xz, one block"])
def test_what_cannot_is_read_from_its_beginning_and_says_so(kind: str) -> None:
    raw, found = surveyed(kind)
    assert found.decoding.way is Way.SEQUENTIAL
    assert len(found.decoding.points) == 1
    assert opened(raw, found).sequential


@pytest.mark.parametrize("kind", KINDS)
@given(
    reads=st.lists(st.tuples(st.integers(0, len(TEXT) + 9), st.integers(0, 60_000)), min_size=1, max_size=8),
    chunk=st.integers(1_000, 70_000),
)
def test_random_reads_equal_the_plain_text(kind: str, reads: list[tuple[int, int]], chunk: int) -> None:
    raw, found = surveyed(kind)
    reader = opened(raw, found, chunk)
    for offset, size in reads:
        assert reader.read(offset, size) == TEXT[offset : offset + size]


@given(offset=st.integers(0, len(TEXT) - 1))
def test_a_read_of_gzip_decodes_little_more_than_a_spacing(offset: int) -> None:
    raw, found = surveyed("gzip, one member")
    taken = 0

    def read(at: int, size: int) -> bytes:
        nonlocal taken
        data = raw[at : at + size]
        taken += len(data)
        return data

    reader = DecodedReader(read, Codec.GZIP, len(TEXT), found.decoding.points, found.windows, chunk=1_000)
    reader.read(offset, 1)
    assert taken <= 2 * (64 << 10) + 1  # raw bytes are read in steps of 64 KiB, and a point lies within one of them


def test_points_fall_on_every_bit_of_a_byte_and_all_of_them_work() -> None:
    raw, found = surveyed("gzip, one member")
    table = found.decoding.points.table
    assert set(table["bits"].tolist()) == set(range(8))
    for decoded in table["decoded"].tolist():
        assert opened(raw, found, 500).read(decoded, 500) == TEXT[decoded : decoded + 500]


def test_points_are_never_nearer_than_their_windows_are_long() -> None:
    raw = gz(TEXT)
    decoding = survey(reading(raw), mark(raw), Codec.GZIP, Limits(seek_spacing=1), None).decoding
    assert decoding.way is Way.POINTS
    assert len(decoding.points) > 20


def test_points_survive_their_bytes() -> None:
    _, found = surveyed("gzip, many members")
    points = found.decoding.points
    again = Points.unpacked(points.packed())
    for offset in (0, 50_000, len(TEXT) - 1):
        start = again.before(offset, found.windows)
        assert start == points.before(offset, found.windows)
        assert start.decoded <= offset
    assert again.before(0, found.windows) == Start()


def test_rising_reads_without_points_decode_once() -> None:
    raw, _ = surveyed("zstd, one frame")
    taken = 0

    def read(at: int, size: int) -> bytes:
        nonlocal taken
        data = raw[at : at + size]
        taken += len(data)
        return data

    reader = DecodedReader(read, Codec.ZSTD, len(TEXT), chunk=10_000)
    for at in range(0, len(TEXT), 7_000):
        assert reader.read(at, 9_000) == TEXT[at : at + 9_000]
    assert taken == len(raw)


@pytest.mark.parametrize("kind", ["zstd, one frame", "xz, one block", "gzip, one member"])
def test_a_search_that_looks_ahead_for_the_end_of_each_window_decodes_once(kind: str) -> None:
    raw, found = surveyed(kind)
    taken = 0

    def read(at: int, size: int) -> bytes:
        nonlocal taken
        data = raw[at : at + size]
        taken += len(data)
        return data

    reader = DecodedReader(read, found.decoding.codec, len(TEXT), chunk=10_000)
    for at in range(0, len(TEXT), 80_000):
        assert reader.read(at + 79_990, 1_000) == TEXT[at + 79_990 : at + 80_990]
        assert reader.read(at, 80_000) == TEXT[at : at + 80_000]
    assert taken <= len(raw)


def test_a_read_that_is_no_longer_wanted_ends_between_two_steps() -> None:
    raw, _ = surveyed("xz, one block")

    class Enough(Exception):
        pass

    def check() -> None:
        raise Enough

    with pytest.raises(Enough):
        DecodedReader(reading(raw), Codec.XZ, len(TEXT), chunk=10_000, check=check).read(50_000, 10)


def test_readers_of_one_file_do_not_disturb_each_other() -> None:
    raw, found = surveyed("gzip, one member")
    wrong: list[int] = []

    def read_all(first: int) -> None:
        reader = opened(raw, found)
        places = range(first, len(TEXT), 40_013)
        wrong.extend(at for at in places if reader.read(at, 900) != TEXT[at : at + 900])

    threads = [threading.Thread(target=read_all, args=(7 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not wrong


def test_a_cut_gzip_file_is_read_up_to_the_cut() -> None:
    raw = gz(TEXT)
    cut = raw[: len(raw) // 2]
    found = survey(reading(cut), mark(cut), Codec.GZIP, LIMITS, None)
    decoding = found.decoding
    assert decoding.damage
    assert len(TEXT) * 0.3 < decoding.size < len(TEXT) * 0.7
    reader = opened(cut, found)
    assert reader.read(0, len(TEXT)) == TEXT[: decoding.size]
    assert reader.read(decoding.size - 10, 100) == TEXT[decoding.size - 10 : decoding.size]


def test_damage_in_the_middle_of_a_gzip_file_costs_what_is_behind_it_only() -> None:
    raw = bytearray(gz(TEXT))
    raw[-200_000:-199_900] = bytes(100)
    found = survey(reading(bytes(raw)), mark(bytes(raw)), Codec.GZIP, LIMITS, None)
    size = found.decoding.size
    assert found.decoding.damage
    assert len(found.decoding.points) > 3
    reader = opened(bytes(raw), found)
    assert reader.read(0, 500_000) == TEXT[:500_000]
    assert len(reader.read(size - 50, 100)) == 50


def test_garbage_behind_a_member_leaves_the_text_whole() -> None:
    raw = gz(TEXT) + b"this is no gzip"
    found = survey(reading(raw), mark(raw), Codec.GZIP, LIMITS, None)
    assert found.decoding.size == len(TEXT)
    assert "is not gzip" in found.decoding.damage
    assert opened(raw, found).read(0, len(TEXT)) == TEXT


def test_an_appended_member_is_found_by_a_new_survey() -> None:
    raw = gz(TEXT) + gz(b"appended\n")
    found = survey(reading(raw), mark(raw), Codec.GZIP, LIMITS, None)
    assert opened(raw, found).read(len(TEXT) - 5, 100) == TEXT[-5:] + b"appended\n"


def test_frames_that_declare_their_size_need_no_decoding() -> None:
    raw = zst(TEXT, 9)
    found = declared_points(reading(raw), len(raw), 400_000)
    assert found is not None
    points, size = found
    assert size == len(TEXT)
    reader = DecodedReader(reading(raw), Codec.ZSTD, size, points, chunk=10_000)
    for at in range(0, len(TEXT), 99_991):
        assert reader.read(at, 500) == TEXT[at : at + 500]


@pytest.mark.parametrize(
    "raw",
    [
        zst(TEXT),
        zst_of_unknown_size(TEXT, 9),
        zst(TEXT, 9)[:-1],
        zst(TEXT, 9) + b"garbage",
        b"",
    ],
)
def test_frames_that_are_too_large_unknown_cut_or_not_alone_declare_nothing(raw: bytes) -> None:
    assert declared_points(reading(raw), len(raw), 400_000) is None


def test_frames_to_be_skipped_hold_no_text() -> None:
    skipped = b"\x50\x2a\x4d\x18\x05\x00\x00\x00hello"
    raw = skipped + zst(TEXT, 9) + skipped
    found = declared_points(reading(raw), len(raw), 400_000)
    assert found is not None
    assert DecodedReader(reading(raw), Codec.ZSTD, found[1], found[0]).read(0, len(TEXT)) == TEXT


def test_the_temporary_folder_gets_nothing_from_a_survey_without_shadows() -> None:
    before = set(Path(tempfile.gettempdir()).glob("*.unfinished"))
    surveyed("zstd, one frame")
    assert set(Path(tempfile.gettempdir()).glob("*.unfinished")) == before
