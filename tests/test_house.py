"""The house in order: layers, sizes, pins, words that must not be committed, documents that tell the truth."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires
from itertools import takewhile
from pathlib import Path

import click
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from linedex_server.cli.app import cli

ROOT = Path(__file__).parents[1]
LINES = 500
"""No module is longer: past this it has more than one reason to exist."""


def committed() -> list[Path]:
    """Return the files of the project: those that git knows or would add."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("the project's files are not in a git checkout")
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def prose_and_code() -> list[Path]:
    """Return the files that people wrote: no samples, no golden files."""
    suffixes = {".py", ".md", ".toml", ".txt", ".scm", ""}
    return [path for path in committed() if path.suffix in suffixes and "data" not in path.relative_to(ROOT).parts]


def below(folder: str, text: str) -> str:
    """Return a pattern for `folder` at the top of a file system, not inside a longer path."""
    return rf"(?<![\w~.$}}/-])/{folder}/{text}"


def test_imports_keep_to_the_floors() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    checked = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_no_module_is_too_long_to_have_one_reason() -> None:
    modules = [path for path in committed() if path.suffix == ".py" and "tests" not in path.relative_to(ROOT).parts]
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in modules}
    assert len(lengths) > 10
    assert {name: length for name, length in lengths.items() if length > LINES} == {}


def test_nothing_names_a_path_of_the_machine_it_was_written_on_or_a_package_host() -> None:
    hosts = "|".join(["py" + r"pi\.org", "python" + "hosted", "npm" + r"js\.org", "deb" + r"ian\.org"])
    forbidden = re.compile("|".join([below("work", ""), below("root", ""), hosts]))
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in prose_and_code()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if forbidden.search(line)
    ]
    assert found == []


def pins() -> dict[str, Version]:
    """Return constraints.txt by canonical name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {canonicalize_name(line.split("==")[0]): Version(line.split("==")[1]) for line in lines}


def test_constraints_are_plain_pins_in_order() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[\w.+!]+", line)] == []
    names = [canonicalize_name(line.split("==")[0]) for line in lines]
    assert names == sorted(set(names))


def needed(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> Iterator[Requirement]:
    """Yield what an installed distribution requires here, and what that requires, to the end."""
    if (name, extras) in seen:
        return
    seen.add((name, extras))
    for text in requires(name) or ():
        one = Requirement(text)
        if one.marker and not any(one.marker.evaluate({"extra": extra}) for extra in (extras or {""})):
            continue
        yield one
        yield from needed(one.name, frozenset(one.extras), seen)


def test_everything_that_a_first_call_installs_is_pinned_and_the_pins_suffice() -> None:
    pinned = pins()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    direct = [Requirement(text) for text in (*project["dependencies"], *project["optional-dependencies"]["test"])]
    seen: set[tuple[str, frozenset[str]]] = set()
    wanted = [*direct, *(below for one in direct for below in needed(one.name, frozenset(one.extras), seen))]
    missing = {str(one) for one in wanted if canonicalize_name(one.name) not in pinned}
    assert missing == set()
    broken = {str(one) for one in wanted if pinned[canonicalize_name(one.name)] not in one.specifier}
    assert broken == set()


def documents() -> list[Path]:
    return [path for path in committed() if path.suffix == ".md"]


def fenced(path: Path) -> Iterator[list[str]]:
    """Yield the lines of each fenced block of a document."""
    for block in re.findall(r"^```\w*\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        yield block.splitlines()


def commands_in_documents() -> list[tuple[str, list[str]]]:
    """Return every linedex command line in a fenced block: where it stands, and its arguments."""
    found = []
    for path in documents():
        for block in fenced(path):
            for line in block:
                match = re.match(r"(?:\$ )?(?:scripts/)?linedex (.*)", line)
                if match:
                    words = shlex.shlex(match[1], posix=True, punctuation_chars="|")
                    words.whitespace_split = True
                    arguments = list(takewhile(lambda word: word != "|", words))
                    found.append((f"{path.name}: {line}", arguments))
    return found


def test_every_command_line_in_the_documents_names_a_command_and_options_that_exist() -> None:
    wrong = []
    for where, arguments in commands_in_documents():
        context = click.Context(cli)
        command: click.Command | None = cli
        while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
            command = command.get_command(context, arguments.pop(0))
        known = {option for one in command.get_params(context) for option in one.opts} if command else set()
        known |= {option for one in command.get_params(context) for option in one.secondary_opts} if command else set()
        options = [word.split("=")[0] for word in arguments if re.match(r"--\w", word)]
        if command is None or not known.issuperset(options):
            wrong.append(where)
    assert wrong == []


def test_every_help_text_in_the_documents_is_the_one_that_is_printed() -> None:
    for path in documents():
        for block in fenced(path):
            if not re.fullmatch(r"\$ linedex( \w+)* --help", block[0] if block else ""):
                continue
            printed = subprocess.run(
                [sys.executable, "-m", "linedex_server", *shlex.split(block[0])[2:]],
                env={**os.environ, "COLUMNS": "80"},
                capture_output=True,
                text=True,
                check=True,
            )
            assert block[1:] == printed.stdout.rstrip("\n").split("\n"), path


def test_the_changelog_has_a_section_for_this_version_and_goes_back_in_time() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# Changelog"
    headings = [re.sub(r"[\[\]]", "", line.removeprefix("## ")) for line in lines if line.startswith("## ")]
    released = [heading for heading in headings if heading != "Unreleased"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", heading) for heading in released)
    assert "Unreleased" not in headings[1:]
    versions = [Version(heading.split()[0]) for heading in released]
    assert versions == sorted(set(versions), reverse=True)
    assert headings[0] == "Unreleased" or versions[0] == Version(version)
