"""A client that waits for a call: it hears of progress if it asked to, and its leaving ends the work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from mcp import Client

from linedex_server.config import Settings
from linedex_server.mcp_server import CALLS_AT_ONCE, build_server
from linedex_server.tools.parameters import Given
from linedex_server.tools.registry import ALL
from linedex_server.tools.tool import Reply, Session, Tool
from linedex_server.workspace import Workspace

ERAS = ("legacy", "auto")
DEADLINE = 30.0
FILES = 400
SLOW = "(?=a)(a|aa)+$"
"""Takes a backtracking engine all the time it is given on a line of many a."""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A tree of which a search takes two minutes, and no answer before them."""
    root = tmp_path / "tree"
    root.mkdir()
    for number in range(FILES):
        (root / f"{number:03}.txt").write_text("a" * 60 + "!\n", encoding="utf-8")
    settings = Settings(
        state_dir=tmp_path / "state",
        allowed_roots=(str(root),),
        workers=1,
        query_seconds=3600,
        pattern_seconds=0.3,
    )
    with Workspace(settings) as opened:
        yield opened


class Followed:
    """A tool that does as another does, and lets its thread be followed."""

    def __init__(self, tool: Tool) -> None:
        self.left = threading.Semaphore(0)
        self.sessions: list[Session] = []
        self._tool = tool

    def tool(self) -> Tool:
        def run(session: Session, given: Given) -> Reply:
            self.sessions.append(session)
            try:
                return self._tool.run(session, given)
            finally:
                self.left.release()

        tool = self._tool
        return Tool(tool.name, tool.about, tool.parameters, run, tool.output_schema)


@pytest.mark.parametrize("era", ERAS)
def test_a_search_tells_how_far_it_is_and_ends_when_it_is_cancelled(workspace: Workspace, era: str) -> None:
    followed = Followed(ALL["search_directory"])
    told: list[tuple[float, float | None, str | None]] = []

    async def leave_after_the_second_report() -> None:
        async with Client(build_server(Session(workspace), (followed.tool(),)), mode=era) as client:
            with anyio.CancelScope() as waiting:

                async def tell(done: float, total: float | None, message: str | None) -> None:
                    told.append((done, total, message))
                    if len(told) == 2:
                        waiting.cancel()

                arguments = {"absolute_dir_path": ".", "pattern": SLOW, "regex": True}
                with anyio.fail_after(DEADLINE):
                    await client.call_tool("search_directory", arguments, progress_callback=tell)
            assert waiting.cancelled_caught
            assert await anyio.to_thread.run_sync(lambda: followed.left.acquire(timeout=DEADLINE))

    anyio.run(leave_after_the_second_report)
    (first, _, _), (second, total, message) = told
    assert 0 < first < second < FILES
    assert total == FILES
    assert message == f"{second:.0f} of {FILES} files looked into"
    assert followed.sessions[0].progress.done < FILES


@pytest.mark.parametrize("era", ERAS)
def test_calls_that_were_cancelled_leave_no_thread_behind(workspace: Workspace, era: str) -> None:
    followed = Followed(ALL["search_directory"])
    arguments = {"absolute_dir_path": ".", "pattern": SLOW, "regex": True}

    async def cancel_some() -> None:
        async with Client(build_server(Session(workspace), (followed.tool(),)), mode=era) as client:
            async with anyio.create_task_group() as group:
                for _ in range(CALLS_AT_ONCE):
                    group.start_soon(client.call_tool, "search_directory", arguments)
                with anyio.fail_after(DEADLINE):
                    while len(followed.sessions) < CALLS_AT_ONCE:
                        await anyio.sleep(0.01)
                group.cancel_scope.cancel()
            for _ in range(CALLS_AT_ONCE):
                assert await anyio.to_thread.run_sync(lambda: followed.left.acquire(timeout=DEADLINE))

    anyio.run(cancel_some)
    assert all(session.progress.done < FILES for session in followed.sessions)


def test_progress_never_goes_back_when_a_page_is_searched_for_again(workspace: Workspace) -> None:
    heard = threading.Semaphore(0)

    def run(session: Session, given: Given) -> Reply:
        for done in (5, 7, 3, 9):
            session.progress.done, session.progress.total = done, 8
            if done != 3:
                assert heard.acquire(timeout=DEADLINE)
        return Reply("done")

    told: list[float] = []

    async def call() -> None:
        async def tell(done: float, total: float | None, message: str | None) -> None:
            assert total is not None
            assert done <= total
            told.append(done)
            heard.release()

        tool = Tool("work", "Works.", (), run, {"type": "object"})
        async with Client(build_server(Session(workspace), (tool,))) as client:
            await client.call_tool("work", {}, progress_callback=tell)

    anyio.run(call)
    assert told == [5, 7, 9]


def test_a_client_that_sent_no_token_hears_nothing(workspace: Workspace) -> None:
    frames: list[object] = []
    followed = Followed(ALL["search_directory"])

    async def note(message: object) -> None:
        frames.append(message)

    async def call() -> None:
        server = build_server(Session(workspace), (followed.tool(),))
        async with Client(server, mode="legacy", message_handler=note) as client:
            with anyio.move_on_after(1.5):
                await client.call_tool("search_directory", {"absolute_dir_path": ".", "pattern": SLOW, "regex": True})

    anyio.run(call)
    assert followed.sessions[0].progress.done > 1
    assert frames == []
