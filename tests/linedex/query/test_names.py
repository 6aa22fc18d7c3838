from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from linedex.answers import SymbolAnswer, SymbolRequest
from linedex.errors import BadArgument
from linedex.model import (
    ByteOffset,
    Column,
    FileId,
    FileState,
    Fingerprint,
    LineNumber,
    Newline,
    RelPath,
    Symbol,
    SymbolKind,
    TextFormat,
)
from linedex.query import names
from linedex.query.names import find_symbol
from linedex.store import files, name_runs
from linedex.store.catalogue import Catalogue, path_key
from linedex.store.database import Sidecar
from linedex.store.symbol_pack import packed
from linedex.store.symbol_writer import SymbolWriter

K = SymbolKind
FILES: dict[str, tuple[str, tuple[tuple[str, str, SymbolKind], ...]]] = {
    ".venv/lib.py": ("python", (("total", "", K.FUNCTION),)),
    "a/cart.py": (
        "python",
        (("Cart", "", K.CLASS), ("total", "Cart", K.METHOD), ("getTheUser", "Cart", K.METHOD), ("x", "Cart", K.METHOD)),
    ),
    "a/order.go": ("go", (("total", "*Order", K.METHOD), ("Total", "", K.FUNCTION), ("totals", "", K.FUNCTION))),
    "b/bill.cc": ("cpp", (("total", "shop.Bill", K.METHOD), ("subtotal", "", K.FUNCTION), ("total", "", K.FUNCTION))),
    "b/user.py": ("python", (("get_the_user", "", K.FUNCTION), ("get_user", "", K.FUNCTION), ("gtu", "", K.VARIABLE))),
}


class Shop:
    """A sidecar with the symbols of `FILES`."""

    def __init__(self, folder: Path) -> None:
        self.sidecar = Sidecar(folder / "index.db", "/shop")
        folders = {b""} | {path_key(name.rpartition("/")[0].encode()) for name in FILES}
        mark = Fingerprint(1, 1, 10, 1, 1, b"12345678", b"12345678")
        with self.sidecar.transaction() as db:
            catalogue = files.add(
                db,
                Catalogue.empty(),
                [files.FolderRow(key, 0, 0) for key in folders],
                [files.FileRow(path_key(name.encode()), mark, 99) for name in FILES],
            )
            texts = []
            writer = SymbolWriter(db)
            spelling = TextFormat("utf-8", 0, Newline.LF, final_newline=True)
            for name, (language, _) in FILES.items():
                file = FileId(int(catalogue.facts["id"][catalogue.index(name.encode())]))
                texts.append(
                    files.TextFacts(file, mark, 99, FileState.INDEXED, "", spelling, language, 50, outlined=True)
                )
            catalogue = catalogue.with_facts(files.set_text(db, catalogue, texts))
            for name, (_, symbols) in FILES.items():
                place = catalogue.index(name.encode())
                rows = packed([symbol(at, *one) for at, one in enumerate(symbols)])
                (state,) = writer.put([(FileId(int(catalogue.facts["id"][place])), rows, "")])
                catalogue.facts["symbol_state"][place] = state
        self.catalogue = catalogue
        self.current = np.ones(len(catalogue), np.bool_)

    def find(self, name: str, **how: object) -> SymbolAnswer:
        with self.sidecar.reading() as db:
            return find_symbol(db, self.catalogue, SymbolRequest(name, **how), self.current, read_line)  # type: ignore[arg-type]


def symbol(at: int, name: str, container: str, kind: SymbolKind) -> Symbol:
    line, none = LineNumber(at * 10 + 1), ByteOffset(0)
    return Symbol(name, kind, container, -1, line, LineNumber(at * 10 + 9), none, none, line, Column(5), none, "")


def read_line(path: RelPath, line: LineNumber) -> str:
    return f"\t{path.decode()}   line {line}"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.sidecar.close()


def named(answer: SymbolAnswer) -> Sequence[str]:
    return [f"{hit.path.decode()}:{hit.symbol.path}" for hit in answer.hits]


def test_ranks_go_from_the_very_name_to_a_part_of_it(shop: Shop) -> None:
    answer = shop.find("total")
    assert named(answer) == [
        "a/cart.py:Cart.total",
        "a/order.go:*Order.total",
        "b/bill.cc:shop.Bill.total",
        "b/bill.cc:total",
        "a/order.go:Total",
        "a/order.go:totals",
        "b/bill.cc:subtotal",
    ]
    assert (answer.total, answer.pending, answer.note) == (7, 0, "")


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("Cart.total", ["a/cart.py:Cart.total"]),
        ("cart.total", ["a/cart.py:Cart.total"]),
        ("Bill::total", ["b/bill.cc:shop.Bill.total"]),
        ("shop::Bill::total", ["b/bill.cc:shop.Bill.total"]),
        ("Order.total", ["a/order.go:*Order.total"]),
        ("Cart#getThe", ["a/cart.py:Cart.getTheUser"]),
        ("ill.total", []),
    ],
)
def test_a_container_is_asked_for_by_its_whole_names(shop: Shop, typed: str, wanted: list[str]) -> None:
    assert named(shop.find(typed)) == wanted


@pytest.mark.parametrize("typed", ["gTU", "getTU", "GTUs"])
def test_humps_find_names_of_both_styles(shop: Shop, typed: str) -> None:
    humped = [hit for hit in named(shop.find(typed)) if not hit.endswith(":gtu")]
    assert humped == ["a/cart.py:Cart.getTheUser", "b/user.py:get_the_user"]


def test_initials_come_after_the_name_itself(shop: Shop) -> None:
    assert named(shop.find("gtu")) == ["b/user.py:gtu", "a/cart.py:Cart.getTheUser", "b/user.py:get_the_user"]
    assert named(shop.find("gu")) == ["b/user.py:get_user"]


def test_kind_scope_and_language_narrow_the_answer(shop: Shop) -> None:
    assert named(shop.find("total", kind=K.FUNCTION, scope=RelPath(b"b"))) == ["b/bill.cc:total", "b/bill.cc:subtotal"]
    assert named(shop.find("user", language="py", kind=K.METHOD)) == ["a/cart.py:Cart.getTheUser"]
    assert named(shop.find("total", scope=RelPath(b"a/cart.py"))) == ["a/cart.py:Cart.total"]
    with pytest.raises(BadArgument):
        shop.find("total", language="klingon")


def test_hidden_folders_are_asked_only_when_the_scope_is_hidden(shop: Shop) -> None:
    assert named(shop.find("total", scope=RelPath(b".venv"))) == [".venv/lib.py:total"]


def test_files_that_changed_are_counted_and_not_answered(shop: Shop) -> None:
    shop.current[shop.catalogue.index(b"a/cart.py")] = False
    answer = shop.find("total")
    assert "a/cart.py:Cart.total" not in named(answer)
    assert answer.pending == 1


def test_files_whose_symbols_are_still_to_come_are_counted(shop: Shop) -> None:
    shop.catalogue.facts["symbol_state"][shop.catalogue.index(b"b/user.py")] = FileState.PENDING
    assert shop.find("total").pending == 1
    assert shop.find("total", scope=RelPath(b"a")).pending == 0
    assert shop.find("gtu").total == 1


def test_symbols_of_files_the_catalogue_does_not_have_are_not_answered(shop: Shop) -> None:
    with shop.sidecar.reading() as db:
        for catalogue in (Catalogue.empty(), shop.catalogue.without(shop.catalogue.facts["id"][1:].tolist())):
            current = np.ones(len(catalogue), np.bool_)
            assert find_symbol(db, catalogue, SymbolRequest("total"), current, read_line).total == 0


def test_the_page_is_cut_and_the_total_is_not(shop: Shop) -> None:
    answer = shop.find("total", max_hits=2)
    assert (len(answer.hits), answer.total) == (2, 7)


def test_behind_a_page_of_the_very_name_few_others_are_counted_and_that_is_said(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop.sidecar.transaction() as db:
        name_runs.write_waiting(db, 1)
    whole = named(shop.find("total"))
    monkeypatch.setattr(names, "_MORE_NAMES", 1)
    for most in range(1, 8):
        answer = shop.find("total", max_hits=most)
        assert named(answer) == whole[:most]
        # four are of the very name
        assert ("very many names are like this" in answer.note) is (most <= 4)
        assert answer.total == 7 or most <= 4


def test_where_few_symbols_are_looked_at_the_page_is_full_nonetheless(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = named(shop.find("total"))
    monkeypatch.setattr(names, "_ENOUGH_SYMBOLS", 1)
    monkeypatch.setattr(names, "_NAMES_AT_ONCE", 1)
    for most in range(1, 8):
        answer = shop.find("total", max_hits=most)
        assert named(answer) == whole[:most]
        assert ("very many" in answer.note) is (answer.total < 7)


def test_signatures_are_the_lines_as_they_are_now(shop: Shop) -> None:
    assert shop.find("getTheUser").hits[0].symbol.signature == "a/cart.py line 21"


def test_an_empty_name_is_refused(shop: Shop) -> None:
    for name in ("", "  "):
        with pytest.raises(BadArgument):
            shop.find(name)
