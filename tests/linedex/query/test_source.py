import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from linedex.content.lines import LineEnds, LineIndex, cut_blocks
from linedex.errors import ChangedWhileRead, NotAFile, NotFound
from linedex.files.fingerprint import of as fingerprint_of
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import FileId, FileState, Fingerprint, Newline, RelPath, TextFormat
from linedex.query.read import read, tail
from linedex.query.source import Source, opened
from linedex.store import files
from linedex.store.blocks import BlockColumns, BlockWriter
from linedex.store.catalogue import Catalogue
from linedex.store.database import Sidecar

TINY = Limits(large_file=64, block_bytes=32, block_slack=16, batch_bytes=64)
NAME = RelPath(b"app.log")
LATER = 3_600 * 10**9


@contextmanager
def folder_with(data: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "app.log").write_bytes(data)
        yield Path(folder)


@contextmanager
def source_in(
    folder: Path, limits: Limits = TINY, catalogue: Catalogue | None = None, name: bytes = NAME
) -> Iterator[Source]:
    with opened(Root(folder), RelPath(name), catalogue or Catalogue.empty(), None, limits) as source:
        yield source


def catalogued(
    sidecar: Sidecar, folder: Path, *, lines: int, language: str = "", starts_moved: int = 0, limits: Limits = TINY
) -> Catalogue:
    """Store the file as the builder would, its lines moved by `starts_moved` bytes to make a false index visible."""
    descriptor = os.open(folder / "app.log", os.O_RDONLY)
    mark = fingerprint_of(descriptor)
    os.close(descriptor)
    spelling = TextFormat("utf-8", 0, Newline.LF, final_newline=True)
    data = (folder / "app.log").read_bytes()
    ends = LineEnds.of(spelling)
    with sidecar.transaction() as db:
        seen = mark.ctime_ns + LATER
        catalogue = files.add(
            db, Catalogue.empty(), [files.FolderRow(b"", 0, 0)], [files.FileRow(bytes(NAME), mark, seen)]
        )
        file = FileId(int(catalogue.facts["id"][0]))
        facts = files.TextFacts(file, mark, seen, FileState.INDEXED, "", spelling, language, lines)
        catalogue = catalogue.with_facts(files.set_text(db, catalogue, [facts]))
        blocks = list(cut_blocks(data, 0, ends, limits))
        writer = BlockWriter(db, file, sparse=0.0)
        writer.add(
            BlockColumns(
                np.array([start + starts_moved for start, _, _ in blocks], np.int64),
                np.array([ends.count(data[start:end]) for start, end, _ in blocks], np.int64),
                np.array([ended for _, _, ended in blocks], np.bool_),
                8,
                np.zeros((len(blocks), 32), np.uint8),
            )
        )
        writer.finish()
    return catalogue


def test_the_hash_is_the_start_of_the_sha_256_of_the_bytes() -> None:
    data = os.urandom(5000)
    with folder_with(data) as folder, source_in(folder) as source:
        assert source.hash() == hashlib.sha256(data).hexdigest()[:16]


def test_a_very_large_file_is_named_by_a_token_that_changes_with_it() -> None:
    limits = Limits(large_file=64, hash_bytes=1000)
    tokens = []
    with folder_with(b"a" * 2000) as folder:
        for _ in range(2):
            with source_in(folder, limits) as source:
                tokens.append(source.hash())
        with (folder / "app.log").open("ab") as file:
            file.write(b"b")
        with source_in(folder, limits) as source:
            tokens.append(source.hash())
    assert tokens[0] == tokens[1] != tokens[2]
    for token in tokens:
        assert token.startswith("rev:")
        assert int(token.removeprefix("rev:"), 16) >= 0
        assert len(token) == len("rev:") + 16


def test_lines_come_from_the_index_when_it_is_of_these_bytes(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % number for number in range(100))
    with folder_with(data) as folder:
        sidecar = Sidecar(tmp_path / "index.db", str(folder))
        catalogue = catalogued(sidecar, folder, lines=100)
        with sidecar.reading() as db, opened(Root(folder), NAME, catalogue, db, TINY) as source:
            built = LineIndex.build(lambda at, size: data[at : at + size], len(data), source.format, TINY)
            assert source.place == 0
            assert source.lines.index.total == 100
            assert source.lines.index.starts.tolist() == built.starts.tolist()
            assert read(source, 57, 2).lines == ("line 56", "line 57")
        sidecar.close()


def test_an_index_of_other_bytes_is_not_believed(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % number for number in range(100))
    with folder_with(data) as folder:
        sidecar = Sidecar(tmp_path / "index.db", str(folder))
        catalogue = catalogued(sidecar, folder, lines=100, starts_moved=3)
        (folder / "app.log").write_bytes(b"new " + data)
        with sidecar.reading() as db, opened(Root(folder), NAME, catalogue, db, TINY) as source:
            assert source.place == -1
            assert read(source, 57, 2).lines == ("line 56", "line 57")
        sidecar.close()


def test_an_index_made_in_the_tick_of_a_change_is_not_believed(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % number for number in range(100))
    with folder_with(data) as folder:
        sidecar = Sidecar(tmp_path / "index.db", str(folder))
        catalogue = catalogued(sidecar, folder, lines=100, starts_moved=3)
        catalogue.facts["seen_ns"][:] -= LATER
        with sidecar.reading() as db, opened(Root(folder), NAME, catalogue, db, TINY) as source:
            assert read(source, 57, 2).lines == ("line 56", "line 57")
        sidecar.close()


def test_bytes_that_only_look_equal_by_their_stat_are_told_apart_by_head_and_tail(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % number for number in range(100))
    with folder_with(data) as folder:
        sidecar = Sidecar(tmp_path / "index.db", str(folder))
        catalogue = catalogued(sidecar, folder, lines=100, starts_moved=3)
        with sidecar.transaction() as db:
            db.execute("UPDATE files SET head = x'0102030405060708'")
        with sidecar.reading() as db, opened(Root(folder), NAME, catalogue, db, TINY) as source:
            assert read(source, 57, 2).lines == ("line 56", "line 57")
        sidecar.close()


def test_a_damaged_sidecar_costs_speed_and_no_answer(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % number for number in range(100))
    with folder_with(data) as folder:
        sidecar = Sidecar(tmp_path / "index.db", str(folder))
        catalogue = catalogued(sidecar, folder, lines=100)
        with sidecar.reading() as db:
            pages = [page for (page,) in db.execute("SELECT pageno FROM dbstat WHERE name = 'block_runs'")]
        sidecar.close()
        content = bytearray((tmp_path / "index.db").read_bytes())
        for page in pages:
            content[(page - 1) * 8192 : page * 8192] = b"\xa5" * 8192
        (tmp_path / "index.db").write_bytes(bytes(content))
        damaged = Sidecar(tmp_path / "index.db", str(folder))
        with damaged.reading() as db, opened(Root(folder), NAME, catalogue, db, TINY) as source:
            assert source.place == 0
            assert read(source, 57, 2).lines == ("line 56", "line 57")
        damaged.close()


def test_a_file_that_shrinks_while_it_is_read_is_answered_as_it_is_now() -> None:
    data = b"".join(b"line %d\n" % number for number in range(100))
    with folder_with(data) as folder, source_in(folder) as source:
        os.truncate(folder / "app.log", len(b"line 0\nline 1\n"))
        answer = tail(source, 5)
    assert answer.lines == ("line 0", "line 1")
    assert answer.total_lines == 2
    assert answer.hash == hashlib.sha256(b"line 0\nline 1\n").hexdigest()[:16]


def test_a_file_that_is_emptied_while_it_is_read_reads_as_no_lines() -> None:
    with folder_with(b"text\n" * 100) as folder, source_in(folder) as source:
        os.truncate(folder / "app.log", 0)
        assert read(source, 1, 10).lines == ()


def test_a_file_rewritten_in_place_is_never_answered_from_two_states() -> None:
    with folder_with(b"old %07d\n" % 1 * 100) as folder, source_in(folder) as source:
        lines = source.lines.index
        with (folder / "app.log").open("r+b") as file:
            file.write(b"a longer line than before\n" * 46)
            file.truncate()
        os.utime(folder / "app.log", ns=(1, 1))
        answer = read(source, 40, 3)
    assert lines.total == 100
    assert answer.lines == ("a longer line than before",) * 3
    assert answer.total_lines == 46


def test_a_file_that_only_grows_is_answered_as_it_was_when_it_was_opened() -> None:
    with folder_with(b"text\n" * 100) as folder, source_in(folder) as source:
        with (folder / "app.log").open("ab") as file:
            file.write(b"more\n")
        assert tail(source, 2).lines == ("text", "text")
        assert tail(source, 2).total_lines == 100


def test_a_file_that_never_rests_ends_in_a_clear_error() -> None:
    with folder_with(b"text\n" * 100) as folder, source_in(folder) as source:
        times = iter(range(1, 100))

        def restless() -> int:
            os.utime(folder / "app.log", ns=(1, next(times)))
            return 1

        with pytest.raises(ChangedWhileRead, match=r"app\.log") as refusal:
            source.steadily(restless)
    assert refusal.value.hint


def test_a_second_read_of_a_large_unindexed_file_does_not_read_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with folder_with(b"some text\n" * 50_000) as folder:
        # files that changed a moment ago are not remembered: their next state may look the same
        monkeypatch.setattr(
            "linedex.query.source.time.time_ns", lambda: os.stat(folder / "app.log").st_ctime_ns + LATER
        )
        read_bytes = [0, 0]
        original = os.pread

        def counted(descriptor: int, size: int, offset: int) -> bytes:
            read_bytes[-1] += size
            return original(descriptor, size, offset)

        monkeypatch.setattr("linedex.query.source.os.pread", counted)
        for _ in range(2):
            read_bytes = [read_bytes[-1], 0]
            with source_in(folder) as source:
                assert read(source, 40_000, 1).lines == ("some text",)
    assert read_bytes[0] > 500_000
    assert read_bytes[1] < 40_000


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotAFile), source_in(tmp_path, name=b"pipe"):
        pass
    with pytest.raises(NotFound), source_in(tmp_path, name=b"absent"):
        pass


def test_text_of_a_file_over_its_bound_is_refused_to_the_caller() -> None:
    with folder_with(b"text\n" * 100) as folder, source_in(folder, Limits(large_file=64, text_bytes=100)) as source:
        assert not source.fits
        with pytest.raises(ValueError, match="500"):
            source.text()


def test_the_language_is_found_by_first_line_and_modeline() -> None:
    for data in (b"#!/usr/bin/env python3\nprint(1)\n", b"x\n" * 100_000 + b"# vim: ft=python\n"):
        with folder_with(data) as folder:
            (folder / "app.log").rename(folder / "script")
            with source_in(folder, name=b"script") as source:
                assert source.language == "python"


def test_a_fingerprint_is_of_the_bytes_that_are_answered() -> None:
    with folder_with(b"text\n") as folder, source_in(folder) as source:
        status = (folder / "app.log").stat()
        mark = source.fingerprint
        assert (mark.inode, mark.size, mark.mtime_ns) == (status.st_ino, status.st_size, status.st_mtime_ns)
        assert isinstance(mark, Fingerprint)
