"""Edits of large files that are told: what is stored afterwards is true of every block, and little was read for it."""

import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from linedex.answers import SearchRequest
from linedex.build.splicing import Edit
from linedex.files import fingerprint
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import Fingerprint, RelPath

TINY = Limits(large_file=256, block_bytes=64, block_slack=16, batch_bytes=200, commit_bytes=4000, workers=0)
NAME = RelPath(b"app.log")
TEXTS = st.lists(
    st.sampled_from(["alpha ", "beta\n", "caf\u00e9\n", "\u6f22", "x" * 70, "\n", "g\r\n", "delta-7f3a\n"]), max_size=12
).map(lambda words: "".join(words).encode())
CUTS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2), TEXTS), min_size=1, max_size=5)
BODIES = st.sampled_from(
    [
        b"".join(b"2026-01-01 00:00:%02d seq=%d\n" % (at % 60, at) for at in range(60)),
        b"one line " * 120,
        b"short\n" * 150 + b"long " * 60 + b"\n" + b"short\n" * 50,
        "caf\u00e9 \u6f22\u5b57\n".encode() * 100,
        b"pair\r\n" * 150,
    ]
)


def splices_of(body: bytes, cuts: list[tuple[float, float, bytes]]) -> list[tuple[int, int, bytes]]:
    """Return disjoint splices in ascending order."""
    found: list[tuple[int, int, bytes]] = []
    behind = 0
    for start, length, text in sorted(cuts):
        low = max(behind, int(start * len(body)))
        high = min(len(body), low + int(length * len(body)))
        found.append((low, high, text))
        behind = high
    return found


def spliced(body: bytes, splices: list[tuple[int, int, bytes]]) -> bytes:
    parts, at = [], 0
    for start, end, text in splices:
        parts += [body[at:start], text]
        at = end
    return b"".join([*parts, body[at:]])


def mark_of(path: Path) -> Fingerprint:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return fingerprint.of(descriptor)
    finally:
        os.close(descriptor)


def take_in(index: Index, before: Fingerprint, splices: list[tuple[int, int, bytes]]) -> bool:
    """Tell the builder of an index that is not started of an edit."""
    edit = Edit(NAME, before, tuple((start, end, len(text)) for start, end, text in splices))
    builder = index._keeper._made_builder()
    return builder.take_in(index._keeper.catalogue(), edit) is not None


def lines_with(index: Index, word: str) -> list[int]:
    answer = index.search(SearchRequest(word, scope=NAME, max_hits=1000))
    return [hit.line for file in answer.files for hit in file.hits]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=BODIES, rounds=st.lists(CUTS, min_size=1, max_size=3), replaces=st.booleans())
@example(body=b"short\n" * 100, rounds=[[(0.5, 0.0, b"")]], replaces=False)
def test_what_is_stored_after_edits_is_true_of_every_block(
    body: bytes, rounds: list[list[tuple[float, float, bytes]]], replaces: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "root"
        root.mkdir()
        log = root / "app.log"
        log.write_bytes(body)
        with Index(root, Path(name) / "index.db", TINY) as index:
            index.build()
            for cuts in rounds:
                before, splices = mark_of(log), splices_of(body, cuts)
                body = spliced(body, splices)
                if replaces:
                    log.with_name("new").write_bytes(body)
                    log.with_name("new").replace(log)
                else:
                    log.write_bytes(body)
                take_in(index, before, splices)
                assert [trouble for trouble in index.check() if "no blocks" not in trouble] == []
                for word in ("alpha", "delta-7f3a", "seq=1"):
                    expected = [at for at, line in enumerate(body.split(b"\n"), 1) if word.encode() in line]
                    assert lines_with(index, word) == expected
                index.build()
                assert index.check() == ()


def test_an_edit_in_the_middle_costs_the_blocks_it_touches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    body = b"".join(b"%08d %032x served\n" % (at, draw.getrandbits(128)) for at in range(200_000))
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    log.write_bytes(body)
    with Index(root, tmp_path / "index.db", Limits(workers=0, hash_bytes=1 << 20)) as index:
        index.build()
        place = body.index(b"00100000 ")
        splices = [(place, place + 8, b"a new thing stands here\nand here"), (len(body) - 100, len(body) - 90, b"")]
        before, now = mark_of(log), spliced(body, splices)
        log.write_bytes(now)
        total = 0
        pread = os.pread

        def counted(descriptor: int, size: int, offset: int) -> bytes:
            nonlocal total
            data = pread(descriptor, size, offset)
            total += len(data)
            return data

        monkeypatch.setattr(os, "pread", counted)
        assert take_in(index, before, splices)
        assert lines_with(index, "new thing") == [100_001]
        assert index.read(NAME, 150_000, 1).lines == (now.split(b"\n")[149_999].decode(),)
        assert total < 2 << 20
        monkeypatch.undo()
        assert index.check() == ()


def test_an_edit_that_does_not_make_the_present_file_is_not_believed(tmp_path: Path) -> None:
    body = b"".join(b"line number %d\n" % at for at in range(200))
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    log.write_bytes(body)
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        before = mark_of(log)
        log.write_bytes(body[:1000] + b"alpha")
        assert not take_in(index, before, [(10, 11, b"alpha")])
        assert lines_with(index, "alpha") == [body[:1000].count(b"\n") + 1]


def test_many_edits_leave_few_runs_of_blocks(tmp_path: Path) -> None:
    body = b"".join(b"line number %d\n" % at for at in range(3000))
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    log.write_bytes(body)
    draw = random.Random(2)
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        for _ in range(60):
            at = draw.randrange(len(body))
            before, splices = mark_of(log), [(at, at + 1, b"alpha")]
            body = spliced(body, splices)
            log.write_bytes(body)
            assert take_in(index, before, splices)
        assert index.check() == ()
        with index._keeper.reading() as db:
            assert db is not None
            assert db.execute("SELECT count(*) FROM block_runs").get <= 40
            assert db.execute("SELECT count(DISTINCT key >> 20) FROM group_rows").get <= 41


def test_a_started_index_answers_rightly_after_an_edit_that_it_is_told(tmp_path: Path) -> None:
    body = b"".join(b"line number %d\n" % at for at in range(300))
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    log.write_bytes(body)
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.start()
        assert index.wait(30)
        before, splices = mark_of(log), [(5, 11, b"alpha"), (900, 900, b"alpha\n")]
        log.write_bytes(spliced(body, splices))
        index.edited(NAME, before, [(start, end, len(text)) for start, end, text in splices], timeout=30)
        expected = [at for at, line in enumerate(spliced(body, splices).split(b"\n"), 1) if b"alpha" in line]
        assert lines_with(index, "alpha") == expected
        assert index.wait(30)
        assert index.check() == ()
