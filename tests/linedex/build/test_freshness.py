"""A started index answers from what it is told of changes, and every answer is that of reading all files."""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from linedex import standpoint
from linedex.answers import SearchRequest
from linedex.build import keeper
from linedex.build.contents import contents
from linedex.build.freshness import pause
from linedex.build.tracked import TrackedTree
from linedex.errors import NotFound
from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import RelPath
from linedex.store.catalogue import Catalogue
from linedex.store.look import Look

sys.path.insert(0, str(Path(__file__).parent))
from tree_operations import Tree, holding

LIMITS = Limits(workers=0)
SOON = 20.0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only inotify promises to be exact")


def found(index: Index, word: str, scope: RelPath = RelPath(b"")) -> dict[bytes, list[int]]:
    answer = index.search(SearchRequest(word, scope=scope, max_hits=100_000, include_hidden=True, case_sensitive=True))
    return {bytes(file.path): [hit.line for hit in file.hits] for file in answer.files}


def until(true: object, what: str) -> None:
    end = time.monotonic() + SOON
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, what
        threading.Event().wait(0.01)


@contextmanager
def watched(root: Path, sidecar: Path, limits: Limits = LIMITS) -> Iterator[Index]:
    with Index(root, sidecar, limits) as index:
        index.start()
        assert index.wait(SOON)
        assert index.status().freshness.startswith("at once: inotify")
        yield index


class Changing(RuleBasedStateMachine):
    """Anything is done to a tree, in any order; a search straight after it is right."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp())
        self.tree = Tree(self.base, 7, files=15)
        self.index = Index(self.tree.root, self.base / "kept" / "index.db", LIMITS)
        self.index.start()
        self.index.wait(SOON)
        self.done: list[str] = []

    @rule(name=st.sampled_from(sorted(Tree.operations.fget(Tree.__new__(Tree)))))  # type: ignore[attr-defined]
    def change(self, name: str) -> None:
        self.tree.operations[name]()
        self.done.append(name)

    @rule(name=st.sampled_from(["create", "move_and_write"]), times=st.integers(2, 4))
    def change_often(self, name: str, times: int) -> None:
        for _ in range(times):
            self.tree.operations[name]()

    @precondition(lambda self: self.done)
    @rule()
    def let_it_index(self) -> None:
        assert self.index.wait(SOON)

    @invariant()
    def the_last_word_is_found_where_it_stands(self) -> None:
        for word in (self.tree.token, "stands"):
            assert found(self.index, word) == holding(self.tree.root, word), (word, self.done)

    def teardown(self) -> None:
        try:
            kept, fresh = self.base / "kept" / "index.db", self.base / "fresh" / "index.db"
            found(self.index, "stands")
            assert self.index.wait(SOON)
            self.index.close()
            with Index(self.tree.root, kept, LIMITS) as index:
                assert index.check() == ()
            with Index(self.tree.root, fresh, LIMITS) as index:
                index.build()
            assert contents(kept) == contents(fresh)
        finally:
            self.index.close()
            shutil.rmtree(self.base)


Changing.TestCase.settings = settings(
    max_examples=5, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestChanging = pytest.mark.skipif(sys.platform != "linux", reason="only inotify promises to be exact")(
    Changing.TestCase
)


LongChanging = type("LongChanging", (Changing,), {})
LongChanging.TestCase.settings = settings(
    max_examples=60, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLongChanging = pytest.mark.long(pytest.mark.timeout(1_800)(LongChanging.TestCase))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path, 11, files=20)


def test_lost_events_lead_to_a_look_at_everything(tree: Tree, tmp_path: Path) -> None:
    held = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    with watched(tree.root, tmp_path / "index.db") as index:
        with index._keeper.freshness._lock:  # so that nobody drains
            for _ in range(held // 2 + 10):
                (tree.root / "flood").touch()
                (tree.root / "flood").unlink()
            (tree.root / "made" / "below").mkdir(parents=True)
            (tree.root / "made" / "below" / "one.txt").write_text(tree.text())
        assert found(index, tree.token) == holding(tree.root, tree.token)
        (tree.root / "made" / "below" / "two.py").write_text(tree.text())
        assert found(index, tree.token) == {b"made/below/two.py": holding(tree.root, tree.token)[b"made/below/two.py"]}


def test_a_renamed_folder_above_the_root_is_noticed(tree: Tree, tmp_path: Path) -> None:
    with watched(tree.root, tmp_path / "index.db") as index:
        aside = tree.above.with_name("aside")
        tree.above.rename(aside)
        with pytest.raises(NotFound, match="not there any more"):
            index.search(SearchRequest("stands"))
        shutil.copytree(aside, tree.above)
        (tree.root / "copied.txt").write_text(tree.text())
        assert found(index, tree.token) == holding(tree.root, tree.token)
        assert found(index, "stands") == holding(tree.root, "stands")


def test_a_scope_is_answered_from_the_same_knowledge(tree: Tree, tmp_path: Path) -> None:
    (tree.root / "src").mkdir(exist_ok=True)
    (tree.root / "src" / "one.txt").write_text("stands\n")
    (tree.root / "src-2").mkdir()
    (tree.root / "src-2" / "one.txt").write_text("stands\n")
    with watched(tree.root, tmp_path / "index.db") as index:
        (tree.root / "src" / "new.txt").write_text("stands\n")
        everything = holding(tree.root, "stands")
        below = {path: lines for path, lines in everything.items() if path.startswith(b"src/")}
        assert found(index, "stands", RelPath(b"src")) == below
        assert found(index, "stands", RelPath(b"src/new.txt")) == {b"src/new.txt": [1]}
        with pytest.raises(NotFound):
            found(index, "stands", RelPath(b"src/nothing"))


def test_an_ignored_file_is_found_when_it_is_named(tree: Tree, tmp_path: Path) -> None:
    (tree.root / ".ignore").write_text("left\n")
    (tree.root / "left").mkdir()
    (tree.root / "left" / "one.txt").write_text("stands\n")
    with watched(tree.root, tmp_path / "index.db") as index:
        assert b"left/one.txt" not in found(index, "stands")
        assert found(index, "stands", RelPath(b"left/one.txt")) == {b"left/one.txt": [1]}


def test_rules_outside_the_root_judge_it_anew_when_they_change(tmp_path: Path) -> None:
    above = tmp_path / "repository"
    root = above / "root"
    (root / "deep").mkdir(parents=True)
    (above / ".git" / "info").mkdir(parents=True)
    for name in ("one.txt", "deep/two.txt"):
        (root / name).write_text("stands\n")
    with watched(root, tmp_path / "index.db") as index:
        assert set(found(index, "stands")) == {b"one.txt", b"deep/two.txt"}
        (above / ".git" / "info" / "exclude").write_text("one.txt\n")
        assert set(found(index, "stands")) == {b"deep/two.txt"}
        (above / ".gitignore").write_text("two.txt\n")
        assert set(found(index, "stands")) == set()
        shutil.rmtree(above / ".git")
        assert set(found(index, "stands")) == {b"one.txt", b"deep/two.txt"}


def test_a_folder_that_may_not_be_read_is_named_until_it_may(tree: Tree, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    closed = tree.root / "closed"
    closed.mkdir()
    (closed / "one.txt").write_text("stands\n")
    with watched(tree.root, tmp_path / "index.db") as index:
        closed.chmod(0)
        assert any("closed" in note for note in index.search(SearchRequest("stands")).coverage.notes)
        closed.chmod(0o700)
        assert b"closed/one.txt" in found(index, "stands")


def test_subscribers_are_told_which_paths_changed(tree: Tree, tmp_path: Path) -> None:
    with watched(tree.root, tmp_path / "index.db") as index:
        told: queue.Queue[frozenset[RelPath]] = queue.Queue()
        end = index.on_change(told.put)
        (tree.root / "one.txt").unlink(missing_ok=True)
        (tree.root / "one.txt").write_text("new\n")
        assert told.get(timeout=SOON) == {b"one.txt"}
        (tree.root / "asked.txt").write_text("new\n")
        found(index, "new")  # takes the event in before the thread behind does
        assert told.get(timeout=SOON) == {b"asked.txt"}
        end()
        others: queue.Queue[frozenset[RelPath]] = queue.Queue()
        index.on_change(others.put)
        (tree.root / "two.txt").write_text("new\n")
        assert others.get(timeout=SOON) == {b"two.txt"}
        assert told.empty()


def test_changes_are_indexed_without_a_question(tree: Tree, tmp_path: Path) -> None:
    with watched(tree.root, tmp_path / "index.db") as index:
        (tree.root / "burst").mkdir()
        for at in range(50):
            (tree.root / "burst" / f"{at}.txt").write_text("x\n")
        files = sum(len(names) for _, _, names in os.walk(tree.root))
        until(lambda: (state := index.status()).files == files and not state.pending, "it was not indexed")


def test_what_is_asked_for_while_a_build_ends_is_waited_for(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, end = threading.Event(), threading.Event()
    with Index(tree.root, tmp_path / "index.db", LIMITS) as index:
        kept = index._keeper
        build = kept._build_once

        def last_build(*, nice: int) -> None:
            begun.set()
            end.wait(SOON)
            build(nice=nice)

        def ask() -> None:
            monkeypatch.setattr(keeper, "give_back", lambda: None)
            monkeypatch.setattr(kept, "_build_once", last_build)
            kept._ask_for_build()

        monkeypatch.setattr(keeper, "give_back", ask)
        index.start()
        assert begun.wait(SOON)
        assert not index.wait(0)
        end.set()
        assert index.wait(SOON)


def test_nothing_is_written_while_nothing_happens(tree: Tree, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with watched(tree.root, state / "index.db") as index:
        (tree.root / "last.txt").write_text("x\n")
        found(index, "x")
        until(lambda: not index.status().pending and index.wait(SOON), "it was not indexed")
        freshness = index._keeper.freshness
        asked = []
        freshness._index_changes = lambda: asked.append(1)
        before = {path.name: path.stat().st_mtime_ns for path in state.iterdir()}
        for _ in range(3):
            found(index, "stands")
            freshness._watcher.wake()  # type: ignore[union-attr]
        assert {path.name: path.stat().st_mtime_ns for path in state.iterdir()} == before
        assert asked == []


OFTEN = replace(LIMITS, reconcile_seconds=0.05, walk_share=1.0)


def test_a_change_that_no_event_tells_is_found_by_a_walk(tree: Tree, tmp_path: Path) -> None:
    quiet = tree.root / "quiet" / "one.txt"
    quiet.parent.mkdir()
    quiet.write_text("long before\n")
    with watched(tree.root, tmp_path / "index.db", OFTEN) as index:
        told: queue.Queue[frozenset[RelPath]] = queue.Queue()
        index.on_change(told.put)
        freshness = index._keeper.freshness
        with freshness._lock:
            freshness._watcher.forget([RelPath(b"quiet")])  # type: ignore[union-attr]
        quiet.write_text(tree.text())
        assert told.get(timeout=SOON) == {b"quiet/one.txt"}
        assert freshness.reconciled == 1
        assert found(index, tree.token) == {b"quiet/one.txt": holding(tree.root, tree.token)[b"quiet/one.txt"]}
        until(lambda: not index.status().pending and index.wait(SOON), "it was not indexed")


def test_a_walk_that_finds_nothing_writes_nothing_and_tells_nobody(tree: Tree, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with watched(tree.root, state / "index.db", OFTEN) as index:
        told: queue.Queue[frozenset[RelPath]] = queue.Queue()
        index.on_change(told.put)
        before = {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in state.iterdir()}
        freshness = index._keeper.freshness
        walked = freshness.reconciliations
        until(lambda: freshness.reconciliations >= walked + 3, "the root is not walked")
        assert {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in state.iterdir()} == before
        assert told.empty()
        assert freshness.reconciled == 0


def test_walks_are_as_far_apart_as_their_share_of_the_time_asks() -> None:
    for took, wanted, share, apart in ((0.5, 600, 0.01, 600), (9.0, 600, 0.01, 900), (9.0, 600, 0.5, 600)):
        limits = Limits(reconcile_seconds=wanted, walk_share=share)
        assert pause(wanted, took, limits) == apart


@pytest.mark.parametrize("place", ["a [folder]/deep/index.db", "index.db"])
def test_its_own_state_inside_the_root_triggers_nothing(tree: Tree, place: str) -> None:
    told: queue.Queue[frozenset[RelPath]] = queue.Queue()
    with watched(tree.root, tree.root / place) as index:
        index.on_change(told.put)
        (tree.root / "one-more.txt").write_text("x\n")
        assert told.get(timeout=SOON) == {b"one-more.txt"}
        until(lambda: not index.status().pending and index.wait(SOON), "it was not indexed")
        own = (b"a [folder]/deep/", b"index.")
        others = [path for path in holding(tree.root, "") if not path.startswith(own)]
        assert index.status().files == len(others)
        assert told.empty()


def test_a_root_without_events_is_polled_and_says_why(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linedex.files.mounts._REMOTE", re.compile(rb".*"))  # there is no remote mount to test on
    with Index(tree.root, tmp_path / "index.db", LIMITS) as index:
        index.start()
        assert index.wait(SOON)
        state = index.status()
        assert state.freshness == "polling: stat at each query"
        assert any("whose changes raise no events" in problem for problem in state.problems)
        tree.create()
        assert found(index, tree.token) == holding(tree.root, tree.token)


def test_a_mount_that_raises_no_events_is_looked_at_for_each_question_and_said(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = tree.root / "served"
    served.mkdir()
    table = tmp_path / "mountinfo"
    table.write_text(
        "21 1 8:1 / / rw - ext4 /dev/root rw\n" + f"30 21 0:40 / {served} rw - fuse.sshfs away:/ rw\n",
    )
    monkeypatch.setattr("linedex.files.mounts._TABLE", str(table))
    with watched(tree.root, tmp_path / "index.db") as index:
        (problem,) = index.status().problems
        assert problem == (
            "This part is looked at anew at each query: `served` is on a fuse.sshfs file system, "
            "whose changes raise no events."
        )
        freshness = index._keeper.freshness
        with freshness._lock:
            freshness._watcher.forget([RelPath(b"served")])  # type: ignore[union-attr]
        (served / "one.txt").write_text(tree.text())
        assert found(index, tree.token) == {b"served/one.txt": holding(tree.root, tree.token)[b"served/one.txt"]}


_LIMITED = """
import sys
import threading
import time
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from linedex.answers import SearchRequest
from linedex.index import Index
from linedex.limits import Limits
root, limit = Path(sys.argv[1]), Path("/proc/sys/user/max_inotify_watches")
limit.write_text("5")
limits = Limits(workers=0, reconcile_seconds=0.1, poll_seconds=0.05, walk_share=1.0)
with Index(root, Path(sys.argv[2]), limits) as index:
    index.start()
    assert index.wait(20)
    (root / "d7" / "late.txt").write_text("stands\\n")
    print(len(index.search(SearchRequest("stands")).files))
    state = index.status()
    print(state.freshness)
    print(*state.problems)
    limit.write_text("1000")
    end = time.monotonic() + 20
    while not index.status().freshness.startswith("at once"):
        assert time.monotonic() < end
        threading.Event().wait(0.01)
    print(index.status().freshness, *index.status().problems)
    (root / "d7" / "later.txt").write_text("stands\\n")
    print(len(index.search(SearchRequest("stands")).files))
"""


def test_beyond_the_limit_of_watches_everything_is_found_by_polling_until_it_is_raised(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for at in range(10):
        (root / f"d{at}").mkdir(parents=True)
        (root / f"d{at}" / "one.txt").write_text("stands\n")
    package = Path(__file__).parents[3] / "indexer"
    command = [sys.executable, "-c", _LIMITED, str(root), str(tmp_path / "state" / "index.db"), str(package)]
    probe = "echo 5 > /proc/sys/user/max_inotify_watches"
    if subprocess.run(["unshare", "-Ur", "sh", "-c", probe], capture_output=True, check=False).returncode:
        pytest.skip("this system allows no user namespace with a limit of its own")
    ran = subprocess.run(["unshare", "-Ur", *command], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    hits, freshness, problems, later, later_hits = ran.stdout.splitlines()
    assert hits == "11"
    assert freshness == "polling: stat at each query"
    assert "limit of watched folders is reached" in problems
    assert later == "at once: inotify watches 11 folders"
    assert later_hits == "12"


def test_a_file_left_out_by_a_rule_stays_so_when_it_is_met_by_another_name(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "one.tmp").write_text("here t1x stands\n")
    with watched(root, tmp_path / "index.db") as index:
        os.link(root / "one.tmp", root / "sub" / "two.txt")
        (root / ".ignore").write_text("*.tmp\n")
        assert found(index, "t1x") == {b"sub/two.txt": [1]}
        with (root / "sub" / "two.txt").open("a") as file:
            file.write("here t1x stands\n")
        assert found(index, "t1x") == {b"sub/two.txt": [1, 2]}


def test_while_a_root_is_first_looked_at_only_questions_about_small_parts_walk_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    for name in ("few/a.txt", "many/b.txt", "many/c.txt", "many/d.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("needle\n")
    with Index(root, tmp_path / "index.db", LIMITS) as index:
        index.build()
    scan, look = TrackedTree.scan, standpoint.look
    scanning, go_on, waiting = threading.Event(), threading.Event(), threading.Event()
    walked: list[bytes] = []

    def held_up(tree: TrackedTree) -> None:
        scanning.set()
        assert go_on.wait(SOON)
        scan(tree)

    def noted(root: Root, settings: WalkSettings, catalogue: Catalogue, scope: RelPath) -> Look:
        walked.append(scope)
        return look(root, settings, catalogue, scope)

    monkeypatch.setattr(TrackedTree, "scan", held_up)
    monkeypatch.setattr(standpoint, "look", noted)
    with Index(root, tmp_path / "index.db", LIMITS) as index:
        index.start()
        assert scanning.wait(SOON)
        assert list(found(index, "needle", RelPath(b"few"))) == [b"few/a.txt"]
        begun, told = index._keeper.freshness._begun, []

        def noted_wait() -> bool:
            waiting.set()
            return threading.Event.wait(begun)

        def ask() -> None:
            told.extend(len(found(index, "needle", RelPath(scope))) for scope in (b"", b"many"))

        monkeypatch.setattr(begun, "wait", noted_wait)
        asking = threading.Thread(target=ask)
        asking.start()
        assert waiting.wait(SOON)
        go_on.set()
        asking.join(SOON)
    assert told == [4, 3]
    assert walked == [b"few"]
