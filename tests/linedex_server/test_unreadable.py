"""A line that is no message is answered: who asked must not wait for ever."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from linedex_server.unreadable import refusal_of

if TYPE_CHECKING:
    from conftest import House

CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "find_files", "arguments": {"name": "a"}}}
HALF = "half of a surrogate pair"
JSON = "no JSON that can be taken"
MESSAGE = "no request, notification or answer"


def _call(**changed: object) -> str:
    return json.dumps({**CALL, **changed})


CASES: dict[str, tuple[str, object, str]] = {
    "a cut emoji": (_call(params={"name": "find_files", "arguments": {"name": "\ud83d"}}), 7, HALF),
    "a cut emoji in its number": (_call(id="\ud83d"), None, HALF),
    "a number that is none": (_call(id=1.5), None, MESSAGE),
    "a number that is true": (_call(id=True), None, MESSAGE),
    "a number of text": (_call(id="seven", jsonrpc="1.0"), "seven", MESSAGE),
    "no number": (_call(params={"x": float("nan")}), 7, JSON),
    "another version": (_call(jsonrpc="1.0"), 7, MESSAGE),
    "parameters that are none": (_call(params=3), 7, MESSAGE),
    "half of it": (_call()[:40], None, JSON),
    "no JSON": ("hello", None, JSON),
    "a list": ("[1]", None, MESSAGE),
    "deep lists": ("[" * 200_000, None, JSON),
    "no method": ('{"id": 7}', None, MESSAGE),
}


@pytest.mark.parametrize(("line", "number", "reason"), CASES.values(), ids=CASES)
def test_it_is_refused_under_its_number(line: str, number: object, reason: str) -> None:
    refusal = refusal_of(line.encode())
    assert refusal.id == number
    assert reason in refusal.error.message
    assert len(refusal.error.message) < 300
    assert refusal.model_dump_json()


@pytest.mark.parametrize("options", [(), ("--no-daemon",)])
def test_a_client_is_answered_and_served_on(house: House, options: tuple[str, ...]) -> None:
    root = house.root("tree", a="needle\n")
    client = house.client(root, options=options)
    client.begin()
    assert client.process.stdin is not None
    client.process.stdin.write(b"\n  \nhello\n")
    refused = client.ask("tools/call", name="find_files", arguments={"name": "\ud83d"})
    assert HALF in refused["error"]["message"]
    assert "needle" in client.call("search_directory", absolute_dir_path=str(root), pattern="needle")
    client.end()
    untold = client._answers[None]
    assert JSON in untold.get_nowait()["error"]["message"]
    assert untold.get_nowait()["error"]["message"] == "the client's stream ended"
