"""The wheel and the sdist: what is in them, and that the wheel runs where nothing else of linedex is.

Nothing is fetched. The wheel goes into a virtual environment of its own, which sees the packages it needs through a
path to those of the tests, where a package that only the tests ask for would be found too: so what is imported is
compared with what the wheel says it needs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "indexer" / "linedex", ROOT / "server" / "linedex_server")


def build(checkout: Path, out: Path, *targets: str) -> None:
    arguments = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out), *arguments]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and with the wheel made from it."""
    out = tmp_path_factory.mktemp("dist")
    build(ROOT, out, "sdist")
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(next(out.glob("*.tar.gz"))) as archive:
        # the argument came with 3.11.4, and later versions warn without it
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(unpacked, **safely)
    build(next(unpacked.iterdir()), out, "wheel")
    return out


def members(built: Path) -> set[str]:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        return set(wheel.namelist())


def metadata(built: Path) -> Message:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_holds_the_two_packages_whole_and_nothing_else(built: Path) -> None:
    expected = {
        f"{source.name}/{path.relative_to(source).as_posix()}"
        for source in SOURCES
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"linedex/py.typed", "linedex_server/py.typed"} <= expected
    assert "linedex/content/symbols/queries/python.scm" in expected
    packed = {name for name in members(built) if ".dist-info/" not in name}
    assert packed == expected
    about = {name.partition(".dist-info/")[2] for name in members(built)} - {""}
    assert about == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def test_the_sdist_holds_what_tests_and_developers_need(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "constraints.txt", "LICENSE", "README.md", "CONTRIBUTING.md", "scripts/linedex"}
    assert needed | {"scripts/test", "tests/e2e/test_packages.py", "docs/tools.md"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith((".venv", ".git/"))]


def test_the_wheel_says_what_it_is(built: Path) -> None:
    said = metadata(built)
    assert (said["Name"], said["Requires-Python"], said["License-Expression"]) == ("linedex", ">=3.11", "MIT")
    assert said["License-File"] == "LICENSE"
    assert said["Description-Content-Type"] == "text/markdown"
    assert {"languages", "test"} == set(said.get_all("Provides-Extra") or ())


# Imports every module, then says which installed packages the loaded ones came from, and which the wheel asks for.
ASKED_AND_LOADED = """
import importlib, json, pkgutil, sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
import linedex, linedex_server
for package in (linedex, linedex_server):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

loaded_modules = {module.partition(".")[0] for module in sys.modules}
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

asked, waiting = set(), [("linedex", "")]
while waiting:
    name, extra = waiting.pop()
    if (name, extra) in asked:
        continue
    asked.add((name, extra))
    try:
        needed = map(Requirement, requires(name) or ())
    except PackageNotFoundError:
        continue  # for another system
    for one in needed:
        # every module is imported, those for other systems too
        systems = ({"extra": extra, "sys_platform": system} for system in ("linux", "darwin", "win32"))
        if one.marker is None or any(map(one.marker.evaluate, systems)):
            waiting += [(canonicalize_name(one.name), wanted) for wanted in ("", *one.extras)]
owners = packages_distributions()
loaded = {canonicalize_name(one) for module in loaded_modules for one in owners.get(module, ())}
print(json.dumps([linedex.__file__, linedex_server.__file__, sorted(loaded - {name for name, _ in asked})]))
"""


@pytest.fixture(scope="module")
def venv(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel."""
    venv = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    install = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python"), "install", "--quiet"]
    wheel = next(built.glob("*.whl"))
    done = subprocess.run([*install, "--no-deps", "--no-index", wheel], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (packages,) = (venv / "lib").glob("python*/site-packages")
    # after its own, and without the files there that lead to this checkout
    (packages / "needed.pth").write_text(
        "\n".join(dict.fromkeys(sysconfig.get_paths()[one] for one in ("purelib", "platlib")))
    )
    return venv


def test_it_asks_for_every_package_that_it_imports(venv: Path, tmp_path: Path) -> None:
    command = [venv / "bin" / "python", "-I", "-W", "error", "-c", ASKED_AND_LOADED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    library, server, unasked = json.loads(done.stdout)
    assert Path(library).is_relative_to(venv)
    assert Path(server).is_relative_to(venv)
    assert unasked == []


def test_it_runs_from_a_virtual_environment_of_its_own(venv: Path, tmp_path: Path) -> None:
    (tmp_path / "cart.py").write_text("class Cart:\n    def total(self):\n        return 1\n")
    environ = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}

    def linedex(*arguments: str) -> str:
        command = [venv / "bin" / "linedex", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    version = next(iter(venv.glob("lib/python*/site-packages/linedex-*.dist-info"))).name.split("-")[1]
    assert linedex("--version") == f"linedex {version.removesuffix('.dist')}\n"
    assert linedex("search", "tot.l") == "cart.py:2:    def total(self):\n"
    assert "1 indexed" in linedex("index", ".")
    assert linedex("symbols", "Cart.total") == "cart.py:2: method Cart.total(self)\n"
