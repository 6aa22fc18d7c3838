"""Checksums of stretches join to that of the whole."""

import zlib

from hypothesis import given
from hypothesis import strategies as st

from linedex.content.checksums import checksums, joined


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_the_checksums_of_two_stretches_join_to_that_of_both(one: bytes, other: bytes) -> None:
    assert joined(zlib.crc32(one), zlib.crc32(other), len(other)) == zlib.crc32(one + other)


def test_a_stretch_of_many_mebibytes_joins_too() -> None:
    one, other = b"head", bytes(9 << 20)
    assert joined(zlib.crc32(one), zlib.crc32(other), len(other)) == zlib.crc32(one + other)


@given(st.binary(max_size=200), st.integers(0, 500), st.integers(0, 800), st.integers(1, 60))
def test_stretches_cover_what_is_asked_for_and_end_at_multiples_of_the_step(
    data: bytes, start: int, first: int, step: int
) -> None:
    found = checksums(data, start, first, step)
    whole = b"".join(data[one.start - start : one.end - start] for one in found)
    assert whole == data[max(0, first - start) :]
    assert all(one.end % step == 0 for one in found[:-1])
    assert all(one.crc == zlib.crc32(data[one.start - start : one.end - start]) for one in found)
