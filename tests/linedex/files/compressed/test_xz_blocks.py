"""An xz file of several blocks is read from any of them, by the table at the end of each of its streams."""

import lzma
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linedex.files.compressed.packing import log, parts, reading, xz, xz_of_blocks

from linedex.files.compressed.codec import Codec
from linedex.files.compressed.decoding import Way
from linedex.files.compressed.reader import DecodedReader
from linedex.files.compressed.shadow import Shadows
from linedex.files.compressed.stream import Forward
from linedex.files.compressed.survey import survey
from linedex.files.compressed.xz_blocks import block_table
from linedex.limits import Limits
from linedex.model import Fingerprint

TEXT = log(20_000)
LIMITS = Limits(frame_bytes=400_000)


def mark(raw: bytes) -> Fingerprint:
    return Fingerprint(1, 2, len(raw), 3, 4)


def read_everywhere(raw: bytes, text: bytes) -> None:
    table = block_table(reading(raw), len(raw))
    assert table is not None
    assert table.size == len(text)
    reader = DecodedReader(reading(raw), Codec.XZ, table.size, table.points, chunk=10_000)
    for at in (*table.points.table["decoded"].tolist(), *range(0, len(text), 90_001), len(text) - 1):
        assert reader.read(at, 12_000) == text[at : at + 12_000]


def test_the_packer_of_these_tests_packs_what_the_library_unpacks() -> None:
    assert lzma.decompress(xz_of_blocks(TEXT, 9)) == TEXT


@pytest.mark.parametrize("check", [lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256])
def test_blocks_are_passed_whatever_check_stands_behind_them(check: int) -> None:
    raw = xz_of_blocks(TEXT, 7, check)
    assert lzma.decompress(raw) == TEXT
    read_everywhere(raw + bytes(4) + raw, TEXT + TEXT)


def test_blocks_that_the_program_writes_are_read_from_the_middle(tmp_path: Path) -> None:
    program = shutil.which("xz")
    if program is None:
        pytest.skip("there is no xz program")
    (tmp_path / "app.log").write_bytes(TEXT)
    for more in (["--block-size=300KiB"], ["-T2", "--block-size=300KiB"], ["-C", "sha256", "--block-size=1MiB"]):
        command = [program, "-0", "--keep", "--stdout", *more, str(tmp_path / "app.log")]
        read_everywhere(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout, TEXT)


def test_a_read_decodes_the_block_that_it_is_in_and_no_other() -> None:
    raw = xz_of_blocks(TEXT, 9)
    table = block_table(reading(raw), len(raw))
    assert table is not None
    taken = 0

    def read(at: int, size: int) -> bytes:
        nonlocal taken
        data = raw[at : at + size]
        taken += len(data)
        return data

    reader = DecodedReader(read, Codec.XZ, table.size, table.points, chunk=10_000)
    assert reader.read(len(TEXT) // 2, 9) == TEXT[len(TEXT) // 2 :][:9]
    assert taken < len(raw) / 9 + (32 << 10)


def test_reading_the_table_reads_little_of_the_file() -> None:
    raw = xz_of_blocks(TEXT, 9)
    taken = 0

    def read(at: int, size: int) -> bytes:
        nonlocal taken
        taken += len(raw[at : at + size])
        return raw[at : at + size]

    assert block_table(read, len(raw)) is not None
    assert taken < 20_000


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        xz(TEXT)[:-1],
        xz(TEXT)[:-40],
        xz(TEXT) + b"garbage",
        xz(TEXT) + bytes(3),
        b"garbage" + xz(TEXT),
        lzma.compress(TEXT, format=lzma.FORMAT_XZ, filters=[{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2}]),
    ],
    ids=["empty", "cut", "cut in the index", "garbage behind", "odd padding", "garbage before", "for programs"],
)
def test_what_is_not_whole_or_not_made_for_text_has_no_table(raw: bytes) -> None:
    assert block_table(reading(raw), len(raw)) is None


@given(st.integers(0, 200), st.integers(0, 255))
def test_a_table_with_a_changed_byte_is_none_or_still_true(behind: int, value: int) -> None:
    raw = bytearray(xz_of_blocks(TEXT[:50_000], 20))
    raw[-1 - behind] = value
    table = block_table(reading(bytes(raw)), len(raw))
    assert table is None or table.size == 50_000


@settings(max_examples=40)
@given(st.integers(0, 1 << 30), st.integers(1, 64), st.booleans())
def test_a_damaged_file_is_read_up_to_where_decoding_forward_comes(place: int, size: int, cut: bool) -> None:
    whole = xz_of_blocks(TEXT[:200_000], 4)
    place %= len(whole)
    damaged = whole[:place] if cut else whole[:place] + random.Random(place).randbytes(size) + whole[place + size :]
    forward = Forward(reading(damaged), Codec.XZ)
    text = b"".join(iter(lambda: forward.step(1 << 16), b""))
    found = survey(reading(damaged), mark(damaged), Codec.XZ, LIMITS, None)
    assert (found.decoding.size, bool(found.decoding.damage)) == (len(text), bool(forward.damage))
    reader = DecodedReader(reading(damaged), Codec.XZ, len(text), found.decoding.points, chunk=10_000)
    for at in range(0, len(text), 30_001):
        assert reader.read(at, 5_000) == text[at : at + 5_000]


def test_blocks_larger_than_a_frame_may_be_have_a_copy_and_without_budget_are_read_by_block(tmp_path: Path) -> None:
    raw = xz_of_blocks(TEXT, 3)
    found = survey(reading(raw), mark(raw), Codec.XZ, LIMITS, Shadows(tmp_path, 1 << 30))
    assert found.decoding.way is Way.SHADOW
    found = survey(reading(raw), mark(raw), Codec.XZ, LIMITS, Shadows(tmp_path, 0))
    assert (found.decoding.way, len(found.decoding.points)) == (Way.POINTS, 3)
    small = xz_of_blocks(TEXT, 9)
    found = survey(reading(small), mark(small), Codec.XZ, LIMITS, Shadows(tmp_path / "none", 1 << 30))
    assert found.decoding.way is Way.POINTS
    assert not (tmp_path / "none").exists()


def test_an_index_that_promises_another_text_is_not_believed() -> None:
    one, two = parts(TEXT, 2)
    honest, other = xz_of_blocks(one, 3), xz_of_blocks(two[:-4000], 3)
    index = 4 * (1 + int.from_bytes(honest[-8:-4], "little")) + 12
    lying = honest[:-index] + other[-(4 * (1 + int.from_bytes(other[-8:-4], "little")) + 12) :]
    found = survey(reading(lying), mark(lying), Codec.XZ, LIMITS, None)
    assert found.decoding.damage
    reader = DecodedReader(reading(lying), Codec.XZ, found.decoding.size, found.decoding.points)
    assert reader.read(0, found.decoding.size) == TEXT[: found.decoding.size]
