"""Random files for the tests of edits: their bytes, and independently of our code what text they hold."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st

from linedex.model import Newline, TextFormat
from linedex_server.edit.content.document import Document

unhurried = settings(deadline=None)
"""Examples may take as long as a busy machine needs."""
ALPHABETS = {
    "utf-8": "ab \t\r\x0b\u0085\u2028éß€漢\U0001f600",
    "utf-16-le": "ab \t\ré€漢\U0001f600\u0a0a\u0d0d",
    "utf-16-be": "ab \t\ré€漢\U0001f600\u0a0a\u0d0d",
    "utf-32-le": "ab é漢\U0001f600\u0a0a",
    "utf-32-be": "ab é漢\U0001f600\u0a0a",
    "latin-1": "ab \té\xa0ÿ\x85",
    "cp1252": "ab é€“”",
    "gb18030": "ab|~é漢字€\U0001f600",
    "shift_jis": "ab|~漢字表ソ能ｱ",
    "cp932": "ab|~漢字表ソ①",
    "euc-jp": "ab漢字ｱ",
    "euc-kr": "ab한글",
    "big5hkscs": "ab漢字Ê",
    "koi8-r": "ab привет",
}
"""Encodings with characters that each of them holds; some have a byte of ASCII, or of a line end, as their second."""
STRAY = {
    "utf-8": (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xe6\xbc"),
    "utf-16-le": (b"\x00\xd8",),
    "utf-16-be": (b"\xd8\x00",),
    "utf-32-le": (b"\x00\xd8\x00\x00", b"\xff\xff\xff\xff"),
    "utf-32-be": (b"\x00\x00\xd8\x00", b"\xff\xff\xff\xff"),
    "gb18030": (b"\xff", b"\x80"),
    "shift_jis": (b"\xff", b"\x80", b"\xa0"),
    "euc-jp": (b"\xff", b"\x80"),
    "euc-kr": (b"\xff", b"\x80"),
    "big5hkscs": (b"\xff", b"\x80"),
    "cp1252": (b"\x81", b"\x8d"),
}
"""Bytes that never decode and take nothing of what follows with them."""
DOUBLES = {
    "cp932": (b"\x81\xca", b"\xee\xf9", b"\xfa\x54"),
    "big5hkscs": (b"\x88\x62", b"\x88\xa5"),
    "euc-kr": (b"\xa4\xd4\xa4\xa1\xa4\xbf\xa4\xd4",),
    "gb18030": (b"\x84\x31\x95\x33",),
}
"""Characters that the codec would spell otherwise, or of several code points, or of many bytes."""
MARKS = {
    "utf-8": b"\xef\xbb\xbf",
    "utf-16-le": b"\xff\xfe",
    "utf-16-be": b"\xfe\xff",
    "utf-32-le": b"\xff\xfe\0\0",
    "utf-32-be": b"\0\0\xfe\xff",
}
ENDS = {
    Newline.LF: ("\n",),
    Newline.CRLF: ("\r\n",),
    Newline.CR: ("\r",),
    Newline.MIXED: ("\n", "\r\n"),
}


@dataclass(frozen=True)
class File:
    r"""A file as pieces: the bytes of each and the code points it is, `\n` for a line end and `?` for a stray byte."""

    format: TextFormat
    pieces: tuple[tuple[bytes, str], ...]

    @property
    def content(self) -> bytes:
        mark = MARKS[self.format.encoding] if self.format.bom else b""
        return mark + b"".join(raw for raw, _ in self.pieces)

    def document(self, *, whole_bytes: int = 1 << 20, window_bytes: int = 1 << 16) -> Document:
        return document_of(self.content, self.format, whole_bytes=whole_bytes, window_bytes=window_bytes)

    @property
    def model(self) -> list[tuple[bytes, str]]:
        """(bytes, code point) of each code point; the bytes of a character of two are the first one's."""
        found: list[tuple[bytes, str]] = []
        for raw, text in self.pieces:
            if set(text) == {"?"}:
                found += [(raw[at : at + 1], "?") for at in range(len(raw))]
            else:
                found.append((raw, text[0]))
                found += [(b"", point) for point in text[1:]]
        return found


def document_of(
    content: bytes, text_format: TextFormat | None = None, *, whole_bytes: int = 1 << 20, window_bytes: int = 1 << 16
) -> Document:
    """Return the document of these bytes, its format detected if none is given."""
    from linedex.content.lines import LineIndex
    from linedex.files.text_format import detect_bytes
    from linedex.limits import Limits

    found = text_format or detect_bytes(content)

    def read(offset: int, size: int) -> bytes:
        return content[offset : offset + size]

    limits = Limits(block_bytes=16, block_slack=8, batch_bytes=64)
    return Document(
        read,
        len(content),
        found,
        lambda: LineIndex.build(read, len(content), found, limits),
        whole_bytes=whole_bytes,
        window_bytes=window_bytes,
    )


def padded(content: bytes, *, large: bool) -> tuple[bytes, Document]:
    """Return bytes with lines behind them, and their document; `large`: one that is not held whole."""
    if not large:
        return content, document_of(content)
    content += (b"=" * 20 + (b"\r\n" if b"\r\n" in content else b"\n")) * 20
    return content, document_of(content, whole_bytes=len(content) - 1, window_bytes=8)


@st.composite
def files(draw: st.DrawFn, *, strays: bool = True, doubles: bool = True, most: int = 24) -> File:
    encoding = draw(st.sampled_from(sorted(ALPHABETS)))
    style = draw(st.sampled_from(sorted(ENDS)))
    bom = draw(st.booleans()) if encoding in MARKS else False
    alphabet = ALPHABETS[encoding].replace("\r", "") if style is Newline.CR else ALPHABETS[encoding]
    characters = st.sampled_from(alphabet).map(lambda point: (point.encode(encoding), point))
    ends = st.sampled_from(ENDS[style]).map(lambda end: (end.encode(encoding), "\n"))
    kinds = [characters, characters, characters, ends]
    if strays and encoding in STRAY:
        kinds.append(st.sampled_from(STRAY[encoding]).map(lambda raw: (raw, "?" * len(raw))))
    if doubles and encoding in DOUBLES:
        kinds.append(st.sampled_from(DOUBLES[encoding]).map(lambda raw: (raw, raw.decode(encoding))))
    pieces = draw(st.lists(st.one_of(kinds), max_size=most))
    kept: list[tuple[bytes, str]] = []
    for piece in pieces:
        # a CR before a line end would become part of it
        if not (kept and kept[-1][1] == "\r" and piece[1] == "\n"):
            kept.append(piece)
    final = bool(kept) and kept[-1][1] == "\n"
    seen = {raw for raw, text in kept if text == "\n"}
    newline = style if seen else Newline.NONE
    if style is Newline.MIXED and len(seen) == 1:
        newline = Newline.LF if seen == {"\n".encode(encoding)} else Newline.CRLF
    if newline is Newline.NONE and any(text == "\r" for _, text in kept):
        kept = [piece for piece in kept if piece[1] != "\r"]
    size = len(MARKS[encoding]) if bom else 0
    return File(TextFormat(encoding, size, newline, final), tuple(kept))
