"""Subscriptions to files: they fire on change, in both eras, and never for what lies outside the session's roots."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp.types import ResourceUpdatedNotification

from linedex_server import subscriptions
from linedex_server.config import Settings
from linedex_server.mcp_server import Serving, build_server
from linedex_server.subscriptions import MOST_SUBSCRIPTIONS
from linedex_server.tools.registry import offered
from linedex_server.tools.tool import Session
from linedex_server.workspace import Workspace

DEADLINE = 20.0

# the client's own word to whoever still subscribes in the way of the handshake era
pytestmark = pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "LOOK_SECONDS", 0.02)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    (root / "b.txt").write_text("one\n", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("one\n", encoding="utf-8")
    (root / "way-out").symlink_to(tmp_path / "outside.txt")
    return root


@pytest.fixture
def workspace(root: Path, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(Settings(state_dir=tmp_path / "state", allowed_roots=(str(root),), workers=1)) as opened:
        yield opened


def server(workspace: Workspace) -> Server[Serving]:
    return build_server(Session(workspace), offered("default"))


class Heard:
    """The URIs a client of the handshake era was told of."""

    def __init__(self) -> None:
        self.uris: list[str] = []
        self._more = anyio.Event()

    async def __call__(self, message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self.uris.append(str(message.params.uri))
            self._more.set()
            self._more = anyio.Event()

    async def next(self) -> str:
        with anyio.fail_after(DEADLINE):
            while not self.uris:
                await self._more.wait()
        return self.uris.pop(0)


def append(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("more\n")


def replace(path: Path) -> None:
    fresh = path.with_name("fresh")
    fresh.write_text("two\n", encoding="utf-8")
    fresh.replace(path)


def rewrite_with_times_put_back(path: Path) -> None:
    before = path.stat()
    path.write_text("two\n", encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: list[Callable[[Path], None]] = [append, replace, rewrite_with_times_put_back, Path.unlink]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_client_of_the_handshake_era_hears_of_a_change(workspace: Workspace, change: Callable[[Path], None]) -> None:
    path = workspace.base / "a.txt"

    async def hear() -> None:
        heard = Heard()
        async with Client(server(workspace), mode="legacy", message_handler=heard) as client:
            await client.subscribe_resource(path.as_uri())
            change(path)
            assert await heard.next() == path.as_uri()

    anyio.run(hear)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_client_of_the_2026_era_hears_of_a_change(workspace: Workspace, change: Callable[[Path], None]) -> None:
    path = workspace.base / "a.txt"

    async def hear() -> None:
        async with (
            Client(server(workspace)) as client,
            client.listen(resource_subscriptions=[path.as_uri()]) as stream,
        ):
            change(path)
            with anyio.fail_after(DEADLINE):
                assert await anext(aiter(stream)) == ResourceUpdated(uri=path.as_uri())

    anyio.run(hear)


def test_a_file_that_is_made_and_a_folder_that_gets_an_entry_fire_too(workspace: Workspace) -> None:
    made = workspace.base / "made.txt"

    async def hear() -> None:
        heard = Heard()
        async with Client(server(workspace), mode="legacy", message_handler=heard) as client:
            await client.subscribe_resource(made.as_uri())
            await client.subscribe_resource(workspace.base.as_uri())
            made.touch()
            assert {await heard.next(), await heard.next()} == {made.as_uri(), workspace.base.as_uri()}

    anyio.run(hear)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' events come late")
def test_a_change_that_the_index_hears_of_is_told_without_waiting(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "LOOK_SECONDS", 3600.0)
    path = workspace.base / "a.txt"
    workspace.start()
    (index,) = workspace.indexes
    assert index.wait(DEADLINE)

    async def hear() -> None:
        heard = Heard()
        async with Client(server(workspace), mode="legacy", message_handler=heard) as client:
            await client.subscribe_resource(path.as_uri())
            for _ in range(3):
                append(path)
                assert await heard.next() == path.as_uri()

    anyio.run(hear)


def test_only_what_was_subscribed_to_fires_and_nothing_after_unsubscribing(workspace: Workspace) -> None:
    one, other = workspace.base / "a.txt", workspace.base / "b.txt"

    async def hear() -> None:
        heard = Heard()
        async with Client(server(workspace), mode="legacy", message_handler=heard) as client:
            await client.subscribe_resource(one.as_uri())
            await client.subscribe_resource(other.as_uri())
            await client.unsubscribe_resource(one.as_uri())
            await client.unsubscribe_resource(one.as_uri())
            append(one)
            append(other)
            assert await heard.next() == other.as_uri()
            append(other)
            assert await heard.next() == other.as_uri()
            assert heard.uris == []

    anyio.run(hear)


def test_two_streams_of_one_client_hear_each_of_its_own_files_once(workspace: Workspace) -> None:
    one, other = workspace.base / "a.txt", workspace.base / "b.txt"

    async def hear() -> None:
        async with (
            Client(server(workspace)) as client,
            client.listen(resource_subscriptions=[one.as_uri(), other.as_uri()]) as both,
            client.listen(resource_subscriptions=[other.as_uri()]) as single,
        ):
            append(one)
            with anyio.fail_after(DEADLINE):
                assert await anext(aiter(both)) == ResourceUpdated(uri=one.as_uri())
                append(other)
                assert await anext(aiter(both)) == ResourceUpdated(uri=other.as_uri())
                assert await anext(aiter(single)) == ResourceUpdated(uri=other.as_uri())

    anyio.run(hear)


@pytest.mark.parametrize("place", ["outside.txt", "tree/way-out", "tree/../outside.txt", "nothing-outside"])
def test_what_is_outside_the_roots_cannot_be_subscribed_to(workspace: Workspace, place: str) -> None:
    uri = f"file://{workspace.base.parent}/{place}"
    inside = (workspace.base / "a.txt").as_uri()

    async def ask() -> None:
        async with Client(server(workspace), mode="legacy") as client:
            with pytest.raises(MCPError, match="outside the allowed folders"):
                await client.subscribe_resource(uri)
        async with (
            Client(server(workspace)) as client,
            client.listen(resource_subscriptions=[uri, inside]) as stream,
        ):
            assert stream.honored.resource_subscriptions == [inside]
            append(workspace.base.parent / "outside.txt")
            append(workspace.base / "a.txt")
            with anyio.fail_after(DEADLINE):
                assert await anext(aiter(stream)) == ResourceUpdated(uri=inside)

    anyio.run(ask)


def test_a_file_whose_folder_becomes_a_way_out_is_gone_and_stays_silent(workspace: Workspace) -> None:
    folder, outside = workspace.base / "sub", workspace.base.parent / "elsewhere"
    for made in (folder, outside):
        made.mkdir()
        (made / "x").write_text("one\n", encoding="utf-8")

    async def hear() -> None:
        heard = Heard()
        async with Client(server(workspace), mode="legacy", message_handler=heard) as client:
            await client.subscribe_resource((folder / "x").as_uri())
            await client.subscribe_resource((workspace.base / "a.txt").as_uri())
            folder.rename(workspace.base / "moved")
            folder.symlink_to(outside)
            assert await heard.next() == (folder / "x").as_uri()
            append(outside / "x")
            append(workspace.base / "a.txt")
            assert await heard.next() == (workspace.base / "a.txt").as_uri()
            assert heard.uris == []

    anyio.run(hear)


def test_the_number_of_subscriptions_is_bounded_and_those_of_a_client_that_left_are_free(workspace: Workspace) -> None:
    uris = [f"{workspace.base.as_uri()}/{number}" for number in range(MOST_SUBSCRIPTIONS + 1)]

    async def ask() -> None:
        async with Client(server(workspace)) as client:
            with pytest.raises(MCPError, match=f"no more than {MOST_SUBSCRIPTIONS}"):
                async with client.listen(resource_subscriptions=uris):
                    pass
            for _ in range(3):
                async with client.listen(resource_subscriptions=uris[1:]) as stream:
                    assert len(stream.honored.resource_subscriptions or ()) == MOST_SUBSCRIPTIONS

    anyio.run(ask)
