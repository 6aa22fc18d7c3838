import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import ReadAnswer
from linedex.errors import BadArgument, BadPattern, BinaryFile, LineOutOfRange, NotCounted, NotFound
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import RelPath
from linedex.query.around import around
from linedex.query.read import head, read, tail
from linedex.query.source import Source, opened
from linedex.store.catalogue import Catalogue

TINY = Limits(
    large_file=64,
    block_bytes=16,
    block_slack=12,
    batch_bytes=40,
    window_bytes=48,
    window_overlap=16,
    line_characters=12,
)
ENCODINGS = {
    "utf-8": b"",
    "utf-8-bom": b"\xef\xbb\xbf",
    "utf-16-le": b"\xff\xfe",
    "utf-16-be": b"\xfe\xff",
    "utf-32-le": b"\xff\xfe\0\0",
}
TEXTS = st.text(alphabet="ab \t\n\r\fé\u2028\x85文\U00010428", max_size=200)


@contextmanager
def file_of(data: bytes, limits: Limits = TINY) -> Iterator[Source]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "file.txt").write_bytes(data)
        with opened(Root(folder), RelPath(b"file.txt"), Catalogue.empty(), None, limits) as source:
            yield source


def split_lines(text: str) -> list[str]:
    unit = "\n" if "\n" in text else "\r"
    lines = text.split(unit)
    ended = [line.removesuffix("\r") if unit == "\n" else line for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def encoded(text: str, encoding: str) -> bytes:
    return ENCODINGS[encoding] + text.encode(encoding.removesuffix("-bom"))


def fitting(lines: list[str], limits: Limits) -> list[str]:
    kept: list[str] = []
    used = 0
    for line in lines:
        used += len(line[: limits.line_characters]) + 1
        if used > limits.page_characters and kept:
            break
        kept.append(line[: limits.line_characters])
    return kept


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)), st.integers(1, 30), st.integers(1, 30))
def test_a_read_gives_what_splitting_the_text_gives(text: str, encoding: str, first: int, count: int) -> None:
    lines = split_lines(text)
    with file_of(encoded(text, encoding)) as source:
        if first > max(1, len(lines)):
            with pytest.raises(LineOutOfRange) as refusal:
                read(source, first, count)
            assert refusal.value.last_line == len(lines)
            return
        answer = read(source, first, count)
    wanted = lines[first - 1 : first - 1 + count]
    assert list(answer.lines) == fitting(wanted, TINY)
    assert answer.total_lines == len(lines)
    assert list(answer.cut_lines) == [
        number for number, line in enumerate(wanted, first) if len(line) > TINY.line_characters
    ]
    after = first + len(wanted)
    assert answer.next_line == (after if after <= len(lines) else None)


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)), st.integers(1, 30), st.integers(4, 60))
def test_head_and_tail_are_the_ends_of_the_text(text: str, encoding: str, count: int, page: int) -> None:
    limits = Limits(**{**{name: getattr(TINY, name) for name in TINY.__slots__}, "page_characters": page})
    lines = split_lines(text)
    with file_of(encoded(text, encoding), limits) as source:
        first_lines, last_lines = head(source, count), tail(source, count)
    assert list(first_lines.lines) == fitting(lines[:count], limits)
    kept = fitting(lines[-count:][::-1], limits)[::-1]
    assert list(last_lines.lines) == kept
    assert last_lines.first_line == (len(lines) - len(kept) + 1 if kept else 0)
    assert last_lines.next_line is None
    assert bool(last_lines.note) == (len(kept) < min(count, len(lines)))


@given(TEXTS, st.integers(4, 60))
def test_going_on_from_next_line_shows_every_line_once(text: str, page: int) -> None:
    limits = Limits(**{**{name: getattr(TINY, name) for name in TINY.__slots__}, "page_characters": page})
    lines = split_lines(text)
    shown: list[str] = []
    with file_of(text.encode(), limits) as source:
        at: int | None = 1
        while at is not None:
            answer = read(source, at, 1000)
            shown += answer.lines
            at = answer.next_line
    assert shown == [line[: limits.line_characters] for line in lines]


@given(st.binary(max_size=150).map(lambda data: data.replace(b"\0", b"\n") + b"text " * 60 + b"\xff\n"))
def test_each_invalid_byte_of_utf8_is_one_replacement_character(data: bytes) -> None:
    with file_of(data, Limits(large_file=32, block_bytes=16, block_slack=8, batch_bytes=64)) as source:
        if source.format.encoding != "utf-8" or source.format.binary:
            return
        lines = read(source, 1, 10_000).lines
    text = data.decode("utf-8", "surrogateescape")
    wanted = "".join("\ufffd" if 0xDC80 <= ord(one) <= 0xDCFF else one for one in text)
    assert list(lines) == split_lines(wanted)[: len(lines)]


@pytest.mark.parametrize(
    ("encoding", "line"),
    [
        ("shift_jis", "これは日本語のログです。表示とソート能力を確認するための文章"),
        ("latin-1", "Über die Straße hinüber; déjà vu, señor, façade, où êtes-vous?"),
        ("cp1251", "Съешь же ещё этих мягких французских булок, да выпей чаю"),
    ],
)
def test_legacy_encodings_are_read_as_their_text(encoding: str, line: str) -> None:
    text = "".join(f"{line} {number}\r\n" for number in range(40))
    limits = Limits(large_file=256, block_bytes=128, block_slack=100, batch_bytes=512)
    with file_of(text.encode(encoding), limits) as source:
        answer = read(source, 30, 2)
        found = around(source, f"{line} 7", 2)
    assert answer.lines == (f"{line} 29", f"{line} 30")
    assert found.match_line == 8


def test_an_empty_file_reads_as_no_lines() -> None:
    with file_of(b"") as source:
        for answer in (read(source, 1, 10), head(source, 3), tail(source, 3)):
            assert (answer.lines, answer.first_line, answer.total_lines, answer.next_line) == ((), 0, 0, None)
        with pytest.raises(LineOutOfRange) as refusal:
            read(source, 2, 1)
    assert refusal.value.last_line == 0


@pytest.mark.parametrize(
    ("first", "count", "name"), [(0, 1, "first"), (-3, 1, "first"), (1, 0, "count"), (1, -1, "count")]
)
def test_numbers_under_one_are_refused_by_name(first: int, count: int, name: str) -> None:
    with file_of(b"a\n") as source, pytest.raises(BadArgument, match=f"^`{name}` "):
        read(source, first, count)


def test_a_binary_file_is_refused_with_what_to_do() -> None:
    with file_of(b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 4) as source:
        with pytest.raises(BinaryFile) as refusal:
            read(source, 1, 1)
        with pytest.raises(BinaryFile):
            around(source, "a", 1)
    assert refusal.value.hint


def test_a_line_of_many_mebibytes_is_cut_and_the_one_after_it_is_found() -> None:
    data = b"before\n" + b"x" * (5 << 20) + b"\nafter\n"
    with file_of(data, Limits()) as source:
        reads: list[int] = []
        original = source.read

        def counted(offset: int, size: int) -> bytes:
            reads.append(size)
            return original(offset, size)

        source.lines.index  # noqa: B018 - the pass over the file is not what is counted
        source.hash()
        source.read = counted  # type: ignore[method-assign]
        answer = read(source, 1, 10)
    assert [line[:6] for line in answer.lines] == ["before", "xxxxxx", "after"]
    assert answer.cut_lines == (2,)
    assert len(answer.lines[1]) == Limits().line_characters
    assert sum(reads) < 512 << 10


def brute_first(lines: list[str], wanted: str) -> int | None:
    return next((number for number, line in enumerate(lines, 1) if wanted in line), None)


@given(
    TEXTS, st.text(alphabet="ab é文", min_size=1, max_size=3), st.integers(1, 12), st.sampled_from(sorted(ENCODINGS))
)
def test_around_finds_the_first_line_that_holds_the_text(text: str, wanted: str, count: int, encoding: str) -> None:
    lines = split_lines(text)
    number = brute_first(lines, wanted)
    with file_of(encoded(text, encoding)) as source:
        if number is None:
            return
        answer = around(source, wanted, count)
    assert answer.match_line == number
    assert answer.first_line <= number < answer.first_line + count
    assert number - answer.first_line == min(5, number - 1, count - 1)
    assert wanted in answer.lines[number - answer.first_line]


def around_text(data: bytes, pattern: str, limits: Limits = TINY) -> ReadAnswer:
    with file_of(data, limits) as source:
        return around(source, pattern, 3)


def test_around_prefers_the_case_that_was_typed() -> None:
    data = b"one NEEDLE\n" * 20 + b"two needle\n"
    assert around_text(data, "needle").match_line == 21
    other = around_text(data, "Needle")
    assert other.match_line == 1
    assert "another case" in other.note


def test_around_shows_the_match_in_a_line_that_is_longer_than_what_is_shown() -> None:
    data = b"short\n" + b"a" * 300 + b"needle" + b"b" * 300 + b"\nlast\n"
    answer = around_text(data, "needle")
    assert answer.match_line == 2
    assert "needle" in answer.lines[1]
    assert answer.cut_lines == (2,)
    assert "around the match" in answer.note


def test_around_shows_the_match_though_the_lines_before_it_fill_the_page() -> None:
    data = b"a long line of context\n" * 10 + b"needle\n" + b"after\n" * 5
    limits = Limits(page_characters=40)
    with file_of(data, limits) as source:
        answer = around(source, "needle", 9)
    assert answer.lines[0] == "needle"
    assert (answer.first_line, answer.match_line) == (11, 11)


def test_around_finds_text_that_spans_lines_and_windows() -> None:
    lines = [f"line {number} of many" for number in range(60)]
    for end in ("\n", "\r\n"):
        data = end.join(lines).encode()
        for number in range(1, 59):
            answer = around_text(data, f"{lines[number]}\n{lines[number + 1]}")
            assert answer.match_line == number + 1


def test_around_gives_the_nearest_line_when_none_holds_the_text() -> None:
    data = b"alpha beta\n" * 30 + b"def compute_totals(items):\n" + b"def compute_total(item):\n" + b"gamma\n" * 30
    answer = around_text(data, "def compute_totel(item):", Limits(large_file=64, window_bytes=128))
    assert answer.match_line == 32
    assert "nearest" in answer.note


def test_around_says_when_there_is_nothing_like_it() -> None:
    with pytest.raises(NotFound, match="zzzz"):
        around_text(b"a\nb\n", "zzzz qqqq")
    with pytest.raises(BadPattern):
        around_text(b"a\nb\n", "")


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)), st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))
def test_a_huge_file_is_read_without_counting_its_lines_first(
    text: str, encoding: str, first: int, count: int, step: int
) -> None:
    uncounted = replace(TINY, count_bytes=40, count_step=step, large_file=40, page_characters=300)
    data = encoded(text, encoding)
    lines = split_lines(text)
    with file_of(data, uncounted) as source, file_of(data) as known:
        if first <= len(lines):
            expected = read(known, first, count)
            found = read(source, first, count)
            assert (found.lines, found.first_line, found.next_line) == (
                *(expected.lines, expected.first_line, expected.next_line),
            )
            assert found.total_lines == len(lines) if found.counted else found.total_lines > first + count
        else:
            assert read(source, 1, 1).lines == read(known, 1, 1).lines
    with file_of(data, uncounted) as source, file_of(data) as known:
        found = tail(source, count)
        shown = tail(known, count).lines
        assert found.lines == shown[len(shown) - len(found.lines) :]
        if not found.counted:
            assert found.first_line == -len(found.lines)


def test_the_tail_of_a_huge_file_is_numbered_from_its_end_until_the_lines_are_counted() -> None:
    lines = [f"line {number}" for number in range(1, 200)]
    with file_of("".join(f"{line}\n" for line in lines).encode(), replace(TINY, count_bytes=100)) as source:
        found = tail(source, 3)
        assert (found.lines, found.first_line, found.counted) == (tuple(lines[-3:]), -3, False)
        first = head(source, 2)
        assert (first.lines, first.next_line, first.counted) == (tuple(lines[:2]), 3, False)
        assert first.total_lines < 199
        assert read(source, 199, 1).lines == (lines[-1],)
        found = tail(source, 3)
        assert (found.lines, found.first_line, found.total_lines) == (tuple(lines[-3:]), 197, 199)


def test_counting_that_runs_out_of_time_goes_on_when_it_is_asked_again() -> None:
    data = b"".join(b"line %d\n" % number for number in range(1, 1000))
    with file_of(data, replace(TINY, count_bytes=1000, query_seconds=-1.0)) as source:
        refused = []
        while True:
            try:
                assert read(source, 900, 1).lines == ("line 900",)
            except NotCounted as error:
                refused.append(str(error))
                continue
            break
        assert len(refused) == len(set(refused)) > 3
        assert "Line 901 of `file.txt` was not reached in time: the first 12" in refused[0]
