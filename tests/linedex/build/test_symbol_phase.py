"""Names lead to the symbols that files have now, whatever happened to the files and whenever a build ended."""

from __future__ import annotations

import tempfile
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linedex.answers import SymbolRequest
from linedex.build.contents import contents
from linedex.index import Index
from linedex.limits import Limits
from linedex.store import name_runs

LIMITS = Limits(workers=0)
FILES = ("a.py", "b.py", "d/c.py", "d/e.c")
WORDS = ("get", "the", "user", "Cart", "MAX")
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("_".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(FILES), st.lists(NAMES, max_size=6)),
        st.tuples(st.just("delete"), st.sampled_from(FILES), st.just([])),
        st.tuples(st.just("rename"), st.sampled_from(FILES), st.sampled_from(FILES)),
    ),
    min_size=1,
    max_size=5,
)


def text_of(file: str, names: list[str]) -> str:
    return "".join(f"int {name}(void) {{ return 1; }}\n" if file.endswith(".c") else f"{name} = 1\n" for name in names)


def take(root: Path, step: tuple[str, str, list[str] | str], now: dict[str, list[str]]) -> None:
    """Take a step on the disk, and in what is remembered of it."""
    action, file, argument = step
    path = root / file
    if action == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text_of(file, list(argument)))
        now[file] = list(argument)
    elif file in now and action == "delete":
        path.unlink()
        del now[file]
    elif file in now and isinstance(argument, str) and Path(file).suffix == Path(argument).suffix:
        (root / argument).parent.mkdir(exist_ok=True)
        path.rename(root / argument)
        now[argument] = now.pop(file)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, min_size=1, max_size=6), st.sampled_from([1, 3, 50]), NAMES | st.sampled_from(["t_u", "ge"]))
def test_names_lead_to_what_a_plain_list_has_after_any_changes(
    rounds: list[list[tuple[str, str, list[str] | str]]], least: int, wanted: str
) -> None:
    now: dict[str, list[str]] = {}
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        patch.setattr(name_runs, "LEAST_SYMBOLS", least)
        patch.setattr(name_runs, "RUN_SYMBOLS", 10 * least)
        patch.setattr(name_runs, "_MERGED", 2)
        root = Path(name) / "root"
        root.mkdir()
        for steps in rounds:
            for step in steps:
                take(root, step, now)
            with Index(root, Path(name) / "kept" / "index.db", LIMITS) as kept:
                kept.build()
                assert kept.check() == ()
                hits = kept.find_symbol(SymbolRequest(wanted, max_hits=1_000)).hits
            found = [(hit.path.decode(), hit.symbol.line, hit.symbol.name) for hit in hits]
            assert len(set(found)) == len(found)
            every = [(file, line, one) for file, names in now.items() for line, one in enumerate(names, 1)]
            must = {row for row in every if row[2].startswith(wanted) or _is_part(wanted, row[2])}
            assert must <= set(found) <= set(every)
            assert all(_is_like(wanted, row[2]) for row in set(found) - must)
        with Index(root, Path(name) / "fresh" / "index.db", LIMITS) as fresh:
            fresh.build()
        assert contents(Path(name) / "kept" / "index.db") == contents(Path(name) / "fresh" / "index.db")


def _is_part(wanted: str, name: str) -> bool:
    return len(wanted) >= 3 and wanted.casefold() in name.casefold()


def _is_like(wanted: str, name: str) -> bool:
    """Tell whether the words of a name begin with the words, or the letters, that are wanted."""
    pieces = wanted.lower().split("_") if "_" in wanted or not wanted.islower() else list(wanted)
    words = name.lower().split("_")
    return len(words) >= len(pieces) and all(word.startswith(piece) for word, piece in zip(words, pieces, strict=False))


def test_a_build_that_ended_before_names_were_settled_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_runs, "LEAST_SYMBOLS", 5)
    root, sidecar = tmp_path / "root", tmp_path / "state" / "index.db"
    root.mkdir()
    (root / "a.py").write_text(text_of("a.py", [f"name_{at}" for at in range(20)]))
    with Index(root, sidecar, LIMITS) as index:
        index.build()
    db = apsw.Connection(str(sidecar))
    for table in ("name_runs", "name_blocks", "name_grams"):
        db.execute(f"DELETE FROM {table}")  # as it stands before the transaction that settles them
    db.close()
    with Index(root, sidecar, LIMITS) as index:
        assert index.find_symbol(SymbolRequest("me_1")).total == 11
        index.build()
        assert index.check() == ()
        assert index.find_symbol(SymbolRequest("me_1")).total == 11
    db = apsw.Connection(str(sidecar), flags=apsw.SQLITE_OPEN_READONLY)
    assert db.execute("SELECT symbols FROM name_runs").get == 20
    db.close()


def test_check_tells_when_names_do_not_lead_to_the_symbols_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_runs, "LEAST_SYMBOLS", 1)
    root, sidecar = tmp_path / "root", tmp_path / "state" / "index.db"
    root.mkdir()
    (root / "a.py").write_text(text_of("a.py", ["one_name", "two_name"]))
    with Index(root, sidecar, LIMITS) as index:
        index.build()
        assert index.check() == ()
        db = apsw.Connection(str(sidecar))
        db.execute("DELETE FROM name_blocks")
        db.close()
        assert index.check() == ("Names do not lead to the symbols that files have (+2 in files).",)
