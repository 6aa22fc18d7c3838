"""Files as resources through the protocol's own client, in both eras: reading, completion, what is refused."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import PromptReference, ResourceTemplateReference, TextResourceContents

from linedex.files.names import display, parse
from linedex_server.completion import MOST_VALUES
from linedex_server.config import Settings
from linedex_server.mcp_server import build_server
from linedex_server.resources import path_of, uri_of
from linedex_server.tools.registry import offered
from linedex_server.tools.tool import Session
from linedex_server.workspace import Workspace

ERAS = ("legacy", "auto")
FILE = ResourceTemplateReference(uri="file://{+path}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "src" / "inner").mkdir(parents=True)
    (root / "src" / "a b #1?.py").write_text("one\n\ttwo\n", encoding="utf-8")
    (root / "src" / ".hidden").write_text("x\n", encoding="utf-8")
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    (root / "long.log").write_text("".join(f"line {n}\n" for n in range(1, 10_001)), encoding="utf-8")
    (root / "empty").write_bytes(b"")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret\n", encoding="utf-8")
    (root / "way-out").symlink_to(outside)
    return root


@pytest.fixture
def workspace(root: Path, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(Settings(state_dir=tmp_path / "state", allowed_roots=(str(root),), workers=1)) as opened:
        yield opened


@asynccontextmanager
async def client(workspace: Workspace, era: str = "auto") -> AsyncIterator[Client]:
    async with Client(build_server(Session(workspace), offered("default")), mode=era) as connected:
        yield connected


def content(workspace: Workspace, uri: str, era: str = "auto") -> TextResourceContents:
    async def once() -> TextResourceContents:
        async with client(workspace, era) as connected:
            (one,) = (await connected.read_resource(uri)).contents
            assert isinstance(one, TextResourceContents)
            return one

    return anyio.run(once)


def completed(workspace: Workspace, typed: str) -> tuple[list[str], bool | None]:
    async def once() -> tuple[list[str], bool | None]:
        async with client(workspace) as connected:
            found = (await connected.complete(FILE, {"name": "path", "value": typed})).completion
            return found.values, found.has_more

    return anyio.run(once)


@pytest.mark.parametrize("era", ERAS)
def test_the_list_names_the_roots_and_the_template_leads_to_everything_else(workspace: Workspace, era: str) -> None:
    async def walk() -> None:
        async with client(workspace, era) as connected:
            (top,) = (await connected.list_resources()).resources
            assert (top.uri, top.name, top.mime_type) == (workspace.base.as_uri(), "tree", "inode/directory")
            (one,) = (await connected.read_resource(top.uri)).contents
            assert isinstance(one, TextResourceContents)
            assert "src/" in one.text
            (template,) = (await connected.list_resource_templates()).resource_templates
            assert template.uri_template == "file://{+path}"

    anyio.run(walk)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "spell", [lambda path: path.as_uri(), lambda path: f"file://{path}", lambda path: f"file://localhost{path}"]
)
def test_a_file_is_its_text_however_its_name_is_encoded(workspace: Workspace, era: str, spell: object) -> None:
    assert callable(spell)
    uri = spell(workspace.base / "src" / "a b #1?.py")
    read = content(workspace, uri, era)
    assert (read.uri, read.mime_type, read.text) == (uri, "text/plain", "one\n\ttwo\n")


def test_an_empty_file_is_empty_text(workspace: Workspace) -> None:
    assert content(workspace, (workspace.base / "empty").as_uri()).text == ""


def test_a_long_file_is_a_page_that_says_where_the_rest_is(workspace: Workspace) -> None:
    text = content(workspace, (workspace.base / "long.log").as_uri()).text
    assert len(text) <= workspace.settings.page_characters
    *lines, note = text.splitlines()
    assert lines == [f"line {n}" for n in range(1, len(lines) + 1)]
    assert note == f"[lines 1-{len(lines):,} of 10,000; the rest: read_content with offset={len(lines) + 1}]"


def test_one_line_longer_than_a_page_is_cut_and_said_to_be(workspace: Workspace) -> None:
    (workspace.base / "wide").write_text("x" * 100_000 + "\n", encoding="utf-8")
    text = content(workspace, (workspace.base / "wide").as_uri()).text
    assert len(text) <= workspace.settings.page_characters
    assert text.endswith("x\n[1 long line is cut]\n")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("file:///etc/passwd", "outside the allowed folders"),
        ("file://{root}/../outside/secret.txt", "outside the allowed folders"),
        ("file://{root}/%2e%2e/outside/secret.txt", "outside the allowed folders"),
        ("file://{root}/way-out/secret.txt", "outside the allowed folders"),
        ("file://{root}/way-out/nothing.txt", "outside the allowed folders"),
        ("file://{root}/src/nothing.py", "no `"),
        ("file://{root}/logo.png", "binary|no text"),
        ("file://elsewhere/etc/passwd", "no URI of a file here"),
        ("file:relative", "no URI of a file here"),
        ("https://example.org/x", "no URI of a file here"),
        ("file:///a%00b", "NUL"),
    ],
)
def test_what_may_not_or_cannot_be_read_is_refused_in_words(
    workspace: Workspace, uri: str, said: str, era: str
) -> None:
    async def ask() -> None:
        async with client(workspace, era) as connected:
            with pytest.raises(MCPError, match=said) as refused:
                await connected.read_resource(uri.replace("{root}", str(workspace.base)))
            assert refused.value.error.code == -32602

    anyio.run(ask)


@given(st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name and b"/" not in name))
def test_the_uri_of_any_path_leads_back_to_it(name: bytes) -> None:
    assert parse(path_of(uri_of(display(b"/" + name)))) == b"/" + name


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"], exclude_characters="\\/"), min_size=1))
def test_the_uri_of_a_plain_name_is_its_ordinary_one(name: str) -> None:
    assert uri_of(display(f"/{name}".encode())) == "file:///" + quote(name)


def test_completion_begins_with_the_roots(workspace: Workspace) -> None:
    expected = ([f"{workspace.base}/"], False)
    assert completed(workspace, "") == expected
    assert completed(workspace, str(workspace.base)[:3]) == expected
    assert completed(workspace, str(workspace.base)) == expected


def test_completion_goes_on_inside_a_folder_and_what_it_gives_can_be_read(workspace: Workspace) -> None:
    source = workspace.base / "src"
    assert completed(workspace, f"{source}/") == ([f"{source}/a b #1?.py", f"{source}/inner/"], False)
    (found,), _ = completed(workspace, f"{source}/a")
    assert content(workspace, FILE.uri.replace("{+path}", found)).text == "one\n\ttwo\n"
    assert completed(workspace, f"{source}/.h")[0] == [f"{source}/.hidden"]
    assert completed(workspace, "src/a")[0] == [f"{source}/a b #1?.py"]


def test_names_that_are_no_text_complete_to_what_can_be_read(workspace: Workspace) -> None:
    (workspace.base / os.fsdecode(b"n\xff.txt")).write_text("found\n", encoding="utf-8")
    (found,), _ = completed(workspace, f"{workspace.base}/n")
    assert content(workspace, uri_of(found)).text == "found\n"
    assert content(workspace, f"{workspace.base.as_uri()}/n%FF.txt").text == "found\n"


@pytest.mark.parametrize(
    "typed", ["/etc/", "/", "{root}/../", "{root}/../outside/", "{root}/way-out/", "{root}/nothing/"]
)
def test_completion_offers_nothing_outside_the_roots(workspace: Workspace, typed: str) -> None:
    values, _ = completed(workspace, typed.replace("{root}", str(workspace.base)))
    assert [value for value in values if value != f"{workspace.base}/"] == []


def test_a_link_is_not_offered(workspace: Workspace) -> None:
    assert completed(workspace, f"{workspace.base}/way") == ([], False)


def test_completion_is_bounded_and_says_that_there_is_more(workspace: Workspace) -> None:
    for number in range(MOST_VALUES + 1):
        (workspace.base / "src" / "inner" / f"{number:03}").touch()
    values, more = completed(workspace, f"{workspace.base}/src/inner/")
    assert (len(values), more) == (MOST_VALUES, True)
    assert completed(workspace, f"{workspace.base}/src/inner/10")[1] is False


def test_other_arguments_have_no_completions(workspace: Workspace) -> None:
    async def ask() -> None:
        async with client(workspace) as connected:
            for ref, name in ((PromptReference(name="x"), "path"), (FILE, "other")):
                assert (await connected.complete(ref, {"name": name, "value": "/"})).completion.values == []

    anyio.run(ask)
