"""Magic numbers: the first bytes by which a binary format names itself.

Promise: a file that `names_binary` accepts holds no text, whatever its other bytes look like. Signatures that are
plain words (`RIFF`, `%PDF-`) count only when bytes follow that text does not have, so a note that begins with one of
them stays text.

Source: the signatures are those of file(1)'s database and of the formats' own specifications.
"""

from __future__ import annotations

_CERTAIN = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",  # JPEG
    b"\x7fELF",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b\x08",  # gzip
    b"BZh91AY&SY",
    b"\xfd7zXZ\x00",
    b"\x28\xb5\x2f\xfd",  # Zstandard
    b"\x04\x22\x4d\x18",  # LZ4 frame
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"SQLite format 3\x00",
    b"\xca\xfe\xba\xbe",  # Java class, universal Mach-O
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\x00asm",
    b"BC\xc0\xde",  # LLVM bitcode
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",  # OLE documents
    b"\xed\xab\xee\xdb",  # RPM
    b"\x89HDF\r\n\x1a\n",
    b"\x93NUMPY",
    b"Obj\x01",  # Avro
    b"\x00\x01\x00\x00\x00",  # TrueType
    b"\x00\x00\x01\x00",  # icon
    b"II*\x00",
    b"MM\x00*",  # TIFF
    b"PACK\x00\x00\x00",  # git pack
    b"\xfftOc",  # git pack index
    b"\x1a\x45\xdf\xa3",  # Matroska
    b"\xff\xfb",  # MPEG audio
    b"!<arch>\n",
)

_WORDS = (
    b"%PDF-",
    b"GIF87a",
    b"GIF89a",
    b"RIFF",
    b"OggS",
    b"ID3",
    b"fLaC",
    b"FLV\x01",
    b"OTTO",
    b"wOFF",
    b"wOF2",
    b"MSCF",
    b"PAR1",
    b"8BPS",
    b"BM",
    b"MZ",
    b"BZh",
    b"DIRC",  # git index
)
_LOOKED_AT = 1024
_TEXT_CONTROLS = b"\t\n\v\f\r\b\x1b"
_CONTROLS = bytes(byte for byte in range(32) if byte not in _TEXT_CONTROLS) + b"\x7f"


def names_binary(head: bytes) -> bool:
    """Say whether a file that begins with `head` (1 KiB is enough) is of a binary format."""
    if head.startswith(_CERTAIN):
        return True
    if head.startswith(_WORDS):
        return controls(head[:_LOOKED_AT]) > 0
    # Python byte code: a number that changes with each version, then CR LF, then four bytes of flags.
    if head[2:4] == b"\r\n" and head[5:8] == b"\x00\x00\x00":
        return True
    return head[4:8] == b"ftyp" or head[257:262] == b"ustar"


def controls(sample: bytes) -> int:
    """Return how many bytes of a sample are control codes that text has no use for, NUL among them."""
    return len(sample) - len(sample.translate(None, _CONTROLS))
