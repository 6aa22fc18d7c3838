from __future__ import annotations

import pytest
from tests.linedex_server.edit.texts import padded

from linedex.errors import BadArgument
from linedex_server.edit.content.style import Style, splices
from linedex_server.edit.errors import NotPlaced
from linedex_server.edit.plan.block import BlockRequest, block
from linedex_server.edit.splice import applied


def replaced(content: bytes, request: BlockRequest, *, large: bool = False) -> bytes:
    size = len(content)
    content, document = padded(content, large=large)
    result = applied(content, splices(document, block(document, request).edits, Style()))
    return result[: len(result) - len(content) + size]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    ("content", "request_", "expected"),
    [
        # whole lines between two marker lines, whatever else stands on those
        (
            b"<!A> x\nold\nold\n y <B>\nz\n",
            BlockRequest("A", "B", "new"),
            b"<!A> x\nnew\n y <B>\nz\n",
        ),
        (b"A\nold\nB\nzzzz\n", BlockRequest("A", "B", "new\n"), b"A\nnew\nB\nzzzz\n"),
        (b"A\nold\nB\nzzzz\n", BlockRequest("A", "B", ""), b"A\nB\nzzzz\n"),
        (b"A\nB\nzzzz\n", BlockRequest("A", "B", "new"), b"A\nnew\nB\nzzzz\n"),
        (b"A\r\nold\r\nB\r\nzz\r\n", BlockRequest("A", "B", "1\n2"), b"A\r\n1\r\n2\r\nB\r\nzz\r\n"),
        (b"A\nold\nB\nzzzz\n", BlockRequest("A\n", "B\n", "new"), b"A\nnew\nB\nzzzz\n"),
        # exactly what is between them on one line
        (b"x (A)old(B) y\nzzzz\n", BlockRequest("(A)", "(B)", "new"), b"x (A)new(B) y\nzzzz\n"),
        (b"x (A)old(B) y\nzzzz\n", BlockRequest("(A)", "(B)", ""), b"x (A)(B) y\nzzzz\n"),
        # both markers too
        (b"A\nold\nB\nzzzz\n", BlockRequest("A", "B", "new", 1, "inclusive"), b"new\nzzzz\n"),
        (b"x (A)old(B) y\nzz\n", BlockRequest("(A)", "(B)", "new", 1, "inclusive"), b"x new y\nzz\n"),
        # blocks are counted, also where one marker is both ends
        (b"A1B A2B A3B\nzzzz\n", BlockRequest("A", "B", "x", 2), b"A1B AxB A3B\nzzzz\n"),
        (b"|1|2|3|\nzzzz\n", BlockRequest("|", "|", "x", 2), b"|1|2|x|\nzzzz\n"),
        # an end marker before the first block is none of its
        (b"B A1B\nzzzz\n", BlockRequest("A", "B", "x"), b"B AxB\nzzzz\n"),
        # what is wrong behind the block does not matter
        (b"A1B A2\nA3\nzz\n", BlockRequest("A", "B", "x"), b"AxB A2\nA3\nzz\n"),
        # the end marker may hold the start marker
        (b"tag1/tag\nzzzz\n", BlockRequest("tag", "/tag", "x"), b"tagx/tag\nzzzz\n"),
    ],
)
def test_blocks_are_replaced(content: bytes, request_: BlockRequest, expected: bytes, *, large: bool) -> None:
    assert replaced(content, request_, large=large) == expected


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    ("content", "request_", "words"),
    [
        (b"A\nx\nA\ny\nB\n", BlockRequest("A", "B", "z"), "marker in line 1 is followed by another in line 3 before"),
        (b"y\nA\nx\n", BlockRequest("A", "B", "z"), "marker in line 2 has no end marker after it"),
        (b"B\nA\nx\n", BlockRequest("A", "B", "z"), "marker in line 2 has no end marker after it"),
        (b"AxB\nAyB\n", BlockRequest("A", "B", "z", 3), "there is no block 3; the file has 2 blocks"),
        (b"AxB\nzzz\n", BlockRequest("A", "B", "z", 2), "there is no block 2; the file has 1 block"),
        (b"x\ny\n", BlockRequest("A", "B", "z"), "start_marker does not occur"),
    ],
)
def test_a_block_is_never_guessed(content: bytes, request_: BlockRequest, words: str, *, large: bool) -> None:
    with pytest.raises(NotPlaced, match=words):
        replaced(content, request_, large=large)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (BlockRequest("", "B", "z"), "`start_marker` is empty"),
        (BlockRequest("A", "", "z"), "`end_marker` is empty"),
        (BlockRequest("A", "B", "z", 0), "`occurrence` cannot be 0"),
        (BlockRequest("A", "B", "z", 1, "around"), "`mode` cannot be 'around'"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(request_: BlockRequest, words: str) -> None:
    with pytest.raises(BadArgument, match=words) as refusal:
        replaced(b"AxB\n", request_)
    assert "mode" not in words or "between or inclusive" in refusal.value.hint


def test_markers_are_literal() -> None:
    assert replaced(b"a.c1a*c\nabc2a*c\n", BlockRequest("a.c", "a*c", "x")) == b"a.cxa*c\nabc2a*c\n"
