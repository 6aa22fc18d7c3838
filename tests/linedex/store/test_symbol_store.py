"""Symbols in the sidecar: what is stored of a file is read back, and names lead to it whatever runs they are in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linedex.model import FileId, LineNumber, StoredSymbol, SymbolKind
from linedex.store import name_blocks, name_grams, name_runs, symbols
from linedex.store.name_blocks import SYMBOL, NamedSymbols, blocks_of, rows_in
from linedex.store.name_grams import blocks_by_gram, grams_of, grams_of_humps, humps
from linedex.store.schema import TABLES
from linedex.store.symbol_names import containers_of, names_equal, names_like, places_named
from linedex.store.symbol_pack import NO_SYMBOLS, packed, unpacked
from linedex.store.symbol_writer import SymbolWriter

WORDS = st.sampled_from(["get", "the", "user", "Cart", "total", "REG", "x", "7", "é", "Straße", "_", "用户"])
NAMES = st.one_of(
    st.lists(WORDS, min_size=1, max_size=3).map("_".join), st.lists(WORDS, min_size=1, max_size=3).map("".join)
)
KINDS = st.sampled_from([SymbolKind.FUNCTION, SymbolKind.MACRO, SymbolKind.CLASS])
HUMPS = st.sampled_from([(), ("g", "t"), ("get", "u"), ("g", "t", "u"), ("user", "cart"), ("t", "7"), ("é", "x")])


@st.composite
def files(draw: st.DrawFn) -> list[StoredSymbol]:
    """Draw the symbols of a file: some inside the one before."""
    found: list[StoredSymbol] = []
    line = 1
    for _ in range(draw(st.integers(0, 6))):
        inside = bool(found) and draw(st.booleans())
        parent = len(found) - 1 if inside else -1
        line = found[-1].start_line + 1 if inside else line + draw(st.integers(1, 9))
        last = found[-1].end_line if inside else line + draw(st.integers(0, 9))
        holder = found[parent].name if inside else ""
        found.append(StoredSymbol(draw(NAMES), draw(KINDS), holder, parent, line, max(line, last), line, 1))
        line = max(line, last)
    return found


def macros(names: list[str]) -> list[StoredSymbol]:
    return [StoredSymbol(name, SymbolKind.MACRO, "", -1, at, at, at, 1) for at, name in enumerate(names, 1)]


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    made = fresh()
    yield made
    made.close()


def fresh() -> apsw.Connection:
    made = apsw.Connection(":memory:")
    made.execute(TABLES)
    return made


def looked_up(
    db: apsw.Connection,
    wanted: str,
    words: tuple[str, ...] = (),
    kind: SymbolKind | None = None,
    most: int = 20_000,
) -> list[tuple[str, int, int, str]]:
    """Return (name, file, ordinal, container) of all symbols whose names may be meant."""
    names = dict(names_like(db, wanted, words, most)[0])
    if not names:
        return []
    found = places_named(db, list(names), kind)
    containers = containers_of(db, list(names))
    rows = zip(*(column.tolist() for column in found), strict=True)
    return sorted((names[name], file, ordinal, containers.get((file, ordinal), "")) for name, file, ordinal in rows)


def fits(name: str, wanted: str) -> bool:
    """Tell by the words of the promise whether a name must be found, humps aside."""
    part = wanted.casefold()
    return name.startswith(wanted) or (len(part.encode()) >= 3 and part in name.casefold())


def fits_humps(name: str, words: tuple[str, ...]) -> bool:
    initials = "".join(word[0] for word in words)
    return len(words) > 1 and humps(name).startswith(initials) and all(word in name.casefold() for word in words)


@given(
    st.lists(files(), min_size=1, max_size=8),
    NAMES | st.sampled_from(["gt", "ge", "use", "STRASSE", "t_u", "户", "REG_", "a\nb"]),
    HUMPS,
    st.none() | KINDS,
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_names_lead_to_all_symbols_they_fit_in_whatever_runs(
    texts: list[list[StoredSymbol]], wanted: str, words: tuple[str, ...], kind: SymbolKind | None, data: st.DataObject
) -> None:
    db = fresh()
    writer = SymbolWriter(db)
    now: dict[int, list[StoredSymbol]] = {}
    for text in texts:
        file = data.draw(st.integers(1, 3))
        now[file] = text
        writer.put([(FileId(file), packed(text), "")])
        if data.draw(st.booleans()):
            name_runs.write_waiting(db, 1)
        if data.draw(st.booleans()):
            writer = SymbolWriter(db)  # as after a restart
        if data.draw(st.booleans()):
            gone = data.draw(st.integers(1, 3))
            symbols.forget(db, [gone])
            now.pop(gone, None)
    every = [
        (one.name, file, ordinal, one.container)
        for file, text in now.items()
        for ordinal, one in enumerate(text)
        if kind in {None, one.kind}
    ]
    found = looked_up(db, wanted, words, kind)
    one_line = "\n" not in wanted  # no name has two
    must = [row for row in every if one_line and (fits(row[0], wanted) or fits_humps(row[0], words))]
    assert set(must) <= set(found) <= set(every)
    equal = names_equal(db, wanted)
    very = places_named(db, equal, kind) if equal else None
    pairs = set() if very is None else set(zip(very.files.tolist(), very.ordinals.tolist(), strict=True))
    last = name_runs.last_set(db)
    in_runs = {file for (file,) in db.execute("SELECT file FROM symbol_sets WHERE id <= ?", (last,))}
    assert pairs == {row[1:3] for row in every if row[0] == wanted and row[1] in in_runs}
    assert len(set(found)) == len(found)
    initials = "".join(word[0] for word in words)
    assert all(
        fits(row[0], wanted) or (len(words) > 1 and humps(row[0]).startswith(initials))
        for row in set(found) - set(must)
    )
    assert symbols.counts(db)[0] == sum(map(len, now.values()))
    db.close()


@given(files())
@settings(max_examples=100, deadline=None)
def test_symbols_of_a_file_are_read_back_and_found_around_lines(text: list[StoredSymbol]) -> None:
    db = fresh()
    SymbolWriter(db).put([(FileId(7), packed(text), "")])
    file = FileId(7)
    told = [
        (s.name, s.kind, s.container, s.parent, s.start_line, s.end_line, s.line, s.column)
        for s in symbols.of_file(db, file)
    ]
    assert told == [tuple(one) for one in text]
    for line in range(1, 30):
        around = symbols.enclosing(db, file, LineNumber(line))
        assert [s.start_line for s in around] == [s.start_line for s in text if s.start_line <= line <= s.end_line]
        assert all(inner.parent == at for at, (_, inner) in enumerate(pairwise(around)))
        before, after = symbols.neighbours(db, file, LineNumber(line))
        assert (before and before.start_line) == max((s.start_line for s in text if s.end_line < line), default=None)
        assert (after and after.start_line) == min((s.start_line for s in text if s.start_line > line), default=None)
    db.close()


def test_a_name_with_very_many_symbols_is_found_whole(db: apsw.Connection) -> None:
    many = 70_000
    SymbolWriter(db).put([(FileId(1), packed(macros(["aa", *["main"] * many, "zz"])), "")])
    name_runs.write_waiting(db, 1)
    assert len(looked_up(db, "main")) == many
    assert [row[0] for row in looked_up(db, "ma")] == ["main"] * many


@pytest.mark.parametrize("size", [1, name_blocks.BLOCK_NAMES - 1, name_blocks.BLOCK_NAMES, name_blocks.BLOCK_NAMES + 1])
def test_every_name_is_found_by_its_start_wherever_it_stands_in_its_block(db: apsw.Connection, size: int) -> None:
    names = [f"name_{at:03}" for at in range(size)]
    SymbolWriter(db).put([(FileId(1), packed(macros(names)), "")])
    name_runs.write_waiting(db, 1)
    for name in names:
        assert [row[0] for row in looked_up(db, name)] == [name]
        assert [row[0] for row in looked_up(db, name[1:])] == [name]
    assert looked_up(db, "name_999") == looked_up(db, "zz") == looked_up(db, "aa") == []


def test_runs_have_no_more_blocks_than_grams_can_tell_apart(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_runs, "MOST_BLOCKS", 2)
    names = [f"name_{at:04}" for at in range(5 * name_blocks.BLOCK_NAMES)]
    SymbolWriter(db).put([(FileId(1), packed(macros(names)), "")])
    name_runs.write_waiting(db, 1)
    assert db.execute("SELECT count(*), sum(symbols) FROM name_runs").fetchall() == [(3, len(names))]
    assert [row[0] for row in looked_up(db, "e_0")] == names
    assert [row[0] for row in looked_up(db, "0300")] == ["name_0300"]


def test_where_very_many_names_are_like_it_the_very_name_is_among_them(
    db: apsw.Connection,
) -> None:
    writer = SymbolWriter(db)
    for file, names in enumerate([[f"mask{at}" for at in range(20)], ["mask", "MASK", "Mask", "unmask"]], 1):
        writer.put([(FileId(file), packed(macros(names)), "")])
        name_runs.write_waiting(db, 1)
    assert {"mask", "MASK", "Mask"} <= {row[0] for row in looked_up(db, "mask", most=5)}
    assert names_like(db, "mask", (), 5)[1] is False
    assert names_like(db, "mask", (), 25)[1] is True


def test_runs_of_a_size_are_merged_and_forget_what_is_gone(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_runs, "LEAST_SYMBOLS", 10)
    monkeypatch.setattr(name_runs, "RUN_SYMBOLS", 1_000)
    writer = SymbolWriter(db)
    for round_ in range(100):
        names = [f"name_{round_}_{at}" for at in range(29)]
        writer.put([(FileId(round_ % 3), packed(macros(names)), "")])
        writer.settle()
    assert db.execute("SELECT count(*) FROM name_runs").get <= 3 * 8
    assert db.execute("SELECT total(symbols) FROM name_runs").get <= 2 * 3 * 29 + 1_000 + 29
    assert db.execute("SELECT count(*) FROM name_blocks WHERE run NOT IN (SELECT id FROM name_runs)").get == 0
    shift = name_grams.GRAM_BITS
    assert db.execute(f"SELECT count(*) FROM name_grams WHERE id >> {shift} NOT IN (SELECT id FROM name_runs)").get == 0
    left = {f"name_{round_}_{at}" for round_ in (97, 98, 99) for at in range(29)}
    assert {row[0] for row in looked_up(db, "name_")} == left == {row[0] for row in looked_up(db, "ame_")}


def test_sets_that_wait_for_a_run_make_one_when_they_are_many(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_runs, "RUN_SYMBOLS", 100)
    monkeypatch.setattr(name_runs, "LEAST_SYMBOLS", 1)
    writer = SymbolWriter(db)
    for file in range(20):
        writer.put([(FileId(file), packed(macros([f"f{file}_{at}" for at in range(30)])), "")])
    assert db.execute("SELECT count(*) FROM name_runs").get == 5
    assert [row[:2] for row in looked_up(db, "9_29")] == [("f19_29", 19), ("f9_29", 9)]
    for file in range(20):  # all names lead nowhere now
        writer.put([(FileId(file), NO_SYMBOLS, "")])
    for _ in range(5):
        writer.settle()
    assert db.execute("SELECT total(symbols) FROM name_runs").get <= 100
    writer = SymbolWriter(db)
    writer.put([(FileId(1), packed(macros(["g"])), "")])
    writer.settle()
    assert (looked_up(db, "9_29"), len(looked_up(db, "g"))) == ([], 1)


def test_what_was_never_committed_leads_nowhere_and_is_written_again(db: apsw.Connection) -> None:
    SymbolWriter(db).put([(FileId(1), packed(macros(["kept_name"])), "")])
    db.execute("BEGIN")
    writer = SymbolWriter(db)
    writer.put([(FileId(1), packed(macros(["lost_name"])), ""), (FileId(2), packed(macros(["two_name"])), "")])
    name_runs.write_waiting(db, 1)
    db.execute("ROLLBACK")
    assert [row[:2] for row in looked_up(db, "name")] == [("kept_name", 1)]
    writer = SymbolWriter(db)
    writer.put([(FileId(2), packed(macros(["two_name"])), "")])
    name_runs.write_waiting(db, 1)
    assert [row[:2] for row in looked_up(db, "name")] == [("kept_name", 1), ("two_name", 2)]


@pytest.mark.parametrize("damage", ["symbol_rows SET data", "name_blocks SET names", "name_blocks SET symbols"])
def test_a_damaged_blob_is_told_as_a_damaged_index(db: apsw.Connection, damage: str) -> None:
    SymbolWriter(db).put([(FileId(1), packed(macros(["one_name"])), "")])
    name_runs.write_waiting(db, 1)
    db.execute(f"UPDATE {damage} = x'0123456789'")
    with pytest.raises(apsw.CorruptError):
        [symbols.symbol_at(db, FileId(file), ordinal) for _, file, ordinal, _ in looked_up(db, "one_name")]


def test_a_name_that_leads_to_no_symbol_is_a_damaged_index(db: apsw.Connection) -> None:
    SymbolWriter(db).put([(FileId(1), packed(macros(["one_name"])), "")])
    for file, ordinal in ((1, 1), (2, 0)):
        with pytest.raises(apsw.CorruptError, match=f"symbol {ordinal} of file {file}"):
            symbols.symbol_at(db, FileId(file), ordinal)


@given(files())
def test_blobs_give_back_what_was_packed(text: list[StoredSymbol]) -> None:
    if not text:
        assert packed(text) == NO_SYMBOLS
        return
    rows = unpacked(packed(text).data)
    assert rows.names == [one.name for one in text]
    assert rows.ends.tolist() == [one.end_line for one in text]


@given(st.lists(st.tuples(NAMES, WORDS | st.just("")), min_size=1, max_size=200))
def test_blocks_give_back_what_was_packed(rows: list[tuple[str, str]]) -> None:
    rows.sort(key=lambda row: row[0])
    symbols = np.array([(9, at, at % 7) for at in range(len(rows))], SYMBOL)
    given_ = NamedSymbols([name for name, _ in rows], [container for _, container in rows], symbols)
    blocks = list(blocks_of(given_))
    back = [rows_in(block.packed, block.symbols, block.containers) for block in blocks]
    assert [name for part in back for name in part.names] == given_.names
    assert [container for part in back for container in part.containers] == given_.containers
    assert np.concatenate([part.symbols for part in back]).tolist() == symbols.tolist()


@given(st.lists(st.lists(NAMES, min_size=1, max_size=5), min_size=1, max_size=6))
def test_a_block_has_the_grams_of_all_parts_and_humps_of_its_names(blocks: list[list[str]]) -> None:
    held: dict[int, set[int]] = {}
    for gram, members in blocks_by_gram((names, [humps(name) for name in names]) for names in blocks):
        assert gram not in held
        numbers = np.frombuffer(members, "<u2").tolist()
        assert numbers == sorted(set(numbers))
        held[gram] = set(numbers)
    for number, names in enumerate(blocks):
        for name in names:
            folded = name.casefold()
            parts = [folded[at : at + 3] for at in range(len(folded) - 2)]
            wanted = [gram for part in parts for gram in grams_of(part).tolist()]
            initials = humps(name)
            for length in range(2, len(initials) + 1):
                wanted += grams_of_humps(initials[:length]).tolist()
            assert all(number in held.get(gram, ()) for gram in wanted)
