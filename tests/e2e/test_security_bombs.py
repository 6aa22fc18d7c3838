"""Patterns that were made to cost: each is refused in words or answered, by every tool that takes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

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


@pytest.mark.parametrize("glob", ["*a" * 3000, "**/" * 2000 + "x", "{a,b}" * 200, "{" * 2000, "[" * 3000])
def test_a_costly_glob_is_refused_in_words_or_answered(served: Served, glob: str) -> None:
    (served.folder / ("a" * 200)).write_text("hit\n", encoding="utf-8")
    for tool, arguments in (
        ("search_directory", {"absolute_dir_path": ".", "pattern": "hit", "include_pattern": glob}),
        ("find_files", {"name": glob[:5000]}),
    ):
        (block,) = served.call(tool, **arguments).content
        assert "RecursionError" not in str(block)
