"""The xz container as far as decoding from a block on needs it: headers of blocks, what stands between them, indexes.

Source: "The .xz File Format", version 1.2.1. A block names its own filters, so decoding can begin at any; how long the
check behind it is, only its stream's header says. The library verifies checks of whole streams alone, so a survey reads
those, and what begins at a block is decoded unchecked. Filters other than LZMA2 alone are for programs, not for logs,
and are refused.
"""

from __future__ import annotations

import lzma
from typing import Final

from linedex.files.compressed.codec import ReadRaw

FOOTER: Final = 12
"""Bytes of the header of a stream, and of its footer."""
_CHECK_BYTES: Final = (0, *(4,) * 3, *(8,) * 3, *(16,) * 3, *(32,) * 3, *(64,) * 3)
_LZMA2: Final = 0x21
_HEADER_MOST: Final = 1024
_DICTIONARY_MOST: Final = 128 << 20
_VARINT_MOST: Final = 9
_BUFFER: Final = 4096


class NotBlocks(Exception):
    """The bytes are not what stands there in an xz file, or not of a kind that is decoded; internal to this package."""


class BlockDecoder:
    """Decodes the blocks of a stream from one of them on; `eof` is before its index.

    Attributes:
        eof: whether the last block is whole.
        needs_input: whether nothing more comes without more bytes.
        unused_data: what was given from the index on.
    """

    eof: bool
    needs_input: bool
    unused_data: bytes

    def __init__(self, check: int) -> None:
        """Begin with the header of a block; `check` is the kind of check that its stream has."""
        self.eof, self.needs_input, self.unused_data = False, True, b""
        self._check = _CHECK_BYTES[check]
        self._held = b""
        self._between = 0
        self._block: lzma.LZMADecompressor | None = None
        self._taken = 0

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return up to `max_length` bytes of text.

        Raises:
            lzma.LZMAError: the bytes are damaged.
        """
        self._held += data
        self.needs_input = False
        while not self.needs_input and not self.eof:
            if self._block is None:
                self._open_block()
            elif found := self._step(self._block, max_length):
                return found
        return b""

    def _step(self, block: lzma.LZMADecompressor, max_length: int) -> bytes:
        given, self._held = self._held, b""
        found = block.decompress(given, max_length)
        self._taken += len(given)
        if block.eof:
            self._held = block.unused_data
            self._taken -= len(self._held)
            self._between = -self._taken % 4 + self._check
            self._block, self._taken = None, 0
        elif not found:
            self.needs_input = block.needs_input
        return found

    def _open_block(self) -> None:
        held = self._held[self._between :]
        size = header_bytes(held[:1])
        if held and not size:
            self.eof, self.unused_data = True, held
        elif not held or len(held) < size:
            self.needs_input = True
        else:
            try:
                filters = [{"id": lzma.FILTER_LZMA2, "dict_size": dictionary_bytes(held[:size])}]
            except NotBlocks as error:
                raise lzma.LZMAError(str(error)) from error
            self._block = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
            self._held, self._between = held[size:], 0


def header_bytes(head: bytes) -> int:
    """Return the length of the block header that begins with a byte; 0 where the index begins, or without a byte."""
    return (head[0] + 1) * 4 if head and head[0] else 0


def block_header(read: ReadRaw, at: int) -> bytes:
    """Return the header of the block that begins at a byte of a file."""
    held = read(at, _HEADER_MOST)
    return held[: header_bytes(held)]


def dictionary_bytes(header: bytes) -> int:
    """Return the size of the dictionary that a block wants.

    Raises:
        NotBlocks: it is too large, the block has other filters, or this is no header of a block.
    """
    try:
        flags, at = header[1], 2
        if flags & 0x3F:
            raise NotBlocks("the block has several filters")
        for declared in (flags & 0x40, flags & 0x80):
            if declared:
                _, at = _varint(header, at)
        kind, length, code = header[at : at + 3]
    except (IndexError, ValueError) as error:
        raise NotBlocks("there is no header of a block") from error
    if (kind, length) != (_LZMA2, 1) or code > 40:
        raise NotBlocks("the block has another filter")
    size = (1 << 32) - 1 if code == 40 else (2 | code & 1) << code // 2 + 11
    if size > _DICTIONARY_MOST:
        raise NotBlocks("the block wants a dictionary over 128 MiB")
    return size


def _varint(held: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and the offset behind it."""
    value = 0
    for shift in range(_VARINT_MOST):
        byte = held[at + shift]
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at + shift + 1
    raise NotBlocks("a number is too long")


class IndexReader:
    """Reads the numbers of an index, a few kilobytes at a time.

    Attributes:
        at: the byte behind the last number.
        count: how many blocks it lists; the numbers that follow are two for each.
    """

    at: int
    count: int

    def __init__(self, read: ReadRaw, at: int) -> None:
        """Begin with the index at a byte of a file.

        Raises:
            NotBlocks: there is none.
        """
        self._read = read
        self._start = self.at = at
        self._held, self._held_at = b"", at
        if read(at, 1) != b"\0":
            raise NotBlocks("there is no index")
        self.at += 1
        self.count = self.number()

    def number(self) -> int:
        """Return the next number.

        Raises:
            NotBlocks: there is none.
        """
        inside = self.at - self._held_at
        if inside + _VARINT_MOST > len(self._held):
            self._held, self._held_at, inside = self._read(self.at, _BUFFER), self.at, 0
        try:
            value, behind = _varint(self._held, inside)
        except IndexError as error:
            raise NotBlocks("the index is cut") from error
        self.at = self._held_at + behind
        return value

    @property
    def stream_end(self) -> int:
        """The byte behind the stream, when all numbers were read: padding, a checksum, and the footer come before."""
        return self.at + -(self.at - self._start) % 4 + 4 + FOOTER


def behind_index(read: ReadRaw, at: int) -> int:
    """Return the byte behind the stream whose index begins at a byte.

    Raises:
        NotBlocks: there is no index.
    """
    index = IndexReader(read, at)
    for _ in range(2 * index.count):
        index.number()
    return index.stream_end
