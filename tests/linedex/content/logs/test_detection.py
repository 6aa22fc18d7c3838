"""The choice of a format from a sample."""

import os
import random
from pathlib import Path

import pytest

from linedex.content.logs.detection import KEPT_LINES, WINDOW_BYTES, WINDOWS, LogRule, detect, sample_lines
from linedex.content.logs.records import RecordReader
from linedex.content.logs.window import Window

LOGHUB = os.environ.get("LINEDEX_LOGHUB")
EXPECTED = {
    "Android": "android",
    "Apache": "ctime",
    "BGL": "epoch-s",
    "HDFS": "yymmdd",
    "HPC": "epoch-s",
    "Hadoop": "iso8601",
    "HealthApp": "compact-dash",
    "Linux": "rfc3164",
    "Mac": "rfc3164",
    "OpenSSH": "rfc3164",
    "OpenStack": "iso8601",
    "Proxifier": "md-dot",
    "Spark": "yy-slash",
    "Thunderbird": "epoch-s",
    "Windows": "iso8601",
    "Zookeeper": "iso8601",
}
WITH_LEVELS = {"Android", "Apache", "BGL", "HDFS", "Hadoop", "OpenStack", "Spark", "Windows", "Zookeeper"}


def rule_of(text: bytes) -> LogRule | None:
    return detect(sample_lines(lambda at, size: text[at : at + size], len(text)))


@pytest.mark.skipif(not LOGHUB, reason="LINEDEX_LOGHUB names no folder of loghub samples")
@pytest.mark.parametrize("system", sorted(EXPECTED))
def test_every_line_of_a_loghub_sample_is_a_record(system: str) -> None:
    assert LOGHUB is not None
    text = next(Path(LOGHUB, system).glob("*_2k.log")).read_bytes()
    rule = rule_of(text)
    assert rule is not None
    records = RecordReader(rule).read(Window(text))
    assert rule.stamps[0].format_name == EXPECTED[system]
    assert records.heads.all()
    assert (rule.level is not None) == (system in WITH_LEVELS)
    if rule.level is not None:
        assert (records.level_at >= 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_one_stamped_line_in_36_suffices(seed: int) -> None:
    dice = random.Random(seed)
    lines = []
    for number in range(1500):
        lines.append(f"2026-03-04 05:{number // 60:02}:{number % 60:02},{dice.randrange(1000):03} ERROR failed")
        lines += [f"\tat org.example.Some.method(Some.java:{dice.randrange(300)})" for _ in range(35)]
    rule = rule_of("\n".join(lines).encode())
    assert rule is not None
    assert [(stamp.format_name, stamp.place_name) for stamp in rule.stamps] == [("iso8601", "head")]
    assert rule.level is not None


def test_a_mixture_of_two_formats_has_two_rules() -> None:
    dice = random.Random(2)
    lines = [
        f"2026-03-04 05:06:07 a {n}" if dice.randrange(3) else f'10.0.0.1 - - [04/Mar/2026:05:06:07 +0000] "GET" {n}'
        for n in range(3000)
    ]
    text = "\n".join(lines).encode()
    rule = rule_of(text)
    assert rule is not None
    assert {stamp.format_name for stamp in rule.stamps} == {"iso8601", "clf"}
    assert RecordReader(rule).read(Window(text)).heads.all()


def test_steps_back_in_time_do_not_matter() -> None:
    dice = random.Random(3)
    lines = [f"{n} node-{dice.randrange(9)} unix.hw state {dice.randrange(10**9, 11 * 10**8)} 1 x" for n in range(900)]
    rule = rule_of("\n".join(lines).encode())
    assert rule is not None
    assert (rule.stamps[0].format_name, rule.stamps[0].words) == ("epoch-s", 4)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"no time here\n" * 500,
        b"version 1.2.3 of 10:30 talks\nratio 16:9\n" * 300,
        bytes(range(256)) * 300,
        b"2026-03-04 05:06:07 once\n" + b"x\n" * 100,
    ],
)
def test_a_file_without_stamps_has_no_rule(text: bytes) -> None:
    assert rule_of(text) is None


def test_a_sample_is_bounded_and_the_same_each_time() -> None:
    line = b"2026-03-04 05:06:07 some message of a log\n"
    size = len(line) * 10**8
    reads: list[tuple[int, int]] = []

    def read(at: int, count: int) -> bytes:
        reads.append((at, count))
        skipped = at % len(line)
        return (line * (count // len(line) + 2))[skipped : skipped + count]

    sample = sample_lines(read, size)
    assert len(reads) == WINDOWS
    assert all(count <= WINDOW_BYTES for _, count in reads)
    assert len(sample) == WINDOWS * KEPT_LINES
    assert set(sample) == {line.rstrip()}
    first = list(reads)
    assert sample_lines(read, size) == sample
    assert reads[WINDOWS:] == first


@pytest.mark.parametrize(
    "line",
    [
        b"2026-03-04 05:06:07 INFO x",
        b'{"a":1,"time":1772600767891,"level":30}',
        b"03-04 05:06:07.891  1702  2395 W Tag: x",
        b"app-1 | 2026-03-04T05:06:07Z x",
        b"03/04 05:06:07 x",
    ],
)
def test_a_rule_is_stored_as_text(line: bytes) -> None:
    rule = detect([line] * 4)
    assert rule is not None
    assert LogRule.from_json(rule.to_json()) == rule
