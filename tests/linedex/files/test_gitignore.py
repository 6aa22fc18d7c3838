"""One ignore file is read as git reads it: git itself is the oracle, on random rules and random trees."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from linedex.files.gitignore import Rules
from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root
from linedex.files.walk import walk
from linedex.model import RelPath

TOKENS = [
    *(b"a", b"b", b"ab", b"a.o", b".o", b".", b"c c", b"\xc3\xa9", b"\xff", b"-", b"]", b"^", b"x", b"A"),
    *(b"*", b"**", b"***", b"?", b"/", b"**/", b"/**", b"/", b"\\", b"\\*", b"\\/", b" ", b"\\ ", b"!", b"#", b"\\!"),
    *(
        b"[ab]",
        b"[!a]",
        b"[^b]",
        b"[a-c]",
        b"[]a]",
        b"[a",
        b"[",
        b"[[:alpha:]]",
        b"[[:nope:]]",
        b"[a[:]",
        b"[\\]]",
        b"[+--]",
    ),
    *(b"[!]a]", b"[a/]", b"[b-a]", b"[\xff]", b"\r", b"\0", b"\t"),
]
LINES = st.lists(st.sampled_from(TOKENS), max_size=5).map(b"".join)
RULES = st.lists(LINES, max_size=5).map(b"\n".join)
NAMES = [
    b"a",
    b"b",
    b"ab",
    b"a.o",
    b"c c",
    b"\xc3\xa9",
    b"\xff",
    b"[a",
    b"#",
    b"!a",
    b"\\",
    b"x ",
    b"*",
    b"-",
    b"]",
    b"A",
]
TREES = st.sets(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(b"/".join), min_size=1, max_size=12)


class Repository:
    """A repository whose files and ignore files change from example to example."""

    def __init__(self, folder: Path) -> None:
        self.folder = os.fsencode(folder)
        self.environment = {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
        subprocess.run(["git", "init", "-q", str(folder)], check=True, env=self.environment)

    def fill(self, files: dict[bytes, bytes]) -> None:
        for entry in os.scandir(self.folder):
            if entry.name != b".git":
                shutil.rmtree(entry.path) if entry.is_dir() else os.unlink(entry.path)
        for path, content in files.items():
            target = os.path.join(self.folder, path)
            try:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as file:
                    file.write(content)
            except (FileExistsError, NotADirectoryError, IsADirectoryError):
                continue

    def as_git_sees_it(self) -> set[bytes]:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--others", "--cached", "--exclude-standard"],
            check=True,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
        ).stdout
        return set(listed.split(b"\0")) - {b""}

    def as_we_see_it(self, settings: WalkSettings) -> set[bytes]:
        root = Root(os.fsdecode(self.folder))
        return {
            folder.path + b"/" + file.name if folder.path else file.name
            for folder in walk(root, settings)
            for file in folder.files
        }


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    home = tmp_path_factory.mktemp("repository")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.delenv("XDG_CONFIG_HOME", raising=False)
        yield Repository(home)


@settings(max_examples=160, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=TREES, rules=RULES)
@example(tree={b"ab", b"a/b", b"a/x/b"}, rules=b"a**/b")
@example(tree={b"a/b", b"a/a/b"}, rules=b"/*/b\n!a")
@example(tree={b"x ", b"x"}, rules=b"x\\ ")
@example(tree={b"x ", b"x"}, rules=b"x   ")
@example(tree={b"a", b"b"}, rules=b"\xef\xbb\xbfa\r\n!b")
@example(tree={b"a/a", b"b/a"}, rules=b"a/\n!a/a")
@example(tree={b"a/b/a", b"b"}, rules=b"**/b/**")
@example(tree={b"a/b", b"axb"}, rules=b"a[x/]b")
@example(tree={b"#", b"!a"}, rules=b"\\#\n\\!a")
def test_a_tree_is_ignored_as_git_ignores_it(repository: Repository, tree: set[bytes], rules: bytes) -> None:
    repository.fill({**dict.fromkeys(tree, b""), b".gitignore": rules})
    assert repository.as_we_see_it(WalkSettings()) == repository.as_git_sees_it()


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=TREES, top=RULES, nested=st.dictionaries(st.sampled_from([b"a", b"b", b"a/b", b"ab"]), RULES, max_size=3))
def test_nested_ignore_files_combine_as_in_git(
    repository: Repository, tree: set[bytes], top: bytes, nested: dict[bytes, bytes]
) -> None:
    files = {**dict.fromkeys(tree, b""), b".gitignore": top}
    files |= {folder + b"/.gitignore": rules for folder, rules in nested.items()}
    repository.fill(files)
    assert repository.as_we_see_it(WalkSettings()) == repository.as_git_sees_it()


@given(
    rules=RULES,
    folder=st.sampled_from([b"", b"a/", b"a/b/"]),
    listed=st.lists(st.sampled_from(NAMES), unique=True, min_size=1),
    is_folder=st.booleans(),
    ignore_case=st.booleans(),
)
def test_suspects_hold_every_name_that_a_rule_speaks_of(
    rules: bytes, folder: bytes, listed: list[bytes], is_folder: bool, ignore_case: bool
) -> None:
    found = Rules(rules, ignore_case=ignore_case)
    spoken_of = {name for name in listed if found.verdict(folder, name, is_folder=is_folder) is not None}
    assert spoken_of <= found.suspects(folder, listed) <= set(listed)


def test_case_is_ignored_on_request_only() -> None:
    rules = b"Build/\n*.OBJ\n/src/[A-C]x\n"
    exact, loose = Rules(rules), Rules(rules, ignore_case=True)
    for folder, name, is_folder in ((b"", b"build", True), (b"a/", b"y.obj", False), (b"SRC/", b"bX", False)):
        assert exact.verdict(folder, name, is_folder=is_folder) is None
        assert loose.verdict(folder, name, is_folder=is_folder) is True
        assert loose.suspects(folder, [name, b"other"]) == {name}


def test_a_glob_that_costs_backtracking_matchers_exponential_time_is_answered() -> None:
    rules = Rules(b"*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b\n**/a/**/a/**/a/**/a/**/a/**/b")
    assert rules.verdict(b"a/" * 60, b"a" * 250, is_folder=False) is None


def test_ten_thousand_globs_are_searched_in_one_folder() -> None:
    rules = Rules(b"".join(b"*name%d?x\n" % number for number in range(10_000)))
    assert rules.suspects(b"", [b"name99.x", b"other", b"name10000.x"]) == {b"name99.x"}


def test_git_agrees_when_case_is_ignored(repository: Repository) -> None:
    repository.fill({b"Build/x": b"", b"y.OBJ": b"", b"z": b"", b".gitignore": b"build\n*.obj\n"})
    subprocess.run(["git", "config", "core.ignorecase", "true"], check=True, cwd=repository.folder)
    try:
        assert repository.as_we_see_it(WalkSettings(ignore_case=True)) == repository.as_git_sees_it()
    finally:
        subprocess.run(["git", "config", "core.ignorecase", "false"], check=True, cwd=repository.folder)


def test_an_absent_folder_has_no_suspects() -> None:
    assert Rules(b"a\n").suspects(RelPath(b""), []) == set()
