"""Files whose outline other tools lost, each as a public bug report tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conftest import Served


def outline(served: Served, file: str) -> tuple[list[tuple[str, int, int]], dict[str, Any]]:
    """Return the symbols of a file as (path, first line, last line), and all that its overview says."""
    told = served.fields("get_overview", absolute_file_path=file)
    symbols = [
        (".".join(filter(None, (one["container"], one["name"]))), one["line_number"], one["end_line"])
        for one in told["outline"]
    ]
    return symbols, told


def test_o02_a_byte_order_mark_shifts_no_symbol(served: Served) -> None:
    """tree-sitter/tree-sitter-python#48."""
    (served.folder / "bom.py").write_bytes(
        b"\xef\xbb\xbfdef first():\r\n    pass\r\n\r\nclass K:\r\n    def m(self):\r\n        pass\r\n"
    )
    symbols, told = outline(served, "bom.py")
    assert symbols == [("first", 1, 2), ("K", 4, 6), ("K.m", 5, 6)]
    assert told["outline"][0]["name_column"] == 5  # the `f` behind `def `, which stands in column 1
    assert "warning" not in told


def test_o03_deep_nesting_costs_one_file_its_outline_at_most(served: Served) -> None:
    """aimasteracc/tree-sitter-analyzer#809, bobmatnyc/trusty-tools#3537, tree-sitter/py-tree-sitter#74."""
    depth = 5000
    (served.folder / "deep.py").write_text(
        "x = " + "(" * depth + "1" + ")" * depth + "\n\ndef after():\n    return 1\n", encoding="utf-8"
    )
    (served.folder / "deep.json").write_text("[" * depth + "]" * depth + "\n", encoding="utf-8")
    (served.folder / "ok.py").write_text("def fine():\n    return 1\n", encoding="utf-8")
    served.index()
    assert outline(served, "ok.py")[0] == [("fine", 1, 2)]
    deep, told = outline(served, "deep.py")
    assert ("after", 3, 4) in deep
    assert "warning" not in told
    assert outline(served, "deep.json")[1]["line_count"] == 1
    assert [found[:2] for found in served.hits("def ")] == [("deep.py", 3), ("ok.py", 1)]


def test_o04_symbols_behind_an_error_are_listed_and_the_error_is_told(served: Served) -> None:
    """aimasteracc/tree-sitter-analyzer#572, tree-sitter/tree-sitter#285, aimasteracc/tree-sitter-analyzer#707."""
    (served.folder / "err.py").write_bytes(
        b"def good1():\n    return 1\n\ndef broken()\n    return 2\n\ndef good2():\n    return 3\n"
    )
    (served.folder / "nul.py").write_bytes(b"def f():\n    s = 'a\x00b'\n    return s\n\ndef g():\n    return 2\n")
    symbols, told = outline(served, "err.py")
    assert {("good1", 1, 2), ("good2", 7, 8)} <= set(symbols)
    assert "parse error in line 4" in told["warning"]
    assert "parse error" in served.text("get_overview", absolute_file_path="err.py")
    symbols, told = outline(served, "nul.py")
    assert symbols == [("f", 1, 3), ("g", 5, 6)]
    assert "parse error in line 2" in told["warning"]
