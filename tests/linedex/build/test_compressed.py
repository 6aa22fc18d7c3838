"""Compressed logs are indexed, searched and read by line like the plain text they hold."""

import gzip
import io
import os
import random
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

import apsw
import indexed_gzip
import pytest
from tests.linedex.files.compressed.packing import KINDS, gz, log, parts, xz, zst

from linedex.answers import Coverage, OutputMode, SearchAnswer, SearchRequest
from linedex.errors import BinaryFile, Unreadable
from linedex.files.roots import Root
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import RelPath, SkipReason

TEXT = log(6_000)
TINY = Limits(
    large_file=20_000,
    block_bytes=2_000,
    block_slack=400,
    batch_bytes=30_000,
    window_bytes=20_000,
    window_overlap=1_000,
    seek_spacing=40_000,
    frame_bytes=100_000,
    still_seconds=0,
    index_symbols=False,
    workers=0,
)
ENDINGS = {"gzip": ".gz", "zstd": ".zst", "xz": ".xz"}


@contextmanager
def indexed(root: Path, limits: Limits = TINY, *, built: bool = True) -> Iterator[Index]:
    root.mkdir(exist_ok=True)
    with Index(root, root.with_name("state") / "index.sqlite", limits) as index:
        if built:
            index.build()
        yield index


def put(path: Path, raw: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(raw)
    os.utime(path, (1_000_000_000, 1_000_000_000.5))


def lines_of(answer: SearchAnswer) -> list[tuple[int, str]]:
    return [(hit.line, hit.text) for file in answer.files for hit in file.hits]


def expected(pattern: str, text: bytes = TEXT) -> list[tuple[int, str]]:
    lines = text.decode().splitlines()
    return [(number, line) for number, line in enumerate(lines, start=1) if pattern in line]


def request(pattern: str, **more: object) -> SearchRequest:
    return replace(SearchRequest(pattern, max_hits=10_000, max_characters=0), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_hits_and_lines_are_those_of_the_plain_text(kind: str, tmp_path: Path) -> None:
    codec, pack = KINDS[kind]
    name = "app.log" + ENDINGS[codec]
    put(tmp_path / "root" / name, pack(TEXT))
    with indexed(tmp_path / "root") as index:
        status = index.status()
        assert (status.indexed, dict(status.skipped)) == (1, {})
        for pattern in ("request 4711 ", "id=", "took 99 ms", "nowhere to be found"):
            answer = index.search(request(pattern))
            assert lines_of(answer) == expected(pattern)
            assert answer.coverage.verdict is Coverage.COMPLETE
            assert answer.coverage.by_index == 1
            assert not answer.coverage.sequential
        counted = index.search(request("took 1", mode=OutputMode.COUNT))
        assert counted.total_hits == len(expected("took 1"))
        plain = TEXT.decode().splitlines()
        for first in (1, 2_999, 5_998):
            read = index.read(RelPath(name.encode()), first, 3)
            assert (list(read.lines), read.total_lines) == (plain[first - 1 : first + 2], 6_000)
        assert index.tail(RelPath(name.encode()), 2).lines == tuple(plain[-2:])
        assert index.check() == ()


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_the_index_does_not_know_is_searched_as_well(kind: str, tmp_path: Path) -> None:
    codec, pack = KINDS[kind]
    name = "app.log" + ENDINGS[codec]
    put(tmp_path / "root" / name, pack(TEXT))
    with indexed(tmp_path / "root", built=False) as index:
        for pattern in ("request 4711 ", "took 99 ms"):
            answer = index.search(request(pattern, context=0))
            assert lines_of(answer) == expected(pattern)
            assert answer.coverage.verdict is Coverage.COMPLETE
        assert index.read(RelPath(name.encode()), 3_000, 1).lines == (TEXT.decode().splitlines()[2_999],)
        assert index.overview(RelPath(name.encode())).size == len(TEXT)


def test_an_index_made_by_worker_processes_says_the_same(tmp_path: Path) -> None:
    put(tmp_path / "root" / "one.log.gz", gz(TEXT))
    put(tmp_path / "root" / "two.log.zst", zst(TEXT))
    put(tmp_path / "root" / "three.log.xz", xz(TEXT[:3_000]))
    with indexed(tmp_path / "root", replace(TINY, workers=2)) as index:
        assert index.search(request("request 4711 ")).total_hits == 2
        assert index.search(request("request 11 ")).total_hits == 3
        assert index.status().indexed == 3
        assert index.check() == ()


def test_what_the_column_of_the_text_rules_out_is_not_decoded(tmp_path: Path) -> None:
    put(tmp_path / "root" / "app.log.gz", gz(TEXT))
    with indexed(tmp_path / "root") as index:
        missing = index.search(request("QUITE absent"))
        assert (missing.total_hits, missing.coverage.verified) == (0, 0)


def test_small_texts_are_columns_like_small_files(tmp_path: Path) -> None:
    text = b"caf\xc3\xa9 first\nsecond\n"
    for name, pack in (("a.txt.gz", gz), ("b.txt.zst", zst), ("c.txt.xz", xz)):
        put(tmp_path / "root" / name, pack(text))
    with indexed(tmp_path / "root") as index:
        answer = index.search(request("CAF\u00c9", case_sensitive=False))
        assert [(file.path, hit.text) for file in answer.files for hit in file.hits] == [
            (name, "caf\u00e9 first") for name in (b"a.txt.gz", b"b.txt.zst", b"c.txt.xz")
        ]
        assert answer.coverage.by_index == 3
        assert index.search(request("absent")).coverage.verified == 0
        assert index.check() == ()


def test_an_empty_text_has_no_lines(tmp_path: Path) -> None:
    put(tmp_path / "root" / "none.log.gz", gzip.compress(b""))
    with indexed(tmp_path / "root") as index:
        assert index.overview(RelPath(b"none.log.gz")).lines == 0
        assert index.search(request("a")).total_hits == 0


def test_the_language_is_that_of_the_text(tmp_path: Path) -> None:
    put(tmp_path / "root" / "tool.py.gz", gz(b"def main() -> None:\n    pass\n"))
    with indexed(tmp_path / "root") as index:
        assert index.outline(RelPath(b"tool.py.gz")).symbols[0].name == "main"


@pytest.mark.parametrize("encoding", ["utf-16-le", "latin-1"])
def test_the_text_is_decoded_from_any_encoding(encoding: str, tmp_path: Path) -> None:
    lines = "".join(f"{number} \u00fcber caf\u00e9 {number * 7919}\n" for number in range(3_000))
    put(tmp_path / "root" / "app.log.gz", gz(("\ufeff" * (encoding != "latin-1") + lines).encode(encoding)))
    with indexed(tmp_path / "root") as index:
        answer = index.search(request("caf\u00e9 7919"))
        assert lines_of(answer) == expected("caf\u00e9 7919", lines.encode())


def archive() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        member = tarfile.TarInfo("a.txt")
        member.size = 100_000
        tar.addfile(member, io.BytesIO(b"text\n" * 20_000))
    return held.getvalue()


def test_an_archive_inside_is_binary_and_says_so(tmp_path: Path) -> None:
    put(tmp_path / "root" / "all.tar.gz", gz(archive()))
    put(tmp_path / "root" / "noise.bin.zst", zst(random.Random(1).randbytes(50_000)))
    with indexed(tmp_path / "root") as index:
        assert dict(index.search(request("text")).coverage.skipped) == {"binary": 2}
        with pytest.raises(BinaryFile, match="inside gzip"):
            index.read(RelPath(b"all.tar.gz"))
    with indexed(tmp_path / "root", built=False) as index:
        assert dict(index.search(request("text", brute=True)).coverage.skipped) == {"binary": 2}


def test_a_name_alone_makes_no_compressed_file(tmp_path: Path) -> None:
    put(tmp_path / "root" / "plain.log.gz", TEXT)
    with indexed(tmp_path / "root") as index:
        assert lines_of(index.search(request("request 4711 "))) == expected("request 4711 ")
        with (tmp_path / "root" / "plain.log.gz").open("ab") as log_file:
            log_file.write(b"a late line\n")
        index.build()
        assert index.search(request("a late line")).total_hits == 1
        assert index.check() == ()


@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("fate", ["cut", "damaged"])
@pytest.mark.parametrize("kind", ["gzip, many members", "zstd, many frames", "xz, one block", "xz, many blocks"])
def test_a_broken_file_is_searched_up_to_where_it_breaks_and_says_so(
    kind: str, fate: str, built: bool, tmp_path: Path
) -> None:
    codec, pack = KINDS[kind]
    text = log(20_000)
    raw = pack(text)
    at, length = len(raw) * 3 // 5, len(raw) * 3 // 10
    broken = raw[:at] if fate == "cut" else raw[:at] + b"\xa5" * length + raw[at + length :]
    name = "app.log" + ENDINGS[codec]
    put(tmp_path / "root" / name, broken)
    with indexed(tmp_path / "root", built=built) as index:
        for _ in range(2):
            answer = index.search(request("id=", max_hits=100_000))
            hits = lines_of(answer)
            assert 8_000 < len(hits) < 19_900
            assert hits[:8_000] == expected("id=", text)[:8_000]
            assert answer.coverage.verdict is Coverage.PARTIAL
            assert any("truncated at" in note for note in answer.coverage.notes)
        assert "truncated at" in index.tail(RelPath(name.encode()), 1).note
        assert not built or index.check() == ()


def test_a_file_that_declares_more_than_it_holds_is_no_longer_believed(tmp_path: Path) -> None:
    text = log(12_000)
    frames = parts(text, 9)
    # the library notices the changed byte by the checksum behind the frame
    checked = zstd.compress(frames[6], options={zstd.CompressionParameter.checksum_flag: 1})
    broken = checked[:-1] + bytes([checked[-1] ^ 1])
    put(tmp_path / "root" / "app.log.zst", b"".join(map(zst, frames[:6])) + broken + zst(frames[8]))
    with indexed(tmp_path / "root", built=False) as index:
        path = RelPath(b"app.log.zst")
        total = index.read(path, 1, 1).total_lines
        assert 7_900 < total < 9_400
        assert index.read(path, total - 1, 1).lines == (text.decode().splitlines()[total - 2],)
        assert index.search(request("took 1", mode=OutputMode.COUNT)).coverage.verdict is Coverage.PARTIAL


def test_a_broken_small_file_says_so_too(tmp_path: Path) -> None:
    put(tmp_path / "root" / "app.log.gz", gz(b"first\nsecond\n") + b"garbage")
    with indexed(tmp_path / "root") as index:
        answer = index.search(request("second"))
        assert answer.total_hits == 1
        assert any("is not gzip" in note for note in answer.coverage.notes)


def test_an_appended_member_is_seen_at_once_and_indexed_anew(tmp_path: Path) -> None:
    path = tmp_path / "root" / "app.log.gz"
    put(path, gz(TEXT))
    with indexed(tmp_path / "root") as index:
        assert index.search(request("a new member")).total_hits == 0
        with path.open("ab") as file:
            file.write(gz(b"a new member\n"))
        assert lines_of(index.search(request("a new member"))) == [(6_001, "a new member")]
        index.build()
        answer = index.search(request("a new member"))
        assert lines_of(answer) == [(6_001, "a new member")]
        assert answer.coverage.by_index == 1
        assert index.check() == ()


def test_a_bomb_is_skipped_by_its_ratio(tmp_path: Path) -> None:
    limits = replace(TINY, ratio_from=1 << 20, decoded_ratio=50)
    put(tmp_path / "root" / "bomb.log.gz", gz(b"a line\n" * 400_000))
    put(tmp_path / "root" / "app.log.gz", gz(TEXT))
    with indexed(tmp_path / "root", limits) as index:
        answer = index.search(request("a line"))
        assert dict(answer.coverage.skipped) == {str(SkipReason.RATIO): 1}
        with pytest.raises(Unreadable, match="expands"):
            index.read(RelPath(b"bomb.log.gz"))
    with indexed(tmp_path / "root", limits, built=False) as index:
        assert dict(index.search(request("a line", brute=True)).coverage.skipped) == {str(SkipReason.RATIO): 1}


@pytest.mark.parametrize("kind", ["zstd, one frame", "xz, one block"])
def test_without_a_budget_for_copies_the_search_is_sequential_and_says_so(kind: str, tmp_path: Path) -> None:
    codec, pack = KINDS[kind]
    limits = replace(TINY, shadow_bytes=0, large_file=1 << 18, frame_bytes=100_000)
    text = log(30_000)
    put(tmp_path / "root" / ("app.log" + ENDINGS[codec]), pack(text))
    with indexed(tmp_path / "root", limits) as index:
        answer = index.search(request("request 4711 "))
        assert lines_of(answer) == expected("request 4711 ", text)
        assert (answer.coverage.verdict, answer.coverage.sequential) == (Coverage.COMPLETE, 1)
        assert not list((tmp_path / "state").glob("*shadow*/*"))
        assert index.check() == ()


def test_a_copy_that_is_gone_costs_time_and_no_answer(tmp_path: Path) -> None:
    text = log(30_000)
    put(tmp_path / "root" / "app.log.zst", zst(text))
    with indexed(tmp_path / "root", replace(TINY, large_file=1 << 18)) as index:
        assert index.search(request("request 4711 ")).coverage.sequential == 0
        copies = list((tmp_path / "state").glob("*shadow*/*"))
        assert len(copies) == 1
        copies[0].unlink()
        answer = index.search(request("request 4711 "))
        assert lines_of(answer) == expected("request 4711 ", text)
        assert answer.coverage.sequential == 1


def test_a_text_that_takes_too_long_is_answered_in_part_and_says_how_far(tmp_path: Path) -> None:
    put(tmp_path / "root" / "app.log.xz", xz(log(60_000)))
    with indexed(tmp_path / "root", replace(TINY, query_seconds=1e-9), built=False) as index:
        answer = index.search(request("id="))
        assert answer.coverage.verdict in (Coverage.DEADLINE, Coverage.PARTIAL)


def test_a_file_that_is_still_written_to_waits_and_is_searched_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "root" / "app.log.gz"
    put(path, gz(TEXT))
    enough = threading.Event()

    def write() -> None:
        while not enough.wait(0.01):
            with path.open("ab") as file:
                file.write(gz(b"one more\n"))

    writer = threading.Thread(target=write)
    with indexed(tmp_path / "root", replace(TINY, still_seconds=0.25), built=False) as index:
        with path.open("ab") as file:
            file.write(gz(b"a first\n"))
        writer.start()
        try:
            index.build()
            assert index.status().indexed == 0
            assert index.search(request("request 4711 ")).total_hits == 1
        finally:
            enough.set()
            writer.join(10)
        index.build()
        assert index.status().indexed == 1
        answer = index.search(request("one more"))
        assert answer.coverage.by_index == 1
        assert answer.total_hits > 0


def test_seek_points_of_gzip_are_found_by_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class NotHere:
        def __init__(self, **_: object) -> None:
            raise AssertionError("finding points would keep all other threads waiting")

    monkeypatch.setattr(indexed_gzip, "IndexedGzipFile", NotHere)
    put(tmp_path / "root" / "app.log.gz", gz(TEXT))
    with indexed(tmp_path / "root", replace(TINY, workers=1)) as index:
        answer = index.search(request("request 4711 "))
        assert (answer.total_hits, answer.coverage.by_index, answer.coverage.sequential) == (1, 1, 0)


def test_a_survey_does_not_keep_an_index_from_closing(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "app.log.gz").write_bytes(gz(TEXT))
    with indexed(tmp_path / "root", replace(TINY, workers=1, still_seconds=3_600), built=False) as index:
        index.start()
        assert not index.wait(2)


def test_a_rotated_file_keeps_what_is_known_of_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root / "app.log.1.gz", gz(TEXT))
    put(root / "app.log.1.zst", zst(TEXT))
    with indexed(root) as index:
        for ending in ("gz", "zst"):
            os.rename(root / f"app.log.1.{ending}", root / f"app.log.2.{ending}")
        index.build()
        answer = index.search(request("request 4711 "))
        assert answer.total_hits == 2
        assert (answer.coverage.by_index, answer.coverage.sequential) == (2, 0)
        assert index.check() == ()


@pytest.mark.parametrize(("before", "after"), [("app.log.gz", "app.bin"), ("app.bin", "app.log.gz")])
def test_a_name_that_says_otherwise_has_the_file_read_anew(before: str, after: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root / before, gz(TEXT))
    with indexed(root) as index:
        os.rename(root / before, root / after)
        index.build()
        answer = index.search(request("request 4711 "))
        assert answer.total_hits == (1 if after.endswith(".gz") else 0)
        assert index.check() == ()


def test_a_page_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    put(tmp_path / "root" / "app.log.gz", gz(TEXT))
    with indexed(tmp_path / "root") as index:
        found: list[tuple[int, str]] = []
        asked = request("took 1", max_hits=50)
        for answer in index.pages(asked, 50):
            found += lines_of(answer)
        assert found == expected("took 1")


def test_the_hash_of_a_compressed_file_is_a_token_that_changes_with_its_bytes(tmp_path: Path) -> None:
    put(tmp_path / "root" / "app.log.gz", gz(TEXT))
    with indexed(tmp_path / "root") as index:
        first = index.read(RelPath(b"app.log.gz"), 1, 1).hash
        assert first.startswith("rev:")
        put(tmp_path / "root" / "app.log.gz", gz(TEXT + b"more\n"))
        assert index.read(RelPath(b"app.log.gz"), 1, 1).hash != first


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("open files are counted under /proc")
    put(tmp_path / "root" / "app.log.zst", zst(TEXT))
    put(tmp_path / "root" / "app.log.xz", xz(TEXT))

    def opened() -> list[str]:
        links = []
        for entry in Path("/proc/self/fd").iterdir():
            if entry.is_symlink():
                try:
                    links.append(os.readlink(entry))
                except FileNotFoundError:
                    continue
        return [link for link in links if "app.log" in link or "shadow" in link]

    for budget in (0, 1 << 30):
        with indexed(tmp_path / "root", replace(TINY, shadow_bytes=budget)) as index:
            index.search(request("request 4711 ", max_hits=1))
            index.read(RelPath(b"app.log.xz"), 5_000, 1)
        assert opened() == []
    assert Root(tmp_path / "root").stat(RelPath(b"app.log.xz")).st_size > 0


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gz), (".zst", zst), (".xz", xz)])
def test_what_an_interrupted_build_stored_of_a_text_is_not_believed_of_the_next_one(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    # endure.py, seed 7012: the first text was large, the second one is small and stores nothing beside its row
    root = tmp_path / "root"
    path = root / f"app.log{ending}"
    put(path, pack(TEXT))
    with indexed(root):
        pass
    put(path, pack(b"one\ntwo\nthree\n"))
    now = path.stat()
    # so a build leaves it that was killed behind the beginning of the file, before that was replaced
    sidecar = apsw.Connection(str(tmp_path / "state" / "index.sqlite"))
    sidecar.execute(
        "UPDATE files SET state = 0, inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?",
        (now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns),
    )
    sidecar.close()
    with indexed(root) as index:
        answer = index.read(RelPath(os.fsencode(path.name)))
        assert answer.lines == ("one", "two", "three")
        assert lines_of(index.search(SearchRequest("two"))) == [(2, "two")]
