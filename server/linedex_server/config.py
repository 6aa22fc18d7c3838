"""Settings: read once, frozen, each with one name in four places.

A setting `x` is the argument a command gives, else the variable `LINEDEX_X`, else the key `x` of the configuration
file, else its default. The file is TOML, `linedex/config.toml` in the platform's user configuration folder, or the one
that `LINEDEX_CONFIG` names. A value that cannot be used is refused by its name and the place it came from; an unknown
`LINEDEX_*` variable or key is refused too, with the nearest known name, so that a typing mistake never means "default".
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import platformdirs

from linedex.errors import BadArgument, Unreadable
from linedex.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from linedex.files.ignore import WalkSettings

PREFIX = "LINEDEX_"
CONFIG_VARIABLE = "LINEDEX_CONFIG"
CONFIG_FOLDER_VARIABLE = "XDG_CONFIG_HOME"
LIFTED = "*"
"""The word among the allowed roots that lifts the restriction."""

_FILE_BYTES = 1 << 20
_OF_A_DAEMON = ("history_bytes", "history_steps", "idle_seconds")
"""Settings that a daemon has for all its sessions, from whoever started it."""

OUTPUTS = ("text", "json")
TOOL_GROUPS = ("default", "read", "largefile", "file-mcp", "all")
LOG_LEVELS = ("debug", "info", "warning", "error")

Reader = Callable[[object], object]
"""Turns a raw value (text of a variable, a TOML value, an argument) into the setting's; ValueError says why not."""


def _whole(least: int, most: int) -> Reader:
    def read(raw: object) -> int:
        text = str(raw).strip()
        if isinstance(raw, bool) or not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
            raise ValueError(f"a whole number from {least:,} to {most:,} is needed")
        return int(text)

    return read


def _seconds(least: float, most: float) -> Reader:
    def read(raw: object) -> float:
        try:
            value = float(str(raw))
        except ValueError:
            value = -1.0
        if isinstance(raw, bool) or not least <= value <= most:
            raise ValueError(f"a number of seconds from {least:g} to {most:g} is needed")
        return value

    return read


def _flag(raw: object) -> bool:
    word = str(raw).strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0", ""):
        return False
    raise ValueError("true or false is needed")


def _choice(*words: str) -> Reader:
    def read(raw: object) -> str:
        word = str(raw).strip().lower()
        if word not in words:
            raise ValueError(f"one of {', '.join(words)} is needed")
        return word

    return read


def _listed(separator: str) -> Reader:
    def read(raw: object) -> tuple[str, ...]:
        parts = raw.split(separator) if isinstance(raw, str) else raw
        if not isinstance(parts, (list, tuple)) or not all(isinstance(part, (str, Path)) for part in parts):
            raise ValueError(f"texts separated by {separator!r}, or a list of them, are needed")
        return tuple(text for part in parts if (text := str(part).strip()))

    return read


def _folder(raw: object) -> Path:
    # not Path.expanduser, which raises for a user that is not there
    text = os.path.expanduser(str(raw))
    if not text.strip() or not os.path.isabs(text) or "\0" in text:
        raise ValueError("an absolute path is needed")
    return Path(text)


def _roots(raw: object) -> tuple[str, ...]:
    folders = _listed(os.pathsep)(raw)
    assert isinstance(folders, tuple)
    return tuple(text if text == LIFTED else str(_folder(text)) for text in folders)


def _zone(raw: object) -> str:
    name = str(raw).strip()
    if name:
        from zoneinfo import ZoneInfo  # noqa: PLC0415 - most people name none

        try:
            ZoneInfo(name)
        except (OSError, ValueError, KeyError):
            raise ValueError("the name of a time zone is needed, as Europe/Paris or UTC") from None
    return name


def _setting(default: Any, read: Reader, about: str) -> Any:
    return field(default=default, metadata={"read": read, "about": about})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, with its value in force.

    `state_dir` and `allowed_roots` are absolute; sizes are in bytes or code points, times in seconds, as the names say.
    """

    state_dir: Path = field(
        default_factory=lambda: platformdirs.user_state_path("linedex", appauthor=False),
        metadata={"read": _folder, "about": "Folder of indexes and other state; made with mode 0700."},
    )
    allowed_roots: tuple[str, ...] = _setting(
        (),
        _roots,
        "Folders that may be read and written, separated by the system's path separator; `*` lifts the restriction.",
    )
    tools: str = _setting("default", _choice(*TOOL_GROUPS), "Which tools an MCP client is offered.")
    read_only: bool = _setting(default=False, read=_flag, about="Offer no tool that writes.")
    output: str = _setting("text", _choice(*OUTPUTS), "Answers for models (`text`) or for programs (`json`).")
    log_level: str = _setting("warning", _choice(*LOG_LEVELS), "What is logged to standard error.")
    page_characters: int = _setting(
        DEFAULT_LIMITS.page_characters, _whole(2_000, 1_000_000), "Length of one answer, in characters."
    )
    excerpt_characters: int = _setting(
        DEFAULT_LIMITS.excerpt, _whole(40, 10_000), "Length of a line shown with a hit, in characters."
    )
    directory_hits: int = _setting(
        100, _whole(1, 100), "Hits in a page of `search_directory` when `max_results` is not given."
    )
    list_entries: int = _setting(
        200, _whole(1, 10_000), "Entries in a page of `list_directory` when `max_entries` is not given."
    )
    query_seconds: float = _setting(
        DEFAULT_LIMITS.query_seconds, _seconds(0.1, 3600), "Time of one search; then it answers with what it has."
    )
    pattern_seconds: float = _setting(
        DEFAULT_LIMITS.pattern_seconds,
        _seconds(0.1, 600),
        "Time a backtracking or very large pattern may take on one file.",
    )
    symbols: bool = _setting(
        DEFAULT_LIMITS.index_symbols, _flag, "Whether symbols are indexed; outlines of single files are made anyway."
    )
    outline_seconds: float = _setting(
        DEFAULT_LIMITS.outline_seconds, _seconds(0.1, 600), "Time the symbols of one file may take."
    )
    parse_bytes: int = _setting(
        DEFAULT_LIMITS.parse_bytes, _whole(1 << 10, 64 << 20), "Size over which a file's symbols are not indexed."
    )
    history_bytes: int = _setting(
        1 << 30, _whole(1 << 20, 1 << 40), "Bytes that undo steps may keep; the oldest go first."
    )
    history_steps: int = _setting(10_000, _whole(10, 1_000_000), "Undo steps that are kept; the oldest go first.")
    log_zone: str = _setting(
        "", _zone, "Time zone of logs whose stamps name none, as `Europe/Paris`; this machine's own when not set."
    )
    reconcile_seconds: float = _setting(
        DEFAULT_LIMITS.reconcile_seconds,
        _seconds(10, 7 * 86400),
        "Time between walks that look for changes no event told of; they take 1 % of the time at most.",
    )
    workers: int = _setting(DEFAULT_LIMITS.workers, _whole(1, 64), "Worker processes that index.")
    exclude: tuple[str, ...] = _setting(
        (), _listed(","), "Ignore rules, as in a .gitignore, for every root; separated by commas."
    )
    idle_seconds: float = _setting(
        900.0, _seconds(1, 30 * 86400), "Time after which a daemon that a client started ends when nobody needs it."
    )
    http_allow_remote: bool = _setting(
        default=False, read=_flag, about="Let `--http` listen where other machines can reach it."
    )
    http_allowed_hosts: tuple[str, ...] = _setting(
        (), _listed(","), "Further names by which HTTP clients call this server; separated by commas."
    )
    http_allowed_origins: tuple[str, ...] = _setting(
        (), _listed(","), "Further origins whose web pages may ask over HTTP; separated by commas."
    )

    @classmethod
    def load(cls, arguments: Mapping[str, object] | None = None, *, environ: Mapping[str, str] | None = None) -> Self:
        """Return the settings in force: argument, else variable, else file, else default.

        Args:
            arguments: what a command line gave, by setting name; None counts as not given. Relative folders among
                `allowed_roots` count from the working folder.
            environ: the variables; the process's own when None.

        Raises:
            BadArgument: a value cannot be used, or a name is unknown; the error names it and where it stands.
            Unreadable: the file that `LINEDEX_CONFIG` names cannot be read.
        """
        environ = os.environ if environ is None else environ
        known = {one.name: one for one in fields(cls)}
        chosen: dict[str, object] = {}
        path, content = _file(environ)
        for key, raw in content.items():
            _known(key, known, f"in {path}")
            chosen[key] = _taken(known[key], raw, f"{key} in {path}")
        for variable, text in environ.items():
            if not variable.startswith(PREFIX) or variable == CONFIG_VARIABLE:
                continue
            name = variable.removeprefix(PREFIX).lower()
            _known(name, known, "among the variables", lambda one: PREFIX + one.upper())
            chosen[name] = _taken(known[name], text, variable)
        for name, raw in (arguments or {}).items():
            if raw is None:
                continue
            _known(name, known, "among the arguments")
            if name in ("allowed_roots", "state_dir"):
                raw = _from_here(raw)  # noqa: PLW2901 - the same value, made absolute
            chosen[name] = _taken(known[name], raw, f"the argument {name}")
        return cls(**chosen)  # type: ignore[arg-type]  # each value comes from its field's own reader

    @property
    def unrestricted(self) -> bool:
        """Whether `*` among the allowed roots lifts the restriction."""
        return LIFTED in self.allowed_roots

    @property
    def root_folders(self) -> tuple[Path, ...]:
        """The allowed roots that are folders."""
        return tuple(Path(root) for root in self.allowed_roots if root != LIFTED)

    def rooted(self, folder: Path) -> Self:
        """Return these settings with `folder` as the one allowed root if they name none."""
        return self if self.allowed_roots else replace(self, allowed_roots=(str(folder),))

    @property
    def limits(self) -> Limits:
        """The library's limits with what these settings change."""
        return replace(
            DEFAULT_LIMITS,
            reconcile_seconds=self.reconcile_seconds,
            log_zone=self.log_zone,
            page_characters=self.page_characters,
            excerpt=self.excerpt_characters,
            query_seconds=self.query_seconds,
            pattern_seconds=self.pattern_seconds,
            index_symbols=self.symbols,
            outline_seconds=self.outline_seconds,
            parse_bytes=self.parse_bytes,
            workers=self.workers,
        )

    @property
    def walk(self) -> WalkSettings:
        """What a walk of a root takes in under these settings."""
        # 25 ms with RE2, which a bridge does not have
        from linedex.files.ignore import WalkSettings  # noqa: PLC0415

        return WalkSettings(globs=self.exclude)


def described() -> tuple[tuple[str, str, str], ...]:
    """Return each setting's name, variable and one sentence on it, in the order of docs/settings.md."""
    return tuple((one.name, PREFIX + one.name.upper(), str(one.metadata["about"])) for one in fields(Settings))


def variables() -> dict[str, str]:
    """Return the variables of this process that decide its settings, so that they mean the same in another process.

    `XDG_CONFIG_HOME` is always among them: where it is not set, it names the folder that is meant without it. Of a
    process that does not have it another one's home folder, or its variable of that name, would be taken.
    """
    kept = {name: text for name, text in os.environ.items() if name.startswith(PREFIX)}
    kept[CONFIG_FOLDER_VARIABLE] = os.environ.get(CONFIG_FOLDER_VARIABLE) or str(
        platformdirs.user_config_path("linedex", appauthor=False).parent
    )
    if kept.get(CONFIG_VARIABLE):
        kept[CONFIG_VARIABLE] = os.path.abspath(os.path.expanduser(kept[CONFIG_VARIABLE]))
    return kept


def differing(own: Settings, other: Settings) -> tuple[str, ...]:
    """Return the settings of a whole daemon in which `other` differs from its own, in words."""
    return tuple(
        f"{name} is {getattr(own, name):,}, not {getattr(other, name):,}"
        for name in _OF_A_DAEMON
        if getattr(own, name) != getattr(other, name)
    )


def _file(environ: Mapping[str, str]) -> tuple[Path, dict[str, object]]:
    """The configuration file and what it holds; only a file that was named must be there."""
    named = environ.get(CONFIG_VARIABLE, "")
    if named:
        path = Path(os.path.expanduser(named))
    elif environ.get(CONFIG_FOLDER_VARIABLE):
        path = Path(environ[CONFIG_FOLDER_VARIABLE], "linedex", "config.toml")
    else:
        path = platformdirs.user_config_path("linedex", appauthor=False) / "config.toml"
    try:
        text = _small_file(path).decode()
    except FileNotFoundError:
        if not named:
            return path, {}
        raise Unreadable(f"{CONFIG_VARIABLE} names {path}, which is not there.", "Make it, or unset it.") from None
    except OSError as error:
        raise Unreadable(f"The settings in {path} cannot be read: {error.strerror}.", "Mend its permissions.") from None
    except UnicodeDecodeError as error:
        raise BadArgument(f"{path} is not UTF-8: {error}.", "Save it as UTF-8.") from None
    import tomllib  # noqa: PLC0415 - 9 ms, and most people have no such file

    try:
        return path, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadArgument(f"{path} is not TOML: {error}.", "Mend the line it names.") from None


def _small_file(path: Path) -> bytes:
    """Return what an ordinary file of a sensible size holds: a daemon reads what its clients name.

    Raises:
        OSError: it cannot be read.
        Unreadable: it is something else, or larger.
    """
    # a FIFO is opened without waiting for its writer
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable(f"The settings in {path} cannot be read: it is no ordinary file.", "Name another.")
        content = file.read(_FILE_BYTES + 1)
    if len(content) > _FILE_BYTES:
        raise Unreadable(f"The settings in {path} are longer than {_FILE_BYTES:,} bytes.", "Name another file.")
    return content


def _known(name: str, known: Mapping[str, object], where: str, spelled: Callable[[str], str] = str) -> None:
    if name in known:
        return
    import difflib  # noqa: PLC0415 - 8 ms, and only for a typing mistake

    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {spelled(near[0])}?" if near else f"Known are {', '.join(map(spelled, known))}."
    raise BadArgument(f"There is no setting {spelled(name)} ({where}).", hint)


def _taken(one: Field[Any], raw: object, where: str) -> object:
    try:
        return one.metadata["read"](raw)
    except ValueError as error:
        raise BadArgument(f"{where} is {raw!r}: {error}.", "Correct it or leave it out.") from None


def _from_here(raw: object) -> object:
    """Folders that a command line names count from the working folder."""
    if isinstance(raw, (list, tuple)):
        return [_from_here(one) for one in raw]
    text = str(raw)
    return text if text == LIFTED or not text else str(Path.cwd() / os.path.expanduser(text))
