import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linedex.content.lines import LF, LineEnds, LineIndex, count_byte
from linedex.errors import LineOutOfRange
from linedex.limits import Limits
from linedex.model import LineNumber, Newline, TextFormat

TEXTS = st.text(alphabet="ab\n\ré\U00010428文", max_size=120)
SIZES = st.tuples(st.integers(1, 40), st.integers(0, 12), st.integers(4, 90))


def split_lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def build(text: str, encoding: str, sizes: tuple[int, int, int], bom: bytes = b"") -> tuple[LineIndex, bytes]:
    data = bom + text.encode(encoding)
    block, slack, batch = sizes
    limits = Limits(block_bytes=block, block_slack=slack, batch_bytes=batch)
    text_format = TextFormat(encoding, len(bom), Newline.LF)
    index = LineIndex.build(lambda at, size: data[at : at + size], len(data), text_format, limits)
    index.check()
    return index, data


@given(TEXTS, SIZES, st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "utf-32-le"]))
@example("a\na", (5, 0, 5), "utf-32-le")
@example("a\n", (5, 0, 5), "utf-32-le")
def test_every_line_begins_in_the_block_that_is_named(text: str, sizes: tuple[int, int, int], encoding: str) -> None:
    bom = "\ufeff".encode(encoding)
    index, data = build(text, encoding, sizes, bom)
    offset = len(bom)
    lines = split_lines(text)
    assert index.total == len(lines)
    for number, line in enumerate(lines, start=1):
        block = index.locate(LineNumber(number))
        assert block.start <= offset < block.end
        before = data[block.start : offset].decode(encoding)
        assert block.first_line + before.count("\n") == number
        offset += len((line + "\n").encode(encoding))


@given(TEXTS, SIZES, st.sampled_from(["utf-8", "utf-16-le", "utf-32-be", "shift_jis"]))
def test_blocks_cover_the_file_and_never_split_a_character(
    text: str, sizes: tuple[int, int, int], encoding: str
) -> None:
    if encoding == "shift_jis":
        text = text.replace("é", "あ ").replace("\U00010428", " ").replace("文", "文 ")
        sizes = (sizes[0], 200, 1000)
    index, data = build(text, encoding, sizes)
    pieces = [data[index.block(k).start : index.block(k).end] for k in range(len(index))]
    assert b"".join(pieces) == data
    assert "".join(piece.decode(encoding) for piece in pieces) == text


# no byte of these tells by itself where a character begins
DENSE = {
    "cp932": "表ソ能ｱあ漢a",
    "shift_jis": "表ソ能あ漢a",
    "gb18030": "丂学中\U00010428éa",
    "gbk": "丂学中囗a",
    "big5hkscs": "功許蓋一a",
    "euc-jp": "表ソ能あ丂ｱa",
    "euc_jis_2004": "表ソ能あ丂a",
    "cp949": "가힣똠한a",
}


@given(st.data(), SIZES, st.sampled_from(sorted(DENSE)))
def test_no_cut_splits_a_character_of_many_bytes_where_no_blank_is_near(
    data: st.DataObject, sizes: tuple[int, int, int], encoding: str
) -> None:
    text = data.draw(st.text(alphabet=DENSE[encoding], max_size=150))
    line_end = data.draw(st.sampled_from(["", "\n"]))
    index, content = build(text + line_end + text, encoding, sizes)
    pieces = [content[index.block(at).start : index.block(at).end] for at in range(len(index))]
    assert "".join(piece.decode(encoding) for piece in pieces) == text + line_end + text


@given(st.text(alphabet="a\r", max_size=60), SIZES)
def test_a_file_without_lf_is_cut_at_cr(text: str, sizes: tuple[int, int, int]) -> None:
    data = text.encode()
    limits = Limits(block_bytes=sizes[0], block_slack=sizes[1], batch_bytes=sizes[2])
    index = LineIndex.build(lambda at, size: data[at : at + size], len(data), TextFormat(newline=Newline.CR), limits)
    assert index.total == len(split_lines(text.replace("\r", "\n")))


def test_a_line_past_the_end_names_the_last_one() -> None:
    index, _ = build("a\nb\n", "utf-8", (1, 0, 8))
    with pytest.raises(LineOutOfRange) as caught:
        index.locate(LineNumber(3))
    assert caught.value.last_line == 2


def test_line_numbers_above_32_bits_are_located() -> None:
    starts = np.array([0, 10, 20], np.int64)
    lines = np.array([1, 3_000_000_000, 6_000_000_000], np.int64)
    index = LineIndex(starts, lines, np.zeros(3, np.bool_), 30, 6_000_000_005)
    assert index.locate(LineNumber(5_999_999_999)).ordinal == 1
    assert index.locate(LineNumber(6_000_000_004)).ordinal == 2


@given(TEXTS)
def test_line_ends_are_those_of_a_split(text: str) -> None:
    for encoding in ("utf-8", "utf-16-be"):
        ends = LineEnds.of(TextFormat(encoding, newline=Newline.LF))
        data = text.encode(encoding)
        expected = [len(text[: at + 1].encode(encoding)) for at, letter in enumerate(text) if letter == "\n"]
        assert ends.ends(data).tolist() == expected
        assert ends.count(data) == len(expected)


@given(
    st.text("\na\xe9", max_size=60).map(str.encode), st.integers(0, 60), st.integers(0, 60), st.sampled_from([1, 100])
)
def test_bytes_are_counted_between_two_places(data: bytes, start: int, length: int, repeated: int) -> None:
    text = data * repeated
    start = min(start, len(text))
    end = min(len(text), start + length * repeated)
    assert count_byte(text, LF, start, end) == text[start:end].count(LF)
    assert count_byte(text, LF) == text.count(LF)
