"""JSON with comments: one member is changed, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.errors import BadArgument
from linedex_server.install.jsonc import parsed, with_member

ENTRY = {"command": "/bin/linedex", "args": ["mcp", "--root", "/a b"]}
PATH = ("mcpServers", "linedex")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
SETTINGS = st.dictionaries(st.text(max_size=8) | st.just("mcpServers"), JSON, max_size=4)
FORMS = st.sampled_from([{}, {"indent": 2}, {"indent": 4}, {"indent": "\t"}, {"separators": (",", ":")}])


@given(JSON, FORMS)
def test_plain_json_is_read_as_the_standard_library_reads_it(value: Any, form: dict[str, Any]) -> None:
    assert parsed(json.dumps(value, **form)).held == value


@given(st.text(st.sampled_from('{}[]",:/*\\ \n1truenab-.eE+'), max_size=12))
def test_what_is_no_json_is_refused_as_the_standard_library_refuses_it(text: str) -> None:
    try:
        expected = json.loads(text)
    except json.JSONDecodeError:
        assert "," in text or "/" in text or _refused(text)
        return
    if not _has_twins(text):
        assert parsed(text).held == expected


def _refused(text: str) -> bool:
    try:
        parsed(text)
    except BadArgument:
        return True
    return False


def _has_twins(text: str) -> bool:
    found = False

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        found = found or len({name for name, _ in members}) < len(members)
        return dict(members)

    json.loads(text, object_pairs_hook=pairs)
    return found


def merged(settings: dict[str, Any]) -> dict[str, Any]:
    servers = settings.get("mcpServers", {})
    return {**settings, "mcpServers": {**servers, "linedex": {**servers.get("linedex", {}), **ENTRY}}}


@given(SETTINGS, FORMS)
def test_the_entry_is_added_and_all_else_stays(settings: dict[str, Any], form: dict[str, Any]) -> None:
    text = json.dumps(settings, **form)
    servers = settings.get("mcpServers", {})
    if not isinstance(servers, dict) or not isinstance(servers.get("linedex", {}), dict):
        with pytest.raises(BadArgument):
            with_member(text, PATH, ENTRY)
        return
    made = with_member(text, PATH, ENTRY)
    assert json.loads(made) == merged(settings)
    assert list(json.loads(made))[: len(settings)] == list(settings)
    assert with_member(made, PATH, ENTRY) == made


COMMENTS = st.sampled_from(["", " ", "\n", "// one, {\n", "/* two } */", "/* three\n * four */", "\r\n", "\t"])
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@st.composite
def commented(draw: st.DrawFn) -> str:
    """An object of objects with comments, blanks and commas anywhere."""

    def blank() -> str:
        return draw(COMMENTS)

    def members(depth: int) -> str:
        names = draw(st.lists(st.sampled_from(["a", "b", "mcpServers", "linedex"]), unique=True, max_size=3))
        parts = []
        for name in names:
            inner = members(depth + 1) if depth < 3 and draw(st.booleans()) else draw(st.sampled_from(["1", '"// x"']))
            if name in ("mcpServers", "linedex") and not inner.startswith("{"):
                inner = "{}"
            parts.append(f'{blank()}"{name}"{blank()}:{blank()}{inner}{blank()}')
        comma = "," + blank() if parts and draw(st.booleans()) else ""
        return "{" + (",".join(parts) or blank()) + comma + "}"

    return blank() + members(0) + blank()


@given(commented())
def test_comments_and_trailing_commas_stay(text: str) -> None:
    made = with_member(text, PATH, ENTRY)
    assert parsed(made).held == merged(parsed(text).held)
    assert outside_texts(made) == outside_texts(text)


def outside_texts(text: str) -> list[str]:
    """Return the comments of a text, in order; in a file of mixed line ends, one may get the other end."""
    return COMMENT.findall(re.sub(r'"(?:[^"\\]|\\.)*"', '""', text.replace("\r", "")))


def test_a_settings_file_keeps_its_manner() -> None:
    text = """\
// mine
{
    "theme": "dark", // really
    "context_servers": {
        /* the first */
        "other": {"command": "x"}, // last of them
    },
}
"""
    assert (
        with_member(text, ("context_servers", "linedex"), {"command": "l", "args": ["mcp"]})
        == """\
// mine
{
    "theme": "dark", // really
    "context_servers": {
        /* the first */
        "other": {"command": "x"}, // last of them
        "linedex": {
            "command": "l",
            "args": [
                "mcp"
            ]
        },
    },
}
"""
    )


def test_an_entry_that_is_there_keeps_what_else_it_has() -> None:
    text = '{"mcpServers": {"linedex": {"command": "old", /* why */ "env": {"A": "1"}, "args": []}}}'
    assert with_member(text, PATH, {"command": "new", "args": ["mcp"], "type": "stdio"}) == (
        '{"mcpServers": {"linedex": {"command": "new", /* why */ "env": {"A": "1"}, "args": ["mcp"], "type": "stdio"}}}'
    )


def test_lines_that_end_with_crlf_do_so_afterwards() -> None:
    made = with_member('{\r\n  "a": 1\r\n}\r\n', PATH, ENTRY)
    assert made.count("\n") == made.count("\r\n") > 5


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_file_becomes_an_object(text: str) -> None:
    assert json.loads(with_member(text, PATH, ENTRY)) == {"mcpServers": {"linedex": ENTRY}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1', "line 1 .*comma or `}`"),
        ('{\n"a": 1\n"b": 2}', "line 3 .*comma"),
        ("{}x", "behind the end"),
        ('{"a": 1, "a": 2}', "`a` stands there twice"),
        ('{"mcpServers": []}', "mcpServers is no object"),
        ("[]", "the whole is no object"),
        ('{"a": /* never ends }', "a value is missing"),
        ("{'a': 1}", "name of a member"),
        ("[" * 5000, "too deep"),
    ],
)
def test_what_cannot_be_parsed_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        with_member(text, PATH, ENTRY)
