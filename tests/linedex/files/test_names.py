r"""Names round-trip through text whatever their bytes, and cannot forge a line on a terminal."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linedex.errors import BadArgument
from linedex.files import names

HOSTILE = st.lists(
    st.sampled_from(
        [b"\\", b"x", b"\\x", b"\\x4", b"\\x41", b"4", b"a", b"\xff", b"\xc3", b"\xa9", b"\n", b"\x1b", b"/"]
    )
).map(b"".join)


@given(st.binary() | HOSTILE)
@example(rb"a\x41b")
@example(b"\\\xff")
@example(b"\xed\xb2\x80")
def test_every_name_round_trips(name: bytes) -> None:
    assert names.parse(names.display(name)) == name


@given(st.binary() | HOSTILE)
def test_a_shown_name_is_valid_text_without_control_or_format_characters(name: bytes) -> None:
    shown = names.display(name)
    shown.encode("utf-8")
    joiners = "\u200c\u200d"
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp", "Cs"} and c not in joiners]


@given(st.lists(st.binary(), unique=True, min_size=2, max_size=2))
def test_two_names_never_look_the_same(pair: list[bytes]) -> None:
    assert names.display(pair[0]) != names.display(pair[1])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"src/a.py", "src/a.py"),
        ("größe/日本.txt".encode(), "größe/日本.txt"),
        ("a\u00a0b".encode(), "a\u00a0b"),
        (b"bad\xff.txt", r"bad\xff.txt"),
        (b"new\nline.txt", r"new\x0aline.txt"),
        (b"clear\x1b[2J", r"clear\x1b[2J"),
        ("exe\u202etxt.".encode(), r"exe\xe2\x80\xaetxt."),
        (rb"C:\users", r"C:\users"),
        (rb"a\x41", r"a\x5cx41"),
        (rb"a\x4", r"a\x4"),
    ],
)
def test_names_are_shown_as_people_expect(name: bytes, shown: str) -> None:
    assert names.display(name) == shown


def test_escapes_are_taken_in_either_case() -> None:
    assert names.parse(r"bad\xFF\xfe") == b"bad\xff\xfe"


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(BadArgument, match="character 2"):
        names.parse("a\ud800")
