"""What the arguments of `linedex search` ask of an index."""

from __future__ import annotations

import re

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import OutputMode, SearchRequest
from linedex.errors import BadPattern
from linedex_server.cli.search import search
from linedex_server.cli.search_options import SearchOptions, has_capital, joined


def options(*arguments: str) -> SearchOptions:
    return SearchOptions(**search.make_context("search", list(arguments)).params)


def request(*arguments: str) -> SearchRequest:
    chosen = options(*arguments)
    return chosen.request(chosen.targets()[0])


def test_by_default_it_is_a_case_sensitive_regex_on_this_folder() -> None:
    assert options("a.b").targets() == ("a.b", (None,))
    asked = request("a.b")
    assert (asked.regex, asked.case_sensitive, asked.mode, asked.context) == (True, True, OutputMode.MATCHES, 0)


def test_what_follows_the_pattern_are_paths() -> None:
    assert options("-i", "x", "src", "-c", "a b").targets() == ("x", ("src", "a b"))


def test_with_e_all_words_are_paths_and_any_pattern_may_match() -> None:
    assert options("-e", "a", "-e", "b|c", "src").targets() == ("(?:a)|(?:b|c)", ("src",))


def test_plain_texts_joined_stay_plain() -> None:
    assert options("-F", "-e", "a.b", "-e", "(").targets()[0] == r"a\.b|\("
    assert request("-F", "a.b").regex is False
    assert request("-F", "-e", "a.b", "-e", "(").regex is True


@given(st.lists(st.text(min_size=1, max_size=4), min_size=2, max_size=4))
def test_joined_plain_texts_match_just_themselves(texts: list[str]) -> None:
    pattern = re.compile(joined(texts, fixed=True), re.DOTALL)
    assert all(pattern.fullmatch(text) for text in texts)
    assert not pattern.fullmatch("".join(texts) + "\0")


def test_no_pattern_is_a_wrong_use() -> None:
    with pytest.raises(click.UsageError, match="PATTERN"):
        options().targets()


def test_a_pattern_that_is_not_text_is_refused() -> None:
    with pytest.raises(BadPattern, match="UTF-8"):
        options("\udcff").targets()


@pytest.mark.parametrize(
    ("arguments", "sensitive"),
    [
        (["-i", "X"], False),
        (["-i", "-s", "x"], True),
        (["-s", "-i", "x"], False),
        (["-S", "x"], False),
        (["-S", "X"], True),
        (["-S", r"\W\S\pL\p{Lu}x"], False),
        (["-S", "-F", r"\W"], True),
        (["-S", r"\\Wx"], True),
    ],
)
def test_the_last_word_on_case_counts(arguments: list[str], sensitive: bool) -> None:
    assert request(*arguments).case_sensitive is sensitive


def test_capitals_of_other_alphabets_count() -> None:
    assert has_capital("Ärger", regex=True)
    assert not has_capital("ärger", regex=True)


def test_globs_with_a_mark_exclude() -> None:
    asked = request("x", "-g", "*.c", "-g", "!vendor/**", "-g", "*.h")
    assert (asked.include, asked.exclude) == (("*.c", "*.h"), ("vendor/**",))


def test_context_is_the_wider_side_and_none_where_no_line_is_printed() -> None:
    assert request("x", "-A", "3", "-B", "1").context == 3
    assert request("x", "-C", "2").context == 2
    assert request("x", "-C", "2", "-l").context == 0
    sided = options("x", "-C", "2", "-A", "0")
    assert (sided.lines_before, sided.lines_after) == (2, 0)


def test_counts_paths_and_silence_ask_for_no_more_than_they_need() -> None:
    assert request("x", "-c").mode is OutputMode.COUNT
    assert request("x", "-l").mode is OutputMode.FILES
    quiet = request("x", "-q")
    assert (quiet.mode, quiet.max_hits) == (OutputMode.FILES, 1)


def test_short_options_run_together() -> None:
    asked = request("-wvxi", "x", "--hidden", "--no-ignore")
    assert (asked.word, asked.invert, asked.whole_line, asked.case_sensitive) == (True, True, True, False)
    assert (asked.include_hidden, asked.include_ignored) == (True, True)


@pytest.mark.parametrize("arguments", [["-C", "-1", "x"], ["-m", "0", "x"], ["--nonsense", "x"], ["--color", "x"]])
def test_a_wrong_option_is_refused(arguments: list[str]) -> None:
    with pytest.raises(click.UsageError):
        options(*arguments)
