"""Checksums of stretches of a file that can be joined without reading the bytes again.

Promise: `joined` of the checksums of two adjoining stretches is that of both together, so that ranges of a file that
were read in any process, and what is appended later, make one checksum for each checkpoint. They are CRC-32: made to
notice that bytes changed by accident or by a program that knows nothing of them, not to withstand somebody who does.
"""

from __future__ import annotations

import zlib
from typing import Final, NamedTuple

_POLYNOMIAL: Final = 0xEDB88320
_ONE: Final = 1 << 31
"""The polynomial 1; the bit of x**0 is the highest."""


class Checksum(NamedTuple):
    """First byte of a stretch, the byte after its last, and its CRC-32."""

    start: int
    end: int
    crc: int


def checksums(data: bytes, start: int, first: int, step: int) -> tuple[Checksum, ...]:
    """Return the checksums of the bytes that stand at `start` in a file, cut at multiples of `step`.

    Args:
        data: the bytes.
        start: where they stand.
        first: what stands before this byte is left out.
        step: where a stretch ends at the latest.
    """
    view = memoryview(data)
    low, end = max(start, first), start + len(data)
    found = []
    while low < end:
        high = min(end, low - low % step + step)
        found.append(Checksum(low, high, zlib.crc32(view[low - start : high - start])))
        low = high
    return tuple(found)


def joined(one: int, other: int, length: int) -> int:
    """Return the CRC-32 of bytes with the CRC-32 `one` before `length` bytes with the CRC-32 `other`."""
    # a byte behind multiplies what stands before it by x**8; what both begin and end with cancels out
    return _product(_power(8 * length), one) ^ other


def _product(one: int, other: int) -> int:
    """Return the product of two polynomials modulo that of CRC-32."""
    product = 0
    for bit in range(31, -1, -1):
        if one >> bit & 1:
            product ^= other
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
    return product


def _power(exponent: int) -> int:
    """Return x**exponent modulo the polynomial of CRC-32."""
    result, square = _ONE, _ONE >> 1
    while exponent:
        if exponent & 1:
            result = _product(square, result)
        square = _product(square, square)
        exponent >>= 1
    return result
