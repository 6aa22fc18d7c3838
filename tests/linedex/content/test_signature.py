from __future__ import annotations

import pytest

from linedex.content.symbols.signature import LENGTH, balanced, one_line


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("def f(a, b):", "def f(a, b)"),
        ("def gather(  # type: ignore[overload-overlap]\n    first: int,\n    *rest: str,  # more\n) -> int:", None),
        ("class Task(Future):  # Inherits", "class Task(Future)"),
        ("__all__ = (", "__all__"),
        ("sep = ' # '", "sep = ' # '"),
        ("int main(void) // starts here", "int main(void)"),
        ("# One `code` #", "# One `code` #"),
        ("fn f<'a>(x: &'a str) -> &'a str {", "fn f<'a>(x: &'a str) -> &'a str"),
        ("", ""),
    ],
)
def test_a_head_reads_as_if_written_on_one_line_without_comments(head: str, line: str | None) -> None:
    assert one_line(head) == (line if line is not None else "def gather(first: int, *rest: str) -> int")


def test_a_signature_is_never_longer_than_its_limit() -> None:
    assert len(one_line("f(" + "x, " * 1000 + ")")) <= LENGTH


def test_the_lines_of_a_head_end_where_its_brackets_close() -> None:
    head = "def f(\n    a,  # not )\n    b=(1,\n       2),\n)"
    assert balanced(head + "\n    return (a\n") == head
    assert balanced("def f(a): return a\nb = 1") == "def f(a): return a"
    assert balanced("def f(\n  a") == "def f(\n  a"
