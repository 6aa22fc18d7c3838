"""The answer of the index against the answer of reading every file, and both against a split by lines."""

import os
import random
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from linedex.answers import Coverage, OutputMode, SearchAnswer, SearchRequest
from linedex.errors import BadCursor, BadPattern, NotFound
from linedex.files.text_format import detect_bytes
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import RelPath
from linedex.store.look import Look

TINY = Limits(
    large_file=64,
    block_bytes=24,
    block_slack=8,
    batch_bytes=96,
    group_bytes=1 << 10,
    window_bytes=64,
    window_overlap=16,
    excerpt=40,
    workers=0,
)
WORDS = [
    "kilo",
    "KILO",
    "\u212ailo",
    "straße",
    "STRASSE",
    "ſum",
    "Σίσυφος",
    "σίσυφοΣ",
    "İx",
    "ab",
    "abc",
    "",
    "é",
    "文字",
    "\t",
]
LINE = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
TEXT = st.tuples(st.lists(LINE, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans()).map(
    lambda parts: parts[1].join(parts[0]) + (parts[1] if parts[2] and parts[0] else "")
)
ENCODED = st.tuples(TEXT, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be-bom"])).map(
    lambda pair: b"\xfe\xff" + pair[0].encode("utf-16-be") if pair[1] == "utf-16-be-bom" else pair[0].encode(pair[1])
)
PATTERNS = st.sampled_from(
    [
        "kilo",
        "ilo",
        "straße",
        "ss",
        "sum",
        "ίσυ",
        "ab",
        "abc ab",
        "文字",
        "x",
        r"\bab\b",
        "^ab",
        "abc$",
        "a.c",
        "(kilo|sum)",
        "^$",
    ]
)


def build(folder: Path, limits: Limits = TINY) -> Index:
    index = Index(folder / "root", folder / "state" / "index.db", limits)
    index.build()
    return index


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def lines_of(answer: SearchAnswer) -> list[tuple[bytes, int]]:
    return [(found.path, hit.line) for found in answer.files for hit in found.hits]


def all_pages(index: Index, request: SearchRequest) -> list[tuple[bytes, int]]:
    found: list[tuple[bytes, int]] = []
    while True:
        answer = index.search(request)
        found += lines_of(answer)
        if not answer.cursor:
            return found
        request = SearchRequest(
            **{**{name: getattr(request, name) for name in request.__slots__}, "cursor": answer.cursor}
        )


@pytest.mark.parametrize("mode", [OutputMode.MATCHES, OutputMode.FILES])
@pytest.mark.parametrize("indexed", [True, False])
def test_the_coverage_of_the_last_page_is_that_of_the_whole_answer(
    tmp_path: Path, mode: OutputMode, indexed: bool
) -> None:
    files = {f"{name}.txt": f"line of {name}\n".encode() * 5 for name in "abcde"}
    write(tmp_path, {**files, "binary": b"line\0\1" * 90, "other.txt": b"nothing\n"})
    (tmp_path / "state").mkdir()
    if indexed:
        build(tmp_path).close()
    with Index(tmp_path / "root", tmp_path / "state" / "index.db", TINY) as index:
        request = SearchRequest("line", max_hits=1, mode=mode)
        pages = list(index.pages(request, following=2))
        one_page = index.search(replace(request, max_hits=1000))
    assert len(pages) > 2
    assert [line for page in pages for line in lines_of(page)] == lines_of(one_page)
    told, whole = pages[-1].coverage, one_page.coverage
    assert (told.verdict, told.by_index, told.by_scan, told.verified, told.skipped, told.notes) == (
        *(whole.verdict, whole.by_index, whole.by_scan, whole.verified, whole.skipped, whole.notes),
    )


def decoded_lines(data: bytes) -> list[str]:
    text = data.decode("utf-16") if data.startswith((b"\xff\xfe", b"\xfe\xff")) else data.decode("utf-8-sig")
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ENCODED, min_size=1, max_size=5), PATTERNS, st.booleans(), st.integers(1, 4))
def test_the_index_finds_what_reading_finds_page_by_page(
    contents: list[bytes], pattern: str, case_sensitive: bool, page: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, {f"d{at % 2}/f{at}.txt": data for at, data in enumerate(contents)})
        with build(folder) as index:
            request = SearchRequest(pattern, regex=True, case_sensitive=case_sensitive, max_hits=page)
            by_index = all_pages(index, request)
            assert by_index == all_pages(
                index, SearchRequest(pattern, regex=True, case_sensitive=case_sensitive, brute=True, max_hits=page)
            )
            if case_sensitive:
                expected = [
                    (f"d{at % 2}/f{at}.txt".encode(), number)
                    for at, data in sorted(enumerate(contents), key=lambda item: (item[0] % 2, item[0]))
                    for number, line in enumerate(decoded_lines(data), start=1)
                    if re.search(pattern, line)
                ]
                assert by_index == expected
            counted = index.search(
                SearchRequest(pattern, regex=True, case_sensitive=case_sensitive, mode=OutputMode.COUNT)
            )
            assert counted.total_hits == len(by_index)
            listed = index.search(
                SearchRequest(pattern, regex=True, case_sensitive=case_sensitive, mode=OutputMode.FILES)
            )
            assert [found.path for found in listed.files] == list(dict.fromkeys(path for path, _ in by_index))


@pytest.mark.parametrize("room", [1, 3, 7, 100])
def test_a_count_passes_on_to_the_files_that_had_no_room(tmp_path: Path, room: int) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(12):
        (root / f"{number:02}.txt").write_text("hit\n" * (number % 5), encoding="utf-8")
    counts = [(f"{number:02}.txt".encode(), number % 5) for number in range(12) if number % 5]
    request, found, cursor = SearchRequest("hit", mode=OutputMode.COUNT, max_hits=room), [], ""
    with Index(root, tmp_path / "index.db", Limits(workers=0)) as index:
        index.build()
        while True:
            answer = index.search(replace(request, cursor=cursor))
            rest = counts[len(found) :]
            assert (answer.total_hits, answer.matched_files) == (sum(count for _, count in rest), len(rest))
            assert answer.coverage.verdict is Coverage.COMPLETE
            assert bool(answer.note) is bool(cursor)
            found += [(one.path, one.count) for one in answer.files]
            cursor = answer.cursor
            if not cursor:
                break
    assert found == counts


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 400), st.sampled_from(["a", "é", "文"]))
def test_a_match_in_a_line_of_any_length_is_found_with_its_column(
    left: int, middle: int, right: int, filler: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = f"first\n{filler * left}NEEDLE{filler * middle}NEEDLE{filler * right}\nlast NEEDLE\n"
        write(folder, {"long.txt": text.encode()})
        with build(folder) as index:
            for brute in (False, True):
                answer = index.search(SearchRequest("NEEDLE", case_sensitive=True, brute=brute))
                hits = answer.files[0].hits
                assert [hit.line for hit in hits] == [2, 3]
                assert (hits[0].column, hits[0].end_column) == (left + 1, left + 7)
                at = hits[0].column - hits[0].text_column
                assert hits[0].text[at : at + 6] == "NEEDLE"
                (further,) = hits[0].more
                assert (further.column, further.end_column) == (left + middle + 7, left + middle + 13)
                around, first = (
                    (further.text, further.text_column) if further.text else (hits[0].text, hits[0].text_column)
                )
                assert around[further.column - first :][:6] == "NEEDLE"
                assert "\n" not in hits[0].text + further.text
                assert hits[1].column == 6
                assert answer.coverage.verdict is Coverage.COMPLETE


@settings(max_examples=60, deadline=None)
@example("a" * 44 + "é" * 10 + "aé" + "é" * 13 + " ababaaaaaa" + "é" * 5, r"\bab")  # a part begins with the 2nd
@example("a" * 44 + "éaééééééaaaééééé", "é.")  # the second part would find a match inside the last of the first
@given(
    st.text("ab é", min_size=60, max_size=400), st.sampled_from(["ab", "b", " +", "a{1,3}", r"\bab", "é.", "^.", "b$"])
)
def test_every_match_of_a_line_is_told_however_long_the_line_is(line: str, pattern: str) -> None:
    expected = [match.span() for match in re.finditer(pattern, line)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, {"long.txt": f"{line}\nz\n".encode()})
        with build(folder) as index:
            answer = index.search(SearchRequest(pattern, regex=True, case_sensitive=True))
    assert answer.coverage.verdict is Coverage.COMPLETE
    hits = [hit for found in answer.files for hit in found.hits if hit.line == 1]
    told = [(hit.column, hit.end_column) for hit in hits] + [
        (one.column, one.end_column) for hit in hits for one in hit.more
    ]
    assert told == [(start + 1, end + 1) for start, end in expected][:101]


def test_a_match_whose_end_no_part_of_a_long_line_holds_leaves_the_line_undecided(tmp_path: Path) -> None:
    for lead in range(40, 90):
        write(tmp_path, {"a.txt": b"x" * lead + b"y" * 30 + b"x" * 200 + b"\n"})
        with Index(tmp_path / "root", tmp_path / "brute.db", TINY) as index:
            answer = index.search(SearchRequest("y+", regex=True))
        spans = [(hit.column, hit.end_column) for found in answer.files for hit in found.hits]
        assert spans == [(lead + 1, lead + 31)] or (not spans and answer.coverage.verdict is Coverage.PARTIAL)


PROSE = {
    "cp932": "これは日本語の長い文章です。検索が正しく動くことを確かめます。表示とソースの能力も調べる。",
    "gb18030": "我们今天学习中文编码问题，这个文件里的字符应该都能够正确地找到，程序才算是好的。",
    "cp949": "한국어문서를검색하고편집합니다우리는오늘도열심히공부합니다글자가깨지면안됩니다",
    "koi8-r": "приветмиркакделасегоднямыпроверяемпоискподлиннымстрокамвстаройкодировке",
    "utf-8": "これは日本語の長い文章です。检索がпривет",
    "utf-16-le": "これは日本語の長い文章です。检索がпривет",
}


@pytest.mark.parametrize("encoding", PROSE)
@pytest.mark.parametrize("blank", ["", " "])
def test_long_lines_are_divided_between_characters(tmp_path: Path, encoding: str, blank: str) -> None:
    prose = PROSE[encoding]
    lines = [
        "".join(f"{prose}{'a' * (at % 3)}{blank * (at % 7 == 0)}" for at in range(shift, shift + 9)) + prose[:3] + "end"
        for shift in range(8)
    ]
    write(tmp_path, {"a.txt": "".join(line + "\n" for line in lines).encode(encoding)})
    assert detect_bytes((tmp_path / "root" / "a.txt").read_bytes()).encoding == encoding
    limits = replace(TINY, window_bytes=128, window_overlap=48)
    with Index(tmp_path / "root", tmp_path / "index.db", limits) as index:
        index.build()
        for wanted in ("end", prose[:3] + "end", prose[4:9]):
            for brute in (True, False):
                (found,) = index.search(SearchRequest(wanted, case_sensitive=True, brute=brute)).files
                assert [(hit.line, hit.column) for hit in found.hits] == [
                    (number, line.index(wanted) + 1) for number, line in enumerate(lines, 1)
                ]


@pytest.mark.parametrize("encoding", ["cp932", "gb18030", "cp949"])
@pytest.mark.parametrize("slack", [0, 24])
def test_every_piece_of_a_line_is_found_where_no_blank_tells_characters_apart(
    tmp_path: Path, encoding: str, slack: int
) -> None:
    draw = random.Random(5)
    prose = [char for char in PROSE[encoding] if not char.isascii()]
    text = PROSE[encoding] + "".join(draw.choice(prose) for _ in range(1_200))
    write(tmp_path, {"a.txt": f"{text}\n{PROSE[encoding]}\n".encode(encoding)})
    assert detect_bytes((tmp_path / "root" / "a.txt").read_bytes()).encoding == encoding
    limits = replace(TINY, large_file=256, block_bytes=301, block_slack=slack, batch_bytes=903, window_bytes=4096)
    with Index(tmp_path / "root", tmp_path / "index.db", limits) as index:
        index.build()
        assert index.check() == ()
        for at in range(0, len(text) - 4, 5):
            wanted = text[at : at + 4]
            (found,) = index.search(SearchRequest(wanted, regex=False, case_sensitive=True)).files
            assert (found.hits[0].line, found.hits[0].column) == (1, text.index(wanted) + 1)


@pytest.mark.parametrize("length", [20, 30, 500])
def test_a_long_line_that_begins_with_invalid_bytes_is_shown_with_them(tmp_path: Path, length: int) -> None:
    write(tmp_path, {"a.txt": b"\xbd\x80x" + "é".encode() * length + b"end\n"})
    whole = "\ufffd\ufffdx" + "é" * length + "end"
    with build(tmp_path) as index:
        for request in (SearchRequest("x"), SearchRequest("NO", invert=True)):
            (found,) = index.search(request).files
            (hit,) = found.hits
            assert (hit.text_column, hit.text) == (1, whole[: len(hit.text)])


def test_inverted_long_lines_are_hits_when_nothing_in_them_matches(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": b"x" * 300 + b"\n" + b"y" * 150 + b"NO" + b"y" * 150 + b"\nshort\n"})
    with build(tmp_path) as index:
        assert lines_of(index.search(SearchRequest("NO", invert=True))) == [(b"a.txt", 1), (b"a.txt", 3)]


def test_files_that_changed_or_came_after_indexing_are_read(tmp_path: Path) -> None:
    write(tmp_path, {"old.txt": b"nothing\n", "gone.txt": b"needle\n", "same.txt": b"needle\n"})
    with build(tmp_path) as index:
        write(tmp_path, {"old.txt": b"needle\n", "new/very.txt": b"x\nneedle\n"})
        (tmp_path / "root" / "gone.txt").unlink()
        answer = index.search(SearchRequest("needle"))
        assert lines_of(answer) == [(b"new/very.txt", 2), (b"old.txt", 1), (b"same.txt", 1)]
        assert answer.coverage.verdict is Coverage.COMPLETE


def test_a_rewrite_of_equal_size_and_mtime_is_noticed(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": b"needle\n"})
    path = tmp_path / "root" / "a.txt"
    with build(tmp_path) as index:
        before = path.stat()
        path.write_bytes(b"noodle\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert lines_of(index.search(SearchRequest("noodle"))) == [(b"a.txt", 1)]


def test_a_named_file_is_answered_though_it_is_hidden_or_ignored(tmp_path: Path) -> None:
    write(tmp_path, {".ignore": b"out/\n", "out/log.txt": b"needle\n", ".hidden": b"needle\n", "in.txt": b"needle\n"})
    with build(tmp_path) as index:
        assert lines_of(index.search(SearchRequest("needle"))) == [(b"in.txt", 1)]
        for name in (b"out/log.txt", b".hidden"):
            assert lines_of(index.search(SearchRequest("needle", scope=RelPath(name)))) == [(name, 1)]
        everything = SearchRequest("needle", include_hidden=True, include_ignored=True)
        assert [path for path, _ in lines_of(index.search(everything))] == [b".hidden", b"in.txt", b"out/log.txt"]


@pytest.mark.parametrize("loose", [False, True])
def test_a_large_file_that_no_walk_meets_is_indexed_when_it_is_named(tmp_path: Path, loose: bool) -> None:
    write(tmp_path, {".ignore": b"*.log\n", "app.log": b"line\n" * 99 + b"needle\n"})
    request = SearchRequest("needle", scope=RelPath(b"app.log"))
    with Index(tmp_path / "root", tmp_path / "index.db", TINY, loose=loose) as index:
        index.start()
        assert index.wait(30)
        first = index.search(request)
        assert lines_of(first) == [(b"app.log", 100)]
        assert first.coverage.by_scan == 1
        assert index.wait(30)
        second = index.search(request)
        assert lines_of(second) == [(b"app.log", 100)]
        assert second.coverage.by_index == 1
        assert index.search(SearchRequest("needle")).total_hits == 0


def test_a_query_at_any_moment_of_a_build_is_complete(tmp_path: Path) -> None:
    write(tmp_path, {f"d{at % 9}/f{at}.py": b"def needle(): pass\n" * (1 + at % 5) for at in range(120)})
    limits = Limits(large_file=64, batch_bytes=200, commit_bytes=400, commit_seconds=0.01, workers=0)
    expected = sum(1 + at % 5 for at in range(120))
    with Index(tmp_path / "root", tmp_path / "index.db", limits) as index:
        index.start()
        states = set()
        while True:
            settled = index.wait(0)
            answer = index.search(SearchRequest("needle", max_hits=10_000))
            assert answer.total_hits == expected
            assert answer.coverage.verdict is Coverage.COMPLETE
            assert answer.coverage.by_index + answer.coverage.by_scan == 120
            states.add(answer.coverage.by_index)
            if settled:
                break
        assert max(states) == 120
        assert index.check() == ()


def test_a_file_that_leaves_the_index_between_the_look_and_the_search_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.txt": b"needle\n", "b.txt": b"needle\n", "c.txt": b"nothing\n"})
    root = tmp_path / "root"
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        look = index._standpoint.look

        def overtaken(scope: RelPath, *, include_ignored: bool = False) -> Look:
            found = look(scope, include_ignored=include_ignored)
            (root / ".ignore").write_text("a.txt\n")
            index.build()
            return found

        monkeypatch.setattr(index._standpoint, "look", overtaken)
        answer = index.search(SearchRequest("needle", include_ignored=True))
        assert {one.path for one in answer.files} == {b"a.txt", b"b.txt"}
        assert answer.coverage.verified == 2


def test_globs_and_languages_narrow_the_files(tmp_path: Path) -> None:
    names = ["a.py", "b.c", "src/c.py", "src/deep/d.py", "src/e.txt"]
    write(tmp_path, dict.fromkeys(names, b"needle\n"))
    with build(tmp_path) as index:

        def found(**options: object) -> list[bytes]:
            return [path for path, _ in lines_of(index.search(SearchRequest("needle", **options)))]

        assert found(include=("*.py",)) == [b"a.py", b"src/c.py", b"src/deep/d.py"]
        assert found(include=("src/*.py",)) == [b"src/c.py"]
        assert found(include=("src/**/*.py",)) == [b"src/c.py", b"src/deep/d.py"]
        assert found(exclude=("*.py", "*.c")) == [b"src/e.txt"]
        assert found(exclude=("src/",)) == [b"a.py", b"b.c"]
        assert found(language="py") == [b"a.py", b"src/c.py", b"src/deep/d.py"]
        assert found(scope=RelPath(b"src"), language="python") == [b"src/c.py", b"src/deep/d.py"]


def test_globs_take_names_with_line_feeds_and_characters_of_several_bytes(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(["a\nb.log", "é.log", "c.txt", "\n/d.txt"], b"needle\n"))
    with build(tmp_path) as index:

        def found(**options: object) -> set[str]:
            hits = lines_of(index.search(SearchRequest("needle", **options)))
            return {path.decode() for path, _ in hits}

        assert found(exclude=("*.log",)) == {"c.txt", "\n/d.txt"}
        assert found(include=("?.log",)) == {"é.log"}
        assert found(include=("[é].log",)) == {"é.log"}
        assert found(include=("a?b.log",)) == found(include=("[!b]*b.log",)) == {"a\nb.log"}
        assert found(include=("?/d.txt",)) == {"\n/d.txt"}


def test_binary_and_unreadable_files_are_counted_with_their_reason(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": b"needle\n", "pic.png": b"\x89PNG\r\n\x1a\n" + bytes(200)})
    with build(tmp_path) as index:
        for brute in (False, True):
            answer = index.search(SearchRequest("needle", brute=brute))
            assert dict(answer.coverage.skipped) == {"binary": 1}
            assert answer.total_hits == 1


@pytest.mark.parametrize("new", ["nothing here\n", "", "\0" * 100, None], ids=["no hit", "empty", "binary", "none"])
def test_a_cursor_is_refused_after_a_rotation_to_a_log_that_no_page_would_read(tmp_path: Path, new: str | None) -> None:
    log = tmp_path / "root" / "app.log"
    log.parent.mkdir()
    log.write_text("hit\n" * 4)
    with Index(log.parent, tmp_path / "index.db", TINY) as index:
        index.build()
        cursor = index.search(SearchRequest("hit", max_hits=2)).cursor
        log.rename(log.with_name("app.log.1"))
        if new is not None:
            log.write_text(new)
        index.build()
        with pytest.raises(BadCursor, match="rotated"):
            index.search(SearchRequest("hit", cursor=cursor))


def test_a_cursor_is_refused_with_another_query_and_after_a_rotation(tmp_path: Path) -> None:
    write(tmp_path, {"app.log": b"hit one\nhit two\nhit three\n"})
    log = tmp_path / "root" / "app.log"
    with build(tmp_path) as index:
        cursor = index.search(SearchRequest("hit", max_hits=1)).cursor
        with pytest.raises(BadCursor, match="another query"):
            index.search(SearchRequest("other", cursor=cursor))
        with pytest.raises(BadCursor, match="not a cursor"):
            index.search(SearchRequest("hit", cursor="AAAA"))
        with log.open("ab") as grown:
            grown.write(b"hit four\n")
        assert lines_of(index.search(SearchRequest("hit", cursor=cursor))) == [(b"app.log", line) for line in (2, 3, 4)]
        log.rename(log.with_suffix(".1"))
        log.write_bytes(b"hit anew\n" * 9)
        with pytest.raises(BadCursor, match="rotated"):
            index.search(SearchRequest("hit", cursor=cursor))


def test_context_is_taken_around_each_hit(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(1, 41)]
    write(tmp_path, {"a.txt": "\n".join(lines).encode()})
    with build(tmp_path) as index:
        for number in (1, 2, 17, 40):
            (found,) = index.search(SearchRequest(f"line {number}", whole_line=True, context=2)).files
            (hit,) = found.hits
            assert list(hit.before) == lines[max(0, number - 3) : number - 1]
            assert list(hit.after) == lines[number : number + 2]


def test_near_lines_come_only_without_an_exact_hit_and_are_marked(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": b"def transform_items(items):\n    pass\n"})
    with build(tmp_path) as index:
        near = index.search(SearchRequest("def transform_itens(items):", fuzzy=True))
        assert near.near
        assert near.total_hits == 0
        assert near.files[0].hits[0].similarity > 0.8
        exact = index.search(SearchRequest("def transform_items", fuzzy=True))
        assert not exact.near
        assert exact.total_hits == 1


def test_bad_requests_say_what_is_wrong(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": b"x\n"})
    with build(tmp_path) as index:
        with pytest.raises(BadPattern, match="empty"):
            index.search(SearchRequest(""))
        with pytest.raises(BadPattern) as caught:
            index.search(SearchRequest("a(b", regex=True))
        assert caught.value.position is not None
        with pytest.raises(NotFound):
            index.search(SearchRequest("x", scope=RelPath(b"nowhere")))


def test_symbols_around_hits_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": b"class Cart:\n    def total(self):\n        return needle\n\nneedle = 1\n"})
    with build(tmp_path, Limits(workers=0)) as index:
        (found,) = index.search(SearchRequest("needle", breadcrumbs=True)).files
        assert [hit.breadcrumb for hit in found.hits] == ["Cart.total", ""]


def test_a_page_goes_on_past_a_file_that_is_gone_before_it_was_begun(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name in ("a.log", "b.log", "c.log"):
        (root / name).write_text("hit\n")
    with Index(root, tmp_path / "index.db") as index:
        cursor = index.search(SearchRequest("hit", max_hits=1)).cursor
        (root / "b.log").unlink()
        assert lines_of(index.search(SearchRequest("hit", cursor=cursor))) == [(b"c.log", 1)]
