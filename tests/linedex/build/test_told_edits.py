"""A large file that is edited is not read anew between the write and the word of it, however long that takes."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.linedex.build.test_splicing import NAME, TINY, lines_with, mark_of

from linedex.build.splicing import Edit
from linedex.build.told_edits import ToldEdits
from linedex.index import Index
from linedex.model import Fingerprint

SOON = 20.0
MARK = Fingerprint(0, 0, 0, 0, 0)
LINE = b"an entirely new sentence\n"
BODY = b"".join(b"2026-01-01 00:00:%02d seq=%d\n" % (at % 60, at) for at in range(60))
MIDDLE = BODY.index(b"seq=30") + len(b"seq=30\n")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    log.write_bytes(BODY)
    return log


def put(log: Path) -> Fingerprint:
    """Replace the log by one with a line more; return what it was."""
    before = mark_of(log)
    new = log.parent.with_name("new")
    new.write_bytes(BODY[:MIDDLE] + LINE + BODY[MIDDLE:])
    new.replace(log)
    return before


def test_an_edit_is_told_in_time_after_the_index_has_noticed_the_write(log: Path, tmp_path: Path) -> None:
    with Index(log.parent, tmp_path / "index.db", replace(TINY, poll_seconds=0.01)) as index:
        index.start()
        assert index.wait(SOON)
        with index.expecting(NAME):
            before = put(log)
            # whoever asks is answered rightly, and the index has nothing more to do that it may do
            assert lines_with(index, "entirely") == [32]
            assert index.wait(SOON)
            assert index.edited(NAME, before, [(MIDDLE, MIDDLE, len(LINE))], timeout=SOON)
        assert index.wait(SOON)
        assert lines_with(index, "entirely") == [32]
        assert index.check() == ()


def test_a_write_that_was_expected_and_never_told_is_read_like_any_other(log: Path, tmp_path: Path) -> None:
    with Index(log.parent, tmp_path / "index.db", TINY) as index:
        index.start()
        assert index.wait(SOON)
        with index.expecting(NAME):
            put(log)
            assert lines_with(index, "entirely") == [32]
        assert lines_with(index, "entirely") == [32]
        assert index.wait(SOON)
        assert not index.status().pending
        assert index.check() == ()


def test_without_word_of_what_is_to_come_the_file_is_read_anew(log: Path, tmp_path: Path) -> None:
    with Index(log.parent, tmp_path / "index.db", TINY) as index:
        index.start()
        assert index.wait(SOON)
        before = put(log)
        assert lines_with(index, "entirely") == [32]
        assert index.wait(SOON)
        assert not index.edited(NAME, before, [(MIDDLE, MIDDLE, len(LINE))], timeout=SOON)


def test_who_told_of_an_edit_is_let_go_when_it_cannot_be_taken_in() -> None:
    asked = threading.Event()
    answers: list[bool] = []

    def refuse(_: Edit) -> bool:
        raise OSError("the disk is full")

    told = ToldEdits(asked.set)
    teller = threading.Thread(target=lambda: answers.append(told.tell(Edit(NAME, MARK, ()), SOON)))
    teller.start()
    assert asked.wait(SOON)
    with pytest.raises(OSError, match="full"):
        told.take(refuse)
    teller.join(SOON / 2)
    assert answers == [False]
