"""Mounts below a root where no event tells of a change are named, with the reason."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from linedex.files.mounts import Mounts
from linedex.files.roots import Root

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a table of mounts")


def blind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *mounts: tuple[str, str, str]) -> dict[bytes, str]:
    """Return what is said of a root when these are the mounts: where (below `tmp_path`), kind, device."""
    table = tmp_path / "mountinfo"
    lines = ["21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw"]
    for at, (place, kind, device) in enumerate(mounts):
        point = str(tmp_path / place).replace(" ", "\\040")
        lines.append(f"{at + 30} 21 {device} / {point} rw,nosuid shared:{at + 2} - {kind} source rw")
    table.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr("linedex.files.mounts._TABLE", str(table))
    (tmp_path / "root").mkdir(exist_ok=True)
    mounts_of_root = Mounts(Root(tmp_path / "root"))
    try:
        return {bytes(place): why for place, why in mounts_of_root.blind.items()}
    finally:
        mounts_of_root.close()


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse", "fuse.sshfs", "virtiofs"])
def test_what_others_may_change_is_named_with_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    found = blind(tmp_path, monkeypatch, ("root/deep/with blank", kind, "0:40"))
    assert found == {b"deep/with blank": f"`deep/with blank` is on a {kind} file system, whose changes raise no events"}


def test_a_root_inside_such_a_mount_is_blind_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = blind(tmp_path, monkeypatch, ("", "fuse.sshfs", "0:40"))
    assert found == {b"": "the folder is on a fuse.sshfs file system, whose changes raise no events"}


@pytest.mark.parametrize("kind", ["ext4", "tmpfs", "btrfs", "overlay", "fusectl"])
def test_local_file_systems_raise_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    assert blind(tmp_path, monkeypatch, ("root/deep", kind, "0:40")) == {}


def test_what_is_mounted_beside_the_root_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert blind(tmp_path, monkeypatch, ("root-2", "nfs4", "0:40"), ("elsewhere", "fuse", "0:41")) == {}


def test_a_local_root_inside_a_remote_folder_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert blind(tmp_path, monkeypatch, ("", "nfs4", "0:40"), ("root", "ext4", "8:2")) == {}


def test_a_folder_that_is_mounted_a_second_time_may_change_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = blind(tmp_path, monkeypatch, ("root/deep", "ext4", "8:1"))
    assert found == {b"deep": "`deep` is mounted here from elsewhere in the same file system"}


_MOUNTING = """
import subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from linedex.answers import SearchRequest
from linedex.index import Index
from linedex.limits import Limits
base = Path(sys.argv[1])
deep = base / "root" / "deep"
def found(index):
    files = index.search(SearchRequest("stands")).files
    return sorted(file.path.decode() for file in files)
with Index(base / "root", base / "state" / "index.db", Limits(workers=0)) as index:
    index.start()
    assert index.wait(20)
    print(found(index))
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(deep)], check=True)
    (deep / "inside.txt").write_text("stands\\n")
    print(found(index))
    (deep / "later.txt").write_text("stands\\n")
    print(found(index))
    # what is being indexed there keeps it busy
    assert index.wait(20)
    subprocess.run(["umount", str(deep)], check=True)
    print(found(index))
    print(index.status().freshness)
"""


def test_a_file_system_mounted_over_a_watched_folder_is_seen_at_once(tmp_path: Path) -> None:
    (tmp_path / "root" / "deep").mkdir(parents=True)
    (tmp_path / "root" / "deep" / "covered.txt").write_text("stands\n")
    apart = ["unshare", "--mount", "--map-root-user"]
    probe = ["sh", "-c", 'mount -t tmpfs tmpfs "$0"', os.fspath(tmp_path)]
    if subprocess.run([*apart, *probe], capture_output=True, check=False).returncode:
        pytest.skip("this system allows no mounts in a namespace of its own")
    package = Path(__file__).parents[3] / "indexer"
    command = [*apart, sys.executable, "-c", _MOUNTING, str(tmp_path), str(package)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    before, mounted, later, after, freshness = ran.stdout.splitlines()
    assert before == after == "['deep/covered.txt']"
    assert mounted == "['deep/inside.txt']"
    assert later == "['deep/inside.txt', 'deep/later.txt']"
    assert freshness.startswith("at once")
