"""A file is compressed text when its name and its first bytes agree."""

import pytest

from linedex.files.compressed.codec import Codec, codec_of, is_named_compressed, plain_name


@pytest.mark.parametrize(
    ("path", "head", "codec"),
    [
        (b"a/app.log.1.gz", b"\x1f\x8b\x08\x00\x00\x00", Codec.GZIP),
        (b"APP.LOG.GZ", b"\x1f\x8b\x08\x00\x00\x00", Codec.GZIP),
        (b"app.log.zst", b"\x28\xb5\x2f\xfd\x04\x00", Codec.ZSTD),
        (b"app.log.zst", b"\x5e\x2a\x4d\x18\x04\x00", Codec.ZSTD),
        (b"app.log.xz", b"\xfd7zXZ\x00", Codec.XZ),
        (b"app.log.gz", b"2026-1", None),
        (b"app.log.gz", b"\x28\xb5\x2f\xfd\x04\x00", None),
        (b"app.tgz", b"\x1f\x8b\x08\x00\x00\x00", None),
        (b"app.log", b"\x1f\x8b\x08\x00\x00\x00", None),
        (b"app.log.gz", b"", None),
    ],
)
def test_name_and_first_bytes_must_agree(path: bytes, head: bytes, codec: Codec | None) -> None:
    assert codec_of(path, head) is codec


def test_the_name_of_the_text_lacks_the_ending() -> None:
    assert plain_name(b"logs/app.py.gz") == b"logs/app.py"
    assert plain_name(b"logs/app.py") == b"logs/app.py"
    assert not is_named_compressed(b"gz")
