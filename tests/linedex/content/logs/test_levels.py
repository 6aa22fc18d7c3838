"""Levels of single lines, and the vectors against single lines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linedex.content.logs.detection import detect
from linedex.content.logs.level_reader import LevelReader, LevelRule, LineLevels
from linedex.content.logs.levels import Level, LevelSource
from linedex.content.logs.records import RecordReader
from linedex.content.logs.stamps import StampReader, StampRule
from linedex.content.logs.window import Window

CASES = [
    ("<11>Mar  4 05:06:07 host app: x", "error"),
    ("<34>1 2026-03-04T05:06:07Z host app - - x", "fatal"),
    ("<191>Mar  4 05:06:07 host app: ERROR", "debug"),
    ("E0304 05:06:07.891234 1 x.go:9] INFO", "error"),
    ("03-04 05:06:07.891  1702  2395 W Tag: x", "warn"),
    ('{"level":30,"time":1772600767891,"msg":"x"}', "info"),
    ('{"level":50,"time":1772600767891,"msg":"x"}', "error"),
    ('{"PRIORITY":"3","__REALTIME_TIMESTAMP":"1772600767891234"}', "error"),
    ('{"time":1772600767891,"severity":"warning"}', "warn"),
    ("ts=2026-03-04T05:06:07Z level=error msg=x", "error"),
    ("2026/03/04 05:06:07 [crit] 1#1: x", "fatal"),
    ("2026-03-04 05:06:07.891 UTC [12] STATEMENT:  select 1", "info"),
    ("260304  5:06:07 [Warning] x", "warn"),
    ("2026-03-04 05:06:07 INFO Found 0 ERROR lines", "info"),
    ("2026-03-04 05:06:07, Info                  CBS x", "info"),
    ("[Wed Mar 04 05:06:07.123456 2026] [core:error] x", "error"),
    ('10.0.0.1 - - [04/Mar/2026:05:06:07 +0100] "GET / HTTP/1.1" 503 5', "error"),
    ('10.0.0.1 - - [04/Mar/2026:05:06:07 +0100] "GET /ERROR HTTP/1.1" 404 5', "warn"),
    ('10.0.0.1 - - [04/Mar/2026:05:06:07 +0100] "GET /ERROR HTTP/1.1" 200 5', "info"),
    ("2026-03-04 05:06:07 no error in this warning", "none"),
    ("2026-03-04 05:06:07 MY_ERROR /var/log/ERROR/x", "none"),
    ("2026-03-04 05:06:07 Log in. Fine day", "none"),
]


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[row[0][:50] for row in CASES])
def test_a_line_tells_its_level(line: str, expected: str) -> None:
    rule = detect([line.encode()] * 3)
    assert rule is not None
    records = RecordReader(rule).read(Window(line.encode() + b"\n"))
    assert Level(int(records.levels[0])).label == expected


WORDS = st.sampled_from(
    [
        "INFO",
        "info",
        "Info",
        "iNFO",
        "ERROR",
        "ERR",
        "WARNING",
        "CRITICAL",
        "EMERGENCY",
        "Warn",
        "FINE",
        "Fine",
        "D",
        "x",
        "",
    ]
)
EDGES = st.sampled_from(["", " ", "[", "]", "<", ">", ":", ",", '"', "=", "_", "/", "-", ".", "\t", "}", "\f", "1"])
RULES = st.sampled_from(
    [
        LevelRule(LevelSource.WORD, after_stamp=1),
        LevelRule(LevelSource.WORD, after_stamp=0),
        LevelRule(LevelSource.WORD, words=2),
        LevelRule(LevelSource.WORD, words=2, inner=1),
        LevelRule(LevelSource.LETTER, words=2),
        LevelRule(LevelSource.WORD),
    ]
)


@given(RULES, st.lists(st.tuples(EDGES, WORDS, EDGES, WORDS), min_size=1, max_size=20))
@settings(max_examples=150)
def test_vectors_tell_the_level_that_the_expressions_tell(
    rule: LevelRule, parts: list[tuple[str, str, str, str]]
) -> None:
    text = "".join(f"2026-03-04 05:06:07{''.join(part)}\n" for part in parts).encode()
    agree(rule, StampRule("iso8601", "head"), text)


def agree(rule: LevelRule, stamp_rule: StampRule, text: bytes) -> None:
    """Compare the levels of a window with those of its lines one by one."""
    window = Window(text)
    stamps = StampReader(stamp_rule).read(window)
    found = LineLevels.none(window)
    LevelReader(rule, stamp_rule).read(window, stamps, stamps.found, found)
    for line, (start, end) in enumerate(zip(window.starts.tolist(), window.ends.tolist(), strict=True)):
        if not stamps.found[line]:
            continue
        one = rule.find(text, start, end, (int(stamps.begins[line]), int(stamps.ends[line])), stamp_rule)
        assert found.levels[line] == (Level.NONE if one is None else one.level)
        assert found.at[line] == (-1 if one is None else one.start)


REQUESTS = st.sampled_from(
    ['GET /\\" 500 ', 'GET /\\\\" 500 ', "GET / HTTP/1.1", "", 'GET /\\"x', "\\\\", 'a"b', "\\x16\\x03", "-"]
)
STATUSES = st.sampled_from(["200", "404", "503", "600", "50", "2000", "-", "100"])
ENDS = st.sampled_from(["", " 5", ' 5 "-" "agent"', "x"])


@given(st.lists(st.tuples(st.sampled_from(["] ", " ", "]"]), REQUESTS, STATUSES, ENDS), min_size=1, max_size=20))
@settings(max_examples=120)
def test_vectors_tell_the_status_that_the_expression_tells(parts: list[tuple[str, str, str, str]]) -> None:
    text = "".join(
        f'10.0.0.1 - - [04/Mar/2026:05:06:07 +0100{gap}"{request}" {status}{end}\n'
        for gap, request, status, end in parts
    ).encode()
    agree(LevelRule(LevelSource.STATUS), StampRule("clf", "words", words=3), text)


NUMBERS = st.sampled_from(["30", "3", "60", "70", "9", "300", "-1", "x", '"info"', '"ERROR"', '"iNFO"', "7"])


@given(st.lists(st.tuples(st.sampled_from(["level", "severity", "lvl"]), NUMBERS, NUMBERS), min_size=1, max_size=20))
@settings(max_examples=120)
def test_vectors_tell_the_keyed_level_that_the_expressions_tell(parts: list[tuple[str, str, str]]) -> None:
    text = "".join(
        f'{{"{key}":{first},"level":{second},"time":1772600767891,"x":1}}\n' for key, first, second in parts
    ).encode()
    stamp_rule = StampRule("epoch-ms", "json", key='"time":')
    agree(LevelRule(LevelSource.NUMBER, key='"level":'), stamp_rule, text)
    agree(LevelRule(LevelSource.WORD, key='"level":"'), stamp_rule, text)


@given(st.lists(st.integers(0, 191), min_size=1, max_size=20))
def test_syslog_priorities_tell_the_level(priorities: list[int]) -> None:
    text = "".join(f"<{priority}>Mar  4 05:06:07 host x\n" for priority in priorities).encode()
    rule = detect(text.split(b"\n")[:1] * 3)
    assert rule is not None
    records = RecordReader(rule).read(Window(text))
    names = ["fatal", "fatal", "fatal", "error", "warn", "info", "info", "debug"]
    assert [Level(level).label for level in records.levels.tolist()] == [names[number % 8] for number in priorities]


def test_a_file_in_whose_text_a_level_word_stands_now_and_then_has_no_levels() -> None:
    lines = [f"Mar  4 05:06:{second:02} host app[1]: {'x ' * (second % 7)}ok" for second in range(60)]
    lines[7] = "Mar  4 05:06:07 host app[1]: ALERT exited abnormally"
    rule = detect([line.encode() for line in lines])
    assert rule is not None
    assert rule.level is None
