r"""Windows spellings: equal ones become one, dangerous ones are refused with the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.errors import BadArgument
from linedex.files import spelling


@pytest.mark.parametrize(
    ("spelled", "normal"),
    [
        (r"c:\Data\a.txt", r"C:\Data\a.txt"),
        ("C:/Data//a.txt", r"C:\Data\a.txt"),
        (r"C:\Data\.\b\..\a.txt", r"C:\Data\a.txt"),
        (r"C:\..\..\a.txt", r"C:\a.txt"),
        (r"\\?\C:\Data\a.txt", r"C:\Data\a.txt"),
        (r"\\?\UNC\Server\Share\a.txt", r"\\server\share\a.txt"),
        (r"\\?\unc\Server\Share\a.txt", r"\\server\share\a.txt"),
        ("//Server/Share/A/b.txt", r"\\server\share\A\b.txt"),
        (r"\\server\share\..\..\x", r"\\server\share\x"),
        (r"C:\Data\a.txt. .", r"C:\Data\a.txt"),
        (r"C:\Data. \a", r"C:\Data\a"),
        ("C:\\", "C:\\"),
        ("src/a.py", r"src\a.py"),
        (r"..\a.py", r"..\a.py"),
        (r"a\..\..\b", r"..\b"),
        ("a/..", "."),
        (r"C:\console\com10\nullable.txt", r"C:\console\com10\nullable.txt"),
    ],
)
def test_equal_spellings_become_one(spelled: str, normal: str) -> None:
    assert spelling.normalise(spelled) == normal


@pytest.mark.parametrize(
    ("spelled", "reason"),
    [
        (r"C:\a\NUL", "device"),
        (r"C:\a\nul.txt", "device"),
        (r"C:\con \b.txt", "device"),
        (r"C:\a\Com1.tar.gz", "device"),
        ("C:\\a\\COM\u00b9", "device"),
        ("lpt\u00b3.log", "device"),
        (r"C:\aux .c", "device"),
        (r"conin$", "device"),
        (r"C:\a\file.txt:hidden", "alternate stream"),
        (r"C:\a\file.txt::$DATA", "alternate stream"),
        (r"C:\a:b\c", "alternate stream"),
        (r"\\.\PhysicalDrive0", "device namespace"),
        ("//./pipe/x", "device namespace"),
        (r"\\?\GLOBALROOT\Device\x", "device namespace"),
        (r"\\?\Volume{b75e2c83-0000-0000-0000-602f00000000}\x", "device namespace"),
        (r"\??\C:\x", "device namespace"),
        (r"C:a.txt", "working folder"),
        ("C:", "working folder"),
        (r"\a.txt", "current"),
        (r"C:\a\...", "dots and blanks"),
        (r"C:\a\  \b", "dots and blanks"),
        (r"\\?\C:\a.", "ends in a dot"),
        (r"\\?\C:\a\..\b", "name of its own"),
        (r"\\?\C:\a/b", "forward slash"),
        (r"\\server", "server and a share"),
        (r"\\server\..\x", "server and a share"),
        ("C:\\a\tb", "forbids"),
        (r"C:\a*.txt", "forbids"),
        ("C:\\a\x00b", "forbids"),
    ],
)
def test_dangerous_spellings_are_refused_with_the_reason(spelled: str, reason: str) -> None:
    with pytest.raises(BadArgument, match=reason):
        spelling.normalise(spelled)


PARTS = [
    "C:",
    "c:",
    "\\",
    "/",
    "a",
    "B.txt",
    ".",
    "..",
    " ",
    "NUL",
    "com1",
    ":",
    "?",
    "\\\\?\\",
    "UNC",
    "server",
    "\u00b2",
]


@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
def test_normalising_twice_changes_nothing(spelled: str) -> None:
    try:
        normal = spelling.normalise(spelled)
    except BadArgument:
        return
    assert spelling.normalise(normal) == normal


@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
def test_what_is_accepted_names_no_device_stream_or_parent_of_its_anchor(spelled: str) -> None:
    try:
        normal = spelling.normalise(spelled)
    except BadArgument:
        return
    anchored = normal[1:2] == ":" or normal.startswith("\\\\")
    components = (normal[3:] if normal[1:2] == ":" else normal).split("\\")
    assert not [c for c in components if spelling.is_reserved(c) or ":" in c or c != c.rstrip(" ")]
    assert not anchored or ".." not in components
