from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linedex_server.edit.texts import unhurried

from linedex.errors import BadArgument
from linedex_server.edit.plan.template import parsed

GROUPS = ("whole", "one", "two")


def expanded(replacement: str) -> str:
    return parsed(replacement, 2, {"name": 2}).expanded(GROUPS)


@pytest.mark.parametrize(
    ("replacement", "expected"),
    [
        (r"\1-\2", "one-two"),
        (r"\g<1>0", "one0"),
        (r"\g<name>\g<0>", "twowhole"),
        (r"\\1\\", "\\1\\"),
        (r"a\nb\tc", "a\nb\tc"),
        ("$1 & ${name} $0 $&", "$1 & ${name} $0 $&"),
        (r"\.\-\/", r"\.\-\/"),
        ("", ""),
    ],
)
def test_groups_and_escapes_are_expanded_and_all_else_is_text(replacement: str, expected: str) -> None:
    assert expanded(replacement) == expected


@pytest.mark.parametrize(
    ("replacement", "words"),
    [
        (r"\3", "names the group 3, and the pattern has 2"),
        (r"\12", "names the group 12"),
        (r"\g<3>", "names the group 3"),
        (r"\g<9999999999999>", "names the group 9999999999999"),
        (r"\g<other>", "names the group 'other'"),
        (r"\g<>", "names the group ''"),
        (r"\g", "which stands for nothing"),
        (r"\0", "which stands for nothing"),
        (r"\d", "which stands for nothing"),
        (r"\é", "which stands for nothing"),
        ("a\\", "ends with a single backslash"),
    ],
)
def test_what_stands_for_nothing_is_refused_by_name(replacement: str, words: str) -> None:
    with pytest.raises(BadArgument, match=re.escape(words)):
        expanded(replacement)


@unhurried
@given(st.text(alphabet="\\12gn<>0te&$ ", max_size=12))
def test_what_python_takes_too_means_the_same(replacement: str) -> None:
    match = re.match("(o)(t)", "ot")
    assert match
    try:
        theirs = match.expand(replacement)
        ours = parsed(replacement, 2, {}).expanded(("ot", "o", "t"))
    except (re.error, IndexError, BadArgument):
        return
    assert ours == theirs
