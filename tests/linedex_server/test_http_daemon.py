"""`linedex serve --http`: HTTP clients, bridges and the command line at one daemon."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

if TYPE_CHECKING:
    from conftest import House


class Served:
    """A daemon with an HTTP door, and what it said at its start."""

    def __init__(self, house: House, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "linedex_server", "serve", *arguments],
            env=house.environ,
            cwd=house.folder,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.said = b""
        self.port = 0
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line
            if found := re.search(rb"http://[0-9.]+:(\d+)/mcp", line):
                self.port = int(found[1])
                break
        path = house.state / "http" / "token"
        self.token = path.read_text().strip() if path.exists() else ""

    def ended(self) -> int:
        """Wait for the end and return the exit status."""
        self.said += self.process.communicate(timeout=30)[1]
        return self.process.returncode

    def metrics(self) -> str:
        """Return what Prometheus reads."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {self.token}"})
        response = connection.getresponse()
        assert response.status == 200
        text = response.read().decode()
        connection.close()
        return text

    def call(self, tool: str, **arguments: str) -> str:
        """Return a tool's answer to a client of its own."""

        async def once() -> str:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.token}"}) as http,
                Client(streamable_http_client(f"http://127.0.0.1:{self.port}/mcp", http_client=http)) as client,
            ):
                (block,) = (await client.call_tool(tool, arguments)).content
                assert isinstance(block, TextContent)
                return block.text

        return anyio.run(once)


@pytest.fixture
def served(house: House) -> Iterator[Served]:
    root = house.root("mine", a="mine needle\n")
    opened = Served(house, "--root", str(root), "--http", "0")
    yield opened
    opened.process.kill()
    opened.process.communicate()


def test_http_clients_see_the_daemon_s_roots_and_no_other_session_s(served: Served, house: House) -> None:
    other = house.root("other", b="other needle\n")
    bridged = house.client(other)
    bridged.begin()
    assert "other needle" in bridged.call("search_directory", absolute_dir_path=".", pattern="needle")
    mine = house.folder / "mine"
    assert "mine needle" in served.call("search_directory", absolute_dir_path=str(mine), pattern="needle")
    refused = served.call("search_directory", absolute_dir_path=str(other), pattern="needle")
    assert "search_directory failed" in refused
    assert "other needle" not in refused
    assert str(other) not in served.call("index_status")
    told = served.metrics()
    assert f'root="{mine}"' in told
    assert str(other) not in told
    assert 'linedex_queries_total{tool="search_directory",result="answered"} 2' in told
    assert "linedex_sessions 1\n" in told
    assert house.daemon().pid == served.process.pid


def test_five_clients_an_http_client_and_the_command_line_at_once_have_one_daemon_and_one_writer(
    served: Served, house: House
) -> None:
    roots = house.folder / "mine", house.root("other", b="other needle\n")
    words = "mine needle", "other needle"
    clients = [
        house.client(roots[number % 2], era=("2025-11-25", "2026-07-28")[number // 2 % 2]) for number in range(5)
    ]

    def over_the_bridge(number: int) -> list[str]:
        client = clients[number]
        client.begin()
        asked = [
            client.call("search_directory", absolute_dir_path=str(root), pattern="needle")
            for root in roots
            for _ in "123"
        ]
        return [*(asked if number % 2 == 0 else asked[3:] + asked[:3]), client.call("index_status")]

    def over_http(_: int) -> list[str]:
        asked = [
            served.call("search_directory", absolute_dir_path=str(root), pattern="needle")
            for root in roots
            for _ in "123"
        ]
        return [*asked, served.call("index_status")]

    def by_command(_: int) -> list[str]:
        runs = [house.run(*command, str(root)) for root in roots for command in (("index",), ("search", "needle"))]
        assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * 4
        return [run.stdout for run in runs]

    with ThreadPoolExecutor(7) as threads:
        bridged = [threads.submit(over_the_bridge, number) for number in range(5)]
        http, commands = threads.submit(over_http, 0), threads.submit(by_command, 0)
    for own, answers in [*((number % 2, future.result()) for number, future in enumerate(bridged)), (0, http.result())]:
        assert all(words[own] in answer for answer in answers[:3])
        assert all("search_directory failed" in answer and words[1 - own] not in answer for answer in answers[3:6])
        assert str(roots[own]) in answers[6]
        assert str(roots[1 - own]) not in answers[6]
    assert words[0] in commands.result()[1]
    assert words[1] in commands.result()[3]
    daemon = house.daemon()
    assert daemon.pid == served.process.pid
    assert {index.root for index in daemon.indexes} == {str(root) for root in roots}
    assert all(index.writer for index in daemon.indexes)
    assert not any(b"lock" in client.errors for client in clients)


def test_a_signal_ends_it_and_the_token_was_never_said(served: Served) -> None:
    served.call("index_status")
    served.process.send_signal(signal.SIGTERM)
    assert served.ended() == 0
    assert b"Traceback" not in served.said
    assert len(served.token) == 43
    assert served.token.encode() not in served.said


def test_linedex_stop_ends_it_too(served: Served, house: House) -> None:
    assert house.run("stop").returncode == 0
    assert served.ended() == 0


def test_without_a_root_it_serves_the_working_folder(house: House) -> None:
    (house.folder / "here.txt").write_text("here\n")
    served = Served(house, "--http", "127.0.0.1:0")
    try:
        assert "here.txt" in served.call("list_directory", absolute_dir_path=".")
    finally:
        served.process.kill()
        served.process.communicate()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--http", "0.0.0.0:0"], 2, b"--http-allow-remote"),
        (["--http", "nonsense"], 2, b"HOST:PORT"),
        (["--http", "0", "--until-idle"], 2, b"--until-idle"),
    ],
)
def test_what_it_may_not_do_is_refused_and_leaves_no_daemon(
    house: House, arguments: list[str], status: int, said: bytes
) -> None:
    refused = Served(house, *arguments)
    assert refused.ended() == status
    assert said in refused.said
    assert b"Traceback" not in refused.said
    assert house.status() is None


def test_other_machines_are_let_in_with_a_warning_when_that_was_said(house: House) -> None:
    served = Served(house, "--http", "0.0.0.0:0", "--http-allow-remote")
    try:
        assert b"WARNING: other machines" in served.said
        for headers, status in (({}, 401), ({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403)):
            connection = HTTPConnection("127.0.0.1", served.port, timeout=30)
            connection.request("GET", "/healthz", headers=headers)
            assert connection.getresponse().status == status
            connection.close()
    finally:
        served.process.kill()
        served.process.communicate()


def test_a_daemon_that_runs_already_is_not_taken_for_an_http_one(house: House) -> None:
    house.serve()
    second = Served(house, "--http", "0")
    assert second.ended() == 2
    assert b"linedex stop" in second.said
