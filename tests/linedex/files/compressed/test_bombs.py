"""A file that expands to far more than it is costs time, never memory, and is given up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.linedex.files.compressed.packing import gz, gzip_bomb, reading, xz, xz_bomb, zst, zstd_bomb

from linedex.files.compressed.codec import Codec
from linedex.files.compressed.decoding import TooDense
from linedex.files.compressed.survey import survey
from linedex.limits import Limits
from linedex.model import Fingerprint

SURVEY = """
import os, sys
from pathlib import Path
from linedex.files.compressed.codec import Codec
from linedex.files.compressed.shadow import Shadows
from linedex.files.compressed.decoding import TooDense
from linedex.files.compressed.survey import survey
from linedex.files.fingerprint import of
from linedex.limits import Limits

descriptor = os.open(sys.argv[1], os.O_RDONLY)
try:
    survey(
        lambda offset, size: os.pread(descriptor, size, offset),
        of(descriptor), Codec(sys.argv[2]), Limits(ratio_from=int(sys.argv[4])), Shadows(Path(sys.argv[3]), 1 << 30),
    )
except TooDense:
    # not getrusage, whose figure begins with that of the process which started this one
    held = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print("too dense", int(held.split()[1]) << 10)
"""


@pytest.mark.parametrize(
    ("codec", "bomb"), [(Codec.GZIP, gzip_bomb(528)), (Codec.ZSTD, zstd_bomb(288)), (Codec.XZ, xz_bomb(288))]
)
def test_a_bomb_is_given_up_in_less_memory_than_its_text_takes(codec: Codec, bomb: bytes, tmp_path: Path) -> None:
    assert len(bomb) < 3_000_000
    (tmp_path / "bomb").write_bytes(bomb)
    # a quarter of what is set, so that it takes a quarter of the time
    since = Limits().ratio_from >> 2
    command = [sys.executable, "-c", SURVEY, str(tmp_path / "bomb"), codec, str(tmp_path / "shadows"), str(since)]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    told = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=100).stdout
    assert told.startswith("too dense")
    assert int(told.split()[-1]) < since, told
    assert not list((tmp_path / "shadows").glob("*"))


@pytest.mark.parametrize(("codec", "pack"), [(Codec.GZIP, gz), (Codec.ZSTD, zst), (Codec.XZ, xz)])
@pytest.mark.parametrize(
    "limits", [Limits(decoded_bytes=2 << 20), Limits(ratio_from=1 << 20, decoded_ratio=100)], ids=["size", "ratio"]
)
def test_the_bounds_hold_for_every_codec(codec: Codec, pack: object, limits: Limits) -> None:
    raw = pack(bytes(4 << 20))  # type: ignore[operator]
    with pytest.raises(TooDense):
        survey(reading(raw), Fingerprint(1, 2, len(raw), 3, 4), codec, limits, None)


def test_a_file_inside_the_bounds_is_no_bomb() -> None:
    raw = gz(bytes(4 << 20))
    limits = Limits(decoded_bytes=5 << 20, ratio_from=1 << 20, decoded_ratio=10_000)
    assert survey(reading(raw), Fingerprint(1, 2, len(raw), 3, 4), Codec.GZIP, limits, None).decoding.size == 4 << 20
