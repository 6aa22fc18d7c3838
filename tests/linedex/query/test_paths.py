import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.errors import BadArgument
from linedex.model import RelPath
from linedex.query.paths import find_files
from linedex.store.catalogue import path_key

TREE = sorted(
    path_key(path.encode())
    for path in (
        ".github/workflows/test.yml",
        "README.md",
        "docs/readme.md",
        "indexer/linedex/build/pipeline.py",
        "indexer/linedex/content/lines.py",
        "indexer/linedex/content/lines_test.py",
        "indexer/linedex/query/outlines.py",
        "indexer/linedex/store/files.py",
        "indexer/linedex/store/symbols.py",
        "lines/index.html",
        "server/get_the_user.py",
        "server/tests/test_files.py",
        "web/[id].tsx",
    )
)


def found(name: str, scope: bytes = b"", most: int = 50, **how: bool) -> list[str]:
    return [path.decode() for path in find_files(TREE, name, RelPath(scope), most, **how).paths]


def test_ranks_go_from_the_whole_base_name_to_a_folder() -> None:
    assert found("lines.py") == ["indexer/linedex/content/lines.py", "indexer/linedex/query/outlines.py"]
    assert found("lines") == [
        "indexer/linedex/content/lines.py",
        "indexer/linedex/content/lines_test.py",
        "indexer/linedex/query/outlines.py",
        "lines/index.html",
    ]


def test_the_case_that_was_typed_comes_first_and_the_other_after_it() -> None:
    assert found("README.md") == ["README.md", "docs/readme.md"]
    assert found("readme.md") == ["docs/readme.md", "README.md"]


def test_a_slash_asks_for_the_folder_too() -> None:
    assert found("store/files") == ["indexer/linedex/store/files.py"]
    assert found("store\\files.py") == ["indexer/linedex/store/files.py"]
    assert found("linedex/content/") == ["indexer/linedex/content/lines.py", "indexer/linedex/content/lines_test.py"]


def test_letters_in_order_and_misspellings_are_asked_only_when_nothing_holds_the_text() -> None:
    assert found("gtu.py")[0] == "server/get_the_user.py"
    assert found("pipelien.py") == ["indexer/linedex/build/pipeline.py"]
    assert found("qqqq") == []


@pytest.mark.parametrize(
    ("glob", "wanted"),
    [
        ("*.yml", [".github/workflows/test.yml"]),
        ("**/test_*.py", ["server/tests/test_files.py"]),
        ("store/*.py", ["indexer/linedex/store/files.py", "indexer/linedex/store/symbols.py"]),
        ("/*.md", ["README.md"]),
        ("line?.py", ["indexer/linedex/content/lines.py"]),
        ("[!a-q]*.md", ["README.md", "docs/readme.md"]),
        ("{files,symbols}.py", ["indexer/linedex/store/files.py", "indexer/linedex/store/symbols.py"]),
        ("indexer/**/lines*", ["indexer/linedex/content/lines.py", "indexer/linedex/content/lines_test.py"]),
        ("[id].tsx", ["web/[id].tsx"]),
    ],
)
def test_globs_are_taken_as_globs(glob: str, wanted: list[str]) -> None:
    assert found(glob, include_hidden=True) == wanted


def test_a_bad_name_or_glob_is_refused() -> None:
    for name in ("", "  ", "/", "[z-a]*"):
        with pytest.raises(BadArgument):
            found(name)


def test_hidden_files_are_left_out_unless_asked_for_or_in_scope() -> None:
    assert "test.yml" not in str(found("test"))
    assert ".github/workflows/test.yml" in found("test", include_hidden=True)
    assert found("test", b".github") == [".github/workflows/test.yml"]


def test_a_scope_bounds_the_answer_and_is_no_part_of_what_is_matched() -> None:
    assert found("lines", b"indexer/linedex/query") == ["indexer/linedex/query/outlines.py"]
    assert found("server", b"server") == []
    assert found("symbols", b"indexer/linedex/store/symbols.py") == ["indexer/linedex/store/symbols.py"]


def test_the_total_counts_what_the_page_leaves_out() -> None:
    answer = find_files(TREE, ".py", max_hits=2)
    assert (len(answer.paths), answer.total) == (2, 8)


def test_names_that_are_not_utf_8_or_hold_line_ends_are_found() -> None:
    keys = sorted([b"a\xffb.txt", b"new\nline.txt", b"plain.txt", b"stra\xc3\x9fe.txt"])
    assert find_files(keys, ".txt").total == 4
    assert find_files(keys, "line.txt").paths == (b"new\nline.txt",)
    assert find_files(keys, "STRASSE").paths == (b"stra\xc3\x9fe.txt",)
    assert find_files(keys, "a?b.txt").paths == (b"a\xffb.txt",)
    assert find_files([], "x").total == 0


PATHS = st.lists(st.text(alphabet="abA.", min_size=1, max_size=4), min_size=1, max_size=4).map("/".join)


def rank(path: str, wanted: str) -> int:
    """Say how well a path fits, by looking at every place where the text stands."""
    base = path.rfind("/") + 1
    ranks = []
    for match in re.finditer(f"(?={re.escape(wanted)})", path):
        start, end = match.start(), match.start() + len(wanted)
        opens = start == 0 or path[start - 1] == "/"
        in_base = end > base
        ends = path[end : end + 1]
        ranks.append(
            1 if opens and not ends else 2 if opens and in_base else 3 if in_base else 4 if opens and ends == "/" else 5
        )
    return min(ranks)


@given(st.sets(PATHS, max_size=12), st.text(alphabet="abA./", min_size=1, max_size=4))
def test_what_holds_the_text_is_found_in_the_order_of_the_ranks(paths: set[str], name: str) -> None:
    wanted = name.removeprefix("./").lstrip("/").lower()
    keys = sorted(path_key(path.encode()) for path in paths)
    holding = [path for path in paths if wanted in path.lower()]
    if not wanted or not holding:
        return
    answer = find_files(keys, name, max_hits=100, include_hidden=True)
    assert {path.decode() for path in answer.paths} == set(holding)
    ranks = [rank(path.decode().lower(), wanted) for path in answer.paths]
    assert ranks == sorted(ranks)
