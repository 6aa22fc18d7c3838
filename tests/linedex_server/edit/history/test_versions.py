from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linedex_server.edit.history.budget import Budget
from linedex_server.edit.history.history import History, Kept
from linedex_server.edit.history.steps import Change, NewFileStep
from linedex_server.edit.history.versions import Piece, splices, taken_back, whole
from linedex_server.edit.splice import Splice, applied, ordered


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    found = History(tmp_path / "history.db", Budget(whole_bytes=-1))
    yield found
    found.close()


def kept(history: History, content: bytes) -> Kept:
    """Return a stream that the history keeps."""
    step = NewFileStep(
        b"/f", (Splice(0, len(content), b""),), lambda at, size: content[at : at + size], len(content), 0, removed=True
    )
    return history.former(history.prepare("t", [step]), b"/f")


def content_of(version: list[Piece], present: bytes) -> bytes:
    return b"".join(
        present[piece.start : piece.start + piece.size]
        if piece.kept is None
        else piece.kept.read(piece.start, piece.size)
        for piece in version
    )


@given(st.binary(max_size=50), st.lists(st.lists(st.integers(0, 60), max_size=6), min_size=1, max_size=4), st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_version_is_what_the_splices_of_each_step_say(
    history: History, first: bytes, steps: list[list[int]], data: st.DataObject
) -> None:
    contents = [first]
    made: list[tuple[list[Change], bytes]] = []
    for edges in steps:
        content = contents[-1]
        inside = sorted(min(edge, len(content)) for edge in edges)
        found = ordered(
            Splice(start, end, data.draw(st.binary(max_size=9)))
            for start, end in zip(inside[::2], inside[1::2], strict=False)
        )
        former = b"".join(content[one.start : one.end] for one in found)
        made.append(([Change(one.start, one.end, len(one.new)) for one in found], former))
        contents.append(applied(content, found))
    present = contents[-1]
    version = whole(None, len(present))
    for (changes, former), expected in zip(reversed(made), reversed(contents[:-1]), strict=True):
        version = taken_back(version, changes, kept(history, former))
        assert content_of(version, present) == expected
        made_of_present = splices(version, lambda at, size: present[at : at + size], len(present))
        assert applied(present, ordered(made_of_present)) == expected


def test_a_version_that_has_nothing_of_the_present_file_is_written_where_it_differs_or_in_chunks(
    history: History,
) -> None:
    content = random.Random(1).randbytes(3_000_000)
    present = content[:1_000_000] + b"!" + content[1_000_003:]
    version = whole(kept(history, content), len(content))

    def read(offset: int, size: int) -> bytes:
        return present[offset : offset + size]

    (one,) = splices(version, read, len(present))
    assert (one.start, one.end, one.new) == (1_000_000, 1_000_001, content[1_000_000:1_000_003])
    many = splices(version, read, len(present), compared_bytes=0)
    assert [len(part.new) for part in many] == [1 << 20, 1 << 20, 3_000_000 - (2 << 20)]
    assert [part.delta for part in many] == [len(part.new) - (part.end - part.start) for part in many]
    assert applied(present, ordered(many)) == content


def test_a_version_without_bytes_takes_all_of_the_present_file_away() -> None:
    present = b"xxxxx"
    for compared_bytes in (0, 100):
        found = splices([], lambda at, size: present[at : at + size], 5, compared_bytes)
        assert found == (Splice(0, 5, b""),)
        assert splices([], lambda at, size: present[at : at + size], 0, compared_bytes) == ()
