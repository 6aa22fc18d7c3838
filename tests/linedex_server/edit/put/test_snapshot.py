from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.linedex_server.edit.committing import Desk

from linedex.errors import BadArgument
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import RelPath
from linedex_server.edit.errors import Conflict

CONTENT = b"first\nsecond\nthird\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    (made.root / "a.txt").write_bytes(CONTENT)
    yield made
    made.close()


@pytest.mark.parametrize(
    "guard", [None, DIGEST, DIGEST[:16], DIGEST[:40].upper(), f"sha256:{DIGEST}", f" {DIGEST[:16]} "]
)
def test_a_guard_that_names_the_state_passes(desk: Desk, guard: str | None) -> None:
    with desk.snapshot("a.txt") as snapshot:
        snapshot.demand(guard, "a.txt")


def test_a_guard_of_another_state_is_told_the_present_one(desk: Desk) -> None:
    with desk.snapshot("a.txt") as snapshot, pytest.raises(Conflict, match=f"Now: {DIGEST[:16]}"):
        snapshot.demand("0" * 16, "a.txt")


@pytest.mark.parametrize("guard", ["", DIGEST[:15], "rev:", f"rev:{DIGEST}", "g" * 16, DIGEST + "0"])
def test_what_is_no_hash_is_refused(desk: Desk, guard: str) -> None:
    with desk.snapshot("a.txt") as snapshot, pytest.raises(BadArgument, match="is no hash"):
        snapshot.demand(guard, "a.txt")


def test_a_large_file_is_named_by_what_a_read_prints(desk: Desk) -> None:
    desk.limits = Limits(hash_bytes=4)
    desk.state.mkdir()
    with Index(desk.root, desk.state / "sidecar.db", desk.limits) as index:
        printed = index.read(RelPath(b"a.txt")).hash
    with desk.snapshot("a.txt") as snapshot:
        assert snapshot.token() == printed
        assert printed.startswith("rev:")
        snapshot.demand(printed, "a.txt")


def test_a_file_that_was_only_touched_passes_if_its_hash_was_known(desk: Desk) -> None:
    desk.limits = Limits(hash_bytes=4)
    with desk.snapshot("a.txt") as snapshot:
        unknown = snapshot.token()
    os.utime(desk.root / "a.txt", (1, 1))
    with desk.snapshot("a.txt") as snapshot:
        with pytest.raises(Conflict):
            snapshot.demand(unknown, "a.txt")
        known = snapshot.token()
        snapshot.sha256()
    os.utime(desk.root / "a.txt", (2, 2))
    with desk.snapshot("a.txt") as snapshot:
        snapshot.demand(known, "a.txt")
    (desk.root / "a.txt").write_bytes(CONTENT.upper())
    with desk.snapshot("a.txt") as snapshot, pytest.raises(Conflict):
        snapshot.demand(known, "a.txt")


def test_a_file_that_became_shorter_is_a_conflict(desk: Desk) -> None:
    with desk.snapshot("a.txt") as snapshot:
        os.truncate(desk.root / "a.txt", 3)
        assert snapshot.read(0, 3) == b"fir"
        with pytest.raises(Conflict, match="shorter"):
            snapshot.read(0, 10)


def test_a_snapshot_reads_the_file_that_was_opened(desk: Desk) -> None:
    with desk.snapshot("a.txt") as snapshot:
        (desk.root / "b.txt").write_bytes(b"another")
        (desk.root / "b.txt").rename(desk.root / "a.txt")
        assert snapshot.read(6, 100) == CONTENT[6:]
        assert snapshot.read(100, 5) == b""
