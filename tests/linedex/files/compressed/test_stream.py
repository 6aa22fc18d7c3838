"""Decoding forward gives the text up to the first damage, and says where that is."""

import gzip
import random
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linedex.files.compressed.packing import KINDS, gz, log, reading, xz, zst

from linedex.files.compressed.codec import Codec
from linedex.files.compressed.stream import Forward, Start
from linedex.files.compressed.xz_blocks import block_table

TEXT = log(4_000)


def whole(raw: bytes, codec: Codec, step: int = 100_000) -> tuple[bytes, str]:
    forward = Forward(reading(raw), codec)
    text = bytearray()
    while piece := forward.step(step):
        assert len(piece) <= step
        text += piece
    assert forward.position == len(text)
    return bytes(text), forward.damage


@pytest.mark.parametrize("kind", KINDS)
def test_all_members_frames_and_streams_are_one_text(kind: str) -> None:
    codec, pack = KINDS[kind]
    assert whole(pack(TEXT), codec) == (TEXT, "")


@pytest.mark.parametrize("kind", KINDS)
@given(step=st.integers(1, 3_000))
def test_steps_of_any_size_give_the_same_text(kind: str, step: int) -> None:
    codec, pack = KINDS[kind]
    assert whole(pack(TEXT[:9_000]), codec, step) == (TEXT[:9_000], "")


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_file_gives_its_text_up_to_the_cut(kind: str, share: float) -> None:
    codec, pack = KINDS[kind]
    full = log(16_000)
    raw = pack(full)
    text, damage = whole(raw[: int(len(raw) * share)], codec)
    assert damage
    assert full.startswith(text)
    assert len(text) > len(full) * share * 0.6


def test_a_gzip_file_that_lacks_only_its_trailer_is_said_to_be_cut() -> None:
    text, damage = whole(gz(TEXT)[:-4], Codec.GZIP)
    assert (text, bool(damage)) == (TEXT, True)


def test_a_length_that_is_not_that_of_the_text_is_damage() -> None:
    raw = gz(TEXT)
    text, damage = whole(raw[:-4] + b"\1\2\3\4", Codec.GZIP)
    assert text == TEXT
    assert "length" in damage


def test_a_checksum_that_is_not_that_of_the_text_is_damage() -> None:
    raw = gz(TEXT)
    text, damage = whole(raw[:-8] + b"\1\2\3\4" + raw[-4:], Codec.GZIP)
    assert text == TEXT
    assert "data check" in damage


def test_zeros_behind_the_last_member_are_padding() -> None:
    for raw, codec in ((gz(TEXT), Codec.GZIP), (xz(TEXT), Codec.XZ)):
        assert whole(raw + bytes(70_000), codec) == (TEXT, "")


def test_zeros_between_members_are_padding() -> None:
    assert whole(gz(TEXT) + bytes(513) + gz(b"more\n"), Codec.GZIP) == (TEXT + b"more\n", "")


@pytest.mark.parametrize(("pack", "codec"), [(gz, Codec.GZIP), (zst, Codec.ZSTD), (xz, Codec.XZ)])
def test_garbage_behind_a_member_is_named_by_its_place(pack: object, codec: Codec) -> None:
    raw = pack(TEXT)  # type: ignore[operator]
    text, damage = whole(raw + b"garbage\n", codec)
    assert text == TEXT
    assert f"{len(raw):,}" in damage


def test_what_zlib_had_decoded_before_it_met_damage_is_kept_to_the_byte() -> None:
    raw = bytearray(gz(TEXT))
    at = len(raw) // 2
    raw[at : at + 64] = random.Random(3).randbytes(64)
    text, damage = whole(bytes(raw), Codec.GZIP)
    by_bytes = bytearray()
    inflate = zlib.decompressobj(31)
    try:
        for byte in raw:
            by_bytes += inflate.decompress(bytes([byte]))
    except zlib.error:
        at = -1
    assert at == -1
    assert damage
    assert text == bytes(by_bytes)
    assert len(text) > len(TEXT) // 3


def test_a_window_over_128_mebibytes_is_refused() -> None:
    # a frame header that wants a window of 256 MiB, and one empty last block
    raw = b"\x28\xb5\x2f\xfd" + bytes([0, (28 - 10) << 3]) + b"\x01\x00\x00"
    text, damage = whole(raw, Codec.ZSTD)
    assert (text, bool(damage)) == (b"", True)


def test_a_dictionary_over_128_mebibytes_is_refused() -> None:
    raw = bytearray(xz(TEXT))
    header = raw[12 : 12 + 4 * (1 + raw[12])]
    at = header.index(b"\x21\x01") + 2
    header[at] = 36  # 1 GiB
    header[-4:] = struct.pack("<I", zlib.crc32(header[:-4]))
    raw[12 : 12 + len(header)] = header
    text, damage = whole(bytes(raw), Codec.XZ)
    assert (text, "limit" in damage) == (b"", True)
    assert block_table(reading(bytes(raw)), len(raw)) is None


def test_decoding_begins_at_any_member() -> None:
    first, second = gzip.compress(TEXT), gzip.compress(b"second\n")
    forward = Forward(reading(first + second), Codec.GZIP, Start(len(first), len(TEXT)))
    assert forward.step(1 << 20) == b"second\n"
    assert forward.position == len(TEXT) + 7
