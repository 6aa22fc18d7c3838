"""Changes that other tools miss or hear wrongly, each as a public bug report tells it, while the folder is watched.

Every question is asked twice: straight after the change, and again when the index has learned of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Served

SOON = 30.0
Found = list[tuple[str, int, str]]
Ask = Callable[[str], Found]


@pytest.fixture
def ask(served: Served) -> Ask:
    """Search the served folder, whose index is kept up to date in the background from the first question on."""

    def once(pattern: str) -> Found:
        answer = served.fields("search_directory", absolute_dir_path=".", pattern=pattern, context_lines=0)
        assert answer["coverage"]["verdict"] == "complete"
        assert not answer["cursor"]
        return [
            (file["file"], hit["line_number"], hit["match"]) for file in answer["results"] for hit in file["matches"]
        ]

    def twice(pattern: str) -> Found:
        served.workspace.start()
        at_once = once(pattern)
        for index in served.workspace.indexes:
            assert index.wait(SOON)
        assert once(pattern) == at_once
        return at_once

    return twice


def files(found: Found) -> list[str]:
    return [file for file, _, _ in found]


def total(served: Served, pattern: str) -> int:
    """Return how many places hold a pattern."""
    answer = served.fields("search_directory", absolute_dir_path=".", pattern=pattern, output_mode="count")
    assert answer["coverage"]["verdict"] == "complete"
    return int(answer["total_matches"])


def test_w01_files_in_folders_made_at_once_are_found(served: Served, ask: Ask) -> None:
    """parcel-bundler/watcher#243."""
    (served.folder / "seed.txt").write_text("seed\n")
    assert files(ask("hit")) == []
    (served.folder / "n/e/s/t").mkdir(parents=True)
    (served.folder / "n/e/s/t/f.txt").write_text("hit\n")
    (served.folder / "n/g.txt").write_text("hit\n")
    assert files(ask("hit")) == ["n/e/s/t/f.txt", "n/g.txt"]


def test_w02_a_filled_folder_moved_in_and_out_takes_its_files_along(served: Served, ask: Ask) -> None:
    """atom/watcher#35."""
    stage = served.folder / "stage"
    (stage / "pkg/a").mkdir(parents=True)
    (stage / "pkg/a/1.txt").write_text("hit\n")
    (stage / "pkg/2.txt").write_text("hit\n")
    root = served.folder / "root"
    root.mkdir()
    (root / "0.txt").write_text("hit\n")
    served.serve("root")
    assert files(ask("hit")) == ["0.txt"]
    (stage / "pkg").rename(root / "pkg")
    assert files(ask("hit")) == ["0.txt", "pkg/2.txt", "pkg/a/1.txt"]
    (root / "pkg").rename(stage / "pkg")
    assert files(ask("hit")) == ["0.txt"]


def test_w03_nothing_keeps_the_old_name_of_a_folder(served: Served, ask: Ask) -> None:
    """gorakhargosh/watchdog#24."""
    (served.folder / "first/x").mkdir(parents=True)
    (served.folder / "first/x/f.txt").write_text("hit v1\n")
    assert files(ask("hit")) == ["first/x/f.txt"]
    (served.folder / "first").rename(served.folder / "second")
    assert files(ask("hit")) == ["second/x/f.txt"]
    (served.folder / "second/x/f.txt").write_text("hit v2\n")
    assert ask("hit v") == [("second/x/f.txt", 1, "hit v2")]
    assert "first" not in served.text("list_directory", absolute_dir_path=".", max_depth=3)
    assert "first" not in served.text("find_files", name="f.txt")
    assert "first" in served.refusal("get_overview", absolute_file_path="first/x/f.txt")


def test_w05_a_burst_of_three_thousand_files_leaves_none_unknown(served: Served, ask: Ask) -> None:
    """gorakhargosh/watchdog#654."""
    (served.folder / "seed.txt").write_text("seed\n")
    assert files(ask("burst")) == []
    burst = served.folder / "burst"
    burst.mkdir()
    for at in range(3_000):
        (burst / f"{at}.txt").write_text(f"burst token {at}\n")
    for at in range(0, 3_000, 3):
        (burst / f"{at}.txt").unlink()
    for at in range(1, 3_000, 3):
        (burst / f"{at}.txt").write_text(f"burst second {at}\n")
    for _ in range(2):
        assert [total(served, f"burst {word}") for word in ("token", "second")] == [1_000, 1_000]
        assert files(ask("burst token 2999")) == ["burst/2999.txt"]


def test_w06_ignore_files_count_from_the_moment_they_are_written(served: Served, ask: Ask) -> None:
    """microsoft/tgrep#104."""
    (served.folder / ".git").mkdir()
    (served.folder / "gen").mkdir()
    (served.folder / ".gitignore").write_text("")
    (served.folder / "gen/out.txt").write_text("hit\n")
    (served.folder / "src.txt").write_text("hit\n")
    assert files(ask("hit")) == ["gen/out.txt", "src.txt"]
    (served.folder / ".gitignore").write_text("gen/\n")
    assert files(ask("hit")) == ["src.txt"]
    (served.folder / "gen/late.txt").write_text("hit\n")
    assert files(ask("hit")) == ["src.txt"]
    (served.folder / ".gitignore").write_text("")
    assert files(ask("hit")) == ["gen/late.txt", "gen/out.txt", "src.txt"]


def test_g01_a_log_cut_in_place_begins_anew(served: Served, ask: Ask) -> None:
    """tstack/lnav#104."""
    log = served.folder / "app.log"
    log.write_text("".join(f"old {at}\n" for at in range(1, 1_001)))
    assert (ask("old 1000"), total(served, "old")) == ([("app.log", 1_000, "old 1000")], 1_000)
    with log.open("r+") as same_inode:
        same_inode.truncate(0)
    assert ask("old") == []
    with log.open("a") as same_inode:
        same_inode.write("new 1\nnew 2\nnew 3\n")
    assert (ask("old"), len(ask("new"))) == ([], 3)
    assert served.lines("app.log", offset=2, limit=1) == ["new 2"]
    assert "3 lines" in served.refusal("read_content", absolute_file_path="app.log", offset=4)


def test_g03_a_log_rotated_by_renaming_is_two_logs(served: Served, ask: Ask) -> None:
    """papertrail/remote_syslog2#151."""
    log = served.folder / "app.log"
    log.write_text("".join(f"gen1 {at}\n" for at in range(1, 6)))
    assert len(ask("gen1")) == 5
    log.rename(served.folder / "app.log.1")
    log.write_text("gen2 1\ngen2 2\n")
    assert (set(files(ask("gen1"))), set(files(ask("gen2")))) == ({"app.log.1"}, {"app.log"})
    with log.open("a") as now:
        now.write("gen2 3\n")
    with (served.folder / "app.log.1").open("a") as former:
        former.write("gen1 6\n")
    assert [(file, line) for file, line, _ in ask("gen1")] == [("app.log.1", line) for line in range(1, 7)]
    assert [(file, line) for file, line, _ in ask("gen2")] == [("app.log", line) for line in range(1, 4)]


def test_g06_a_line_written_in_two_parts_is_one_line(served: Served, ask: Ask) -> None:
    """logstash-plugins/logstash-input-file#151."""
    log = served.folder / "app.log"
    log.write_bytes(b"one\ntwo par")
    assert ask("two par") == [("app.log", 2, "two par")]
    with log.open("ab") as late:
        late.write(b"tial \xe2\x82")
    ask("tial")
    with log.open("ab") as late:
        late.write(b"\xac end\nthree\n")
    assert ask("partial") == [("app.log", 2, "two partial € end")]
    assert served.lines("app.log") == ["one", "two partial € end", "three"]
    assert served.fields("get_overview", absolute_file_path="app.log")["encoding"] == "utf-8"
    (hit,) = served.fields("search_directory", absolute_dir_path=".", pattern="partial", context_lines=0)["results"]
    assert [(one["column"], one["end_column"]) for one in hit["matches"]] == [(5, 12)]
