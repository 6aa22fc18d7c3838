"""Patterns that were made to cost: each is refused in words or answered, by every tool that takes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from mcp.types import TextContent

from linedex_server.tools.parameters import Parameter
from linedex_server.tools.registry import offered
from linedex_server.tools.tool import Tool

if TYPE_CHECKING:
    from conftest import Served

PATTERNS = {
    "a look-ahead in a look-ahead": "(?=" * 2000 + "a" + ")" * 2000,
    "groups in groups": "(" * 4000 + "a" + ")" * 4000,
    "counts of counts": "((a{1,500}){1,500}){1,500}",
    "a large count": "a{100000}",
    "a long text": "a" * 100_000,
    "stars of stars": "(a*)*b",
    "stars of stars behind a look-around": "(?=(a+)+$)b",
    "an unended group": "(" * 9000,
    "an unended class": "[" * 9000,
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_content", {"absolute_file_path": "a.txt", "regex": True}),
        ("replace_regex", {"path": "a.txt", "replacement": "z"}),
        ("log_timeline", {"absolute_path": "a.txt", "regex": True}),
    ],
)
def test_a_costly_pattern_is_refused_in_words_or_answered(
    served: Served, tool: str, arguments: dict[str, Any], pattern: str
) -> None:
    (served.folder / "a.txt").write_text("c" * 40 + "!\n", encoding="utf-8")
    result = served.call(tool, pattern=pattern, **arguments)
    (block,) = result.content
    assert "RecursionError" not in str(block)
    assert "internal" not in str(block).lower()


GLOBS = {
    "stars": "*a" * 3000,
    "folders": "**/" * 300 + "x",
    "more folders": "**/" * 2000 + "x",
    "folders and names": "**/a*/" * 150 + "x",
    "choices": "{a,b}" * 190,
    "more choices": "{a,b}" * 2000,
    "classes": "[a-z]" * 199,
    "more classes": "[a-z]" * 10_000,
    "open braces": "{" * 900,
    "open braces and one end": "{" * 900 + "}",
    "open classes": "[" * 900,
    "a range the wrong way round": "[z-a]",
    "stars in choices": "{*a,*b}" * 140,
}


@pytest.mark.parametrize("glob", GLOBS.values(), ids=GLOBS)
def test_a_costly_glob_is_refused_in_words_or_answered(served: Served, glob: str) -> None:
    deep = served.folder.joinpath(*["a" * 20] * 12)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).write_text("hit\n", encoding="utf-8")
    for tool, arguments in (
        ("search_directory", {"absolute_dir_path": ".", "pattern": "hit", "include_pattern": glob}),
        ("search_directory", {"absolute_dir_path": ".", "pattern": "hit", "exclude_pattern": glob}),
        ("log_timeline", {"absolute_path": ".", "include_pattern": glob}),
        ("find_files", {"name": glob}),
    ):
        (block,) = served.call(tool, **arguments).content
        assert isinstance(block, TextContent)
        assert "internal" not in block.text.lower()
        assert len(block.text) < 2_000


TEXTS = {
    "10,000 letters": "a" * 10_000,
    "1,000,000 letters": "a" * 1_000_000,
    "1,000,000 words": "a b " * 250_000,
    "1,000,000 humps": "_Ab." * 250_000,
    "10,000 letters beyond ASCII": "\u00e9\u6f22" * 5_000,
}
LONG = {
    "path": "a.txt",
    "absolute_file_path": "a.txt",
    "absolute_path": "a.txt",
    "absolute_dir_path": ".",
    "pattern": "zzz",
    "name": "zzz",
}
"""Parameters that every call of a test gives where they must be given, so that only the one under test is odd."""


def _others(parameters: Sequence[Parameter]) -> dict[str, Any]:
    return {
        one.name: LONG.get(one.name, "x" if one.kind.schema.get("type") == "string" else 1)
        for one in parameters
        if one.required
    }


def _of_text() -> list[Any]:
    return [
        pytest.param(tool, one.name, id=f"{tool.name}-{one.name}")
        for tool in offered("all")
        for one in tool.parameters
        if one.kind.schema.get("type") == "string" and "enum" not in one.kind.schema
    ]


@pytest.mark.parametrize(("tool", "parameter"), _of_text())
def test_a_text_of_any_length_is_refused_in_words_or_answered(served: Served, tool: Tool, parameter: str) -> None:
    (served.folder / "a.txt").write_text("abc def\n" * 100 + "a" * 20_000 + "\n", encoding="utf-8")
    for value in TEXTS.values():
        (block,) = served.call(tool.name, **{**_others(tool.parameters), parameter: value}).content
        assert isinstance(block, TextContent)
        assert "internal" not in block.text.lower()
        # what is shown of the text itself is a path at the most
        assert len(block.text) < 22_000


SEARCHED = {**TEXTS, "1,000,000 blanks": " " * 1_000_000, "1,000,000 dots": "." * 1_000_000}


@pytest.mark.parametrize("searched", SEARCHED.values(), ids=SEARCHED)
def test_a_change_whose_text_is_long_is_refused_in_words(served: Served, searched: str) -> None:
    (served.folder / "a.txt").write_text("b" * 200_000 + "\n" + "b b\n" * 2_000, encoding="utf-8")
    refusal = served.refusal(
        "edit_content", absolute_file_path="a.txt", changes=[{"search": searched + "q", "replace": "z"}]
    )
    assert "search" in refusal
    assert len(refusal) < 22_000


def test_a_name_glob_or_word_over_its_bound_is_refused_with_the_bound(served: Served) -> None:
    (served.folder / "a.txt").write_text("hit\n", encoding="utf-8")
    glob = served.refusal("search_directory", absolute_dir_path=".", pattern="hit", include_pattern="*a" * 501)
    assert "it has 1,002 characters, and at most 1,000 are taken" in glob
    assert "include_pattern" in glob
    assert "at most 1,000 are taken" in served.refusal("find_files", name="a" * 1_001)
    assert "at most 1,000 are taken" in served.refusal("find_symbol", name="a" * 1_001)
    assert "at most 200 are taken" in served.refusal("log_timeline", absolute_path="a.txt", since="1" * 201)


def test_a_glob_that_cannot_be_read_is_refused_by_name(served: Served) -> None:
    (served.folder / "a.txt").write_text("hit\n", encoding="utf-8")
    for glob in ("[z-a]", "{{a}"):
        refusal = served.refusal("search_directory", absolute_dir_path=".", pattern="hit", include_pattern=glob)
        assert f"{glob!r} is no glob that can be read" in refusal


def test_near_lines_are_looked_for_with_patterns_of_moderate_length_and_that_is_said(served: Served) -> None:
    (served.folder / "a.txt").write_text("a" * 1_999 + "\n", encoding="utf-8")
    near = served.text("search_content", absolute_file_path="a.txt", pattern="a" * 1_998 + "bb")
    assert "near" in near
    far = served.text("search_content", absolute_file_path="a.txt", pattern="a" * 2_000 + "b")
    assert "near lines are looked for with patterns of up to 2,000 characters" in far
