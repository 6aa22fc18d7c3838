"""Settings: precedence, refusals by name, and the page that documents them."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path

import pytest

from linedex.errors import BadArgument, Unreadable
from linedex_server.config import Settings, described

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"

LARGEFILE = [
    "MEMORY_THRESHOLD_MB",
    "MMAP_THRESHOLD_MB",
    "MAX_LINE_LENGTH",
    "TRUNCATE_LENGTH",
    "FUZZY_THRESHOLD",
    "MAX_SEARCH_RESULTS",
    "CONTEXT_LINES",
    "SIMILAR_MATCH_LIMIT",
    "SIMILAR_MATCH_THRESHOLD",
    "STREAMING_CHUNK_SIZE",
    "BACKUP_DIR",
    "MAX_BACKUPS",
    "MAX_BATCH_CHANGES",
    "LOG_LEVEL",
    "ENABLE_TREE_SITTER",
    "TREE_SITTER_TIMEOUT",
    "MAX_DIR_ENTRIES",
    "MAX_DIR_SEARCH_RESULTS",
    "MAX_DIR_SEARCH_FILES",
    "IGNORED_DIR_PATTERNS",
    "ENABLE_PARALLEL_SEARCH",
    "ENABLE_AST_CACHE",
    "ENABLE_METRICS",
    "LOG_FILE",
    "MAX_BACKUPS_PER_FILE",
    "COMPRESS_BACKUPS",
]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def written(environ: dict[str, str], text: str) -> Path:
    path = Path(environ["XDG_CONFIG_HOME"]) / "linedex" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_without_anything_every_setting_has_its_default(environ: dict[str, str]) -> None:
    assert Settings.load(environ=environ) == Settings()


def test_the_file_goes_before_the_default(environ: dict[str, str]) -> None:
    written(environ, "page_characters = 9000\nexclude = ['*.min.js', 'vendor/']\nread_only = true")
    settings = Settings.load(environ=environ)
    assert settings.page_characters == settings.limits.page_characters == 9000
    assert settings.exclude == ("*.min.js", "vendor/")
    assert settings.read_only


def test_a_variable_goes_before_the_file(environ: dict[str, str]) -> None:
    written(environ, "page_characters = 9000")
    assert Settings.load(environ={**environ, "LINEDEX_PAGE_CHARACTERS": "8000"}).page_characters == 8000


def test_an_argument_goes_before_a_variable_and_none_is_no_argument(environ: dict[str, str]) -> None:
    variables = {**environ, "LINEDEX_OUTPUT": "json", "LINEDEX_WORKERS": "3"}
    settings = Settings.load({"output": "text", "workers": None}, environ=variables)
    assert (settings.output, settings.workers) == ("text", 3)


def test_linedex_config_names_another_file(environ: dict[str, str], tmp_path: Path) -> None:
    written(environ, "workers = 3")
    other = tmp_path / "other.toml"
    other.write_text("workers = 5", encoding="utf-8")
    assert Settings.load(environ={**environ, "LINEDEX_CONFIG": str(other)}).workers == 5


def test_a_named_file_that_is_not_there_is_an_error(environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"absent\.toml"):
        Settings.load(environ={**environ, "LINEDEX_CONFIG": str(tmp_path / "absent.toml")})


def test_a_broken_file_is_named_with_its_line(environ: dict[str, str]) -> None:
    written(environ, "workers = = 1")
    with pytest.raises(BadArgument, match=r"config\.toml is not TOML: .*line 1"):
        Settings.load(environ=environ)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("LINEDEX_WORKERS", "many"),
        ("LINEDEX_WORKERS", "0"),
        ("LINEDEX_QUERY_SECONDS", "nan"),
        ("LINEDEX_READ_ONLY", "maybe"),
        ("LINEDEX_OUTPUT", "xml"),
        ("LINEDEX_STATE_DIR", "relative/folder"),
        ("LINEDEX_STATE_DIR", ""),
        ("LINEDEX_ALLOWED_ROOTS", "relative"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_its_name(environ: dict[str, str], variable: str, value: str) -> None:
    with pytest.raises(BadArgument, match=variable):
        Settings.load(environ={**environ, variable: value})


def test_a_bad_value_in_the_file_is_refused_with_the_file_named(environ: dict[str, str]) -> None:
    path = written(environ, "workers = true")
    with pytest.raises(BadArgument, match=re.escape(f"workers in {path}")):
        Settings.load(environ=environ)


def test_an_unknown_variable_is_refused_with_the_nearest_known_one(environ: dict[str, str]) -> None:
    with pytest.raises(BadArgument) as caught:
        Settings.load(environ={**environ, "LINEDEX_ALOWED_ROOTS": "/srv"})
    assert "LINEDEX_ALOWED_ROOTS" in str(caught.value)
    assert "LINEDEX_ALLOWED_ROOTS" in caught.value.hint


def test_an_unknown_key_is_refused_with_the_nearest_known_one(environ: dict[str, str]) -> None:
    written(environ, "page_caracters = 5000")
    with pytest.raises(BadArgument) as caught:
        Settings.load(environ=environ)
    assert "page_characters" in caught.value.hint


def test_allowed_roots_are_parted_by_the_separator_of_the_system(environ: dict[str, str], tmp_path: Path) -> None:
    roots = f"{tmp_path / 'a b'}{os.pathsep}{tmp_path / 'c'}{os.pathsep}"
    settings = Settings.load(environ={**environ, "LINEDEX_ALLOWED_ROOTS": roots})
    assert settings.root_folders == (tmp_path / "a b", tmp_path / "c")
    assert not settings.unrestricted


def test_a_star_lifts_the_restriction_and_is_no_folder(environ: dict[str, str], tmp_path: Path) -> None:
    settings = Settings.load(environ={**environ, "LINEDEX_ALLOWED_ROOTS": f"*{os.pathsep}{tmp_path}"})
    assert settings.unrestricted
    assert settings.root_folders == (tmp_path,)


def test_relative_folders_are_taken_on_the_command_line_only(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings.load({"allowed_roots": ["src"]}, environ=environ).root_folders == (tmp_path / "src",)


def test_settings_cannot_be_changed(environ: dict[str, str]) -> None:
    with pytest.raises(AttributeError):
        Settings.load(environ=environ).workers = 3  # type: ignore[misc]


def table_rows() -> list[list[str]]:
    rows = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_page_names_each_of_our_settings_with_its_default() -> None:
    cells = {row[0]: row for row in table_rows()}
    for (name, variable, about), one in zip(described(), fields(Settings), strict=True):
        row = cells[f"`{name}`"]
        assert row[1] == f"`{variable}`"
        assert row[3] == about
        if one.default == ():
            assert row[2] in ("none", "the working folder"), name
        elif isinstance(one.default, float):
            assert float(row[2].strip("`").replace(",", "")) == one.default, name
        elif name != "state_dir":
            assert row[2].strip("`").replace(",", "") == str(one.default).lower(), name


@pytest.mark.parametrize("name", [*(f"LARGEFILE_{one}" for one in LARGEFILE), "FILE_MCP_ALLOWED_ROOTS"])
def test_the_page_says_what_became_of_each_earlier_setting(name: str) -> None:
    (row,) = [row for row in table_rows() if row[0] == f"`{name}`"]
    ours = set(re.findall(r"LINEDEX_[A-Z_]+", row[1]))
    assert ours <= {variable for _, variable, _ in described()}
    assert ours or row[2], "neither a setting of ours nor a reason"
