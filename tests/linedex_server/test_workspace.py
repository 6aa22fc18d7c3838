"""From a path to the index that answers for it."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest

from linedex.answers import SearchRequest
from linedex.errors import BadArgument, LinedexError, NotAFile, NotAFolder, NotFound, OutsideRoots, Unreadable
from linedex.model import RelPath
from linedex_server.config import Settings
from linedex_server.workspace import Workspace, sidecar_path


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("one", "two"):
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "src" / "a.py").write_text(f"{name} = 1\n", encoding="utf-8")
    return tmp_path / "one", tmp_path / "two"


def settings(tmp_path: Path, *roots: Path | str) -> Settings:
    return Settings(state_dir=tmp_path / "state", allowed_roots=tuple(map(str, roots)), workers=1)


def test_each_path_leads_to_the_index_of_its_root(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    with Workspace(settings(tmp_path, *folders)) as workspace:
        for folder in folders:
            index, path = workspace.at(str(folder / "src" / ".." / "src" / "a.py"))
            assert index.root == folder
            assert path == b"src/a.py"


def test_an_alias_of_a_root_shares_its_index(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    (tmp_path / "alias").symlink_to(folders[0])
    with Workspace(settings(tmp_path, tmp_path / "alias", folders[0])) as workspace:
        assert workspace.roots == (folders[0],)
        assert workspace.at(str(tmp_path / "alias" / "src" / "a.py")) == (workspace.indexes[0], b"src/a.py")


def test_a_root_inside_another_belongs_to_the_index_of_that_one(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    deeper = folders[0] / "src" / "deeper"
    deeper.mkdir()
    with Workspace(settings(tmp_path, deeper, folders[0] / "src", folders[0], folders[1])) as workspace:
        assert [index.root for index in workspace.indexes] == [folders[0], folders[1]]
        assert workspace.at(str(folders[0] / "src" / "a.py")) == (workspace.indexes[0], b"src/a.py")
        assert workspace.at(str(folders[0] / "src")) == (workspace.indexes[0], b"src")
        assert workspace.at(str(deeper)) == (workspace.indexes[0], b"src/deeper")
        assert workspace.at(str(folders[1])) == (workspace.indexes[1], b"")


def test_a_root_that_another_one_leaves_out_has_its_own_index(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    (folders[0] / ".ignore").write_text("src\n")
    (folders[0] / ".hidden").mkdir()
    with Workspace(settings(tmp_path, folders[0], folders[0] / "src", folders[0] / ".hidden")) as workspace:
        assert workspace.at(str(folders[0] / "src" / "a.py")) == (workspace.indexes[1], b"a.py")
        assert workspace.at(str(folders[0] / ".hidden")) == (workspace.indexes[2], b"")


def test_the_sidecar_of_a_root_is_named_by_its_real_path(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    digest = hashlib.sha256(os.fsencode(folders[0])).hexdigest()[:16]
    expected = tmp_path / "state" / "indexes" / digest / "index.db"
    assert sidecar_path(tmp_path / "state", folders[0]) == expected
    with Workspace(settings(tmp_path, folders[0])) as workspace:
        workspace.indexes[0].build()
    assert expected.exists()


def test_state_is_readable_by_its_owner_only(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    with Workspace(settings(tmp_path, folders[0])) as workspace:
        workspace.indexes[0].build()
    for path in ((tmp_path / "state"), *(tmp_path / "state").rglob("*")):
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_a_state_folder_that_cannot_be_made_is_an_error_that_names_the_setting(
    tmp_path: Path, folders: tuple[Path, Path]
) -> None:
    (tmp_path / "state").write_text("a file", encoding="utf-8")
    with pytest.raises(Unreadable) as caught:
        Workspace(settings(tmp_path, folders[0]))
    assert "LINEDEX_STATE_DIR" in caught.value.hint


def test_without_a_root_there_is_nothing_to_serve(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="No folder"):
        Workspace(settings(tmp_path))


@pytest.mark.parametrize("missing", ["absent", "one/src/a.py"])
def test_a_root_must_be_a_folder(tmp_path: Path, folders: tuple[Path, Path], missing: str) -> None:
    with pytest.raises((NotFound, NotAFolder), match=missing):
        Workspace(settings(tmp_path, tmp_path / missing))


def test_relative_paths_count_from_the_working_folder_when_it_lies_in_a_root(
    tmp_path: Path, folders: tuple[Path, Path]
) -> None:
    with Workspace(settings(tmp_path, *folders), base=folders[1] / "src") as workspace:
        index, path = workspace.at("a.py")
        assert (index.root, path) == (folders[1], b"src/a.py")


def test_relative_paths_count_from_the_first_root_when_it_does_not(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    with Workspace(settings(tmp_path, *folders), base=tmp_path) as workspace:
        index, path = workspace.at("src/a.py")
        assert (index.root, path) == (folders[0], b"src/a.py")


@pytest.mark.parametrize("spelling", ["..", "../two-suffix", "/", "/etc/passwd", "~"])
def test_nothing_outside_is_reached(tmp_path: Path, folders: tuple[Path, Path], spelling: str) -> None:
    (tmp_path / "two-suffix").mkdir()
    with Workspace(settings(tmp_path, folders[1])) as workspace, pytest.raises(OutsideRoots):
        workspace.at(spelling)


def test_a_link_that_leads_out_is_refused(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    (folders[0] / "out").symlink_to(folders[1] / "src" / "a.py")
    with Workspace(settings(tmp_path, folders[0])) as workspace, pytest.raises(OutsideRoots):
        workspace.at("out")


@pytest.mark.parametrize("name", [b"plain.txt", b"bad\xff.txt", b"a\nb", b"back\\slash", b"\\x41", b" blank ", b"~"])
def test_a_name_in_an_answer_leads_back_to_its_file(tmp_path: Path, folders: tuple[Path, Path], name: bytes) -> None:
    for folder in folders:
        (folder / os.fsdecode(name)).write_text("x", encoding="utf-8")
    with Workspace(settings(tmp_path, *folders)) as workspace:
        for index in workspace.indexes:
            shown = workspace.naming(index)(RelPath(name))
            shown.encode()
            assert workspace.at(shown) == (index, name)


def test_names_are_relative_below_the_base_and_absolute_elsewhere(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    with Workspace(settings(tmp_path, *folders), base=folders[0]) as workspace:
        first, second = (workspace.naming(index) for index in workspace.indexes)
        assert (first(RelPath(b"src/a.py")), first(RelPath(b""))) == ("src/a.py", ".")
        assert (second(RelPath(b"src/a.py")), second(RelPath(b""))) == (f"{folders[1]}/src/a.py", str(folders[1]))


def test_files_and_folders_are_told_apart(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    with Workspace(settings(tmp_path, folders[0])) as workspace:
        assert workspace.file("src/a.py")[1] == b"src/a.py"
        assert workspace.folder("src")[1] == b"src"
        with pytest.raises(NotAFile):
            workspace.file("src")
        with pytest.raises(NotAFolder):
            workspace.folder("src/a.py")


def test_a_lifted_restriction_reaches_files_outside_every_root(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    with Workspace(settings(tmp_path, folders[0], "*")) as workspace:
        outside = folders[1] / "src" / "a.py"
        index, path = workspace.at(str(outside))
        assert index not in workspace.indexes
        assert workspace.naming(index)(path) == str(outside)
        assert index.read(path).lines == ("two = 1",)


def test_a_folder_outside_every_root_is_searched_and_listed_when_the_restriction_is_lifted(
    tmp_path: Path, folders: tuple[Path, Path]
) -> None:
    with Workspace(settings(tmp_path, folders[0], "*")) as workspace:
        workspace.start()
        index, path = workspace.folder(str(folders[1]))
        found = index.search(SearchRequest("two", scope=path))
        assert [workspace.naming(index)(one.path) for one in found.files] == [str(folders[1] / "src" / "a.py")]
        assert index.listing(path).total_folders == 1


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"])
def test_what_is_no_path_is_refused(tmp_path: Path, folders: tuple[Path, Path], path: str) -> None:
    with Workspace(settings(tmp_path, folders[0])) as workspace, pytest.raises(LinedexError):
        workspace.at(path)
