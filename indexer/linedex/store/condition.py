"""What lies at the path of a sidecar, judged before anything is done with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

import apsw

from linedex.store.failures import is_damage, unusable, why
from linedex.store.occupant import strange
from linedex.store.schema import APPLICATION_ID, TABLES, VERSIONS

_HEADER_BYTES: Final = 100
_ID_AT: Final = slice(68, 72)
"""Where SQLite's header holds the application's number; it is asked of files that SQLite refuses."""
_BUSY_MS: Final = 5_000


class State(Enum):
    """What may be done with what is there."""

    GOOD = "an index of this version and root"
    ABSENT = "nothing"
    USELESS = "ours, and of no more use"
    STRANGE = "not ours"
    REFUSED = "the system does not let us look now"


@dataclass(frozen=True, slots=True)
class Condition:
    """What was found.

    Attributes:
        state: what it is.
        words: why it cannot be used, "" when it can.
    """

    state: State
    words: str = ""


def side_files(path: Path) -> tuple[Path, Path]:
    """Return the files that SQLite keeps beside a database: its log and the log's shared index."""
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def condition(path: Path, root: str) -> Condition:
    """Return what lies at `path`, which should be an index of `root`; nothing is made, and no FIFO is waited for."""
    try:
        odd = strange((path, *side_files(path)))
        if odd is not None:
            return Condition(State.STRANGE, f"{odd} is no regular file")
        if not path.exists():
            return Condition(State.ABSENT, "there is no index yet")
        return _judged(path, root)
    except (apsw.Error, OSError, UnicodeDecodeError) as error:
        # apsw decodes text by itself
        if isinstance(error, UnicodeDecodeError) or is_damage(error):
            return Condition(State.USELESS if _is_ours(path) else State.STRANGE, f"the index is damaged ({error})")
        if not unusable(error):
            raise
        return Condition(State.REFUSED, f"the index cannot be opened: {why(error)}")


def stored_root(path: Path) -> str:
    """Return the folder that the sidecar at `path` is about, "" when it cannot be read."""
    try:
        if strange((path, *side_files(path))) is not None:
            return ""
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except (apsw.Error, OSError):
        return ""
    try:
        return str(db.execute("SELECT value FROM meta WHERE key = 'root'").get or "")
    except (apsw.Error, UnicodeDecodeError):
        return ""
    finally:
        db.close()


def _judged(path: Path, root: str) -> Condition:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        db.set_busy_timeout(_BUSY_MS)
        number = db.pragma("application_id")
        tables = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
        if number != APPLICATION_ID:
            # a writer that was killed before its first commit leaves a database without anything in it
            state = State.STRANGE if number or tables else State.USELESS
            return Condition(state, "the file is not an index of linedex")
        if "meta" not in tables:
            return Condition(State.USELESS, "the index is damaged (it has no table of its versions)")
        stored = dict(db.execute("SELECT key, value FROM meta"))
    finally:
        db.close()
    for key, value in VERSIONS.items():
        if stored.get(key) != value:
            words = f"the index has another {key} version ({stored.get(key)}, this program writes {value})"
            return Condition(State.USELESS, words)
    if stored.get("root") != root:
        return Condition(State.USELESS, f"the index belongs to {stored.get('root')}")
    if not all(sql in TABLES for sql in tables.values()) or len(tables) < TABLES.count("CREATE "):
        return Condition(State.USELESS, "the index is damaged (its tables are not those of its version)")
    return Condition(State.GOOD)


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    return not header.strip(b"\0") or header[_ID_AT] == APPLICATION_ID.to_bytes(4, "big")
