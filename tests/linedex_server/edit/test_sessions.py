"""Write sessions: what survives, what ends, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linedex_server.edit.errors import NoSuchSession, SessionFull
from linedex_server.edit.sessions import Begun, Sessions

BEGUN = Begun(
    path="/srv/big.txt",
    encoding="preserve",
    bom="preserve",
    newline="preserve",
    final_newline="preserve",
    create_dirs=True,
    if_exists="overwrite",
    base_hash=None,
    hash_then=None,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def test_a_session_gives_back_what_it_was_begun_with_and_was_handed(folder: Path) -> None:
    sessions = Sessions(folder)
    begun = replace(BEGUN, base_hash="0123456789abcdef", path="/srv/\u0141ód\u017a.txt")
    session = sessions.begin(begun)
    assert len(session) == 32
    assert sessions.append(session, "one\r").characters == 4
    tally = sessions.append(session, "\ntwo")
    assert (tally.chunks, tally.characters) == (2, 8)
    assert sessions.begun(session) == begun
    assert "".join(sessions.chunks(session)) == "one\r\ntwo"


@settings(max_examples=30, deadline=None)
@given(chunks=st.lists(st.text(), max_size=6), cut=st.integers(1, 40))
def test_a_torn_last_chunk_is_dropped_and_the_others_survive_another_process(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[str], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    before = Sessions(folder)
    session = before.begin(BEGUN)
    for chunk in chunks:
        before.append(session, chunk)
    (file,) = folder.iterdir()
    whole = file.stat().st_size
    before.append(session, "x" * 40)
    os.truncate(file, whole + cut)

    after = Sessions(folder)
    assert "".join(after.chunks(session)) == "".join(chunks)
    tally = after.append(session, "last")
    assert (tally.chunks, tally.characters) == (len(chunks) + 1, len("".join(chunks)) + 4)
    assert "".join(Sessions(folder).chunks(session)) == "".join(chunks) + "last"


def test_a_chunk_that_was_damaged_ends_what_counts(folder: Path) -> None:
    sessions = Sessions(folder)
    session = sessions.begin(BEGUN)
    sessions.append(session, "good")
    sessions.append(session, "bad!")
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert "".join(Sessions(folder).chunks(session)) == "good"


def test_a_process_killed_after_an_answer_has_lost_nothing(folder: Path) -> None:
    script = textwrap.dedent(
        """
        import os, signal, sys
        from pathlib import Path
        from linedex_server.edit.sessions import Begun, Sessions
        sessions = Sessions(Path(sys.argv[1]))
        session = sessions.begin(Begun("/x", *["preserve"] * 4, True, "overwrite", None, None))
        for number in range(50):
            sessions.append(session, f"line {number}\\n")
        print(session, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode < 0
    assert "".join(Sessions(folder).chunks(done.stdout.strip())) == "".join(f"line {number}\n" for number in range(50))


def test_an_append_that_fails_leaves_the_session_as_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(folder)
    session = sessions.begin(BEGUN)
    sessions.append(session, "kept")

    def no_space(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", no_space)
        with pytest.raises(Exception, match="No space left"):
            sessions.append(session, "lost")
    assert sessions.append(session, ", too").chunks == 2
    assert "".join(sessions.chunks(session)) == "kept, too"


def test_an_append_beyond_the_size_of_a_session_is_refused_and_changes_nothing(folder: Path) -> None:
    sessions = Sessions(folder, most_bytes=400)
    session = sessions.begin(BEGUN)
    sessions.append(session, "a" * 50)
    with pytest.raises(SessionFull, match="50 characters"):
        sessions.append(session, "b" * 200)
    assert "".join(sessions.chunks(session)) == "a" * 50


def test_no_more_sessions_are_open_than_may_be(folder: Path) -> None:
    sessions = Sessions(folder, most=2)
    first, _ = sessions.begin(BEGUN), sessions.begin(BEGUN)
    with pytest.raises(SessionFull, match="2 write sessions"):
        sessions.begin(BEGUN)
    assert sessions.abort(first)
    sessions.begin(BEGUN)


def test_a_session_ends_when_nobody_calls_for_long_and_every_call_puts_that_off(folder: Path) -> None:
    clock = [1_000_000.0]
    sessions = Sessions(folder, seconds=100, now=lambda: clock[0])
    called, forgotten = sessions.begin(BEGUN), sessions.begin(BEGUN)
    clock[0] += 90
    sessions.append(called, "x")
    clock[0] += 90
    assert "".join(sessions.chunks(called)) == "x"
    with pytest.raises(NoSuchSession):
        sessions.append(forgotten, "y")
    sessions.begin(BEGUN)
    assert len(list(folder.iterdir())) == 2


def test_an_aborted_session_leaves_no_trace(folder: Path) -> None:
    sessions = Sessions(folder)
    session = sessions.begin(BEGUN)
    sessions.append(session, "gone")
    assert sessions.abort(session)
    assert not sessions.abort(session)
    assert list(folder.iterdir()) == []
    with pytest.raises(NoSuchSession):
        "".join(sessions.chunks(session))


def test_the_answer_of_a_commit_is_remembered_in_place_of_the_text(folder: Path) -> None:
    sessions = Sessions(folder)
    session = sessions.begin(BEGUN)
    sessions.append(session, "text" * 1000)
    assert sessions.committed(session) is None
    sessions.finish(session, {"text": "Committed."})
    assert Sessions(folder).committed(session) == {"text": "Committed."}
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1000
    with pytest.raises(NoSuchSession):
        sessions.append(session, "more")


@pytest.mark.parametrize("session", ["", "x", "../../etc/passwd", "A" * 32, "0" * 33, "0" * 31 + "\n"])
@pytest.mark.parametrize("call", [Sessions.begun, Sessions.characters, Sessions.committed, Sessions.abort])
def test_what_is_no_id_names_no_session(folder: Path, session: str, call: Callable[[Sessions, str], object]) -> None:
    with pytest.raises(NoSuchSession):
        call(Sessions(folder), session)


def test_what_a_session_holds_is_readable_by_its_owner_only(folder: Path) -> None:
    sessions = Sessions(folder)
    sessions.append(sessions.begin(BEGUN), "secret")
    (file,) = folder.iterdir()
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
