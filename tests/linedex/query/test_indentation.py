import pytest

from linedex.query.indentation import block_around

PYTHON = """\
import os

def first(a,
          b):
    if a:
        return b

    return a

class Second:
    def method(self):
        for one in self:
            yield one
"""
C = """\
int main(int argc, char **argv)
{
\tif (argc) {
\t\treturn 1;
\t}
\treturn 0;
}

static int other(void) {
\treturn 2;
}
"""
RUBY = """\
module Shop
  def total
    items.each do |item|
      item
    end
  end
end
"""


@pytest.mark.parametrize(
    ("text", "line", "depth", "wanted"),
    [
        (PYTHON, 6, 1, (3, 8)),
        (PYTHON, 8, 1, (3, 8)),
        (PYTHON, 3, 1, (3, 8)),
        (PYTHON, 13, 1, (11, 13)),
        (PYTHON, 13, 2, (10, 13)),
        (PYTHON, 13, 7, (10, 13)),
        (PYTHON, 1, 1, None),
        (C, 4, 1, (1, 7)),
        (C, 1, 1, (1, 7)),
        (C, 7, 1, (1, 7)),
        (C, 10, 1, (9, 11)),
        (RUBY, 4, 2, (2, 6)),
        (RUBY, 3, 9, (1, 7)),
    ],
)
def test_the_block_around_a_line(text: str, line: int, depth: int, wanted: tuple[int, int] | None) -> None:
    found = block_around(text.split("\n"), line - 1, depth)
    assert (None if found is None else (found[0] + 1, found[1] + 1)) == wanted
