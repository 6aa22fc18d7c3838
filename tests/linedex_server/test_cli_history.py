"""`linedex history` and `linedex revert`, run as a person runs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import House


def test_a_person_sees_what_an_assistant_wrote_and_takes_it_back(house: House) -> None:
    root = house.root("root", a="one\ntwo\n")
    client = house.client(root, LINEDEX_TOOLS="all")
    client.begin()
    client.call("replace_literal", path="a.txt", old_text="two", new_text="2")
    client.call("write_full_text", path="new/b.txt", content="b\n")

    listed = house.run("history")
    assert listed.returncode == 0
    steps = [line.split() for line in listed.stdout.splitlines()[:-1]]
    assert [(step[3], step[4]) for step in steps] == [
        ("write_full_text", "root/new/b.txt"),
        ("replace_literal", "root/a.txt"),
    ]
    told = json.loads(house.run("history", "root/a.txt", "--json").stdout)
    assert [step["id"] for step in told] == [steps[1][0]]

    back = house.run("revert", "root/a.txt")
    assert (back.returncode, (root / "a.txt").read_bytes()) == (0, b"one\ntwo\n")
    assert "root/a.txt" in back.stderr
    assert house.run("revert", "--id", steps[0][0]).returncode == 0
    assert sorted(path.name for path in root.iterdir()) == ["a.txt"]


def test_what_cannot_be_taken_back_is_told_with_status_2(house: House) -> None:
    root = house.root("root", a="one\n")
    for arguments, why in (
        (("revert",), "Neither a file nor a step"),
        (("revert", str(root / "a.txt")), "no edit of"),
        (("revert", "--id", "zzz"), "zzz"),
    ):
        done = house.run(*arguments)
        assert (done.returncode, why in done.stderr) == (2, True), done.stderr
        assert "edit_history" not in done.stderr, "a tool is named where a command is meant"
    assert house.run("history").returncode == 1
    assert (root / "a.txt").read_bytes() == b"one\n"
